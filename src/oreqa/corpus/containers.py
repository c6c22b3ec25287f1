"""Files that contain files: zip archives, and mailboxes (mbox). Their members are read one at a time."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import PurePosixPath
from typing import IO

from oreqa.corpus import limits
from oreqa.errors import DocumentError, describe

_SKIPPED_FOLDERS = frozenset({"__MACOSX", "__pycache__", "node_modules"})

_END = struct.Struct("<4s4H2LH")
"""The end record of a zip archive: signature, disks, member counts, size and offset of the directory, comment length."""

_LOCATOR = struct.Struct("<4sLQL")
"""The locator before it in 64-bit archives: signature, disk, offset of their own end record, number of disks."""
_END_64 = struct.Struct("<4sQ2H2L4Q")
"""The 64-bit end record: signature, its size, versions, disks, member counts, size and offset of the directory."""

_ENCRYPTED = 0x1
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_PIECE = 1 << 16
"""Bytes of a member unpacked at a time."""

_LINE = 1 << 20
"""Most bytes of a mailbox read at a time: longer lines are read in pieces."""
_HEADER = re.compile(rb"[!-9;-~]+[ \t]*:|>?From ")
_TIME = re.compile(rb"\b\d\d?:\d\d\b.*\b(?:19|20)\d\d\b")


@dataclass(frozen=True, slots=True)
class Member:
    """A file in another, whose name may lack its ``suffix``; ``data`` is None if ``problem`` says why it is not read."""

    name: str
    data: bytes | None
    problem: str = ""
    suffix: str = ""


_TOO_MUCH = "it unpacks to more than {} MB, with the archives before it in the same file: split it"


@dataclass(slots=True)
class Contents:
    """The state of reading one file with everything in it.

    It has the bytes that may still be unpacked, what was not read, and warnings about the rest, one line each.
    """

    left: int = field(default_factory=lambda: limits.ARCHIVE_BYTES)
    unread: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def unpack(self, size: int) -> None:
        """Deduct ``size`` bytes from what may be unpacked. Raises DocumentError if too few are left."""
        if size > self.left:
            raise DocumentError(_TOO_MUCH.format(limits.ARCHIVE_BYTES >> 20))
        self.left -= size


def zip_members(file: IO[bytes], contents: Contents) -> Iterator[Member]:
    """Yield the files of a zip archive except hidden ones; they count in the ``contents`` of the outermost file.

    Raises DocumentError if it is damaged, has too many members, or unpacks to more than the limit.
    """
    try:
        _check_end(file)
        with zipfile.ZipFile(file) as archive:
            _check_list(len(archive.infolist()), 0)
            entries = [entry for entry in archive.infolist() if not entry.is_dir() and not _is_hidden(entry.filename)]
            if sum(entry.file_size for entry in entries) > contents.left:
                raise DocumentError(_TOO_MUCH.format(limits.ARCHIVE_BYTES >> 20))
            yield from (_unpacked(archive, entry, contents) for entry in entries)
    except (zipfile.BadZipFile, struct.error, EOFError, ValueError, NotImplementedError) as error:
        raise DocumentError(f"it is a damaged zip archive ({describe(error)})") from error


def _check_end(file: IO[bytes]) -> None:
    """Raise DocumentError for an archive whose directory would take much memory."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END_64.size - _LOCATOR.size - _END.size - 0xFFFF))
    tail = file.read()
    place = tail.rfind(b"PK\5\6")
    if place < 0:
        raise DocumentError("it is not a zip archive, or its end is missing")
    _, _, _, _, members, length, _, _ = _END.unpack_from(tail, place)
    _check_list(members, length)
    if tail[max(0, place - _LOCATOR.size) : place].startswith(b"PK\6\7"):  # zipfile trusts the 64-bit record
        begin = place - _LOCATOR.size - _END_64.size
        if begin < 0 or not tail.startswith(b"PK\6\6", begin):
            raise DocumentError("it is a damaged zip archive (its 64-bit end is missing)")
        *_, members, length, _ = _END_64.unpack_from(tail, begin)
        _check_list(members, length)


def _check_list(members: int, length: int) -> None:
    """Raise DocumentError for more members than the limit, or a directory with more bytes than they would need."""
    if members > limits.MEMBERS or length > limits.MEMBERS * 400:
        raise DocumentError(f"it has more than {limits.MEMBERS:,} members: split it, or unpack it and index the folder")


def _is_hidden(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return any((part.startswith(".") and part != "..") or part in _SKIPPED_FOLDERS for part in parts)


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo, contents: Contents) -> Member:
    if entry.flag_bits & _ENCRYPTED:
        return Member(entry.filename, None, "it is encrypted")
    if entry.file_size > limits.PARSED_FILE_BYTES:
        return Member(entry.filename, None, f"it is larger than {limits.PARSED_FILE_BYTES >> 20} MB")
    if entry.compress_type not in _METHODS:
        return Member(entry.filename, None, "it is packed by a method that is not read: pack it by deflate")
    try:
        contents.unpack(entry.file_size)
        return Member(entry.filename, _content(archive, entry))
    except DocumentError as error:
        return Member(entry.filename, None, str(error))
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
        return Member(entry.filename, None, f"it is damaged ({describe(error)})")


def _content(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> bytes:
    """Return a member's content, up to its stated size: ``ZipFile.read`` unpacks all of it first."""
    data = bytearray()
    with archive.open(entry) as file:
        while piece := file.read(min(_PIECE, entry.file_size + 1 - len(data))):
            data += piece
    return bytes(data)


def free_name(name: str, taken: set[str], times: Counter[str]) -> str:
    """Return an unused name for a member; ``times`` counts how often each name was numbered."""
    suffix = PurePosixPath(name).suffix
    free = name
    while free in taken:
        times[name] += 1
        free = f"{name.removesuffix(suffix)} ({times[name] + 1}){suffix}"
    taken.add(free)
    return free


def is_mailbox(head: bytes) -> bool:
    """Return whether a file that begins with ``head`` is a mailbox: mail programs store them in files such as "Inbox"."""
    first, _, second = head.partition(b"\n")
    return first.startswith(b"From ") and bool(_HEADER.match(second))


def mailbox_messages(file: IO[bytes]) -> Iterator[Member]:
    """Yield the messages of a mailbox, named by their numbers, from 1.

    Each begins with a line "From ..." before its header, after a blank line or with the time. Raises DocumentError, after
    yielding them, for more than ``limits.MESSAGES``.
    """
    lines: list[bytes] = []
    number, size, after_blank, at_start = 0, 0, True, True
    for line, following in pairwise(chain(iter(lambda: file.readline(_LINE), b""), [b""])):
        is_from = at_start and line.startswith(b"From ")
        if is_from and (not number or (_HEADER.match(following) and (after_blank or _TIME.search(line)))):
            if number:
                yield _message(number, lines, size)
            if number == limits.MESSAGES:
                raise DocumentError(f"it has more than {limits.MESSAGES:,} messages: split it")
            number, size, lines = number + 1, 0, []
        elif number:
            size += len(line)
            if size <= limits.PARSED_FILE_BYTES:
                is_quoted = at_start and line.startswith(b">") and line.lstrip(b">").startswith(b"From ")
                lines.append(line[1:] if is_quoted else line)
        elif line.strip():
            raise DocumentError('it is not a mailbox: its first line does not begin with "From "')
        after_blank, at_start = at_start and not line.strip(), line.endswith(b"\n")
    if number:
        yield _message(number, lines, size)


def _message(number: int, lines: Iterable[bytes], size: int) -> Member:
    if size > limits.PARSED_FILE_BYTES:
        return Member(str(number), None, f"it is larger than {limits.PARSED_FILE_BYTES >> 20} MB")
    return Member(str(number), b"".join(lines), suffix=".eml")
