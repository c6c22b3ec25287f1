"""Locates the source of an answer, links to it, and stores those of the last answers, which ``oreqa open`` opens."""

from __future__ import annotations

import json
import os
import re
import secrets
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from oreqa.errors import InputError
from oreqa.paths import cache_folder, file_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from oreqa.core import Passage

_TABLES = (".csv", ".tsv", ".jsonl", ".ndjson")
"""Files whose documents are their rows; those in other files are in an archive, a mailbox or a mail."""


@dataclass(frozen=True, slots=True)
class Source:
    """A place in a document: its key, and the line, the page or a web page's ``#anchor``, if known."""

    document: str
    line: int | None = None
    page: int | None = None
    anchor: str = ""

    @property
    def file(self) -> Path | None:
        """The document's file; None if it has none of its own."""
        file = file_of(self.document)
        if not file.is_absolute():
            return None
        is_row = file.name.lower().removesuffix(".gz").endswith(_TABLES)
        return file if is_row or str(file) == self.document else None

    @property
    def url(self) -> str:
        """The URL of the file, for a PDF that of the page, for a web page that of the anchor; empty if there is no file."""
        file = self.file
        return "" if file is None else file.as_uri() + (self.anchor if self.page is None else f"#page={self.page}")

    @property
    def needs_url(self) -> bool:
        """Whether only the URL says which page or anchor it is."""
        return self.page is not None or bool(self.anchor)


def source_at(passage: Passage, offset: int) -> Source:
    """Return the place of a character of a passage's document."""
    place = passage.place(offset)
    if place is None:
        return Source(passage.document_key)
    page = re.fullmatch(r"page (\d+)", place.name)
    anchor = place.name if place.name.startswith("#") else ""
    return Source(passage.document_key, None if place.name else place.line, int(page[1]) if page else None, anchor)


def remember_sources(sources: Sequence[Source]) -> None:
    """Store the places of answers, and nothing else, readable only by this user. Does nothing without a cache."""
    path = _file()
    temporary = path.with_name(f".{secrets.token_hex(8)}")
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with os.fdopen(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as stream:
            json.dump([asdict(source) for source in sources], stream)
        temporary.replace(path)


def remembered_source(number: int) -> Source:
    """Return the place of an answer of the last ``oreqa ask``, by number from 1. Raises InputError if there is none."""
    try:
        status = _file().stat()
        is_ours = not hasattr(os, "getuid") or status.st_uid == os.getuid()
        sources = [Source(**row) for row in json.loads(_file().read_text(encoding="utf-8"))] if is_ours else []
    except FileNotFoundError:
        raise InputError("there is no answer to open: oreqa ask gives one, or name a document") from None
    except (OSError, ValueError, TypeError):
        raise InputError("the last answers cannot be read: ask again, or name a document") from None
    if not 0 < number <= len(sources):
        count = f"the last oreqa ask gave {len(sources)}" if sources else "the last oreqa ask gave none"
        raise InputError(f"there is no answer {number}: {count}; to open a file of this name: oreqa open ./{number}")
    return sources[number - 1]


def _file() -> Path:
    """Return a file per user, as users may share a cache."""
    return cache_folder() / f"last-answers-{os.getuid() if hasattr(os, 'getuid') else 'user'}.json"
