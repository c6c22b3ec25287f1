"""Asks by rule about entries of references: what the options of manual pages do, and the defaults of settings.

Run:  OREQA_PRECISION=f32 python benchmarks/quality/entries.py --work runs/own

The pages of restic, wget, zstd and nmap describe each option below its name. An answer is right if nine in ten of its
words are in the description in the page's source, which is read here by macros, not as oreqa reads it. Options of
several pages are left out. unbound.conf(5) says of settings with a hyphen that their "default is" something: an answer
is right if it begins with that or contains it as a word. All are asked with and without ruling out entries about other
names.
"""

from __future__ import annotations

import argparse
import gzip
import re
import shutil
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any
from unittest.mock import patch

from oreqa import Answerer, index_files
from oreqa.answer import Answer
from oreqa.core import Range
from oreqa.evaluation.metrics import paired_difference

sys.path.append(str(Path(__file__).parents[1]))
from common import report
from support.debian import fetch
from support.manual_entries import contains_most

Asked = tuple[str, str, str]
"""A question, the page that it is asked of, and the right answer."""

SEED, PACKAGES = 0, ("restic", "wget", "zstd", "nmap")
MARKUP = re.compile(r"\\f(?:\[[^]]*\]|\(..|.)|\\s-?\d|\\&")
MACRO, TERM_MACRO = re.compile(r"^\.[A-Z]+\b\s*"), (".IP", ".B", ".TP", "\\fB", ".BR", ".RB")
TERM, OPTION = re.compile(r"(?:-\w\b[^-]{0,30})?--[a-z][\w-]+"), re.compile(r"(?<![\w-])--[a-z][\w-]+")
LONGEST_TERM, INLINE = 90, re.compile(r"\.(?:B|I|BR|IR|RB|BI|RI|SM)\b")


def descriptions(page: Path) -> dict[str, str]:
    """Return what the source of a manual page says about each long option."""
    said: dict[str, str] = {}
    names: list[str] = []
    text: list[str] = []

    def close() -> None:
        if text:
            said.update({name: " ".join(text) for name in names if name not in said})
            names.clear()
            text.clear()

    for raw in gzip.open(page, "rt", encoding="utf-8", errors="replace"):
        line = MACRO.sub("", MARKUP.sub("", raw).replace("\\-", "-").replace("\\", "")).strip().strip('"')
        if raw.startswith((".SH", ".SS")):
            close()
            names.clear()
        elif raw.startswith(TERM_MACRO) and TERM.match(line) and len(line) < LONGEST_TERM:
            close()
            names += OPTION.findall(line)
        elif names and line and (not raw.startswith(".") or INLINE.match(raw)):
            text.append(line)
    close()
    return said


def lay_out(work: Path) -> Path:
    folder = work / "option-pages"
    if not folder.is_dir():
        draft = folder.with_suffix(".draft")
        shutil.rmtree(draft, ignore_errors=True)
        draft.mkdir(parents=True)
        for package in PACKAGES:
            for page in (fetch(package, work) / "usr/share/man/man1").glob("*.1.gz"):
                if not page.is_symlink():
                    shutil.copy(page, draft)
        draft.rename(folder)
    return folder


def is_right(answers: list[Answer], description: str) -> bool:
    return bool(answers) and contains_most(description, answers[0].text)


def no_entries(question: str, texts: Sequence[tuple[str, str]]) -> list[list[Range]]:
    return [[] for _ in texts]


def is_default(answers: list[Answer], default: str) -> bool:
    answered = answers[0].text.lower().strip(' .,"') if answers else ""
    return answered.startswith(default) or default in answered.split()


def options_of(pages: Path) -> list[Asked]:
    """Return, for each option that only one page has, the question what it does."""
    places: defaultdict[str, list[Asked]] = defaultdict(list)
    for page in sorted(pages.iterdir()):
        for option, description in descriptions(page).items():
            places[option].append((f"What does {option} do?", page.name, description))
    return [options[0] for _, options in sorted(places.items()) if len(options) == 1]


def defaults_of(page: Path) -> list[Asked]:
    """Return the default of each setting with a hyphen."""
    text = MARKUP.sub("", gzip.open(page, "rt", encoding="utf-8").read()).replace("\\", "")
    by_name: dict[str, Asked] = {}
    for name, said in re.findall(
        r"^\.TP\n(?:\.B )?([a-z]\w*-[\w-]*): .*\n((?:.*\n)*?)(?=\.TP|\.SS|\.SH)", text, re.MULTILINE
    ):
        if default := re.search(r"default (?:is|value is)(?: to use)? \"?([\w./:-]*\w)", said, re.IGNORECASE):
            by_name.setdefault(name, (f"What is the default of {name}?", page.name, default[1].lower()))
    return list(by_name.values())


def measure(questions: Sequence[Asked], right: Callable[[list[Answer], str], bool], folder: Path) -> dict[str, Any]:
    rights: dict[str, list[bool]] = {}
    figures: dict[str, dict[str, int]] = {}
    for run in ("without", "with"):
        without = patch("oreqa.answering.reading.other_entries", no_entries) if run == "without" else nullcontext()
        with without, Answerer.load(folder) as answerer:
            replies = [answerer.ask(question, k=1, where={"path": page}) for question, page, _ in questions]
        rights[run] = [right(reply, gold) for reply, (*_, gold) in zip(replies, questions, strict=True)]
        refused = sum(not answers for answers in replies)
        figures[run] = {"right": sum(rights[run]), "refused": refused, "wrong": len(questions) - sum(rights[run]) - refused}
    pairs = list(zip(rights["without"], rights["with"], strict=True))
    won, lost = pairs.count((False, True)), pairs.count((True, False))
    p = paired_difference(rights["without"], rights["with"], SEED).p
    return {"questions": len(questions), **figures, "won": won, "lost": lost, "p": p}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True, help="the pages and their index are kept here")
    options = parser.parse_args()
    pages, folder = lay_out(options.work), options.work / "option-pages-index"
    index_files(folder, pages)
    manual, manual_index = options.work / "settings", options.work / "settings-index"
    manual.mkdir(parents=True, exist_ok=True)
    page = Path(shutil.copy(fetch("unbound", options.work) / "usr/share/man/man5/unbound.conf.5.gz", manual))
    index_files(manual_index, manual)
    figures = {
        "options": measure(options_of(pages), is_right, folder),
        "defaults": measure(defaults_of(page), is_default, manual_index),
    }
    report("files/entries", figures)


if __name__ == "__main__":
    main()
