"""Asks about change logs: the latest version, when a version was released, and which version made a change.

Run:  python benchmarks/quality/change_logs.py --work runs/own --name after [--source OTHER/src]

The logs are the beginnings of those in Debian packages, under their projects' file names. The questions are made from
their lines by the pattern below, not by the code that is measured. An answer is right if it contains the version, or the
date as the log writes it, and is at most 40 characters long.
"""

from __future__ import annotations

import argparse
import gzip
import re
import sys
from collections import Counter
from pathlib import Path

from oreqa.datasets.questions import OpenQuestion
from oreqa.provenance import commit

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.asking import OURS, ask, index
from support.debian import fetch

LOGS = {
    "attrs": ("python3-attr", "CHANGELOG.md"), "bat": ("bat", "CHANGELOG.md"), "click": ("python3-click", "CHANGES.rst"),
    "commander": ("node-commander", "CHANGELOG.md"), "express": ("node-express", "History.md"),
    "fd": ("fd-find", "CHANGELOG.md"), "fzf": ("fzf", "CHANGELOG.md"), "httpx": ("python3-httpx", "CHANGELOG.md"),
    "rack": ("ruby-rack", "CHANGELOG.md"), "requests": ("python3-requests", "HISTORY.md"),
    "rich": ("python3-rich", "CHANGELOG.md"), "ripgrep": ("ripgrep", "CHANGELOG.md"),
    "rouge": ("ruby-rouge", "CHANGELOG.md"), "semver": ("node-semver", "CHANGELOG.md"),
    "urllib3": ("python3-urllib3", "CHANGES.rst"),
}  # fmt: skip
"""Projects, each with its package and the file name of its log."""

KEPT, ASKED, LONGEST = 12_000, 3, 40
"""Characters kept of a log, questions of each kind about it, and the most characters of a right answer."""

_HEADING = re.compile(
    r"^(?:#+ )?(?:version )?\[?v?(\d+\.\d+(?:\.\d+)?)\]?(?:\([^)\s]*\))?(?:[ :/(-]+"
    r"(\d{1,2}\w\w \w+,? \d{4}|\d{4}-\d\d-\d\d))?\)?:?$",
    re.MULTILINE | re.IGNORECASE,
)
_CHANGE = re.compile(r"^ ? ?[-*] +([A-Z][\w ,.'-]{30,90}[\w.])$", re.MULTILINE)


def questions(name: str, text: str) -> list[OpenQuestion]:
    """Return the questions about one log."""
    headings = list(_HEADING.finditer(text))
    latest = max((match[1] for match in headings), key=lambda version: [int(part) for part in version.split(".")])
    rows = [("latest", f"What is the latest version of {name}?", latest)]
    dated = [match for match in headings if match[2]][1 : ASKED + 1]
    rows += [("day", f"When was version {match[1]} of {name} released?", match[2]) for match in dated]
    for change in list(_CHANGE.finditer(text))[:ASKED]:
        version = [match[1] for match in headings if match.start() < change.start()]
        if version and text.count(change[1]) == 1:
            rows.append(("change", f'Which version of {name} has the change "{change[1]}"?', version[-1]))
    return [
        OpenQuestion(f"{name}-{number}", question, (), rf"(?<![\d.]){re.escape(right)}(?![\d]|\.\d)", kind=kind)
        for number, (kind, question, right) in enumerate(rows)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="documents and indexes are kept here")
    parser.add_argument("--name", required=True, help="of results/files/changes-NAME.json, and of the index")
    parser.add_argument("--source", type=Path, default=OURS, help="the src folder of the code that is measured")
    options = parser.parse_args()
    folder, place = (options.work / part / "change-logs" for part in ("collections", f"indexes/{options.name}"))
    every: list[OpenQuestion] = []
    for name, (package, file) in LOGS.items():
        [packed] = (fetch(package, options.work) / "usr/share/doc" / package).glob("changelog.gz")
        text = gzip.decompress(packed.read_bytes()).decode("utf-8")[:KEPT].rpartition("\n")[0]
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / file).write_text(text, encoding="utf-8")
        every += questions(name, text)
    index(options.source, folder, place)
    counts = Counter[str]()
    for question, row in zip(every, ask(options.source, place, every), strict=True):
        answer = row.answers[0][0] if row.answers else None
        is_right = answer is not None and len(answer) <= LONGEST and re.search(str(question.pattern), answer)
        said = "refused" if answer is None else "right" if is_right else "wrong"
        counts[f"{question.kind}: {said}"] += 1
        print(f"{said:8}{question.text[:100]!r}: {answer!r}", flush=True)
    report(f"files/changes-{options.name}", {"commit": commit(options.source), "answers": dict(sorted(counts.items()))})


if __name__ == "__main__":
    main()
