"""Asks by rule for the defaults of options and settings: of manual page entries that state one, and that state none.

Run:  OREQA_PRECISION=f32 python benchmarks/quality/defaults.py --work runs/own --name after

The pages' source is read by macros, not as oreqa reads it. An entry states a default if it says "defaults to",
"default is" or the like, and none if it has no word that could mean one. At most ``MOST`` options of each kind are asked
about per package, only those that a single entry describes. An answer is right if it begins with the default or contains it
as a word; if none is stated, a refusal is right. Answers with a probability of ``SURE`` or more are sure. Where the default
says yes or no, another question asks whether the option is on.
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
from oreqa.answer import Answer

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.manual_entries import entries, lay_out_pages, source_lines

HALVES = {
    "developed": (
        "aria2", "dnsmasq-base", "fio", "foot", "gpg", "keepalived", "knot", "mosquitto", "openvpn", "parallel", "rofi",
        "stunnel4", "sway", "vnstat",
    ),
    "reported": (
        "dunst", "kitty", "logrotate", "mako-notifier", "newsboat", "nsd", "picom", "ripgrep", "sox", "stress-ng", "sudo",
        "valgrind", "xz-utils", "yt-dlp", "zathura",
    ),
}  # fmt: skip
SEED, MOST, SURE = 0, 15, 0.5
QUESTIONS = ("What is the default of {}?", "What is the default value of {}?", "By default, what is {} set to?")
WHETHER = ("Is {} on by default?", "Is {} enabled by default?", "Is the option {} set by default?")
YES_OR_NO = ("yes", "no", "true", "false", "on", "off", "0", "1")
QUOTES = " .,\"'‘’“”`()[]"
VERDICTS = ("right", "wrong", "refused")
STATED = re.compile(
    r"defaults?(?: value)?(?: is| to| of|:|=) *(?:to )?[\"'`‘“]*([\w./:%-]*\w%?)(?=[\"'`’”]*(?:[.,;)\]]|$))", re.IGNORECASE
)
CUE = re.compile(
    r"default|unless|otherwise|normal|usual|omit|initial|unset|absent|assum|impli|standard|without|instead|preset"
    r"|\bif (?:no|none|it is not|un)|not (?:set|given|specified|present|used|provided)|fall", re.IGNORECASE
)  # fmt: skip
"""Words that could mean a default."""


def stated(text: str) -> str | None:
    """Return the default that a text states: "" if it states none, None if that is unclear."""
    values = {match[1].lower() for match in STATED.finditer(text)}
    if len(values) == 1:
        return min(values)
    return None if CUE.search(text) else ""


def defaults_of(pages: Sequence[Path]) -> list[tuple[str, str]]:
    """Return the options and settings that a single entry is about, and their defaults: "" for those without."""
    entries_by_name: defaultdict[str, list[str]] = defaultdict(list)
    for page in pages:
        for name, text in entries(page):
            entries_by_name[name].append(text)
    text = " ".join(line for page in pages for _, line in source_lines(page))
    sentences = [sentence for sentence in re.split(r"(?<=[.:;!?)])\s+", text) if "default" in sentence.lower()]
    with_default, without = [], []
    for name, (said, *elsewhere) in sorted(entries_by_name.items()):
        default = None if elsewhere else stated(said)
        if default:
            with_default.append((name, default))
        elif default is not None and not any(name in sentence for sentence in sentences):
            without.append((name, default))
    draw = random.Random(SEED)
    return [pair for kind in (with_default, without) for pair in draw.sample(kind, min(MOST, len(kind)))]


def judged(answers: Sequence[Answer], default: str) -> str:
    if not answers:
        return "refused"
    answered = answers[0].text.lower().strip(QUOTES)
    is_right = default and (answered.startswith(default) or default in re.split(r"[\s\"'(),;]+", answered))
    return "right" if is_right else "wrong"


def measure(packages: Sequence[str], work: Path) -> dict[str, dict[str, int]]:
    verdicts: dict[str, Counter[str]] = {"stated": Counter(), "unstated": Counter(), "whether": Counter()}
    for package in packages:
        pages, folder = lay_out_pages(package, work), work / "default-indexes" / package
        names = defaults_of(sorted(pages.iterdir()))
        index_files(folder, pages)
        questions = [QUESTIONS[number % len(QUESTIONS)].format(name) for number, (name, _) in enumerate(names)]
        kinds = ["stated" if default else "unstated" for _, default in names]
        whether = [(name, default) for name, default in names if default in YES_OR_NO]
        questions += [WHETHER[number % len(WHETHER)].format(name) for number, (name, _) in enumerate(whether)]
        with Answerer.load(folder) as answerer:
            replies = answerer.ask(questions, k=1)
        kinds += ["whether"] * len(whether)
        for kind, (_, default), answers in zip(kinds, names + whether, replies, strict=True):
            kind_verdicts = verdicts[kind]
            kind_verdicts[verdict := judged(answers, default)] += 1
            kind_verdicts["wrong and sure"] += verdict == "wrong" and (answers[0].confidence or 0) >= SURE
    return {kind: {"questions": sum(row[v] for v in VERDICTS), **row} for kind, row in verdicts.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="the pages and their indexes are kept here")
    parser.add_argument("--name", required=True, help="the run's name")
    options = parser.parse_args()
    report(f"files/defaults-{options.name}", {half: measure(packages, options.work) for half, packages in HALVES.items()})


if __name__ == "__main__":
    main()
