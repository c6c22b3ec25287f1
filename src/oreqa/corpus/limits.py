"""Limits on the size, time and memory of one file. docs/reference.md quotes these figures."""

from __future__ import annotations

TEXT_FILE_BYTES = 16 << 20
"""Largest plain text file."""

PARSED_FILE_BYTES = 64 << 20
"""Largest web page, PDF, Office or OpenDocument file."""

UNPACKED_BYTES = 256 << 20
"""Most bytes that the archive of an Office, OpenDocument or EPUB file may unpack to."""

ARCHIVE_BYTES = 1 << 30
"""Most bytes that a zip archive of documents may unpack to; each member counts as a file."""

MEMBERS = 10_000
"""Most members of a zip archive."""

MESSAGES = 100_000
"""Most messages in a mailbox."""

NESTED = 3
"""Maximum nesting of files: a document attached to a mail in a mailbox in an archive."""

TEXT_CHARACTERS = 16 << 20
"""Longest text of one document."""

SECTIONS = 100_000
"""Most sections of one document."""

MESSAGE_PARTS = 1000
"""Most MIME parts of an e-mail, containers included."""

TITLE_CHARACTERS = 500
"""Longest title, heading or row identifier. Titles and headings are encoded with every passage."""

ROW_BYTES = 8 << 20
"""Largest row of a table. The table itself may have any size."""

ROW_FIELDS = 10_000
"""Most fields of a table row."""

GZIP_RATIO = 200
"""Highest compression ratio of a gzipped table, once it has unpacked to more than 64 MB."""

PARSE_SECONDS = 60
"""CPU seconds for parsing one file, and for splitting its text into passages ..."""

PARSE_SECONDS_PER_MB = 20
"""... plus these for each MB of the file: a 6 MB manual of 3,600 pages takes 100 seconds."""

PARSE_BYTES = 1 << 30
"""Address space of the parser process."""

DRAW_SECONDS = 10
"""CPU seconds for drawing a page, or for finding the position of a text on it."""

OCR_SECONDS, OCR_BYTES = 120, 6 << 30
"""CPU seconds for recognizing a scanned page, and the process's address space meanwhile."""

PICTURE_FRAMES = 200
"""Most pages of a picture (TIFF)."""

IGNORE_FILE_BYTES = 64 << 10
"""Largest ignore file."""


HEAD_BYTES = 16_384
"""Bytes of a file read to recognize its format."""


def parse_seconds(size: int) -> int:
    """Return the CPU seconds allowed for parsing a file of ``size`` bytes, and for splitting ``size`` characters."""
    return PARSE_SECONDS + PARSE_SECONDS_PER_MB * (size >> 20)
