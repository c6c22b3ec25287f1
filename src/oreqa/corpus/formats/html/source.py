"""Decodes a web page, and counts its words independently of the parser."""

from __future__ import annotations

import codecs
import re
from html import escape, unescape

from oreqa.corpus.builder import count_words
from oreqa.corpus.decode import decode, detect_encoding
from oreqa.errors import DocumentError

_HEAD = 4096
"""Bytes searched for a declared encoding; browsers search 1,024."""

_DECLARED = re.compile(rb"""<\?xml[^>]*encoding\s*=\s*["']([\w.:-]+)|<meta[^>]*charset\s*=\s*["']?\s*([\w.:-]+)""", re.I)
_ENCODING = re.compile(
    r"utf-?8|us-ascii|ascii|latin|l\d|iso|8859|cp|windows|win|mac|koi8|big5|gb|hz|euc|shift|sjis|ks_c|tis|x-"
)
_WESTERN = ("iso8859-1", "ascii")

_XHTML = re.compile(r"\s*<\?xml|[^<]*<!DOCTYPE[^>]*XHTML|[^>]{0,500}<html[^>]*/1999/xhtml", re.I)
_EMPTY = re.compile(r"<([A-Za-z][\w:-]*)((?:\s[^<>]*)?)/>")
_VOID = re.compile("area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr", re.I)

_UNSEEN = re.compile(r"<(script|style|template|noscript|head|title)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)", re.I | re.S)
_TAG = re.compile(r"<(/?[A-Za-z][\w:-]*|[!?])[^<>]*>")
_INSIDE_WORDS = re.compile(
    "/?(?:a|abbr|acronym|b|bdi|bdo|big|cite|code|data|del|dfn|em|font|i|ins|kbd|mark|nobr|q|s|samp|small|span|strike|strong|sub"
    "|sup|tt|u|var|wbr)",
    re.I,
)

_PICTURE = re.compile(r"<img\b[^<>]*>", re.I)
_ALTERNATIVE = re.compile(r"""\salt\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.I)
_MARK = re.compile(r"<a\b[^<>]*>\s*<sup\b|<sup\b[^<>]*>(?=\s*(?:<a\b|[+−-]?\d+[.,/]\d))", re.I)
"""The start of a footnote mark, or of a raised fraction: neither is part of the word before it."""


def decode_page(data: bytes) -> str:
    """Decode a page by its byte order mark, its declared encoding if that fits, as UTF-8, or by a guess.

    Raises DocumentError if it is not text.
    """
    declared = _declared(data)
    if declared and not data.startswith((codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        try:
            detect_encoding(data[: 1 << 16].translate(None, bytes(range(128, 256))))  # raises for binary files
            return data.decode(declared)
        except UnicodeDecodeError:
            pass
    try:
        return decode(data)
    except DocumentError:
        if not declared or b"\0" in data[: 1 << 16]:
            raise
    return data.decode(declared, errors="replace")


def _declared(data: bytes) -> str:
    """Return the encoding that a page declares; "" for none, and for names that are not encodings of web pages."""
    match = _DECLARED.search(data[:_HEAD])
    name = (match.group(1) or match.group(2)).decode("ascii", "replace").lower() if match else ""
    if not _ENCODING.match(name):
        return ""
    try:
        name = codecs.lookup(name.removeprefix("x-")).name
    except (LookupError, ValueError):
        return ""
    return "cp1252" if name in _WESTERN else name  # as browsers do


def as_html(page: str, suffix: str = "") -> str:
    """Convert XHTML's self-closing elements and CDATA sections to HTML; HTML pages are returned unchanged."""
    if suffix != ".xhtml" and not _XHTML.match(page[:_HEAD]):
        return page
    parts = page.split("<![CDATA[")
    for number in range(1, len(parts)):
        text, end, after = parts[number].partition("]]>")
        parts[number] = escape(text) + after if end else "<![CDATA[" + text
    return _EMPTY.sub(_with_end_tag, "".join(parts))


def _with_end_tag(match: re.Match[str]) -> str:
    name = match.group(1)
    return match.group() if _VOID.fullmatch(name) else f"<{name}{match.group(2)}></{name}>"


def visible_words(page: str) -> int:
    """Count a page's words and its pictures' alternative texts, without tags, comments, styles, scripts and templates.

    Hidden elements and navigation count.
    """
    shown = _MARK.sub(r" \g<0>", _PICTURE.sub(_alternative, _UNSEEN.sub(" ", page)))
    return count_words(unescape(_TAG.sub(_gap, shown)).replace("\xad", "").replace("\u200b", ""))


def _alternative(picture: re.Match[str]) -> str:
    """Return a picture's alternative text, separated from the words around it; its tag if it has none."""
    text = _ALTERNATIVE.search(picture[0])
    return f" {text[1] or text[2] or text[3] or ''} " if text else picture[0]


def _gap(match: re.Match[str]) -> str:
    return "" if _INSIDE_WORDS.fullmatch(match.group(1)) else " "
