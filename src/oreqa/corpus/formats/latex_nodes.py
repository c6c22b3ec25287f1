"""LaTeX as pylatexenc parses it: nodes, their arguments, and their texts."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from oreqa.corpus.formats.latex_names import ARGUMENTS, ENVIRONMENT_ARGUMENTS, LOGOS, SILENT

_MOST_SPANNED = 100
"""Most columns or rows that a cell may span."""

_UNFINISHED = re.compile(r"\\verb\*?\s*\Z")
"""A macro whose next character pylatexenc reads even where the text ends."""


def arguments_of(node: Any) -> list[Any]:
    """Return a macro's arguments: none if the text ends before them."""
    return [argument for argument in (node.nodeargd.argnlist if node.nodeargd else ()) if argument is not None]


def spanned(nodes: Sequence[Any], name: str) -> int:
    """Return the columns or rows that a cell spans by the macro ``name``, which may be nested in another one."""
    for node in nodes:
        if type(node).__name__ != "LatexMacroNode" or node.macroname not in ("multicolumn", "multirow"):
            continue
        groups = [part for part in arguments_of(node) if getattr(part, "delimiters", "[")[0] == "{"]
        number = text_of(groups[:1]).strip()
        if node.macroname == name:
            return min(int(number), _MOST_SPANNED) if number.isdecimal() and len(number) < 4 and int(number) else 1
        return spanned(groups[-1].nodelist if groups else (), name)
    return 1


def parse_latex(source: str) -> Sequence[Any]:
    """Return the nodes of a text."""
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
    from pylatexenc.macrospec import EnvironmentSpec, MacroSpec

    context = get_default_latex_context_db()
    names = {spec.macroname for spec in context.iter_macro_specs()}
    macros = [MacroSpec(name, arguments) for name, arguments in ARGUMENTS.items() if name not in names]
    environments = [EnvironmentSpec(name, arguments) for name, arguments in ENVIRONMENT_ARGUMENTS.items()]
    context.add_context_category("more", macros=macros, environments=environments, prepend=True)
    return context


@cache
def _converter() -> Any:
    from pylatexenc.latex2text import LatexNodes2Text, MacroTextSpec, get_default_latex_context_db

    context = get_default_latex_context_db()
    context.add_context_category("logos", macros=[MacroTextSpec(name, name) for name in LOGOS])
    silent = [MacroTextSpec(name, discard=True) for name in sorted(SILENT)]
    context.add_context_category("silent", macros=silent, prepend=True)
    context.set_unknown_macro_spec(MacroTextSpec("", discard=False))  # its arguments are text
    logging.getLogger("pylatexenc").setLevel(logging.ERROR)  # it warns about every \frac without arguments
    return LatexNodes2Text(latex_context=context, math_mode="text", keep_comments=False, strict_latex_spaces=False)


def is_known(name: str) -> bool:
    """Return whether pylatexenc has a text for a macro."""
    spec = _converter().latex_context.get_macro_spec(name)
    return spec is not None and bool(spec.macroname)


def text_of(nodes: Sequence[Any]) -> str:
    source = "".join(node.latex_verbatim() for node in nodes)
    try:
        text = str(_converter().nodelist_to_text(list(nodes)))
    except (AttributeError, IndexError, KeyError):  # pylatexenc expects every macro to have its arguments
        text = source
    # "%s": as of a \frac without arguments
    return characters(source if "%s" in text and "%s" not in source else text)


def plain_text(group: Any) -> str:
    """Return the text of a group without ligatures."""
    special = {"LatexSpecialsNode": lambda node: str(node.specials_chars), "LatexCharsNode": lambda node: str(node.chars)}
    nodes = group.nodelist if type(group).__name__ == "LatexGroupNode" else [group]
    return "".join(special.get(type(node).__name__, lambda node: text_of([node]))(node) for node in nodes).replace("~", " ")


def characters(text: str) -> str:
    """Convert TeX's ligatures and quotes to characters."""
    return text.replace("---", "—").replace("--", "–").replace("``", "“").replace("''", "”").replace("~", " ")


def verbatim(node: Any) -> str:
    """Return the source between the first and last line of an environment."""
    text: str = node.latex_verbatim()
    return re.sub(r"\\end\s*\{[^{}]*\}\s*$", "", re.sub(r"^\\begin\s*\{[^{}]*\}(?:\[[^\]]*\])?(?:\{[^{}]*\})?", "", text))
