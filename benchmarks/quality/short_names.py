"""Asks by rule about options and settings whose names are plain words or are the beginning of another name.

Run:  OREQA_PRECISION=f32 python benchmarks/quality/short_names.py --work runs/own --name after

From the manual pages of a package, those names are asked about that only one entry has and that begin another name, as
``--export`` and ``--export-ssh-key``, that are plain words, as ``reload``, or that have one dash, as ``-shortest``. An
answer is right if nine in ten of its words are in the description in the page's source. Names that are the only
statement of an entry, and those that are one of several, are also counted separately.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from oreqa import Answerer, index_files
from oreqa.answering.definitions import SHARE_RIGHT

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.manual_entries import contains_most, entries, lay_out_pages

HALVES = {
    "developed": ("aria2", "fio", "gpg", "knot", "mosquitto", "openvpn", "sshfs", "sway"),
    "reported": (
        "aptly", "ffmpeg", "imapfilter", "libimage-exiftool-perl", "newsboat", "nsd", "stress-ng", "sudo", "yt-dlp",
    ),
}  # fmt: skip
PATTERNS = {"ffmpeg": "man1/ff*[gey].1.gz"}
"""Packages of which only some pages are used."""

SEED, MOST = 0, 12
NAME = re.compile(r"(?<![\w-])(--[a-z][\w-]*\w|-[a-z]\w{2,})|^(?:set )?([a-z]\w+(?:[_-]\w+)*)(?=$|[=:]| [\[<]| [a-z]+$)")


def kind_of(name: str, names: Sequence[str]) -> str | None:
    if name.startswith("-") and not name.startswith("--"):
        return "one dash"
    if any(
        other.startswith(name) and other[len(name)] in "-_" for other in names if other != name and len(other) > len(name)
    ):
        return "begins another"
    return None if re.search(r"[-_]", name) else "plain word"


def names_of(pages: Sequence[Path]) -> list[tuple[str, str, str]]:
    """Return names with their kind and what is said about each."""
    entries_by_name: defaultdict[str, list[str]] = defaultdict(list)
    for page in pages:
        for name, text in entries(page, NAME):
            entries_by_name[name].append(text)
    by_kind = defaultdict(list)
    for name, (said, *elsewhere) in sorted(entries_by_name.items()):
        if not elsewhere and (kind := kind_of(name, list(entries_by_name))):
            by_kind[kind].append((name, kind, said))
    draw = random.Random(SEED)
    return [row for rows in by_kind.values() for row in draw.sample(rows, min(MOST, len(rows)))]


def measure(packages: Sequence[str], work: Path) -> dict[str, dict[str, int]]:
    verdicts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for package in packages:
        pages = lay_out_pages(package, work, PATTERNS.get(package, "man[158]/*.gz"))
        names, folder = names_of(sorted(pages.iterdir())), work / "manual-indexes" / package
        index_files(folder, pages)
        with Answerer.load(folder) as answerer:
            replies = answerer.ask([f"What does {name} do?" for name, *_ in names], k=1)
        for (_, kind, said), answers in zip(names, replies, strict=True):
            verdict = "refused" if not answers else "right" if contains_most(said, answers[0].text) else "wrong"
            verdicts[kind][verdict] += 1
            if answers and "span" not in answers[0].scores:
                verdicts["one statement" if answers[0].confidence == SHARE_RIGHT else "several statements"][verdict] += 1
    return {kind: {"questions": kind_verdicts.total(), **kind_verdicts} for kind, kind_verdicts in sorted(verdicts.items())}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="the pages and their indexes are kept here")
    parser.add_argument("--name", required=True, help="the run's name")
    options = parser.parse_args()
    halves = {half: measure(packages, options.work) for half, packages in HALVES.items()}
    report(f"files/short-names-{options.name}", halves)


if __name__ == "__main__":
    main()
