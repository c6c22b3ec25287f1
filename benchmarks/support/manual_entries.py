"""The entries of manual pages, read from their source by macros, not as oreqa reads them."""

from __future__ import annotations

import gzip
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from support.debian import fetch

MARKUP = re.compile(r"\\f(?:\[[^]]*\]|\(..|.)|\\s-?\d|\\[&/,%|^]|\\m\[[^]]*\]")
SIGNS = {
    "\\-": "-", "\\(aq": "'", "\\[aq]": "'", "\\(cq": "'", "\\(dq": '"', "\\[dq]": '"', "\\e": "\\", "\\ ": " ", "\\:": "",
}  # fmt: skip
COMMENTS = ('.\\"', "'\\\"")
TEXT_MACRO = re.compile(r"\.(?:B|I|BR|IR|RB|BI|RI|SM|Cm|Em|Ar|Fl|Pa|Li|Va|Dq|Sq|Ql|Ic|Sy|Oo|Oc|Op|Xo|Xc)\b *")
NAME = re.compile(r"(?<![\w-])(--[a-z][\w-]*\w)|^(?:set )?([a-z]\w*(?:[_-]\w+)+)(?=$|[\s:=,(\[<])")
"""A long option, or a setting with a hyphen or an underscore."""


def lay_out_pages(package: str, work: Path, pattern: str = "man[158]/*.gz") -> Path:
    """Return the folder with manual pages of a package."""
    folder = work / "manual-pages" / package
    if not folder.is_dir():
        draft = folder.with_suffix(".draft")
        draft.mkdir(parents=True, exist_ok=True)
        for page in sorted((fetch(package, work) / "usr/share/man").glob(pattern)):
            if not page.is_symlink():
                shutil.copy(page, draft)
        draft.rename(folder)
    return folder


def source_lines(page: Path) -> Iterator[tuple[str, str]]:
    """Yield each line of a page's source that has content, as "text", "term" or "heading"."""
    with gzip.open(page, "rt", encoding="utf-8", errors="replace") as file:
        lines = [line for line in file if not line.startswith(COMMENTS)]
    is_term = False
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        text = MARKUP.sub("", line)
        for sign, meaning in SIGNS.items():
            text = text.replace(sign, meaning)
        text = text.strip()
        if line.startswith((".SH", ".SS", ".Sh", ".Ss")):
            yield "heading", text[3:].strip(' "')
        elif line.startswith((".It", ".IP")):
            words = text[3:].replace("Fl -", "--").strip()
            quoted = re.match(r'"([^"]*)"', words)
            yield "term", re.sub(r"\b(?:Xo|Cm|Ic|Fl|Ar|Li|Va) ", "", quoted[1] if quoted else words)
        elif line.startswith("."):
            words = TEXT_MACRO.sub("", text).replace('"', "")
            if line.startswith((".TP", ".TQ")) or not TEXT_MACRO.match(line):
                is_term = line.startswith((".TP", ".TQ")) or (is_term and line.startswith(".PD"))
                continue
            yield "term" if is_term or following.startswith(".RS") else "text", words
            is_term = False
        else:
            yield "term" if is_term or following.startswith(".RS") else "text", text
            is_term = False


def entries(page: Path, name: re.Pattern[str] = NAME) -> Iterator[tuple[str, str]]:
    """Yield the names of options and settings, each with its description up to the next name or heading."""
    names: list[str] = []
    said: list[str] = []
    for kind, text in (*source_lines(page), ("heading", "")):
        line_names = [] if kind == "text" else [option or setting for option, setting in name.findall(text)]
        if kind == "heading" or (line_names and len(said) > 1):
            yield from ((about, " ".join(said)) for about in names if len(said) > 1)
            names, said = line_names, [text]
        elif line_names:
            names, said = [*names, *line_names], [" ".join([*said, text])]
        elif names:
            said.append(text)


def contains_most(description: str, answer: str) -> bool:
    """Return whether nine in ten words of an answer are in a description."""
    answered = set(re.findall(r"\w+", answer.lower()))
    return bool(answered) and len(answered & set(re.findall(r"\w+", description.lower()))) >= 0.9 * len(answered)
