"""Asks about mails: who wrote one and when, and what a mail says that quotes an older one.

Run:  python benchmarks/quality/mails.py --data ../shared/data --work runs/own --name after [--source OTHER/src]

The real mails are the first of the threads in notmuch's tests (53 of its list), asked "Who wrote about SUBJECT?" and
"When did SENDER write about SUBJECT?". An answer is right if it contains the sender's last name, or the day and the year.
The others are made of paragraphs of SQuAD dev whose answer contains a number. A correction states the sentence with another
number above the quoted paragraph, and its number is right; a note puts a paragraph of another article above it, and the
quoted answer is right. The index is made and asked by the code under `--source`, a checkout of any age.
"""

from __future__ import annotations

import argparse
import email.policy
import random
import re
import shutil
import sys
import textwrap
from collections import Counter
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import parseaddr, parsedate_to_datetime
from pathlib import Path

from oreqa.datasets.paragraphs import Paragraph
from oreqa.datasets.questions import OpenQuestion
from oreqa.provenance import commit

sys.path.append(str(Path(__file__).parents[1]))
from common import report, squad
from support.asking import OURS, ask, index
from support.debian import fetch_source

MADE = 100
"""Corrections, and as many notes."""

_PREFIX = re.compile(r"^(?:re: *|\[[^\]]*\] *)+", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")

Asked = dict[str, list[OpenQuestion]]
"""Questions by kind. A right answer matches the pattern of its question."""


def real_mails(work: Path, folder: Path) -> Asked:
    """Copy notmuch's mails to a folder; return the questions about the first mail of each subject."""
    source = next(fetch_source("notmuch", work).glob("*/test/corpora/default"))
    first: dict[str, tuple[str, str]] = {}
    mails = []
    for number, file in enumerate(sorted(path for path in source.rglob("*") if path.is_file())):
        shutil.copyfile(file, folder / f"{number:02}.eml")
        message = BytesParser(policy=email.policy.default).parsebytes(file.read_bytes())
        name, subject = parseaddr(str(message["From"]))[0], _PREFIX.sub("", " ".join(str(message["Subject"]).split()))
        if len(name.split()) > 1 and len(subject.split()) > 1:
            mails.append((parsedate_to_datetime(str(message["Date"])), name, subject))
    for date, name, subject in sorted(mails, key=lambda mail: mail[0].timestamp()):
        first.setdefault(
            subject, (name, rf"(?<!\d)0?{date.day} {date:%b}.*{date.year}|{date:%b}\w* {date.day}\b.*{date.year}")
        )
    return {
        "who": [
            OpenQuestion(f"who-{subject}", f'Who wrote about "{subject}"?', (), re.escape(name.split()[-1]))
            for subject, (name, _) in first.items()
        ],
        "when": [
            OpenQuestion(f"when-{subject}", f'When did {name} write about "{subject}"?', (), day)
            for subject, (name, day) in first.items()
        ],
    }


def made_mails(paragraphs: list[Paragraph], folder: Path) -> Asked:
    """Write corrections and notes to a folder; return the questions about them."""
    rng = random.Random(5)
    with_number = [
        (paragraph, question)
        for paragraph in rng.sample(paragraphs, len(paragraphs))
        for question in paragraph.questions[:1]
        if _DIGITS.search(question.answers[0].text)
    ][: 2 * MADE]
    by_kind: Asked = {"correction": [], "note": []}
    for number, (paragraph, question) in enumerate(with_number):
        gold = question.answers[0]
        digits = _DIGITS.findall(gold.text)[-1]
        kind = ("correction", "note")[number % 2]
        if kind == "correction":
            right = str(int(digits) + 3).zfill(len(digits))
            begin = max(paragraph.text.rfind(". ", 0, gold.start) + 2, 0) if ". " in paragraph.text[: gold.start] else 0
            end = paragraph.text.find(". ", gold.start + len(gold.text))
            end = len(paragraph.text) if end < 0 else end + 1
            place = paragraph.text.index(digits, gold.start)
            written = f"A correction: {paragraph.text[begin:place]}{right}{paragraph.text[place + len(digits) : end]}"
        else:
            right = digits
            written = next(other.text for other in rng.sample(paragraphs, 20) if other.title != paragraph.title)
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = (
            "Ann Kay <ann@example.org>",
            "list@example.org",
            f"Re: note {number}",
        )
        message["Date"] = "Wed, 01 Jul 2026 09:00:00 +0200"
        quoted = textwrap.indent(textwrap.fill(paragraph.text, 70), "> ")
        message.set_content(f"{textwrap.fill(written, 70)}\n\nOn Mon, 29 Jun 2026 Ben Lee wrote:\n{quoted}\n")
        (folder / f"made-{number:03}.eml").write_bytes(bytes(message))
        by_kind[kind].append(OpenQuestion(question.id, question.text, (), rf"(?<!\d){right}(?!\d)"))
    return by_kind


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--work", type=Path, required=True, help="documents and indexes are kept here")
    parser.add_argument("--name", required=True, help="of results/files/mails-NAME.json, and of the indexes")
    parser.add_argument("--source", type=Path, default=OURS, help="the src folder of the code that is measured")
    options = parser.parse_args()
    counts = Counter[str]()
    for part in ("real", "made"):
        folder = options.work / "collections" / f"mails-{part}"
        folder.mkdir(parents=True, exist_ok=True)
        by_kind = real_mails(options.work, folder) if part == "real" else made_mails(squad(options.data), folder)
        place = options.work / "indexes" / options.name / f"mails-{part}"
        index(options.source, folder, place)
        for kind, questions in by_kind.items():
            for question, row in zip(questions, ask(options.source, place, questions), strict=True):
                answer = row.answers[0][0] if row.answers else None
                said = "refused" if answer is None else "right" if re.search(str(question.pattern), answer) else "wrong"
                counts[f"{kind}: {said}"] += 1
                print(f"{said:8}{kind:12}{question.text[:90]!r}: {answer!r}", flush=True)
    report(f"files/mails-{options.name}", {"commit": commit(options.source), "answers": dict(sorted(counts.items()))})


if __name__ == "__main__":
    main()
