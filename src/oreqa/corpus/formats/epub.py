"""Books (EPUB): their chapters in reading order, each read as a web page."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.builder import TextBuilder
from oreqa.corpus.formats.html import read_page
from oreqa.corpus.formats.html_source import as_html, decode_page, visible_words
from oreqa.errors import DocumentError, describe

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
"""Ways to garble fonts, which encrypt no text."""

_PAGES = ("application/xhtml+xml", "text/html", "text/x-oeb1-document")


@dataclass(frozen=True, slots=True)
class _Item:
    """A file of the book, as its package names it."""

    name: str
    kind: str
    properties: str


def read_epub(data: bytes, path: Path) -> Document:
    """A book. Places are "chapter.xhtml#anchor"; every file of it is a page of the report on words."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return _read(archive, path)
    except (DocumentError, MemoryError):
        raise
    except Exception as error:  # zipfile and lxml each raise their own
        raise DocumentError(f"it is not a readable .epub file ({describe(error)})") from error


def _read(archive: zipfile.ZipFile, path: Path) -> Document:
    if sum(part.file_size for part in archive.infolist()) > limits.UNPACKED_BYTES:
        raise DocumentError(f"it unpacks to more than {limits.UNPACKED_BYTES >> 20} MB: split it")
    _refuse_encrypted(archive)
    package_name = _attribute(_xml(archive.read(_CONTAINER)), "rootfile", "full-path")
    package = _xml(archive.read(package_name))
    folder = posixpath.dirname(package_name)
    items = {
        element.get("id", ""): _Item(
            _join(folder, element.get("href", "")), element.get("media-type", ""), element.get("properties") or ""
        )
        for element in _named(package, "item")
    }
    names = set(archive.namelist())
    chapters = _chapter_titles(archive, items, names)
    builder = TextBuilder(path)
    for identifier in dict.fromkeys(reference.get("idref", "") for reference in _named(package, "itemref")):
        item = items.get(identifier)
        if item is None or item.kind not in _PAGES or item.name not in names:
            continue
        data = archive.read(item.name)
        page = as_html(decode_page(data), ".xhtml")
        name = posixpath.basename(item.name)
        builder.start_page(name, visible_words(page))
        if "nav" in item.properties.split():
            builder.leave_out("contents", " ".join(title for _, title in _nav_links(data)))
        else:
            read_page(page, name, chapters.get(item.name, "")).fill(builder)
    title = next((" ".join("".join(element.itertext()).split()) for element in _named(package, "title")), "")
    return builder.document(title)


def _refuse_encrypted(archive: zipfile.ZipFile) -> None:
    names = archive.namelist()
    if _ENCRYPTION in names:
        methods = {element.get("Algorithm", "") for element in _named(_xml(archive.read(_ENCRYPTION)), "EncryptionMethod")}
        if methods - set(_FONTS):
            raise DocumentError("it is encrypted (DRM): only its own reading software can open it")
    if any(part.flag_bits & 1 for part in archive.infolist()):
        raise DocumentError("it is encrypted: save it without a password")


def _chapter_titles(archive: zipfile.ZipFile, items: dict[str, _Item], names: set[str]) -> dict[str, str]:
    """The title of each file that the book's contents lead to: the first that is given for it."""
    titles: dict[str, str] = {}
    for item in items.values():
        if item.name not in names:
            continue
        if "nav" in item.properties.split():
            links = _nav_links(archive.read(item.name))
        elif item.kind == "application/x-dtbncx+xml":
            links = _ncx_links(archive.read(item.name))
        else:
            continue
        for target, title in links:
            titles.setdefault(_join(posixpath.dirname(item.name), target.partition("#")[0]), title)
    return titles


def _nav_links(data: bytes) -> Iterator[tuple[str, str]]:
    for link in _named(_xml(data), "a"):
        yield link.get("href") or "", " ".join("".join(link.itertext()).split())


def _ncx_links(data: bytes) -> Iterator[tuple[str, str]]:
    title = ""
    for element in _xml(data).iter("{*}text", "{*}content", "text", "content"):
        if str(element.tag).endswith("text"):
            title = " ".join((element.text or "").split())
        else:
            yield element.get("src") or "", title


def _xml(data: bytes) -> Any:
    """The root of an XML file, damaged or not; no entity is fetched or expanded."""
    from lxml import etree

    root = etree.fromstring(data, etree.XMLParser(recover=True, resolve_entities=False, no_network=True, huge_tree=False))
    if root is None:
        raise DocumentError("its list of contents is damaged")
    return root


def _named(root: Any, name: str) -> list[Any]:
    """The elements of a name, in any namespace."""
    return list(root.iter(f"{{*}}{name}"))


def _attribute(root: Any, element: str, name: str) -> str:
    return next((found.get(name) or "" for found in _named(root, element)), "")


def _join(folder: str, target: str) -> str:
    return re.sub(r"^(?:\.\./)+", "", posixpath.normpath(posixpath.join(folder, unquote(target))))
