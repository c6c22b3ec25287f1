"""The journal of an update: encodings not yet published, so that an interruption loses at most one batch.

It lies in the index's folder and is deleted when all of it is published, or a week later. Each record has a CRC-32: reading
stops before the first truncated or damaged record, and the file is cut there.
"""

from __future__ import annotations

import os
import stat
import struct
import time
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np

from oreqa.errors import IndexStateError
from oreqa.index.codes import Codes, stored_codes
from oreqa.index.generations import foreign_file
from oreqa.index.store import is_damage

JOURNAL = "journal"
KEPT = 7 * 24 * 3600
"""Seconds for which an update keeps encodings of an interrupted one that it does not need itself."""

_HEAD, _CRC = struct.Struct("<32sII"), struct.Struct("<I")
"""A record: before a passage's codes, its hash, the number of codes and their bytes; after them, the CRC-32 of all that."""

_OURS = b"oreqa's journal of the encoder "


class Journal:
    """The journal of the index in ``folder``, for one encoder; a journal of another encoder is started anew.

    Raises IndexStateError for a file of that name that was not written by an update.
    """

    def __init__(self, folder: Path, encoder: str) -> None:
        self._path, self._title = folder / JOURNAL, _OURS + f"{encoder}\n".encode()
        self._places: dict[bytes, tuple[int, int, int]] = {}
        self._taken: set[bytes] = set()
        if _is_file(self._path):
            try:
                self._read()
            except OSError as error:
                if not is_damage(error):
                    raise
                self._path.unlink()

    def _read(self) -> None:
        size = self._path.stat().st_size
        with self._path.open("r+b") as file:
            title = file.read(len(self._title))
            if not title.startswith(_OURS[: len(title)]):
                raise foreign_file(self._path)
            end = len(title) if title == self._title else 0
            while end and len(head := file.read(_HEAD.size)) == _HEAD.size:
                digest, count, length = _HEAD.unpack(head)
                begin = end + _HEAD.size
                if begin + length + _CRC.size > size:
                    break
                codes, crc = file.read(length), file.read(_CRC.size)
                if _CRC.pack(zlib.crc32(head + codes)) != crc:
                    break
                self._places[digest] = begin, length, count
                end = begin + length + _CRC.size
            if end < size:
                file.truncate(end)

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._places

    def append(self, encoded: Mapping[bytes, Codes]) -> None:
        """Append passage codes, keyed by hash. Raises OSError if the disk is full."""
        with self._path.open("ab") as file:
            file.write(b"" if file.tell() else self._title)
            for digest, codes in encoded.items():
                record = _HEAD.pack(digest, len(codes), codes.nbytes) + codes.tobytes()
                self._places[digest] = file.tell() + _HEAD.size, codes.nbytes, len(codes)
                file.write(record + _CRC.pack(zlib.crc32(record)))

    def read(self, digests: Iterable[bytes]) -> dict[bytes, Codes]:
        """Return the codes of those passages in the journal, mapped into memory."""
        places = {digest: self._places[digest] for digest in digests if digest in self._places}
        self._taken.update(places)
        data = np.memmap(self._path, np.uint8, "r") if places else np.zeros(0, np.uint8)
        return {
            digest: stored_codes(data[begin : begin + length], count) for digest, (begin, length, count) in places.items()
        }

    def end(self, is_published: Callable[[bytes], bool]) -> None:
        """Delete the journal after an update, unless recent entries of an interrupted one were neither used nor published.

        A journal that cannot be deleted does no harm.
        """
        is_needed = any(digest not in self._taken and not is_published(digest) for digest in self._places)
        with suppress(OSError):
            if not is_needed or time.time() - self._path.stat().st_mtime > KEPT:
                self._path.unlink()


def kept_encodings(folder: Path) -> int:
    """Return how many passages' encodings the journal of an interrupted update holds, for any encoder; 0 without one."""
    path, number = folder / JOURNAL, 0
    with suppress(OSError, IndexStateError):
        if _is_file(path):
            size = path.stat().st_size
            with path.open("rb") as file:
                file.readline()
                while len(head := file.read(_HEAD.size)) == _HEAD.size:
                    end = file.seek(_HEAD.unpack(head)[2] + _CRC.size, os.SEEK_CUR)
                    number += end <= size
    return number


def _is_file(path: Path) -> bool:
    """Return whether the file exists. Raises IndexStateError for a link, and for what could block its reader."""
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        raise foreign_file(path)
    return True
