"""Output for people and programs, and argument checks, for all commands."""

from __future__ import annotations

import json
import os
import re
import select
import stat
import sys
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer

from oreqa.arguments import question_list
from oreqa.errors import InputError, OreqaError
from oreqa.paths import full_path
from oreqa.visible import counted as counted
from oreqa.visible import visible as visible

_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@contextmanager
def writing() -> Iterator[None]:
    """Turn a failure to write into a one-line error; a broken pipe is left to the caller."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OreqaError(f"the output cannot be written ({error.strerror})") from error


def say(line: str, err: bool = False, colour: str | None = None) -> None:
    """Print a line for people on standard output or standard error, with line breaks in it made visible."""
    with writing():
        typer.secho(visible(line), fg=colour, err=err)


def print_json(value: Any, indent: int | None = 2) -> None:
    """Print a JSON document on standard output, with control characters escaped; on one line without an ``indent``."""
    with writing():
        typer.echo(_json_text(value, indent))


def _json_text(value: Any, indent: int | None) -> str:
    # A stream that is not UTF-8 would replace unsupported characters by escapes that are not JSON's.
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8" if sys.stdout else True
    text = json.dumps(value, ensure_ascii=not utf8, indent=indent)
    return _UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


class JsonList:
    """A JSON list on standard output, printed item by item; ``close`` completes it if it has any."""

    def __init__(self) -> None:
        self._is_open = False

    def append(self, value: Any) -> None:
        """Print one more item."""
        text = textwrap.indent(_json_text(value, 2), "  ")
        with writing():
            typer.echo((",\n" if self._is_open else "[\n") + text, nl=False)
        self._is_open = True

    def close(self) -> None:
        """Complete the list; nothing is printed if it is empty."""
        if self._is_open:
            with writing():
                typer.echo("\n]")
        self._is_open = False


def parse_conditions(where: Sequence[str]) -> list[tuple[str, str]]:
    """Parse ``field=value`` options as pairs. Raises InputError for one without an equals sign."""
    pairs = []
    for condition in where:
        name, sign, value = need_text(condition, "--where").partition("=")
        if not sign or not name:
            raise InputError(f"--where {one_line(condition, 80)!r}: write it as field=value, as in --where language=en")
        pairs.append((name, _from_here(value) if name == "path" else value))
    return pairs


def _from_here(path: str) -> str:
    """Return a path, made absolute if it begins at the current folder or at home; others may begin anywhere."""
    if path.partition("/")[0] not in (".", "..", "~"):
        return path
    return str(full_path(Path(os.path.expanduser(path))))  # noqa: PTH111  (Path's raises where there is no home)


def need_text(text: str, what: str) -> str:
    """Return an argument. Raises InputError for bytes that are not UTF-8, which Python keeps as surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise InputError(f"{what}: it is not UTF-8; set the terminal to UTF-8") from None
    return text


def read_lines(path: Path) -> list[str]:
    """Return the non-empty lines of a text file, ``-`` for standard input.

    Raises InputError if it cannot be read, or has none.
    """
    name = "standard input" if str(path) == "-" else str(path)
    try:
        data = sys.stdin.buffer.read() if str(path) == "-" else path.read_bytes()
        lines = [line.strip() for line in data.decode("utf-8-sig").splitlines() if line.strip()]
    except OSError as error:
        raise InputError(f"{name}: it cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{name}: line {line} is not UTF-8; save the file as UTF-8") from error
    if not lines:
        raise InputError(f"{name}: it holds no question")
    return lines


def file_questions(path: Path) -> list[str]:
    """Return the questions of a file: one per line, or those of a table, JSON lines, SQuAD or MRQA. Raises InputError."""
    if not path.name.lower().removesuffix(".gz").endswith((".csv", ".tsv", ".xlsx", ".json", ".jsonl")):
        return question_list(read_lines(path))
    from oreqa.datasets.load import questions_to_ask

    if not (texts := questions_to_ask(path)):
        raise InputError(f"{path}: it holds no question")
    return question_list(texts)


def is_piped() -> bool:
    """Return whether standard input is a pipe or a file rather than a terminal, nothing, or a Python stream.

    A stream inherited from a program that never writes looks the same: raises InputError if nothing arrives for long.
    """
    try:
        descriptor = sys.stdin.fileno()
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):  # there is none, or it is closed
        return False
    if not (stat.S_ISFIFO(mode) or stat.S_ISREG(mode) or stat.S_ISSOCK(mode)):
        return False
    if os.name == "posix" and not select.select([descriptor], [], [], _QUIET_SECONDS)[0]:
        say("waiting for a question from standard input; Ctrl-C ends it", err=True)
        if not select.select([descriptor], [], [], _LONGEST_WAIT)[0]:
            raise InputError("no question came from standard input; give one, or wait for it with --questions -")
    return True


_QUIET_SECONDS, _LONGEST_WAIT = 2.0, 30.0
"""Seconds to wait for a piped question before saying so, and after that."""


def questions_of(
    question: str | None, file: Path | None, more_words: Sequence[str] = (), *, takes_file: bool = True
) -> list[str]:
    """Return the question, or the questions of a file; without both, those piped in, one per line.

    ``takes_file`` says whether the command has --questions. Raises InputError for both, none, a question without a letter or
    digit, and one without quotes, whose other words are ``more_words``.
    """
    if more_words:
        raise InputError(f'put the question in quotes: "{one_line(" ".join([question or "", *more_words]), 80)}"')
    if question is None and file is None and is_piped():
        question, *others = lines = read_lines(Path("-"))
        if others:
            return question_list(lines)
    if (question is None) == (file is None):
        way = "a file of questions with --questions" if takes_file else "pipe one in"
        raise InputError(f"give a question, or {way}" + (", not both" if file else ""))
    if file is not None:
        return file_questions(file)
    if not any(map(str.isalnum, need_text(question or "", "the question"))):
        raise InputError("the question is empty")
    return question_list(question or "")


def model_or_none(name: str | None) -> str | None:
    """Return a model's name from the command line, where ``none`` means no model."""
    return None if name == "none" else name


def one_line(text: str, limit: int | None = None) -> str:
    """Return a text without line breaks and control characters, truncated to ``limit`` characters."""
    line = visible(" ".join(text.split()))
    return line if limit is None or len(line) <= limit else line[: limit - 1] + "…"
