"""LaTeX: sections, paragraphs, lists, tables and formulas, as pylatexenc parses them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus.decode import decode
from oreqa.corpus.formats.latex_code import inline_code_as_verb
from oreqa.corpus.formats.latex_formulas import CODE_ENVIRONMENTS, escape_odd_dollars
from oreqa.corpus.formats.latex_macros import expand_macros
from oreqa.corpus.formats.latex_names import LAST_IS_TEXT, LISTS, MONOSPACED, NOT_REDEFINED, SECTION_LEVELS, SILENT, TABLES
from oreqa.corpus.formats.latex_nodes import (
    arguments_of,
    characters,
    is_known,
    parse_latex,
    plain_text,
    spanned,
    text_of,
    verbatim,
)
from oreqa.corpus.formats.latex_tokens import BracedText
from oreqa.corpus.formats.rendered import read_rendered

_TITLE = re.compile(r"\\title\s*(?:\[[^\]]*\])?\s*\{")
_AUTHOR_OR_DATE = re.compile(r"\\(?:author|date)\s*+(?:\[[^\]]{0,300}\])?\s*+\{")
_LONGEST = 2000
"""Most characters of the title, and of authors whose braces do not close."""

_COMMENT = re.compile(r"(?<!\\)(?:\\\\)*%")
_PREAMBLE = re.compile(r"\\begin\s*\{document\}")


def read_latex(data: bytes, path: Path) -> Document:
    """Read LaTeX. Its title is that of ``\\title``; the preamble is not read but for authors and date, nor are includes.

    Simple macros that the file defines are expanded. Of others the arguments are text, and their names count as omitted.
    """
    source = decode(data)
    expanded, unexpanded = expand_macros(inline_code_as_verb(source), NOT_REDEFINED)
    expanded = inline_code_as_verb(expanded)  # a macro may stand for its command
    begin = _uncommented(_PREAMBLE, expanded)
    page = _Page()
    title, notes = _title(expanded)
    page.add_nodes(notes)
    if begin:
        for group in _authors_and_dates(expanded[: begin.start()]):
            page.add_first_group(group)
    page.add(expanded[begin.end() :] if begin else expanded)
    omitted = {name: f"{name} " * count for name, count in unexpanded.items() if "{" not in name}
    return read_rendered("".join(page.parts), source, path, title, omitted)


class _Page:
    """The web page markup for the nodes of a text."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def add(self, source: str) -> None:
        """Parse a text and add it."""
        self.add_nodes(parse_latex(escape_odd_dollars(source)))

    def add_first_group(self, source: str) -> None:
        """Add what stands in braces at the begin of a text, as a paragraph."""
        self.parts.append("<p>")
        self.add_nodes(parse_latex(source)[:1])
        self.parts.append("</p>")

    def add_nodes(self, nodes: Sequence[Any]) -> None:
        """Add parsed nodes."""
        for node in nodes:
            kind = type(node).__name__
            if kind == "LatexCharsNode":
                self.parts.append(re.sub(r"\n[ \t]*\n\s*", "<p>", escape(characters(node.chars), quote=False)))
            elif kind == "LatexMacroNode":
                self._macro(node)
            elif kind == "LatexEnvironmentNode":
                self._environment(node)
            elif kind == "LatexGroupNode" and _is_monospaced(node):
                self.parts.append(escape(plain_text(node), quote=False))
            elif kind == "LatexGroupNode":
                self.add_nodes(node.nodelist)
            elif kind == "LatexMathNode":
                self.parts.append(escape(text_of([node]), quote=False))
            elif kind == "LatexSpecialsNode":
                self.parts.append("<p>" if "\n" in node.specials_chars else escape(text_of([node]), quote=False))
        # Comments are not text.

    def _macro(self, node: Any) -> None:
        name = node.macroname.rstrip("*")
        arguments = arguments_of(node)
        groups = [argument for argument in arguments if getattr(argument, "delimiters", ("{", "}"))[0] != "["]
        if name in SECTION_LEVELS and groups:
            level = SECTION_LEVELS[name]
            self.parts.append(f"<h{level}>{_line(groups[-1:])}</h{level}>")
        elif name in SILENT:
            return
        elif name in ("footnote", "footnotetext", "thanks"):
            self.parts.append(" (")
            self.add_nodes(groups[-1:])
            self.parts.append(")")
        elif name == "and" or name.isspace():
            self.parts.append(" and " if name == "and" else " ")
        elif name in ("par", "bigskip", "medskip", "smallskip"):
            self.parts.append("<p>")
        elif name in ("\\", "newline", "linebreak"):
            self.parts.append("<br>")
        elif name in LAST_IS_TEXT:
            self.add_nodes(groups[-1:])
        elif name in MONOSPACED:
            self.parts.append(escape("".join(map(plain_text, groups[-1:])), quote=False))
        elif name in ("sout", "st", "xout"):
            self.parts.append("<s>")
            self.add_nodes(groups[-1:])
            self.parts.append("</s>")
        elif name in ("caption", "author", "date"):
            self.parts.append("<p>")
            self.add_nodes(groups[-1:])
            self.parts.append("</p>")
        elif name == "verb":
            self.parts.append(escape(getattr(node.nodeargd, "verbatim_text", None) or "", quote=False))
        elif is_known(name):
            self.parts.append(escape(text_of([node]), quote=False))
        else:
            self.add_nodes(groups)
        self.parts.append(node.macro_post_space if "\n\n" not in node.macro_post_space else "<p>")

    def _environment(self, node: Any) -> None:
        name = node.environmentname
        if name in CODE_ENVIRONMENTS:
            text = getattr(node.nodeargd, "verbatim_text", None) or verbatim(node)
            self.parts.append(f"<pre>\n{escape(text.strip(chr(10)), quote=False)}</pre>")
        elif name in LISTS:
            self._list(node.nodelist, LISTS[name])
        elif name in TABLES:
            self._table(node.nodelist)
        elif name in ("comment", "thebibliography", "tikzpicture", "filecontents", "filecontents*", "picture"):
            return
        elif name.rstrip("*") in ("equation", "align", "eqnarray", "gather", "multline", "displaymath", "math", "flalign"):
            self.parts.append(f"<p>{escape(text_of([node]).strip(), quote=False)}<p>")
        else:
            self.parts.append("<div>")
            self.add_nodes(node.nodelist)
            self.parts.append("</div>")

    def _list(self, nodes: Sequence[Any], tag: str) -> None:
        self.parts.append(f"<{tag}>")
        for node in nodes:
            if type(node).__name__ == "LatexMacroNode" and node.macroname == "item":
                terms = arguments_of(node)
                if tag == "dl":
                    self.parts.append(f"<dt>{_line(terms).strip()}</dt><dd>")
                else:
                    self.parts.append("<li>")
                    self.add_nodes(terms)
            else:
                self.add_nodes([node])
        self.parts.append(f"</{tag}>")

    def _table(self, nodes: Sequence[Any]) -> None:
        rows: list[list[list[Any]]] = [[[]]]  # the nodes of each cell
        for node in nodes:
            kind = type(node).__name__
            if kind == "LatexMacroNode" and node.macroname in ("\\", "tabularnewline"):
                rows.append([[]])
            elif kind == "LatexSpecialsNode" and node.specials_chars == "&":
                rows[-1].append([])
            else:
                rows[-1][-1].append(node)
        self.parts.append("<table>")
        below: dict[int, int] = {}  # by column, how many more rows a cell above spans
        for row in rows:
            self.parts.append("<tr>")
            column = 0
            for cell in row:
                page = _Page()
                page.add_nodes(cell)
                text = "".join(page.parts)
                columns, lines = spanned(cell, "multicolumn"), spanned(cell, "multirow")
                if below.get(column, 0) and not text.strip():
                    below[column] -= 1  # the place left empty for the cell above
                else:
                    self.parts.append(f"<td colspan={columns} rowspan={lines}>{text}</td>")
                    below[column] = lines - 1
                column += columns
            self.parts.append("</tr>")
        self.parts.append("</table>")


def _line(nodes: Sequence[Any]) -> str:
    """Return the markup of a heading or a term, without paragraphs."""
    page = _Page()
    page.add_nodes(nodes)
    return re.sub(r"</?p>|<br>", " ", "".join(page.parts))


def _is_monospaced(group: Any) -> bool:
    """Return whether a group begins with the command for a monospaced font."""
    first = next((node for node in group.nodelist if getattr(node, "chars", "x").strip()), None)
    return getattr(first, "macroname", "") in ("tt", "ttfamily")


def _title(source: str) -> tuple[str, list[Any]]:
    """Return the argument of ``\\title``, and the macros of its notes."""
    match = _uncommented(_TITLE, source)
    nodes = parse_latex(source[match.end() - 1 : match.end() + _LONGEST])[:1] if match else []
    parts = [node for group in nodes for node in getattr(group, "nodelist", [group])]
    notes = [node for node in parts if getattr(node, "macroname", "") in ("thanks", "footnote")]
    return " ".join(text_of([node for node in parts if node not in notes]).split()), notes


def _authors_and_dates(preamble: str) -> Iterator[str]:
    """Return what stands in braces after ``\\author`` and ``\\date``, with its braces."""
    text, end = BracedText(preamble), 0
    for name in _AUTHOR_OR_DATE.finditer(preamble):
        begin = name.end() - 1
        if begin >= end and begin in text.closing:  # and so in no comment
            closing = text.closing[begin]
            end = begin + _LONGEST if closing is None else closing + 1
            yield preamble[begin:end]


def _uncommented(pattern: re.Pattern[str], source: str) -> re.Match[str] | None:
    """Return the first match outside comments."""
    starts = ((match, source.rfind("\n", 0, match.start()) + 1) for match in pattern.finditer(source))
    return next((match for match, line in starts if not _COMMENT.search(source, line, match.start())), None)
