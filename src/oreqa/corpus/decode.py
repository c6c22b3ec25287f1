"""Plain text files, and decoding of bytes: by byte order mark, as UTF-8, or by a guess. Binary files are rejected.

Offsets count characters of the decoded text: ``\\r\\n`` is one, and a byte order mark is none.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from oreqa.core import Document, PageWords, Place
from oreqa.corpus.builder import count_words, file_title
from oreqa.errors import DocumentError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE = 1 << 16

# Evidence against Western text in cp1252, besides bytes that are not assigned there.
_NOT_WESTERN = re.compile(
    r"[^\t-\r\x1b -~À-ÖØ-öø-ÿ\xa0‘’“”„‚–—…•€£§°«»·´²½©®ªº¡¿µ]"  # rare signs
    r"|[a-z][À-ÖØ-Þ]"  # a capital within a word
    r"|(?<=[^\W\d_])[“”„‚…•€£§°«»´²½©®ªº¡¿µ](?=[^\W\d_])"  # a sign between two letters
    r"|[À-ÖØ-öø-ÿ]{3}"
)
_ACCENTED = re.compile("[À-ÖØ-öø-ÿ]+")


def read_text(data: bytes, path: Path) -> Document:
    """Read a plain text file. Its title is its file name."""
    text = decode(data)
    words = count_words(text)
    return Document(str(path), file_title(path), text, places=(Place(0, "", 1, 0),), pages=(PageWords("", words, words),))


def detect_encoding(head: bytes) -> str:
    """Return the encoding of a file that starts with ``head``. Raises DocumentError if it does not look like text."""
    for mark, name in _MARKS:
        if head.startswith(mark):
            return name
    if b"\0" in head:
        raise DocumentError("it is a binary file, not text: remove it from the folder or exclude it")
    try:
        # The sample may end inside a character, which an incremental decoder accepts.
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return _guess(head)
    return "utf-8"


def decode(data: bytes) -> str:
    """Decode a whole file, with line ends normalised to ``\\n``. Raises DocumentError if no encoding fits."""
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
        raise _undecodable() from None


def _guess(data: bytes) -> str:
    if _is_western(data[:_SAMPLE]):
        return "cp1252"
    from charset_normalizer import from_bytes

    guesses = from_bytes(data[:_SAMPLE])
    best = guesses.best()
    if best is None:
        raise _undecodable()
    # Western European text fits related encodings nearly as well: prefer the most common one unless it is clearly worse.
    usual = any(match.encoding == "cp1252" and match.chaos <= best.chaos + 0.1 for match in guesses)
    return "cp1252" if usual else best.encoding


def _is_western(data: bytes) -> bool:
    """Return whether bytes read as cp1252 are ASCII letters with few, isolated accents, and the signs of a Western text.

    Character statistics take some such texts of a few lines for Chinese or for a DOS code page.
    """
    try:
        text = data.decode("cp1252")
    except UnicodeDecodeError:
        return False
    if _NOT_WESTERN.search(text):
        return False
    runs = _ACCENTED.findall(text)
    pairs, letters = sum(len(run) > 1 for run in runs), sum(map(str.isalpha, text))
    return 4 * pairs <= len(runs) and 3 * sum(map(len, runs)) <= letters


def _undecodable() -> DocumentError:
    return DocumentError("its bytes fit no text encoding: save it as UTF-8")
