"""Converts manual pages to documents: roff requests and man macros; those of mdoc are in their own file."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.decode import decode
from oreqa.corpus.formats.man.mdoc import Mdoc
from oreqa.corpus.formats.man.roff import Strings, arguments, logical_lines
from oreqa.corpus.formats.man.tbl import table
from oreqa.corpus.formats.rendered import read_rendered
from oreqa.errors import DocumentError

_IS_PAGE = re.compile(rb"^[.'][ \t]*(?:TH|Dd|so)\b", re.MULTILINE)

_MAX_TERM, _SAID = 200, "</dt><dd>"
_BULLETS = re.compile(r"[•*·o+–—-]|\\\(bu|")
_PARAGRAPHS = frozenset(("PP", "P", "LP", "HP", "sp", "Sp", "SP", "bp", "ti", "in", "ce", "PD", "Pp"))
_FONTS = {
    "B": " ",
    "I": " ",
    "SM": " ",
    "SB": " ",
    "R": " ",
    "CW": " ",
    "BR": "",
    "RB": "",
    "IR": "",
    "RI": "",
    "BI": "",
    "IB": "",
    "BC": "",
    "CB": "",
}


def is_man_page(head: bytes) -> bool:
    """Return whether a file that begins with ``head`` is written for roff: it names its page."""
    return head.lstrip()[:1] in (b".", b"'") and bool(_IS_PAGE.search(head[: limits.HEAD_BYTES]))


def read_man(data: bytes, path: Path) -> Document:
    """Read a manual page. Its title is its name and section. Included files are not read.

    Raises DocumentError if it is not one.
    """
    if not is_man_page(data):
        raise DocumentError("it is not a manual page")
    source = decode(data)
    page = _Man()
    for name, rest in logical_lines(source, page.strings):
        page.add(name, rest)
    return read_rendered(page.markup(), source, path, page.title)


class _Man:
    """The web page markup for a manual page."""

    def __init__(self) -> None:
        self.title = ""
        self.strings = Strings()
        self._parts: list[str] = []
        self._text: list[str] = []  # the lines of the open block
        self._term = False  # whether the next line is a term
        self._in_list: list[bool] = [False]  # whether a list is open, for each level of indentation
        self._is_code = False
        self._table: list[str] | None = None  # the lines of an open table
        self._equation = False
        self._mdoc: Mdoc | None = None

    def markup(self) -> str:
        """Return the whole page, once its last line was added."""
        self._end_block()
        if self._table:
            self._parts += table(self._table, self.strings)
        while self._in_list:
            self._end_list()
            self._in_list.pop()
        return "".join(self._parts)

    def add(self, name: str, rest: str) -> None:
        """Add a request with its arguments, or a line of text."""
        if self._table is not None:
            if name == "TE":
                self._parts += table(self._table, self.strings)
                self._table = None
            else:
                self._table.append(rest if not name else f".{name} {rest}")
        elif name in ("TS", "EQ"):
            self._end_block()
            self._table, self._equation = ([] if name == "TS" else None), name == "EQ"
        elif self._equation:
            self._equation = name != "EN"
        elif name == "Dd" and self._mdoc is None:
            self._mdoc = Mdoc(self._parts, self.strings)
        elif self._mdoc is not None:
            self._mdoc.add(name, rest)
            self.title = self._mdoc.title
        elif not name:
            self._add_text(rest)
        else:
            self._request(name, arguments(rest))

    def _add_text(self, line: str) -> None:
        text = self.strings.text(line)
        if not self._is_code and not line.strip():
            self._end_block()
            return
        self._add_line(text, joined=line.endswith("\\c"))

    def _add_line(self, text: str, joined: bool = False) -> None:
        if self._term and text.strip():
            self._term = False
            self._begin_item(text)
            return
        if not self._is_code and text.startswith((" ", "\t")) and self._text:
            self._text.append("<br>")
        self._text.append(escape(text, quote=False) + ("" if joined else "\n"))

    def _request(self, name: str, words: list[str]) -> None:
        texts = [self.strings.text(word) for word in words]
        if name in _FONTS:
            if words:
                self._add_line(_FONTS[name].join(texts), joined=words[-1].endswith("\\c"))
        elif name == "TH":
            self.title = f"{texts[0]}({texts[1]})" if len(texts) > 1 else "".join(texts[:1])
        elif name in ("SH", "SS", "Sh", "Ss"):
            self._end_block()
            while len(self._in_list) > 1:
                self._end_list()
                self._in_list.pop()
            self._end_list()
            level = 2 + (name.upper() == "SS")
            self._parts.append(f"<h{level}>{escape(' '.join(texts))}</h{level}>")
        elif name in ("TP", "TQ", "IP"):
            self._begin_term(name, texts)
        elif name == "RS":
            text = "".join(self._text)
            if not self._is_code and 0 < len(text.strip()) <= _MAX_TERM:  # a paragraph before its explanation
                self._text.clear()
                self._parts.append(f"<dl><dt>{text.strip()}{_SAID}")
                self._in_list.append(True)
            else:
                self._end_block()
                self._in_list.append(False)
        elif name == "RE" and len(self._in_list) > 1:
            self._end_block()
            self._end_list()
            self._in_list.pop()
        elif name in _PARAGRAPHS:
            self._end_block()
            if name not in ("sp", "Sp", "SP", "ti", "in", "PD", "RE"):
                self._end_list()
        elif name in ("nf", "EX", "Vb", "fi", "EE", "Ve", "CS", "CE"):
            self._end_block()
            self._is_code = name in ("nf", "EX", "Vb", "CS")
        elif name == "br":
            self._text.append("<br>")
        elif name in ("UR", "MT", "URL"):
            self._add_line(" ".join(texts))
        elif name in ("OP", "SY", "MR"):
            shown = {"OP": f"[{' '.join(texts)}]", "MR": f"{''.join(texts[:1])}({''.join(texts[1:2])}){''.join(texts[2:])}"}
            self._add_line(shown.get(name, " ".join(texts)))
        elif name in ("UE", "ME") and texts:
            self._add_line(" ".join(texts))

    def _begin_term(self, name: str, texts: list[str]) -> None:
        self._end_block()
        if name != "IP":
            self._term = True
        elif texts and texts[0].strip():
            self._begin_item(texts[0])

    def _begin_item(self, term: str) -> None:
        if not self._in_list[-1]:
            self._parts.append("<dl>")
            self._in_list[-1] = True
        if _BULLETS.fullmatch(term.strip()):
            self._parts.append("<li>")
        else:
            term = escape(term, quote=False)
            if self._parts[-1].startswith("<dt>"):  # the previous name has no explanation: both name one thing
                term = f"{self._parts.pop().removeprefix('<dt>').removesuffix(_SAID)}<br>{term}"
            self._parts.append(f"<dt>{term}{_SAID}")

    def _end_list(self) -> None:
        if self._in_list[-1]:
            self._parts.append("</dd></dl>")
            self._in_list[-1] = False

    def _end_block(self) -> None:
        self._term = False
        text = "".join(self._text)
        self._text.clear()
        if text.strip():
            tag = "pre" if self._is_code else "p"
            self._parts.append(f"<{tag}>{text.rstrip()}</{tag}>")
