"""The tokens of Markdown: CommonMark with tables, struck-out text, wiki links and footnote marks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence, Set
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markdown_it.rules_inline import StateInline
    from markdown_it.token import Token

LEFT_OUT = "left_out"
"""The type of a token for omitted text; its ``info`` says why."""

_STRUCK = re.compile(r"<(?P<end>/)?(?:s|del|strike)\b", re.IGNORECASE)
_WIKI_LINK = re.compile(r"\[\[(?!\s)(?P<left_out>[^\[\]|\n]*\|)?(?P<text>[^\[\]|\n]+)\]\](?![(\[])")
_FOOTNOTE = re.compile(r"(?<=\S)\[\^(?P<left_out>[^\[\]\s]+)\]")
_MAX_DEPTH = 100
"""Depth of nested lists and quotes beyond which the parser drops text."""
_MAX_QUOTES = 20
"""Depth of nested quotes; deeper ones are treated as this deep. The parser reads every line once per depth."""
_FEWEST_LINKS = 3
"""The fewest links in a table of contents."""
_OF_LISTS = frozenset(
    f"{kind}_{end}" for kind in ("bullet_list", "ordered_list", "list_item", "paragraph") for end in ("open", "close")
)
_DEEPER_QUOTE = re.compile(rf"^( {{0,3}}(?:> {{0,4}}){{{_MAX_QUOTES - 1}}}>)(?: {{0,4}}>)+", re.MULTILINE)


def markdown_tokens(text: str) -> list[Token]:
    """Parse Markdown with tables, struck-out text, wiki links and footnote marks."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark", {"maxNesting": _MAX_DEPTH}).enable(["table", "strikethrough"]).disable("text_join")
    parser.inline.ruler.before("link", "marks", _read_mark)
    return parser.parse(_DEEPER_QUOTE.sub(r"\1", text))


def _read_mark(state: StateInline, silent: bool) -> bool:
    """Read a wiki link, ``[[target|text]]``, or a footnote mark, ``[^1]``, at the parser's position."""
    match = _WIKI_LINK.match(state.src, state.pos) or _FOOTNOTE.match(state.src, state.pos)
    if match is None:
        return False
    if not silent:
        state.push(LEFT_OUT, "", 0)
        state.tokens[-1].info = "link targets" if match.re is _WIKI_LINK else "footnote marks"
        state.tokens[-1].content = match["left_out"] or ""
        if match.re is _WIKI_LINK:
            state.push("text", "", 0)
            state.tokens[-1].content = match["text"].strip()
    state.pos = match.end()
    return True


def flat_tokens(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield inline tokens, each image followed by the tokens of its description; struck-out ones become omitted text."""
    struck = 0
    for token in tokens:
        struck += (token.type == "s_open") - (token.type == "s_close")
        if token.type == "html_inline" and (tag := _STRUCK.match(token.content)):
            struck = max(0, struck + (-1 if tag["end"] else 1))
        if struck:
            yield token.copy(type=LEFT_OUT, info="struck-out text")
            continue
        yield token
        if token.type == "image":
            yield from flat_tokens(token.children or ())


def shown_text(child: Token) -> str:
    """Return the text of a token within a paragraph or cell."""
    if child.type in ("text", "code_inline", "text_special"):
        return child.content
    breaks = child.type in ("softbreak", "hardbreak") or child.content.lower().startswith("<br")
    return "\n" if breaks else ""


def contents_lists(tokens: Sequence[Token]) -> dict[int, int]:
    """Return the start and end of each list that consists only of links to headings of the same file."""
    headings = {token.content for number, token in enumerate(tokens) if number and tokens[number - 1].type == "heading_open"}
    ends: dict[int, int] = {}
    begin = None
    for number, token in enumerate(tokens):
        if token.type not in ("bullet_list_open", "bullet_list_close", "ordered_list_open", "ordered_list_close"):
            continue
        if token.nesting == 1 and begin is None:
            begin = number
        elif begin is not None and token.level == tokens[begin].level:
            inside = [inner for inner in tokens[begin:number] if inner.type not in _OF_LISTS]
            if len(inside) >= _FEWEST_LINKS and all(_is_link_to(headings, inner) for inner in inside):
                ends[begin] = number
            begin = None
    return ends


def _is_link_to(headings: Set[str], token: Token) -> bool:
    """Return whether a paragraph is a link to one of the headings."""
    children = token.children or []
    if len(children) < 3 or (children[0].type, children[-1].type) != ("link_open", "link_close"):
        return False
    text = token.content[1:].rpartition("](")[0]
    return str(children[0].attrGet("href")).startswith("#") and text in headings
