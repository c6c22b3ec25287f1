"""EPUB books: chapters in reading order, each read as a web page."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import unquote

from oreqa.core import MISSING, Document, PageWords
from oreqa.corpus.builder import TextBuilder
from oreqa.corpus.formats.html.page import read_page
from oreqa.corpus.formats.html.source import as_html, decode_page, visible_words
from oreqa.corpus.formats.office.packed import attribute, below, local, open_archive, packed_reader, parse_part
from oreqa.errors import DocumentError

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Font obfuscation methods, which do not encrypt text."""

_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")


@dataclass(frozen=True, slots=True)
class _Item:
    """A file of the book, listed in its package document."""

    name: str
    kind: str
    properties: str


@packed_reader
def read_epub(data: bytes, path: Path) -> Document:
    """Read a book. Places are "chapter.xhtml#anchor"; words are counted per file of the book.

    A chapter that is missing or not a web page is reported as MISSING. Raises DocumentError if there are no others.
    """
    archive = open_archive(data)
    _refuse_encrypted(archive)
    root = _root(archive)
    files = below(parse_part(archive, root + _CONTAINER, recover=True), "rootfile")
    package_name = root + next((attribute(file, "full-path") or "" for file in files), "")
    package = parse_part(archive, package_name, recover=True)
    folder = posixpath.dirname(package_name)
    items = {
        element.get("id", ""): _Item(
            _join(folder, element.get("href", "")), element.get("media-type", ""), element.get("properties") or ""
        )
        for element in below(package, "item")
    }
    names = set(archive.namelist())
    chapters = _chapter_titles(archive, items, names)
    builder = TextBuilder(path)
    missing: list[PageWords] = []
    read = 0
    for identifier in dict.fromkeys(reference.get("idref", "") for reference in below(package, "itemref")):
        item = items.get(identifier)
        if item is None or item.kind not in _PAGES or item.name not in names:
            missing.append(PageWords(posixpath.basename(item.name) if item else identifier, 0, 0, {MISSING: 0}))
            continue
        page = as_html(decode_page(archive.read(item.name)), ".xhtml")
        name = posixpath.basename(item.name)
        builder.start_page(name, visible_words(page))
        if "nav" in item.properties.split():
            builder.leave_out("contents", " ".join(title for _, title in _nav_links(archive, item.name)))
        else:
            read += 1
            read_page(page, name, chapters.get(item.name, "")).add_to(builder)
    if missing and not read:
        raise DocumentError("none of its chapters can be read: they are missing, or not web pages")
    titles = (" ".join("".join(element.itertext()).split()) for element in below(package, "title"))
    document = builder.document(next(titles, ""))
    return replace(document, pages=(*document.pages, *missing))


def _root(archive: zipfile.ZipFile) -> str:
    """Return the folder of the archive that holds the book, with a slash: "" unless it was packed as a folder."""
    roots = (name.removesuffix(_CONTAINER) for name in archive.namelist() if f"/{name}".endswith(f"/{_CONTAINER}"))
    return min(roots, key=len, default="")


def _refuse_encrypted(archive: zipfile.ZipFile) -> None:
    encryption = _root(archive) + _ENCRYPTION
    if encryption in archive.namelist():
        methods = {
            element.get("Algorithm", "")
            for element in below(parse_part(archive, encryption, recover=True), "EncryptionMethod")
        }
        if methods - set(_FONTS):
            raise DocumentError("it is encrypted (DRM): only its own reading software can open it")
    if any(part.flag_bits & 1 for part in archive.infolist()):
        raise DocumentError("it is encrypted: save it without a password")


def _chapter_titles(archive: zipfile.ZipFile, items: dict[str, _Item], names: set[str]) -> dict[str, str]:
    """Return the title of each file in the book's table of contents, the first one if there are several."""
    titles: dict[str, str] = {}
    for item in items.values():
        if item.name not in names:
            continue
        if "nav" in item.properties.split():
            links = _nav_links(archive, item.name)
        elif item.kind == "application/x-dtbncx+xml":
            links = _ncx_links(archive, item.name)
        else:
            continue
        for target, title in links:
            titles.setdefault(_join(posixpath.dirname(item.name), target.partition("#")[0]), title)
    return titles


def _nav_links(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[str, str]]:
    for link in below(parse_part(archive, name, recover=True), "a"):
        yield link.get("href") or "", " ".join("".join(link.itertext()).split())


def _ncx_links(archive: zipfile.ZipFile, name: str) -> Iterator[tuple[str, str]]:
    title = ""
    for element in parse_part(archive, name, recover=True).iter("{*}text", "{*}content"):
        if local(element) == "text":
            title = " ".join((element.text or "").split())
        else:
            yield element.get("src") or "", title


def _join(folder: str, target: str) -> str:
    return re.sub(r"^(?:\.\./)+", "", posixpath.normpath(posixpath.join(folder, unquote(target))))
