"""reStructuredText, with the directives and roles of Sphinx."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from oreqa.core import Document
from oreqa.corpus.decode import decode
from oreqa.corpus.formats.markup import LONGEST_LINE_WITH_MARKS
from oreqa.corpus.formats.rendered import read_rendered

if TYPE_CHECKING:
    from docutils import nodes
    from docutils.parsers.rst import Directive

_DIRECTIVE = re.compile(r"^[ \t]*\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?([A-Za-z][\w.:+-]*)[ \t]?::(?:[ \t]|$)", re.MULTILINE)
_ROLE = re.compile(r"(?<![\w:]):([A-Za-z][\w.:+-]*):`")
_TARGET = re.compile(r"\s*<[^<>]+>$")

_CODE = frozenset(
    ("code", "code-block", "sourcecode", "prompt", "console", "doctest", "testcode", "testoutput", "productionlist",
     "ipython", "command-output", "graphviz", "math")
)  # fmt: skip
"""Directives whose content is code, including those that docutils supports with fewer options; they take a language."""

_CONTAINERS = frozenset(("only", "hlist", "ifconfig", "glossary", "tabs"))
_SILENT = frozenset(
    ("toctree", "index", "highlight", "currentmodule", "py:currentmodule", "automodule", "autosummary", "tabularcolumns",
     "literalinclude", "default-domain", "sectionauthor", "moduleauthor", "codeauthor", "image", "figure-md")
)  # fmt: skip
_NOTES = frozenset(("versionadded", "versionchanged", "versionremoved", "deprecated", "deprecated-removed"))
"""Directives whose name is part of their text: "Deprecated since 3.2"."""

_SETTINGS = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "report_level": 5,
    "halt_level": 5,
    "_disable_config": True,
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "math_output": "LaTeX",
    "syntax_highlight": "none",
    "toc_backlinks": False,
    "footnote_references": "brackets",
    "line_length_limit": 1_000_000,
}


def read_rst(data: bytes, path: Path) -> Document:
    """Read reStructuredText. Its title is the top-level heading. Includes and raw parts are not read."""
    from docutils.core import publish_parts
    from docutils.parsers.rst import Parser
    from docutils.writers.html5_polyglot import Writer

    source = decode(data)
    _register_unknown(source)
    parser = Parser(inliner=_inliner())
    parts = publish_parts(source, parser=parser, writer=Writer(), settings_overrides=_SETTINGS)
    return read_rendered(parts["html_body"], source, path, _plain(parts["title"]))


def _plain(markup: str) -> str:
    from html import unescape

    return " ".join(unescape(re.sub(r"<[^<>]*>", "", markup)).split())


def _register_unknown(source: str) -> None:
    """Register a text's custom directives and roles with docutils: their contents are text, too."""
    from docutils.parsers.rst import directives, roles
    from docutils.parsers.rst.languages import en

    for name in {match.lower() for match in _DIRECTIVE.findall(source)}:
        if name in _SILENT | _CODE or not (name in en.directives or name in en.directives.values()):
            directives.register_directive(name, _content_directive())
    for name in {match.lower() for match in _ROLE.findall(source)} - set(en.roles):
        roles.register_local_role(name, _read_role)


class _AnyOption(dict[str, Any]):
    """Options with any name."""

    def __missing__(self, name: str) -> Callable[[str], str]:
        return lambda value: value or ""


@cache
def _content_directive() -> type[Directive]:
    """Return a directive class for those that docutils lacks: the argument is a term, the content its definition."""
    from docutils import nodes
    from docutils.parsers.rst import Directive

    class ContentDirective(Directive):  # type: ignore[misc]  # the library is not typed
        optional_arguments = 1
        final_argument_whitespace = True
        has_content = True
        option_spec = _AnyOption(dummy=str)

        def run(self) -> list[nodes.Node]:
            argument = " ".join(self.arguments)
            if self.name in _SILENT:
                return []
            if self.name in _CODE:
                return [nodes.literal_block("", "\n".join(self.content))]
            is_term = (argument and self.name not in _CONTAINERS) or self.name in _NOTES
            content = nodes.definition() if is_term else nodes.container()
            self.state.nested_parse(self.content, self.content_offset, content)
            if isinstance(content, nodes.container):
                return list(content.children)
            lines = f"{self.name} {argument}".strip() if self.name in _NOTES else "\n".join(self.arguments)
            inline, _ = self.state.inline_text(" ".join(lines.split()), self.lineno)
            return [nodes.definition_list("", nodes.definition_list_item("", nodes.term("", "", *inline), content))]

    return ContentDirective


def _inliner() -> Any:
    """Return an inliner that looks for marks in paragraphs, but not in endless ones, which takes quadratic time."""
    from docutils import nodes
    from docutils.parsers.rst.states import Inliner

    inliner = Inliner()
    parse = inliner.parse

    def parse_short(text: str, *arguments: Any) -> Any:
        return parse(text, *arguments) if len(text) <= LONGEST_LINE_WITH_MARKS else ([nodes.Text(text)], [])

    inliner.parse = parse_short  # not a subclass: docutils looks its patterns up in the class itself
    return inliner


def _read_role(
    name: str,
    rawtext: str,
    text: str,
    lineno: int,
    inliner: object,
    options: Mapping[str, Any] | None = None,
    content: Sequence[str] = (),
) -> tuple[list[nodes.Node], list[nodes.Node]]:
    """Return the text of a role without the target in ``text <target>``."""
    from docutils import nodes

    return [nodes.inline(rawtext, _TARGET.sub("", text).lstrip("~!"))], []
