"""Read and write data files, plain or gzipped; errors name the file and line."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import os
import re
import shutil
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oreqa.atomic import replace_file
from oreqa.errors import InputError
from oreqa.paths import need_working_folder
from oreqa.progress import report_kept


def byte_lines(path: Path) -> Iterator[bytes]:
    """Yield a file's lines with their line ends, unpacked if gzipped. Raises InputError if it cannot be read."""
    try:
        with path.open("rb") as file:
            gzipped = file.peek(2)[:2] == b"\x1f\x8b"
            yield from gzip.GzipFile(fileobj=file) if gzipped else file
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: it cannot be read ({getattr(error, 'strerror', None) or error})") from error


def read_json(path: Path) -> Any:
    """Read a JSON file. Raises InputError with the parser's position if it is malformed."""
    return _parse(b"".join(byte_lines(path)), str(path))


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the objects of a JSON-lines file with their line numbers, from 1; skips empty lines.

    The file is read lazily. Raises InputError naming a malformed line.
    """
    for number, line in enumerate(byte_lines(path), 1):
        if not line.strip():
            continue
        row = _parse(line, f"{path}, line {number}")
        if not isinstance(row, dict):
            raise InputError(f"{path}, line {number}: it is a {type(row).__name__}, not an object")
        yield number, row


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a JSON number")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")


def _parse(data: bytes, where: str) -> Any:
    """Parse a JSON value. Raises InputError for invalid JSON and for strings with a lone surrogate."""
    try:
        text = data.decode(json.detect_encoding(data))
        value = _DECODER.decode(text)
        if _SURROGATE_ESCAPE.search(text):  # rare; encoding, which is slow, tells whether it is a complete pair
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise InputError(f"{where}: it is nested too deeply") from None
    except UnicodeEncodeError:
        raise InputError(f"{where}: a string holds half of a surrogate pair, which is not a character") from None
    except ValueError as error:
        is_long = "integer string conversion" in str(error)  # JSON sets no limit, Python does
        reason = "a number has more than 4,300 digits; shorten it" if is_long else f"it is not JSON ({error})"
        raise InputError(f"{where}: {reason}") from error
    return value


def need_writable(path: Path, name: str) -> None:
    """Check a file that long work will write at its end. Raises InputError, with its ``name``, if it cannot be written."""
    need_working_folder(path)
    folder = next(parent for parent in path.absolute().parents if parent.exists())
    if path.is_dir() or not folder.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        raise InputError(f"{name}: it cannot be written there; name another file")


def need_new(path: Path, again: str) -> None:
    """Check a file that long work will write at its end, and that people may edit: none is overwritten.

    Raises InputError, which says to delete the file to do the work ``again``, if it exists or cannot be written.
    """
    if path.is_file() and path.absolute().parts[:2] != ("/", "dev"):  # /dev/stdout may lead to a file
        raise InputError(f"{path}: it exists already; name another file, or delete this one to {again}")
    need_writable(path, str(path))


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 text atomically, gzipped if ``path`` ends in .gz; lone surrogates (from file names) become "?"."""
    data = text.encode(errors="replace")
    write_bytes(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically, by renaming a temporary file: no reader sees it half written.

    Creates the parent folders. An existing file keeps its mode and owner; a link keeps its name and its target is written.
    Devices, FIFOs and files that may not be replaced are written into. Raises InputError if the file cannot be written.
    """
    need_working_folder(path)
    try:
        replace_file(path, data)
    except IsADirectoryError:
        raise InputError(f"{path}: it is a folder; name a file to write") from None
    except OSError as error:
        if error.errno == errno.ENXIO and path.is_fifo():
            raise InputError(f"{path}: nobody reads this named pipe; start its reader first, or name a file") from error
        raise InputError(f"{path}: it cannot be written ({error.strerror})") from error


def remove(path: Path) -> None:
    """Remove a file, or a folder with its content; what a killed call leaves of a folder has another name."""
    if path.is_dir() and not path.is_symlink():
        removed = path.with_name(f"{path.name}.removed")
        shutil.rmtree(removed, ignore_errors=True)
        shutil.rmtree(path.rename(removed), ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def read_object(path: Path) -> dict[str, Any]:
    """Return the JSON object in a file; an empty one if there is none or it cannot be read."""
    try:
        value = json.loads(path.read_bytes() if path.is_file() else b"{}")
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def write_json(path: Path, value: Any) -> None:
    """Write indented JSON atomically, with keys in insertion order."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def write_jsonl(path: Path, rows: Iterable[Any]) -> None:
    """Write one JSON value per line, atomically."""
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def append_jsonl(path: Path, rows: Iterable[Any]) -> None:
    """Append rows to an uncompressed JSON-lines file in one write, so that an interrupted run keeps its finished work."""
    _append(path, (_line(row) for row in rows))


def _line(row: Any) -> bytes:
    return json.dumps(row, ensure_ascii=False).encode(errors="replace") + b"\n"


def _append(path: Path, lines: Iterable[bytes]) -> None:
    """Append lines to a file, or none of them if the disk is full."""
    before = path.stat().st_size if path.is_file() else 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab") as stream:
            stream.write(b"".join(lines))
    except OSError as error:
        if path.is_file():
            os.truncate(path, before)
        raise InputError(f"{path}: it cannot be written ({error.strerror})") from error


def drop_torn_line(path: Path) -> None:
    """Truncate a JSON-lines file after its last complete row, as an interrupted ``append_jsonl`` may leave a partial one."""
    if path.is_file():
        with path.open("r+b") as stream:
            data = stream.read()
            stream.truncate(data.rfind(b"\n") + 1)


def resume_rows(
    path: Path,
    fingerprint: str,
    total: int,
    step: int,
    make: Callable[[int, int], Sequence[Mapping[str, Any]]],
    advance: Callable[[int], None],
) -> list[dict[str, Any]]:
    """Return ``total`` rows, computed ``step`` at a time by ``make(begin, end)`` and appended to ``path`` at each step.

    Rows left in ``path`` by an interrupted run are reused up to the first that is torn, damaged, or made with another
    ``fingerprint``; the file continues from there. ``advance`` is called with the number of rows added.
    """
    if path.is_symlink() or (path.exists() and not path.is_file()):
        remove(path)  # a link or a FIFO with this name is not ours
    rows, end = kept_rows(path, fingerprint)
    if path.is_file():
        os.truncate(path, end)
    report_kept(advance, len(rows))
    for begin in range(len(rows), total, step):
        new_rows = make(begin, min(total, begin + step))
        lines = enumerate(map(_line, new_rows), begin)
        _append(path, (_row_hash(fingerprint, number, line) + b" " + line for number, line in lines))
        rows += map(dict, new_rows)
        advance(len(new_rows))
    return rows


def kept_rows(path: Path, fingerprint: str) -> tuple[list[dict[str, Any]], int]:
    """Return the usable rows of an unfinished file, and the byte at which they end."""
    rows: list[dict[str, Any]] = []
    if not path.is_file():
        return rows, 0
    end = 0
    with path.open("rb") as stream:
        for sealed in stream:
            digest, _, line = sealed.partition(b" ")
            if not line.endswith(b"\n") or digest != _row_hash(fingerprint, len(rows), line):
                break
            rows.append(json.loads(line))
            end += len(sealed)
    return rows, end


def _row_hash(fingerprint: str, number: int, line: bytes) -> bytes:
    return hashlib.sha256(f"{fingerprint} {number} ".encode() + line).hexdigest()[:16].encode()


def need(row: Any, key: str, kind: type, where: str) -> Any:
    """Return ``row[key]``, which must be a ``kind``; an int also passes as a float.

    Raises InputError, prefixed with ``where``, if the key is missing or its value has another type or is not finite.
    """
    if not isinstance(row, dict) or key not in row:
        raise InputError(f"{where}: {key!r} is missing")
    value, kinds = row[key], (int, float) if kind is float else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and int in kinds):
        raise InputError(f"{where}: {key!r} is {type(value).__name__}, not {kind.__name__}")
    if kind is float and not abs(row[key]) <= sys.float_info.max:
        raise InputError(f"{where}: {key!r} is too large a number")
    return value


def optional(row: Any, key: str, kind: type, default: Any, where: str) -> Any:
    """Return ``row[key]`` like ``need``, or ``default`` if it is missing or null."""
    return default if isinstance(row, dict) and row.get(key) is None else need(row, key, kind, where)


def need_id(row: Any, key: str, where: str) -> str:
    """Return ``row[key]``, a string or an int, as a string. Raises InputError for other types."""
    value = need(row, key, object, where)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else str(need(row, key, str, where))
