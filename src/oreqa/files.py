"""Reading and writing of data files, plain or gzipped, with errors that name the place."""

from __future__ import annotations

import gzip
import json
import os
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from oreqa.errors import InputError


def byte_lines(path: Path) -> Iterator[bytes]:
    """A file's lines with their ends, unpacked if it is gzipped. Raises InputError if it cannot be read."""
    try:
        with path.open("rb") as file:
            packed = file.peek(2)[:2] == b"\x1f\x8b"
            yield from gzip.GzipFile(fileobj=file) if packed else file
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path}: it cannot be read ({getattr(error, 'strerror', None) or error})") from error


def read_json(path: Path) -> Any:
    """A JSON file. Raises InputError that names the line of a mistake."""
    return _parse(b"".join(byte_lines(path)), str(path))


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The objects of a JSON-lines file with their line numbers, from 1; empty lines are passed over.

    The file is read as far as the objects are asked for. Raises InputError that names the line of a mistake.
    """
    for number, line in enumerate(byte_lines(path), 1):
        if not line.strip():
            continue
        row = _parse(line, f"{path}, line {number}")
        if not isinstance(row, dict):
            raise InputError(f"{path}, line {number}: it is a {type(row).__name__}, not an object")
        yield number, row


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no number of JSON")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")


def _parse(data: bytes, where: str) -> Any:
    """A JSON value. Raises InputError for what is not JSON, and for texts that no encoding can hold."""
    try:
        text = data.decode(json.detect_encoding(data))
        value = _DECODER.decode(text)
        if _HALF_CHARACTER.search(text):  # seldom: only then it is worth to look whether its other half is there
            json.dumps(value, ensure_ascii=False).encode()
    except RecursionError:
        raise InputError(f"{where}: it is nested too deep") from None
    except UnicodeEncodeError:
        raise InputError(f"{where}: a text holds half of a surrogate pair, which is no character") from None
    except ValueError as error:
        raise InputError(f"{where}: it is not JSON ({error})") from error
    return value


def write_text(path: Path, text: str) -> None:
    """Write a text, gzipped if the name ends so, as ``write_bytes`` does; half characters (of file names) become "?"."""
    data = text.encode(errors="replace")
    write_bytes(path, gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file beside its place and rename it: a reader never sees half of it."""
    if path.is_dir():
        raise InputError(f"{path}: it is a folder; name a file to write")
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        draft.write_bytes(data)
        draft.replace(path)
    except OSError as error:
        if draft.is_file():
            draft.unlink()
        raise InputError(f"{path}: it cannot be written ({error.strerror})") from error


def write_json(path: Path, value: Any) -> None:
    """Write JSON, indented, keys in the order given."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def write_jsonl(path: Path, rows: Iterable[Any]) -> None:
    """Write a JSON value a line."""
    write_text(path, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


def append_jsonl(path: Path, rows: Iterable[Any]) -> None:
    """Add rows to a plain JSON-lines file in one write, so that work in progress is kept."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a", encoding="utf-8", errors="replace") as stream:
            stream.write("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    except OSError as error:
        raise InputError(f"{path}: it cannot be written ({error.strerror})") from error


def drop_torn_line(path: Path) -> None:
    """Cut off what an interrupted ``append_jsonl`` left after the last whole row."""
    if path.is_file():
        with path.open("r+b") as stream:
            data = stream.read()
            stream.truncate(data.rfind(b"\n") + 1)


def resume_rows(
    path: Path,
    stamp: str,
    total: int,
    step: int,
    make: Callable[[int, int], Sequence[Mapping[str, Any]]],
    progress: Callable[[int], None],
) -> list[dict[str, Any]]:
    """``total`` rows of long work, made ``step`` at a time by ``make(begin, end)`` and appended to ``path`` as they are.

    Rows that an interrupted run left there are kept if they bear the same ``stamp``; else the file is started anew.
    ``progress`` is called with the number of rows that have come.
    """
    drop_torn_line(path)
    rows = [row for _, row in read_jsonl(path)] if path.is_file() else []
    if any(row.get("made") != stamp for row in rows):
        path.unlink()
        rows = []
    progress(len(rows))
    for begin in range(len(rows), total, step):
        new_rows = [{"made": stamp, **row} for row in make(begin, min(total, begin + step))]
        append_jsonl(path, new_rows)
        rows += new_rows
        progress(len(new_rows))
    return rows


def need(row: Any, key: str, kind: type, where: str) -> Any:
    """``row[key]``, which must be a ``kind``; whole numbers are floats, too. Raises InputError that says where it is not."""
    if not isinstance(row, dict) or key not in row:
        raise InputError(f"{where}: {key!r} is missing")
    value, kinds = row[key], (int, float) if kind is float else (kind,)
    if not isinstance(value, kinds) or (isinstance(value, bool) and int in kinds):
        raise InputError(f"{where}: {key!r} is {type(value).__name__}, not {kind.__name__}")
    if kind is float and not abs(row[key]) <= sys.float_info.max:
        raise InputError(f"{where}: {key!r} is beyond the numbers that can be counted with")
    return value


def optional(row: Any, key: str, kind: type, default: Any, where: str) -> Any:
    """``row[key]``, a ``kind``; ``default`` if it is missing or null. Raises InputError for anything else."""
    return default if isinstance(row, dict) and row.get(key) is None else need(row, key, kind, where)


def need_id(row: Any, key: str, where: str) -> str:
    """``row[key]``, a text or a whole number, as a text. Raises InputError for anything else."""
    value = need(row, key, object, where)
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else str(need(row, key, str, where))
