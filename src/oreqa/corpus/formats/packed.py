"""What Word, PowerPoint, Excel, OpenDocument and EPUB files share: zip archives of XML parts.

Names are compared without their namespaces, which differ between the two dialects of Office files.
"""

from __future__ import annotations

import io
import posixpath
import zipfile
import zlib
from collections.abc import Callable, Iterator
from functools import wraps
from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.titles import real_title
from oreqa.errors import DocumentError, describe

_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

Reader = Callable[[bytes, Path], Document]


def packed_reader(read: Reader) -> Reader:
    """``read``, with whatever zipfile, lxml and the libraries raise as DocumentError."""

    @wraps(read)
    def read_file(data: bytes, path: Path) -> Document:
        try:
            return read(data, path)
        except (DocumentError, MemoryError):
            raise
        except Exception as error:
            raise DocumentError(f"it is not a readable {path.suffix.lower()} file ({describe(error)})") from error

    return read_file


def open_archive(data: bytes) -> zipfile.ZipFile:
    """The archive that a file is. Raises DocumentError if it is encrypted, of an old Office, or unpacks to too much."""
    if data.startswith(_OLE):
        if "EncryptedPackage".encode("utf-16-le") in data:
            raise DocumentError("it is encrypted: save a copy without its password")
        raise DocumentError("it is a file of Office 97 to 2003: save it in the present format")
    archive = zipfile.ZipFile(io.BytesIO(data))
    # No part can unpack to more than it declares: zipfile stops there.
    if sum(part.file_size for part in archive.infolist()) > limits.UNPACKED_BYTES:
        raise DocumentError(f"it unpacks to more than {limits.UNPACKED_BYTES >> 20} MB: split it")
    return archive


def parse_part(archive: zipfile.ZipFile, name: str, *, recover: bool = False) -> Any:
    """The root element of a part. No entity is expanded, nothing else is loaded, and lxml bounds the nesting.

    With ``recover`` what can be made out of a damaged part is. Raises DocumentError if that is nothing.
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
    """As ``parse_part``; None where it is missing or damaged, for parts without which the text can be read."""
    from lxml import etree

    try:
        return parse_part(archive, name)
    except (KeyError, ValueError, EOFError, zlib.error, etree.XMLSyntaxError, zipfile.BadZipFile):
        return None


def relations(archive: zipfile.ZipFile, part: str) -> list[tuple[str, str, str]]:
    """What a part of an Office file refers to inside it: ``(identifier, kind, part)``; part "" is the file itself."""
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
    """An element's name without its namespace; "" for what is no element."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def attribute(element: Any, name: str) -> str | None:
    """An attribute by its name without its namespace."""
    return next((value for key, value in element.items() if key.rpartition("}")[2] == name), None)


def child(element: Any, name: str) -> Any | None:
    """The first child of that name."""
    return None if element is None else next((part for part in element if local(part) == name), None)


def value(element: Any, name: str) -> str | None:
    """The ``val`` of the first child of that name, None without such a child."""
    part = child(element, name)
    return None if part is None else attribute(part, "val") or ""


def below(element: Any, name: str) -> Iterator[Any]:
    """All elements of that name below ``element``, those inside of another left out."""
    for part in element:
        if local(part) == name:
            yield part
        else:
            yield from below(part, name)


def alternative_of(choices: Any) -> Any | None:
    """The first of several ways to say the same that says something."""
    return next((choice for choice in choices if any(local(part) == "t" for part in choice.iter())), None)


def all_text(root: Any) -> str:
    """Every text of a part of an Office file, whatever it stands in: alternatives once, deletions not at all."""
    pieces: list[str] = []

    def walk(element: Any) -> None:
        for part in element:
            name = local(part)
            if name == "t" and not len(part):  # diagrams have paragraphs in an element of the same name
                pieces.append(part.text or "")
            elif name == "AlternateContent":
                alternative = alternative_of(part)
                walk(() if alternative is None else alternative)
            else:
                if name in ("p", "tab", "br", "cr", "noBreakHyphen"):
                    pieces.append("\n" if name == "br" else " ")
                walk(part)

    walk(root)
    return "".join(pieces)


def core_title(archive: zipfile.ZipFile) -> str:
    """The title in the properties of an Office file, unless a program made it up."""
    names = [part for _, kind, part in relations(archive, "") if kind == "core-properties"]
    root = optional_part(archive, names[0]) if names else None
    return real_title(getattr(child(root, "title"), "text", "") or "")


def tidy(text: str) -> str:
    """A paragraph's text with single blanks, and without empty lines."""
    return "\n".join(line for line in (" ".join(part.split()) for part in text.split("\n")) if line)
