"""Rows of CSV, TSV and JSON lines, plain or gzipped, one at a time: encoding, delimiter, quotes and limits."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import re
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from itertools import chain, count, dropwhile
from threading import Lock
from typing import IO, Any, cast

from oreqa.corpus import limits
from oreqa.corpus.decode import detect_encoding
from oreqa.errors import DocumentError

_DELIMITERS = ",;\t|"
SAMPLE_LINES, SAMPLE_CHARACTERS = 20, 1 << 16
"""The most lines and characters of a table read to guess its delimiter and titles."""

_SEPARATOR_LINE = re.compile(r"sep=([,;\t|:^~ ])\s*", re.IGNORECASE)  # written by Excel
_FIELD_LIMIT = Lock()
"""Held while csv's field limit, which is global to the process, is changed."""


def parse_rows(file: IO[bytes], name: str, warn: Callable[[str], None] = lambda line: None) -> Iterator[dict[str, Any]]:
    """Yield the rows of a table, its columns by name; ``name`` is the file's, in lower case.

    ``warn`` gets a line, after the last row, if rows have more fields than the header. Raises DocumentError,
    possibly after some rows, for invalid rows, and if limits of ``corpus.limits`` are exceeded.
    """
    try:
        name, gzipped = name.removesuffix(".gz"), name.endswith(".gz")
        json_lines = name.endswith((".jsonl", ".ndjson"))
        lines = _unpacked_lines(file, not json_lines) if gzipped else _lines(file, not json_lines)
        if json_lines:
            yield from json_rows(lines)
        elif name.endswith(".tsv"):
            yield from _separated_rows(*_sniffed(lines, "\t"), warn)
        else:
            yield from _separated_rows(*_sniffed(lines), warn)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DocumentError(f"it is a damaged gzip file ({error})") from error


def json_rows(lines: Iterator[str]) -> Iterator[dict[str, Any]]:
    """Yield the objects of lines with one object each. Raises DocumentError naming the line for any other."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_int=long_integer)
        except (ValueError, RecursionError) as error:
            raise DocumentError(f"line {number} is not JSON: write each row as one object on a line of its own") from error
        if not isinstance(row, dict):
            raise DocumentError(f"line {number} is a JSON {type(row).__name__}, not an object with fields")
        yield row


def long_integer(digits: str) -> int | str:
    """Return a number, or its digits if Python cannot parse that many."""
    return int(digits) if len(digits) <= _MOST_DIGITS else digits


_MOST_DIGITS = 4300


def _sniffed(lines: Iterator[str], delimiters: str = _DELIMITERS) -> tuple[Iterator[str], str]:
    """Return the lines, with blank ones for comments before the header, and their delimiter.

    That is the one of ``delimiters`` under which the first rows agree best, or the first one if none fits.
    """
    sample: list[str] = []
    data, size = 0, 0
    for line in lines:
        sample.append(line)
        data, size = data + (not _is_before_header(line)), size + len(line)
        if data == SAMPLE_LINES or size > SAMPLE_CHARACTERS:
            break
    stated = _SEPARATOR_LINE.fullmatch(sample[0]) if sample and delimiters == _DELIMITERS else None
    if stated:
        return chain(["\n"], sample[1:], lines), stated.group(1)
    rows = list(dropwhile(_is_before_header, sample))
    delimiter = max(delimiters, key=lambda delimiter: _agreement(rows, delimiter))
    if rows:
        columns = _count_fields(rows[0], delimiter)
        rows = list(dropwhile(lambda line: _is_before_header(line) and _count_fields(line, delimiter) < columns, sample))
    comments = len(sample) - len(rows) if rows else 0
    delimiter = max(delimiters, key=lambda delimiter: _agreement(sample[comments:], delimiter))
    return chain(["\n"] * comments, sample[comments:], lines), delimiter


def _is_before_header(line: str) -> bool:
    """Return whether a line is blank or may be a comment on the table. Column names can begin with "#", too."""
    return line.startswith("#") or not line.strip()


def _count_fields(line: str, delimiter: str) -> int:
    try:
        return len(next(csv.reader([line], delimiter=delimiter), []))
    except csv.Error:
        return 0


def _agreement(sample: Sequence[str], delimiter: str) -> tuple[float, int]:
    """Return the share of the sample's rows with as many columns as the first, and that number; 0 for one column."""
    try:
        counts = [len(row) for row in csv.reader(sample, delimiter=delimiter) if row]
    except csv.Error:
        counts = []
    if not counts or counts[0] < 2:
        return 0, 0
    return sum(count == counts[0] for count in counts) / len(counts), counts[0]


def _unique(names: Iterable[str]) -> list[str]:
    """Make column names unique: a repeated "price" becomes "price 2", the third column, if unnamed, "column 3"."""
    header = [name.strip() for name in names]
    taken = set(header)
    unique: list[str] = []
    for place, name in enumerate(header, 1):
        first = name and name not in unique
        unique.append(name if first else _free_name(name or "column", 2 if name else place, taken))
        taken.add(unique[-1])
    return unique


def _free_name(name: str, number: int, taken: Set[str]) -> str:
    return next(f"{name} {n}" for n in count(number) if f"{name} {n}" not in taken)


def numbered_rows(lines: Iterator[str], name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row of a table with the line where it begins, skipping leading blank lines and comments.

    ``name`` is the file's, in lower case. Raises DocumentError like ``parse_rows``.
    """
    sniffed = _sniffed(lines, "\t") if name.endswith(".tsv") else _sniffed(lines)
    return ((number, row) for number, row in _split_rows(*sniffed) if row)


def _separated_rows(lines: Iterator[str], delimiter: str, warn: Callable[[str], None]) -> Iterator[dict[str, Any]]:
    header: list[str] = []
    extra = ""
    longer, first = 0, 0  # rows with more fields than the header, and the line of the first
    for number, row in _split_rows(lines, delimiter):
        if not header:
            header = _unique(row)
            extra = "extra" if "extra" not in header else _free_name("extra", 2, set(header))
        elif row:
            named: dict[str, Any] = dict(zip(header, row, strict=False))
            if len(row) > len(header):
                longer, first = longer + 1, first or number
                named[extra] = row[len(header) :]
            yield named
    if longer:
        rows = f"{longer:,} rows have" if longer > 1 else "1 row has"
        where = f"the first in line {first}" if longer > 1 else f"in line {first}"
        separator = "tabs" if delimiter == "\t" else repr(delimiter)
        warn(f"{rows} more fields than the header, {where}: quote the values that hold {separator}, or name all columns")


def _split_rows(lines: Iterator[str], delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row, none for a blank line, with the line where the row begins, from 1."""
    row_lines: list[str] = []  # of the row being read: quoted values may span lines

    def bounded_lines() -> Iterator[str]:
        size = 0
        for line in lines:
            size = size + len(line) if row_lines else len(line)
            row_lines.append(line)
            if size > limits.ROW_BYTES:
                limit = f"{limits.ROW_BYTES >> 20} MB"
                raise DocumentError(f"line {reader.line_num + 1} is in a row of more than {limit}: is a quote left open?")
            yield line

    reader = csv.reader(bounded_lines(), delimiter=delimiter)
    last: list[str] = []
    try:
        for row in _with_long_fields(reader):
            last = row_lines.copy()
            row_lines.clear()
            if len(row) > limits.ROW_FIELDS:
                raise DocumentError(f"line {reader.line_num} has more than {limits.ROW_FIELDS:,} fields")
            yield reader.line_num - len(last) + 1, row
        if not _closes_quotes(last, delimiter):  # all lines after the quote became one cell
            begin = reader.line_num - len(last) + 1
            raise DocumentError(f"line {begin} opens a quote that is never closed: close it, or double it")
    except csv.Error as error:
        if "universal-newline" in str(error):
            raise DocumentError("its lines end in bare carriage returns: save it with the usual line ends") from error
        raise DocumentError(f"line {reader.line_num} is not a row of this table ({error})") from error


def _with_long_fields(reader: Iterator[list[str]]) -> Iterator[list[str]]:
    """Yield a csv reader's rows with fields as long as a row may be; restores the process's limit after each."""
    while True:
        with _FIELD_LIMIT:
            limit = csv.field_size_limit()
            csv.field_size_limit(max(limit, limits.ROW_BYTES))
            try:
                row = next(reader)
            except StopIteration:
                return
            finally:
                csv.field_size_limit(limit)
        yield row


def _closes_quotes(row: Sequence[str], delimiter: str) -> bool:
    """Return whether the lines of a row close every quote that they open."""
    try:
        list(_with_long_fields(csv.reader(row, delimiter=delimiter, strict=True)))
    except csv.Error as error:
        return "unexpected end" not in str(error)
    return True


def _unpacked_lines(file: IO[bytes], guess: bool) -> Iterator[str]:
    limit = limits.GZIP_RATIO * os.fstat(file.fileno()).st_size + limits.PARSED_FILE_BYTES
    unpacked = cast(IO[bytes], gzip.open(file))
    for line in _lines(unpacked, guess):
        if unpacked.tell() > limit:
            raise DocumentError(f"it unpacks to more than {limits.GZIP_RATIO} times its size")
        yield line


def _lines(file: IO[bytes], guess: bool) -> Iterator[str]:
    """Yield the decoded lines of a file. Raises DocumentError for lines longer than the limit for rows.

    With ``guess``, the encoding is detected from the first line that is not ASCII, otherwise from the first line.
    """
    encoding = ""
    number = 0
    while line := file.readline(limits.ROW_BYTES + 1):
        number += 1
        if len(line) > limits.ROW_BYTES:
            raise DocumentError(f"line {number} is longer than {limits.ROW_BYTES >> 20} MB: split it")
        if not encoding or (encoding == "ascii" and not line.isascii()):
            encoding = "ascii" if guess and line.isascii() and b"\0" not in line else _encoding(line, file)
        if encoding in ("utf-16", "utf-32"):
            raise DocumentError(f"it is encoded as {encoding}: save it as UTF-8")
        try:
            yield line.decode(encoding)
        except UnicodeDecodeError:
            raise DocumentError(f"line {number} is not {encoding}: save the file as UTF-8") from None
        if encoding == "utf-8-sig":
            encoding = "utf-8"


def _encoding(line: bytes, file: IO[bytes]) -> str:
    """Detect a file's encoding from a line and, if it is only a guess, from the buffered lines after it too."""
    encoding = detect_encoding(line)
    return encoding if encoding.startswith("utf") else detect_encoding(line + cast(io.BufferedReader, file).peek(1))
