"""Zip archives of XML parts: the container of Word, PowerPoint, Excel, OpenDocument and EPUB files.

Element and attribute names are compared without namespaces, which differ between strict and transitional Office files.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

from oreqa.corpus import limits
from oreqa.corpus.builder import real_title
from oreqa.errors import DocumentError

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_SUFFIXES = {
    "application/epub+zip": ".epub",
    "application/vnd.oasis.opendocument.text": ".odt",
    "application/vnd.oasis.opendocument.spreadsheet": ".ods",
    "application/vnd.oasis.opendocument.presentation": ".odp",
    "word/document.xml": ".docx",
    "ppt/presentation.xml": ".pptx",
    "xl/workbook.xml": ".xlsx",
}
"""Extensions by the type that an archive declares, or by a part that it contains."""

T = TypeVar("T")


def packed_reader(read: Callable[[bytes, Path], T]) -> Callable[[bytes, Path], T]:
    """Wrap ``read`` to turn the errors of zipfile, lxml and other libraries into DocumentErrors."""

    @wraps(read)
    def read_file(data: bytes, path: Path) -> T:
        try:
            return read(data, path)
        except (DocumentError, MemoryError):
            raise
        except Exception as error:
            suffix, real_suffix = path.suffix.lower(), _real_suffix(data)
            reason = "it is damaged, or of another type: save it again in its own program"
            if real_suffix not in ("", suffix):
                reason = f"its content is that of a {real_suffix} file: rename it"
            raise DocumentError(f"it is not a readable {suffix} file; {reason}") from error

    return read_file


def _real_suffix(data: bytes) -> str:
    """Return the extension that fits an archive's content, "" if unknown."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            kind = archive.read("mimetype")[:80].decode("ascii").strip() if "mimetype" in archive.namelist() else ""
            return _SUFFIXES.get(kind) or next((_SUFFIXES[name] for name in archive.namelist() if name in _SUFFIXES), "")
    except Exception:  # zipfile may raise anything on a damaged file
        return ""


def open_archive(data: bytes) -> zipfile.ZipFile:
    """Open a file's archive. Raises DocumentError if it is encrypted, older than Office 2007, or unpacks to too much."""
    if data.startswith(_OLE):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise DocumentError("it is encrypted: save a copy without its password")
        raise DocumentError("it is in a format of Office 97 to 2003: save it in the current format")
    archive = zipfile.ZipFile(io.BytesIO(data))
    # zipfile never unpacks a part to more than its declared size.
    if sum(part.file_size for part in archive.infolist()) > limits.UNPACKED_BYTES:
        raise DocumentError(f"it unpacks to more than {limits.UNPACKED_BYTES >> 20} MB: split it")
    return archive


def parse_part(archive: zipfile.ZipFile, name: str, *, recover: bool = False) -> Any:
    """Parse a part and return its root element. Entities are not expanded, nothing else is loaded; lxml limits the depth.

    With ``recover``, a damaged part is parsed as far as possible. Raises DocumentError if that gives nothing.
    """
    from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        collect_ids=False,
        remove_comments=True,
        remove_pis=True,
        recover=recover,
    )
    root = etree.fromstring(archive.read(name), parser)
    if root is None:
        raise DocumentError(f"its part {name} is damaged")
    return root


def optional_part(archive: zipfile.ZipFile, name: str) -> Any | None:
    """Parse a part that the text does not depend on; return None if it is missing or damaged."""
    from lxml import etree

    try:
        return parse_part(archive, name)
    except (KeyError, ValueError, EOFError, zlib.error, etree.XMLSyntaxError, zipfile.BadZipFile):
        return None


def relations(archive: zipfile.ZipFile, part: str) -> list[tuple[str, str, str]]:
    """Return the relationships of a part, or of the file if ``part`` is "", as ``(identifier, kind, part)``."""
    folder, name = posixpath.split(part)
    root = optional_part(archive, posixpath.join(folder, "_rels", f"{name}.rels"))
    rows = []
    for relation in () if root is None else root:
        target = relation.get("Target") or ""
        if relation.get("TargetMode") != "External" and target:
            kind = (relation.get("Type") or "").rpartition("/")[2]
            rows.append(
                (relation.get("Id") or "", kind, posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/"))
            )
    return rows


def local(element: Any) -> str:
    """Return an element's name without its namespace; "" for comments and processing instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str) -> str | None:
    """Return an attribute's value by its name without a namespace."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), None)


def child(element: Any, name: str) -> Any | None:
    """Return the first child of that name."""
    return None if element is None else next((part for part in element if local(part) == name), None)


def value(element: Any, name: str) -> str | None:
    """Return the ``val`` attribute of the first child of that name, None without such a child."""
    part = child(element, name)
    return None if part is None else attribute(part, "val") or ""


def below(element: Any, name: str) -> Iterator[Any]:
    """Yield the elements of that name below ``element``, without those nested in another of that name."""
    for part in element:
        if local(part) == name:
            yield part
        else:
            yield from below(part, name)


def alternative_of(choices: Any) -> Any | None:
    """Return the first alternative that has text."""
    return next((choice for choice in choices if any(local(part) == "t" for part in choice.iter())), None)


def drawn_strike(run: Any) -> bool:
    """Return whether a run of a shape, table or diagram is struck out by its own properties."""
    properties = child(run, "rPr")
    return properties is not None and attribute(properties, "strike") in ("sngStrike", "dblStrike")


def all_text(root: Any, struck_out: list[str] | None = None) -> str:
    """Return all text of a part of an Office file, with one of each set of alternatives, and without deletions.

    Struck-out runs in shapes, tables and diagrams are appended to the list ``struck_out``, if passed.
    """
    pieces: list[str] = []

    def walk(element: Any) -> None:
        for part in element:
            name = local(part)
            if name == "t" and not len(part):  # in diagrams, an element with the same name contains paragraphs
                pieces.append(part.text or "")
            elif name == "AlternateContent":
                alternative = alternative_of(part)
                walk(() if alternative is None else alternative)
            elif struck_out is not None and name in ("r", "fld") and drawn_strike(part):
                struck_out.append(all_text(part))
            else:
                if name in ("p", "tab", "br", "cr", "noBreakHyphen"):
                    pieces.append("\n" if name == "br" else " ")
                walk(part)

    walk(root)
    return "".join(pieces)


def core_title(archive: zipfile.ZipFile) -> str:
    """Return the title in the properties of an Office file, "" if it is a program's placeholder."""
    names = [part for _, kind, part in relations(archive, "") if kind == "core-properties"]
    root = optional_part(archive, names[0]) if names else None
    return real_title(getattr(child(root, "title"), "text", "") or "")


def tidy(text: str) -> str:
    """Collapse white space within lines, and drop empty lines."""
    return "\n".join(line for line in (" ".join(part.split()) for part in text.split("\n")) if line)
