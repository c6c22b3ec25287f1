"""Files that hold files: zip archives, and mailboxes (mbox). Their members are read one at a time."""

from __future__ import annotations

import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, pairwise
from pathlib import PurePosixPath
from typing import IO

from oreqa.corpus import limits
from oreqa.errors import DocumentError, describe

_SKIPPED_FOLDERS = frozenset({"__MACOSX", "__pycache__", "node_modules"})

_END = struct.Struct("<4s4H2LH")
"""A zip archive's end: mark, disks, counts of members, size and place of their list, length of a remark."""

_ENCRYPTED = 0x1

_LINE = 1 << 20
"""Most bytes of a mailbox that are read at once: longer lines are read in pieces."""
_HEADER = re.compile(rb"[!-9;-~]+[ \t]*:|>?From ")
_TIME = re.compile(rb"\b\d\d?:\d\d\b.*\b(?:19|20)\d\d\b")


@dataclass(frozen=True, slots=True)
class Member:
    """A file in another, whose name may lack its ``suffix``; ``data`` is None where ``problem`` says why it is not read."""

    name: str
    data: bytes | None
    problem: str = ""
    suffix: str = ""


def zip_members(file: IO[bytes]) -> Iterator[Member]:
    """The files of a zip archive, without hidden ones.

    Raises DocumentError if it is damaged, or has more members or unpacks to more than the limits.
    """
    try:
        _check_end(file)
        with zipfile.ZipFile(file) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir() and not _is_hidden(entry.filename)]
            if sum(entry.file_size for entry in entries) > limits.ARCHIVE_BYTES:
                raise DocumentError(f"it unpacks to more than {limits.ARCHIVE_BYTES >> 20} MB: split it")
            yield from (_unpacked(archive, entry) for entry in entries)
    except (zipfile.BadZipFile, struct.error, EOFError, ValueError, NotImplementedError) as error:
        raise DocumentError(f"it is a damaged zip archive ({describe(error)})") from error


def _check_end(file: IO[bytes]) -> None:
    """Raise DocumentError for an archive whose list of members would take much memory."""
    size = file.seek(0, 2)
    file.seek(max(0, size - _END.size - 0xFFFF))
    tail = file.read()
    place = tail.rfind(b"PK\5\6")
    if place < 0:
        raise DocumentError("it is not a zip archive, or its end is missing")
    _, _, _, _, members, length, _, _ = _END.unpack_from(tail, place)
    if members > limits.MEMBERS or length > limits.MEMBERS * 400:
        raise DocumentError(f"it has more than {limits.MEMBERS:,} members: split it, or unpack it and index the folder")


def _is_hidden(name: str) -> bool:
    parts = PurePosixPath(name).parts
    return any(part.startswith(".") or part in _SKIPPED_FOLDERS for part in parts)


def _unpacked(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> Member:
    if entry.flag_bits & _ENCRYPTED:
        return Member(entry.filename, None, "it is encrypted")
    if entry.file_size > limits.PARSED_FILE_BYTES:
        return Member(entry.filename, None, f"it is larger than {limits.PARSED_FILE_BYTES >> 20} MB")
    try:
        return Member(entry.filename, archive.read(entry))  # never more than the size that it states
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, NotImplementedError) as error:
        return Member(entry.filename, None, f"it is damaged ({describe(error)})")


def is_mailbox(head: bytes) -> bool:
    """Whether a file that begins with ``head`` is a mailbox: programs for mail keep them in files such as "Inbox"."""
    first, _, second = head.partition(b"\n")
    return first.startswith(b"From ") and bool(_HEADER.match(second))


def mailbox_messages(file: IO[bytes]) -> Iterator[Member]:
    """The messages of a mailbox, named by their numbers, from 1.

    Each begins with a line "From ..." before its header, after a blank line or with the time. Raises DocumentError, behind
    them, for more than ``limits.MESSAGES``.
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
