"""DocBook XML: books, articles and manual pages."""

from __future__ import annotations

import re
from html import escape
from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus.formats.html.source import decode_page
from oreqa.corpus.formats.rendered import read_rendered
from oreqa.errors import DocumentError

_HEAD = re.compile(rb"//OASIS//DTD DocBook|docbook\.org/ns/docbook")
_HEAD_BYTES = 4096
_DOCTYPE = re.compile(r"<!DOCTYPE[^\[>]*(?:\[.*?\]\s*)?>", re.DOTALL)
_ENTITY = re.compile(r"<!ENTITY\s+([\w.-]+)\s+(?:\"([^\"]*)\"|'([^']*)')\s*>")
_REFERENCE = re.compile(r"&(?!(?:amp|lt|gt|quot|apos);)([A-Za-z][\w.-]*);")


def _names(names: str, tag: str = "") -> dict[str, str]:
    """Map element names to the tag that represents them in web pages."""
    return dict.fromkeys(names.split(), tag)


_SECTIONS = _names(
    "set book part chapter appendix preface article section sect1 sect2 sect3 sect4 sect5 refentry reference glossary"
    " refsect1 refsect2 refsect3 refsection simplesect bibliography dedication acknowledgements colophon topic glossdiv"
)
_HTML = {
    **_names("para simpara formalpara bridgehead attribution blockquote epigraph refpurpose subtitle titleabbrev", "p"),
    **_names("cmdsynopsis funcsynopsis synopsis msgtext", "p"),
    **_names("itemizedlist simplelist", "ul"),
    **_names("orderedlist procedure substeps", "ol"),
    **_names("listitem step member callout", "li"),
    **_names("variablelist glosslist segmentedlist qandaset", "dl"),
    **_names("term glossterm question", "dt"),
    **_names("glossdef answer", "dd"),
    **_names("programlisting screen literallayout screenshot address", "pre"),
    **_names("table informaltable", "table"),
    **_names(
        "note tip warning caution important example figure informalexample sidebar abstract revision revdescription", "div"
    ),
    **{"row": "tr", "entry": "td", "superscript": "sup", "subscript": "sub", "quote": "q"},
}
_SKIPPED = _names("indexterm index toc remark anchor beginpage imageobject textobject lot")
_INFO = _names("info bookinfo articleinfo chapterinfo sectioninfo refentryinfo setinfo sect1info appendixinfo refmeta")
_CAPTIONED = _names("table figure example formalpara note tip warning caution important sidebar abstract")


def is_docbook(head: bytes) -> bool:
    """Return whether a file that begins with ``head`` declares itself as DocBook."""
    return bool(_HEAD.search(head[:_HEAD_BYTES]))


def read_docbook(data: bytes, path: Path) -> Document:
    """Read DocBook. Its title is the outermost one. Indexes, remarks and includes are not read."""
    from lxml import etree

    if not is_docbook(data) and path.suffix.lower() == ".xml":
        raise DocumentError("it is XML, but not DocBook")
    source = decode_page(data)
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=False, recover=True)
    root = etree.fromstring(_without_entities(source).encode("utf-8", "replace"), parser)
    if root is None:
        raise DocumentError("it is not XML")
    page = _Page()
    page.add(root, 0)
    return read_rendered("".join(page.parts), source, path, page.title)


def _without_entities(source: str) -> str:
    """Return the text without its document type and declared encoding, with short entities expanded."""
    entities: dict[str, str] = {}
    if doctype := _DOCTYPE.match(source, max(0, source.find("<!DOCTYPE"))):
        for name, double, single in _ENTITY.findall(doctype.group()):
            value = double or single
            if "&" not in value and len(value) <= _HEAD_BYTES:
                entities.setdefault(name, value)
        source = source[: doctype.start()] + source[doctype.end() :]
    source = re.sub(r"^\s*<\?xml[^>]*\?>", "", source)
    return _REFERENCE.sub(lambda match: entities.get(match[1], _named(match[1])), source)


def _named(name: str) -> str:
    """Return the character of a name in HTML; an unknown entity is an unread include, or has no text."""
    from html.entities import html5

    return escape(html5.get(f"{name};", " "))


class _Page:
    """The web page markup for a DocBook tree."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.title = ""
        self._columns: dict[Any, dict[str, tuple[int, int]]] = {}  # by table, the first and last column of a name

    def add(self, element: Any, level: int) -> None:
        """Add an element at a ``level`` of sections, and the text that follows it in its parent."""
        pending: list[tuple[Any, int, str]] = [(element, level, "")]
        while pending:
            current, depth, closing = pending.pop()
            if closing or isinstance(current, str):
                self.parts.append(closing or escape(current, quote=False))
                continue
            tail = current.tail if current is not element else ""
            if tail:
                pending.append((tail, depth, ""))
            name = current.tag.rpartition("}")[2] if isinstance(current.tag, str) else ""
            if not name or name in _SKIPPED:
                continue
            depth += name in _SECTIONS
            opening, end = self._tags(current, name, depth)
            self.parts.append(opening)
            if end is None:
                continue
            if end:
                pending.append((current, depth, end))
            pending.extend((child, depth, "") for child in reversed(current))
            if current.text:
                pending.append((current.text, depth, ""))

    def _spanned(self, entry: Any) -> int:
        """Return how many columns a cell spans, by the names of the first and the last, from it or its ``spanspec``."""
        group = next(entry.iterancestors("{*}tgroup", "{*}entrytbl"), None)
        if group is None:
            return 1
        if group not in self._columns:
            names = [part.get("colname", "") for part in group if str(part.tag).endswith("colspec")]
            columns = {name: (number, number) for number, name in enumerate(names) if name}
            for part in group:
                if str(part.tag).endswith("spanspec"):
                    ends = (columns.get(part.get(end, ""), (0, 0))[0] for end in ("namest", "nameend"))
                    columns[part.get("spanname", "")] = (next(ends), next(ends))
            self._columns[group] = columns
        columns = self._columns[group]
        if spanned := columns.get(entry.get("spanname", "")):
            return max(1, spanned[1] - spanned[0] + 1)
        first, last = (columns.get(entry.get(end, ""), None) for end in ("namest", "nameend"))
        return max(1, last[0] - first[0] + 1) if first and last else 1

    def _tags(self, element: Any, name: str, level: int) -> tuple[str, str | None]:
        """Return the tags before and after an element; None for the latter if its children are not read."""
        parent = element.getparent()
        parent_name = "" if parent is None else parent.tag.rpartition("}")[2]
        if name in ("title", "refname"):
            outer = parent_name if parent_name not in _INFO else parent.getparent().tag.rpartition("}")[2]
            if outer in _CAPTIONED or parent_name in _HTML:
                return "<p class=title>", "</p>"
            if not self.title and level <= 1:
                self.title = " ".join("".join(element.itertext()).split())
                return (f"<p>{escape(self.title)}</p>" if name == "refname" else ""), None
            if name == "refname" or parent_name == "refnamediv":
                return "<p>", "</p>"
            return f"<h{min(max(level, 1), 6)}>", f"</h{min(max(level, 1), 6)}>"
        if name in _INFO:
            return "<div>", "</div>"
        if name == "listitem" and parent_name in ("varlistentry", "glossentry"):
            return "<dd>", "</dd>"
        if name == "footnote":
            return " (", ")"
        if name == "thead":
            return "", ""
        if name == "entry":
            tag = "th" if parent_name == "row" and parent.getparent().tag.rpartition("}")[2] == "thead" else "td"
            rows = int(element.get("morerows", "0")) + 1 if element.get("morerows", "0").isdecimal() else 1
            return f"<{tag} rowspan={rows} colspan={self._spanned(element)}>", f"</{tag}>"
        if name == "ulink" and element.get("url") and not "".join(element.itertext()).strip():
            return escape(element.get("url")), None
        if name in ("guisubmenu", "guimenuitem") and parent_name == "menuchoice":
            return " > ", ""
        if name == "sbr":
            return "<br>", None
        if name == "manvolnum":
            return "(", ")"
        return (f"<{_HTML[name]}>", f"</{_HTML[name]}>") if name in _HTML else ("", "")
