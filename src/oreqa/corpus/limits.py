"""What one file may cost, in one place. docs/reference.md says these figures."""

from __future__ import annotations

TEXT_FILE_BYTES = 16 << 20
"""Of a plain text file."""

PARSED_FILE_BYTES = 64 << 20
"""Of a web page, a PDF, an Office or OpenDocument file."""

UNPACKED_BYTES = 256 << 20
"""Of all that an Office, OpenDocument or EPUB file packs."""

TEXT_CHARACTERS = 16 << 20
"""Of the text of one document."""

SECTIONS = 100_000
"""Of one document: those with headings, or pages."""

MESSAGE_PARTS = 1000
"""Of an e-mail: its texts, attachments, and the parts that hold them."""

TITLE_CHARACTERS = 500
"""Of a title, a heading or a row's identifier. Titles and headings are read with every passage."""

ROW_BYTES = 8 << 20
"""Of a row of a table. The table itself may be of any size."""

ROW_FIELDS = 10_000
"""Of a row of a table."""

GZIP_RATIO = 200
"""How many times its own size a gzipped table may unpack to, beyond its first 64 MB."""

PARSE_SECONDS = 60
"""Of the processor's time, for the libraries that parse one file ..."""

PARSE_SECONDS_PER_MB = 20
"""... and as many more for each MB of the file: a manual of 3,600 pages has 6 MB and takes 100 seconds."""

PARSE_BYTES = 1 << 30
"""Of memory, for the same."""

IGNORE_FILE_BYTES = 64 << 10
"""Of a file of ignore rules."""


def parse_seconds(size: int) -> int:
    """The seconds that a file of ``size`` bytes may take."""
    return PARSE_SECONDS + PARSE_SECONDS_PER_MB * (size >> 20)
