"""Bytes to text: byte order marks, UTF-8, then a guess; files that are not text are refused."""

from __future__ import annotations

import codecs

from oreqa.errors import DocumentError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 1 << 16


def detect_encoding(head: bytes) -> str:
    """The encoding of a file that begins with ``head``. Raises DocumentError if it does not look like text."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if b"\0" in head:
        raise DocumentError("it is a binary file, not text: remove it from the folder or exclude it")
    try:
        # The sample may end inside a character, which an incremental decoder forgives.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return _guess(head)
    return "utf-8"


def decode(data: bytes) -> str:
    """Decode a whole file, with line ends as ``\\n``. Raises DocumentError when no encoding fits."""
    encoding = detect_encoding(data[:_SAMPLE])
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = _decode_as(data, _guess(data))
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _decode_as(data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        raise _broken() from None


def _guess(data: bytes) -> str:
    from charset_normalizer import from_bytes

    guesses = from_bytes(data[:_SAMPLE])
    best = guesses.best()
    if best is None:
        raise _broken()
    # Western European text fits its neighbours' encodings nearly as well: in doubt the most common one is taken.
    usual = any(match.encoding == "cp1252" and match.chaos <= best.chaos + 0.1 for match in guesses)
    return "cp1252" if usual else best.encoding


def _broken() -> DocumentError:
    return DocumentError("its bytes fit no text encoding: save it as UTF-8")
