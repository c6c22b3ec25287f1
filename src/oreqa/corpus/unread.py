"""Paths that are not read, and what to do instead: web addresses, and archives other than zip."""

from __future__ import annotations

import gzip
import mimetypes
import os
import re
import shlex
import zlib
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, cast
from urllib.parse import urlsplit

from oreqa.corpus.opening import open_file
from oreqa.errors import DocumentError
from oreqa.visible import counted

_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(?=[^/])")
_DOWNLOADED = ("http", "https", "ftp", "ftps")

_UNPACKED_BY = {
    **dict.fromkeys((".tar", ".tgz", ".tbz", ".tbz2", ".txz", ".tzst"), "tar xf"),
    **dict.fromkeys((".tar.gz", ".tar.bz2", ".tar.xz", ".tar.zst", ".tar.lz"), "tar xf"),
    ".7z": "7z x",
    ".rar": "unrar x",
    ".cab": "cabextract",
    ".pst": "readpst",
    ".deb": "dpkg -x {} unpacked",
    ".gz": "gunzip -k",
    ".bz2": "bunzip2 -k",
    ".xz": "unxz -k",
    ".zst": "unzstd",
    ".lz": "lzip -dk",
}
"""The command that unpacks an archive, by its extension; an extension precedes shorter ones that it ends in."""

_CONVERTED_BY = {
    **dict.fromkeys((".ps", ".eps"), "ps2pdf {}"),
    **{".dvi": "dvipdf {}", ".djvu": "ddjvu -format=pdf {} book.pdf"},
    **dict.fromkeys((".doc", ".wpd", ".sxw"), "soffice --convert-to docx {}"),
    **dict.fromkeys((".xls", ".sxc"), "soffice --convert-to xlsx {}"),
    **dict.fromkeys((".ppt", ".sxi"), "soffice --convert-to pptx {}"),
    **dict.fromkeys((".mobi", ".azw3"), "ebook-convert {} book.epub"),
}
"""The command that converts a document of a type that is not read, by its extension."""

_SINGLE = (".gz", ".bz2", ".xz", ".zst", ".lz")
"""Extensions of files that contain one file."""


def may_be_text(suffix: str) -> bool:
    """Return whether files with this extension may be plain text: not pictures, sounds, fonts or programs' data.

    Examples:
        >>> may_be_text(""), may_be_text(".Debian"), may_be_text(".png")
        (True, True, False)
    """
    kind = (mimetypes.guess_type(f"x{suffix}")[0] or "").partition("/")[0]
    return kind not in ("application", "audio", "font", "image", "video")


_DOCUMENT_NAMES = frozenset(("readme", "faq", "changelog"))
_DOCUMENT_NAMES_IN_CAPITALS = frozenset(
    ("NEWS", "INSTALL", "CHANGES", "HISTORY", "TODO", "BUGS", "NOTES", "USAGE", "MANUAL", "HOWTO", "HACKING")
)
"""In other letters, these may be the names of scripts or of a program's data: install, history."""


def is_document_name(path: Path) -> bool:
    """Return whether a file's name is one that text files without extension have.

    Examples:
        >>> is_document_name(Path("doc/README")), is_document_name(Path("FAQ.gz")), is_document_name(Path("install"))
        (True, True, False)
    """
    name = path.stem if path.suffix.lower() == ".gz" else path.name
    return name.lower() in _DOCUMENT_NAMES or name in _DOCUMENT_NAMES_IN_CAPITALS


def include_patterns(files: Iterable[Path]) -> list[str]:
    """Return the patterns for ``include`` that take those files of other kinds that hold text, the most files first.

    Of the files of each pattern, one is opened. Many names without extension get one pattern together.
    """
    groups: dict[str, list[Path]] = {}
    for path in files:
        if may_be_text(path.suffix if path.suffix != ".gz" else path.with_suffix("").suffix):
            groups.setdefault(_pattern(path), []).append(path)
    largest = sorted(groups, key=lambda pattern: -len(groups[pattern]))[:_MOST_GROUPS]
    patterns = [pattern for pattern in largest if _holds_text(groups[pattern][0])]
    names = [pattern for pattern in patterns if "." not in pattern]
    if len(names) <= _MOST_NAMES:
        return patterns
    together = "[A-Z]*" if all(fnmatchcase(name, "[A-Z]*") for name in names) else "[A-Za-z]*"
    return [*(pattern for pattern in patterns if pattern not in names or not fnmatchcase(pattern, together)), together]


def include_hint(patterns: Sequence[str]) -> str:
    """Return how to add the files of some patterns; empty if there are none."""
    options = " ".join(f"--include {shlex.quote(pattern)}" for pattern in patterns[:_MOST_SHOWN])
    rest = f" and {counted(len(patterns) - _MOST_SHOWN, 'more pattern')}" if len(patterns) > _MOST_SHOWN else ""
    return f"to add those that are text: {options}{rest}" if options else ""


_MOST_SHOWN = 8
_MOST_GROUPS, _MOST_NAMES = 100, 4
"""Kinds of files of which one is opened, and names without extension that get a pattern each."""


def _pattern(path: Path) -> str:
    """Return the pattern that takes the files of a kind: ``*.conf``, ``*.conf.gz``, or the name of one without extension."""
    suffixes = path.suffixes[-2:] if path.suffix == ".gz" else path.suffixes[-1:]
    return path.name if suffixes in ([], [".gz"]) else f"*{''.join(suffixes)}"


def _holds_text(path: Path) -> bool:
    """Return whether a file begins like a text that is no script, gzipped or not."""
    try:
        with open_file(path) as file:
            head = cast(IO[bytes], gzip.open(file)).read(_HEAD) if path.suffix == ".gz" else file.read(_HEAD)
    except (OSError, EOFError, zlib.error, DocumentError):
        return False
    return bool(head.strip()) and b"\0" not in head and not head.startswith((b"#!", *NO_PROSE))


_HEAD = 4096

NO_PROSE = (b"{\\rtf", b"%PDF-", b"%!PS")
"""First bytes of files of other types that may look like text."""


def archive_suffix(path: Path) -> str | None:
    """Return the extension of an unsupported archive; None for other files.

    Examples:
        >>> archive_suffix(Path("backup.tar.GZ")), archive_suffix(Path("letters.zip"))
        ('.tar.gz', None)
    """
    name = path.name.lower()
    return next((suffix for suffix in _UNPACKED_BY if name.endswith(suffix) and name != suffix), None)


def may_be_gzipped_text(path: Path) -> bool:
    """Return whether a file's name is that of a gzipped file that may contain plain text, of no supported format.

    Examples:
        >>> may_be_gzipped_text(Path("FAQ.gz")), may_be_gzipped_text(Path("logo.png.gz"))
        (True, False)
    """
    return archive_suffix(path) == ".gz" and may_be_text(path.with_suffix("").suffix)


def how_to_unpack(path: Path, shown: str = "") -> str | None:
    """Return why an archive is not read and how to unpack it, by its name or the ``shown`` one; None for other files.

    A file that is of a type that is not read once it is unpacked, such as ``a.ps.gz``, is to be converted.
    """
    suffix = archive_suffix(path)
    if suffix is None:
        return None
    name = shown or path.name
    command = _command(_UNPACKED_BY[suffix], name)
    if suffix in _SINGLE and (conversion := how_to_convert(Path(name[: -len(suffix)]), f"{command} && ")):
        return conversion
    rest = "file" if suffix in _SINGLE else "folder"
    return f"it is an archive of a kind that is not read: unpack it ({command}), and index the {rest}"


def how_to_convert(path: Path, before: str = "") -> str | None:
    """Return that a type of documents is not read, and how to convert a file of it; None for other types.

    ``before`` is the command that comes first.

    Examples:
        >>> print(how_to_convert(Path("guide.ps")))
        files of type .ps are not read: index its PDF, HTML or text version, or convert it (ps2pdf guide.ps)
    """
    suffix = path.suffix.lower()
    if suffix not in _CONVERTED_BY:
        return None
    command = before + _command(_CONVERTED_BY[suffix], str(path))
    return f"files of type {suffix} are not read: index its PDF, HTML or text version, or convert it ({command})"


def _command(command: str, name: str) -> str:
    """Return a command with the name of its file."""
    quoted = shlex.quote(f"./{name}" if name.startswith("-") else name)
    return command.format(quoted) if "{}" in command else f"{command} {quoted}"


def how_to_download(path: Path) -> str | None:
    """Return what to do with a path that is an address on the web or in another store; None if it is none, or a file's name.

    Examples:
        >>> print(how_to_download(Path("https://example.org/a.pdf")))
        https://example.org/a.pdf: it is an address: download it (curl -LO https://example.org/a.pdf), and index the file
    """
    match = _ADDRESS.match(str(path))
    if match is None or os.path.lexists(path):
        return None
    scheme, rest = match[1].lower(), str(path)[match.end() :]
    slashes = "///" if scheme == "file" else "//"  # Path collapses several slashes into one
    address = f"{match[1]}:{slashes}{rest}"
    if scheme == "file":
        return f"{address}: it is an address: name the path, /{rest}"
    if scheme not in _DOWNLOADED:
        return f"{address}: it is an address: download it, and index the file"
    name = PurePosixPath(urlsplit(address).path).name
    option = "-Lo page.html" if "." not in name else f"-Lo {shlex.quote(name)}" if "?" in address else "-LO"
    return f"{address}: it is an address: download it (curl {option} {shlex.quote(address)}), and index the file"
