"""LaTeX: sections, paragraphs, lists, tables and formulas, as pylatexenc parses them."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus.decode import decode
from oreqa.corpus.formats.latex_formulas import CODE_ENVIRONMENTS, escape_odd_dollars
from oreqa.corpus.formats.rendered import read_rendered

_HEADINGS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4, "paragraph": 5, "subparagraph": 6}
_LISTS = {"itemize": "ul", "enumerate": "ol", "description": "dl"}
_LISTS |= {"compactitem": "ul", "compactenum": "ol", "compactdesc": "dl"}
_TABLES = frozenset(("tabular", "tabular*", "tabularx", "longtable", "tabulary", "supertabular", "array"))
_SILENT = frozenset(
    ("label", "ref", "pageref", "eqref", "cite", "citep", "citet", "index", "bibliography", "bibliographystyle",
     "documentclass", "usepackage", "RequirePackage", "newcommand", "renewcommand", "providecommand", "newenvironment",
     "renewenvironment", "def", "input", "include", "includegraphics", "pagestyle", "thispagestyle", "setlength",
     "addtolength", "setcounter", "vspace", "hspace", "newtheorem", "hypersetup", "makeatletter", "makeatother",
     "maketitle", "tableofcontents", "clearpage", "newpage", "centering", "noindent", "hline", "cline", "toprule",
     "midrule", "bottomrule", "DeclareMathOperator", "date", "graphicspath", "title", "author", "let", "newlength",
     "newif", "selectlanguage", "definecolor", "color", "fontsize", "markboth", "markright", "addcontentsline",
     "DeclareOption", "ProvidesPackage", "newcounter", "vskip", "hskip", "nocite", "lstset", "includeonly", "hyphenation",
     "cmidrule", "rule", "phantom", "vphantom", "hphantom", "catcode", "sloppy")
)  # fmt: skip
"""Macros whose arguments are not text."""

_ARGUMENTS = {
    **dict.fromkeys(("index", "bibliographystyle", "pagestyle", "thispagestyle", "hypersetup", "graphicspath"), "{"),
    **dict.fromkeys(
        ("author", "title", "selectlanguage", "nocite", "lstset", "includeonly", "hyphenation", "cmidrule"), "[{"
    ),
    **dict.fromkeys(
        ("color", "newcounter", "newlength", "phantom", "vphantom", "hphantom", "bibliography", "markright"), "{"
    ),
    **dict.fromkeys(("sout", "st", "xout", "vspace", "hspace", "eqref", "pageref", "bibliography", "markright"), "*{"),
    **dict.fromkeys(("setlength", "addtolength", "setcounter", "markboth", "href", "fontsize"), "{{"),
    **dict.fromkeys(("caption", "footnotetext", "thanks", "ProvidesPackage"), "[{"),
    **{"definecolor": "{{{", "addcontentsline": "{{{", "newtheorem": "*{[{[", "citep": "[[{", "citet": "[[{", "rule": "[{{"},
    **{"multicolumn": "{{{", "multirow": "[{[{[{"},
}
"""The arguments of macros in pylatexenc's notation: ``[`` for an optional one."""

_MONOSPACED = frozenset(("texttt", "code", "command", "option", "file", "samp", "kbd"))
"""Macros such as those for commands and options, whose hyphens and quotes are not ligatures."""

_LOGOS = ("TeX", "LaTeX", "LaTeXe", "BibTeX", "XeTeX", "XeLaTeX", "LuaTeX", "LuaLaTeX", "ConTeXt", "MusiXTeX", "AmS")

_MOST_SPANNED = 100
"""Most columns or rows that a cell may span."""

_TITLE = re.compile(r"\\title\s*(?:\[[^\]]*\])?\s*\{")
_COMMENT = re.compile(r"(?<!\\)(?:\\\\)*%")
_UNFINISHED = re.compile(r"\\verb\*?\s*\Z")
"""A macro whose next character pylatexenc reads even where the text ends."""
_PREAMBLE = re.compile(r"\\begin\s*\{document\}")


def read_latex(data: bytes, path: Path) -> Document:
    """Read LaTeX. Its title is that of ``\\title``; includes, the preamble and references are not read.

    Macros defined in the file are not expanded: their arguments are text.
    """
    source = decode(data)
    begin = _uncommented(_PREAMBLE, source)
    page = _Page()
    title = _title(source)
    page.add(source[begin.end() :] if begin else source)
    return read_rendered("".join(page.parts), source, path, title)


class _Page:
    """The web page markup for the nodes of a text."""

    def __init__(self) -> None:
        self.parts: list[str] = []

    def add(self, source: str) -> None:
        """Parse a text and add it."""
        self._add(_nodes(escape_odd_dollars(source)))

    def _add(self, nodes: Sequence[Any]) -> None:
        for node in nodes:
            kind = type(node).__name__
            if kind == "LatexCharsNode":
                self.parts.append(re.sub(r"\n[ \t]*\n\s*", "<p>", escape(_characters(node.chars), quote=False)))
            elif kind == "LatexMacroNode":
                self._macro(node)
            elif kind == "LatexEnvironmentNode":
                self._environment(node)
            elif kind == "LatexGroupNode":
                self._add(node.nodelist)
            elif kind == "LatexMathNode":
                self.parts.append(escape(_text([node]), quote=False))
            elif kind == "LatexSpecialsNode":
                self.parts.append("<p>" if "\n" in node.specials_chars else escape(_text([node]), quote=False))
        # Comments are not text.

    def _macro(self, node: Any) -> None:
        name = node.macroname.rstrip("*")
        arguments = _arguments(node)
        groups = [argument for argument in arguments if getattr(argument, "delimiters", ("{", "}"))[0] != "["]
        if name in _HEADINGS and groups:
            level = _HEADINGS[name]
            self.parts.append(f"<h{level}>{escape(_text(groups[-1:]), quote=False)}</h{level}>")
        elif name in _SILENT:
            return
        elif name in ("footnote", "footnotetext", "thanks"):
            self.parts.append(" (")
            self._add(groups[-1:])
            self.parts.append(")")
        elif name in ("par", "bigskip", "medskip", "smallskip"):
            self.parts.append("<p>")
        elif name in ("\\", "newline", "linebreak"):
            self.parts.append("<br>")
        elif name in ("href", "multicolumn", "multirow"):
            self._add(groups[-1:])
        elif name in _MONOSPACED:
            self.parts.append(escape("".join(map(_plain, groups[-1:])), quote=False))
        elif name in ("sout", "st", "xout"):
            self.parts.append("<s>")
            self._add(groups[-1:])
            self.parts.append("</s>")
        elif name == "caption":
            self.parts.append("<p>")
            self._add(groups[-1:])
            self.parts.append("</p>")
        elif name == "verb":
            self.parts.append(escape(getattr(node.nodeargd, "verbatim_text", None) or "", quote=False))
        elif _is_known(name):
            self.parts.append(escape(_text([node]), quote=False))
        else:
            self._add(groups)
        self.parts.append(node.macro_post_space if "\n\n" not in node.macro_post_space else "<p>")

    def _environment(self, node: Any) -> None:
        name = node.environmentname
        if name in CODE_ENVIRONMENTS:
            text = getattr(node.nodeargd, "verbatim_text", None) or _verbatim(node)
            self.parts.append(f"<pre>\n{escape(text.strip(chr(10)), quote=False)}</pre>")
        elif name in _LISTS:
            self._list(node.nodelist, _LISTS[name])
        elif name in _TABLES:
            self._table(node.nodelist)
        elif name in ("comment", "thebibliography", "tikzpicture", "filecontents", "filecontents*", "picture"):
            return
        elif name.rstrip("*") in ("equation", "align", "eqnarray", "gather", "multline", "displaymath", "math", "flalign"):
            self.parts.append(f"<p>{escape(_text([node]).strip(), quote=False)}<p>")
        else:
            self.parts.append("<div>")
            self._add(node.nodelist)
            self.parts.append("</div>")

    def _list(self, nodes: Sequence[Any], tag: str) -> None:
        self.parts.append(f"<{tag}>")
        for node in nodes:
            if type(node).__name__ == "LatexMacroNode" and node.macroname == "item":
                terms = _arguments(node)
                if tag == "dl":
                    self.parts.append(f"<dt>{escape(_text(terms), quote=False).strip(' []')}</dt><dd>")
                else:
                    self.parts.append("<li>")
                    self._add(terms)
            else:
                self._add([node])
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
                page._add(cell)
                text = "".join(page.parts)
                columns, lines = _span(cell, "multicolumn"), _span(cell, "multirow")
                if below.get(column, 0) and not text.strip():
                    below[column] -= 1  # the place left empty for the cell above
                else:
                    self.parts.append(f"<td colspan={columns} rowspan={lines}>{text}</td>")
                    below[column] = lines - 1
                column += columns
            self.parts.append("</tr>")
        self.parts.append("</table>")


def _arguments(node: Any) -> list[Any]:
    """Return a macro's arguments: none if the text ends before them."""
    return [argument for argument in (node.nodeargd.argnlist if node.nodeargd else ()) if argument is not None]


def _span(nodes: Sequence[Any], name: str) -> int:
    """Return the columns or rows that a cell spans by the macro ``name``, which may be nested in another one."""
    for node in nodes:
        if type(node).__name__ != "LatexMacroNode" or node.macroname not in ("multicolumn", "multirow"):
            continue
        groups = [part for part in _arguments(node) if getattr(part, "delimiters", "[")[0] == "{"]
        number = _text(groups[:1]).strip()
        if node.macroname == name:
            return min(int(number), _MOST_SPANNED) if number.isdecimal() and len(number) < 4 and int(number) else 1
        return _span(groups[-1].nodelist if groups else (), name)
    return 1


def _title(source: str) -> str:
    """Return the argument of ``\\title``."""
    match = _uncommented(_TITLE, source)
    return " ".join(_text(_nodes(source[match.end() - 1 : match.end() + 2000])[:1]).split()) if match else ""


def _uncommented(pattern: re.Pattern[str], source: str) -> re.Match[str] | None:
    """Return the first match outside comments."""
    starts = ((match, source.rfind("\n", 0, match.start()) + 1) for match in pattern.finditer(source))
    return next((match for match, line in starts if not _COMMENT.search(source, line, match.start())), None)


def _nodes(source: str) -> Sequence[Any]:
    from pylatexenc.latexwalker import LatexWalker

    if _UNFINISHED.search(source):
        source += "\n%"
    walker = LatexWalker(source, latex_context=_context(), tolerant_parsing=True)
    nodes: Sequence[Any] = walker.get_latex_nodes()[0]
    return nodes


@cache
def _context() -> Any:
    """Return the macros and environments known to pylatexenc, and the arguments of others."""
    from pylatexenc.latexwalker import get_default_latex_context_db
    from pylatexenc.macrospec import MacroSpec

    context = get_default_latex_context_db()
    names = {spec.macroname for spec in context.iter_macro_specs()}
    macros = [MacroSpec(name, arguments) for name, arguments in _ARGUMENTS.items() if name not in names]
    context.add_context_category("more", macros=macros)
    return context


@cache
def _converter() -> Any:
    from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db

    context = get_default_latex_context_db()
    context.add_context_category("logos", macros=[MacroTextSpec(name, name) for name in _LOGOS])
    logging.getLogger("pylatexenc").setLevel(logging.ERROR)  # it warns about every \frac without arguments
    return LatexNodes2Text(latex_context=context, math_mode="text", keep_comments=False, strict_latex_spaces=False)


def _is_known(name: str) -> bool:
    """Return whether pylatexenc has a text for a macro."""
    spec = _converter().latex_context.get_macro_spec(name)
    return spec is not None and bool(spec.macroname)


def _text(nodes: Sequence[Any]) -> str:
    source = "".join(node.latex_verbatim() for node in nodes)
    try:
        text = str(_converter().nodelist_to_text(list(nodes)))
    except (AttributeError, IndexError, KeyError):  # pylatexenc expects every macro to have its arguments
        text = source
    # "%s": as of a \frac without arguments
    return _characters(source if "%s" in text and "%s" not in source else text)


def _plain(group: Any) -> str:
    """Return the text of a group without ligatures."""
    special = {"LatexSpecialsNode": lambda node: str(node.specials_chars), "LatexCharsNode": lambda node: str(node.chars)}
    nodes = group.nodelist if type(group).__name__ == "LatexGroupNode" else [group]
    return "".join(special.get(type(node).__name__, lambda node: _text([node]))(node) for node in nodes).replace("~", " ")


def _characters(text: str) -> str:
    """Convert TeX's ligatures and quotes to characters."""
    return text.replace("---", "—").replace("--", "–").replace("``", "“").replace("''", "”").replace("~", " ")


def _verbatim(node: Any) -> str:
    """Return the source between the first and last line of an environment."""
    text: str = node.latex_verbatim()
    return re.sub(r"\\end\s*\{[^{}]*\}\s*$", "", re.sub(r"^\\begin\s*\{[^{}]*\}(?:\[[^\]]*\])?(?:\{[^{}]*\})?", "", text))
