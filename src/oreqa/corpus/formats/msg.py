"""Outlook messages (.msg): converted to the original e-mail and read like one.

Messages, recipients and attachments are storages of an OLE file. Their texts and bytes are streams, named by the identifier
and the type of the property; another stream has the fixed-size properties. MS-OXMSG describes the file, MS-OXPROPS the
identifiers.
"""

from __future__ import annotations

import codecs
import io
import struct
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from email.message import Message
from email.mime.application import MIMEApplication
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from email.parser import HeaderParser
from email.utils import format_datetime, formataddr, quote
from pathlib import Path
from typing import Any

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.decode import decode
from oreqa.corpus.formats.html.source import decode_page
from oreqa.corpus.formats.mail import read_mail
from oreqa.errors import DocumentError

_SUBJECT, _HEADERS, _BODY, _HTML = "0037", "007D", "1000", "1013"
_SENDER, _SENDER_ADDRESSES = "0C1A", ("5D01", "0C1F")
_RECIPIENT, _RECIPIENT_ADDRESSES = "3001", ("39FE", "3003")
_FILE_NAMES, _CONTENT = ("3707", "3704", "3001"), "3701"
_TIMES, _RECIPIENT_KIND, _CODE_PAGES = (0x0039, 0x0E06), 0x0C15, (0x3FFD, 0x3FDE)
"""Times sent and delivered; recipient kind (To, Cc or Bcc); code pages of its texts, and of its transport."""

_UNICODE, _CODED, _BYTES, _STORAGE = "001F", "001E", "0102", "000D"
_FIXED = struct.Struct("<2xH4xQ")
"""A fixed-size property: its type, its identifier, flags, its value."""
_HEAD, _INNER_HEAD, _PART_HEAD = 32, 24, 8
"""Header bytes of the properties of a message, of an attached message, and of a recipient or an attachment."""
_KINDS = {1: "To", 2: "Cc"}
_FIRST_DAY = datetime(1601, 1, 1, tzinfo=UTC)
_CODECS = {20127: "ascii", 20866: "koi8-r", 21866: "koi8-u", 50220: "iso-2022-jp", 51932: "euc-jp", 51949: "euc-kr"}
_CODECS |= {28590 + number: f"iso-8859-{number}" for number in range(1, 16)} | {65001: "utf-8"}


def read_msg(data: bytes, path: Path) -> tuple[Document, list[tuple[str, bytes]]]:
    """Read a message and the files attached to it, like ``read_mail``; attached messages become e-mails (.eml).

    Its RTF text is omitted, as Outlook writes it as plain text too. Raises DocumentError if it is not an Outlook message.
    """
    import olefile

    try:
        file = olefile.OleFileIO(io.BytesIO(data))
    except OSError as error:
        raise DocumentError("it is not a readable Outlook message; it is damaged, or of another type") from error
    with file:
        storages = [tuple(names) for names in file.listdir(streams=False, storages=True)]
        return read_mail(bytes(_mail(_Storage(file, storages, (), _HEAD))), path)


class _Storage:
    """A storage of a file, by its path. Its fixed-size properties begin at ``head`` in their stream."""

    def __init__(
        self, file: Any, storages: Sequence[tuple[str, ...]], path: tuple[str, ...], head: int, codec: str = ""
    ) -> None:
        self._file, self._storages, self.path = file, storages, path
        fixed = self._stream("__properties_version1.0")[head:]
        self._fixed: dict[int, int] = dict(_FIXED.iter_unpack(fixed[: len(fixed) // _FIXED.size * _FIXED.size]))
        self._codec = next((_codec(page & 0xFFFF) for name in _CODE_PAGES if (page := self.number(name))), codec)

    @property
    def is_message(self) -> bool:
        return bool(self._fixed)

    def number(self, name: int) -> int:
        """Return a fixed-size property; 0 if there is none."""
        return self._fixed.get(name, 0)

    def content(self, name: str) -> bytes:
        return self._stream(f"__substg1.0_{name}{_BYTES}")

    def text(self, *names: str) -> str:
        """Return the first of these properties that is not empty."""
        for name in names:
            coded = self._stream(f"__substg1.0_{name}{_CODED}").rstrip(b"\0")
            text = self._stream(f"__substg1.0_{name}{_UNICODE}").decode("utf-16-le", "replace") or self._decoded(coded)
            if text := text.replace("\0", ""):
                return text
        return ""

    def children(self, start: str, head: int) -> list[_Storage]:
        """Return the storages in this one whose names begin with ``start``."""
        size = len(self.path)
        paths = [path for path in self._storages if len(path) == size + 1 and path[:size] == self.path]
        named = [path for path in paths if path[size].upper().startswith(start.upper())]
        return [_Storage(self._file, self._storages, path, head, self._codec) for path in named]

    def _stream(self, name: str) -> bytes:
        path = [*self.path, name]
        return self._file.openstream(path).read() if self._file.exists(path) else b""

    def _decoded(self, data: bytes) -> str:
        try:
            return data.decode(self._codec) if self._codec else decode(data)
        except UnicodeDecodeError:
            return decode(data)


def _codec(page: int) -> str:
    """Return Python's name for a code page; "" if it has none."""
    name = _CODECS.get(page, f"cp{page}")
    try:
        return codecs.lookup(name).name
    except LookupError:
        return ""


def _mail(storage: _Storage, depth: int = 0) -> Message:
    """Convert a message to an e-mail. Messages nested too deeply keep only their subject."""
    message = MIMEMultipart()
    message["Subject"] = _line(storage.text(_SUBJECT))
    if depth > limits.NESTED:
        return message
    for name, value in _headers(storage).items():
        if value:
            message[name] = _line(value)
    for form in _forms(storage):
        message.attach(form)
    for attached in storage.children("__attach_version1.0_#", _PART_HEAD):
        inner = attached.children(f"__substg1.0_{_CONTENT}{_STORAGE}", _INNER_HEAD)
        if inner and inner[0].is_message:
            message.attach(MIMEMessage(_mail(inner[0], depth + 1)))
        else:
            part = MIMEApplication(attached.content(_CONTENT))
            part.add_header("Content-Disposition", "attachment", filename=_line(attached.text(*_FILE_NAMES)) or "unnamed")
            message.attach(part)
    return message


def _headers(storage: _Storage) -> dict[str, str]:
    """Return sender, recipients and date: from the message's transport header, else from its properties."""
    received = HeaderParser().parsestr(storage.text(_HEADERS).lstrip())
    headers = {name: str(received[name]) for name in ("From", "To", "Cc", "Date") if received[name]}
    if not headers.keys() & {"To", "Cc"}:
        for recipient in storage.children("__recip_version1.0_#", _PART_HEAD)[: limits.MESSAGE_PARTS]:
            if kind := _KINDS.get(recipient.number(_RECIPIENT_KIND) & 0xF):
                address = _address(recipient, _RECIPIENT, _RECIPIENT_ADDRESSES)
                headers[kind] = f"{headers[kind]}, {address}" if kind in headers else address
    if "Date" not in headers and (ticks := next(filter(None, map(storage.number, _TIMES)), 0)):
        with suppress(OverflowError):
            headers["Date"] = format_datetime(_FIRST_DAY + timedelta(microseconds=ticks // 10))
    return {"From": _address(storage, _SENDER, _SENDER_ADDRESSES), **headers}


def _address(storage: _Storage, name: str, addresses: Sequence[str]) -> str:
    """Return a name with its Internet address; only the name if there is just a company directory entry."""
    address = next((text for text in map(storage.text, addresses) if "@" in text and text.isascii()), "")
    shown = storage.text(name).strip("'")
    if address:
        return formataddr((shown if shown != address else "", address))
    return f'"{quote(shown)}"' if shown and shown.isascii() else shown  # others are encoded, which quotes them


def _forms(storage: _Storage) -> list[Message]:
    plain, page = storage.text(_BODY), storage.text(_HTML)
    if not page and (data := storage.content(_HTML)):
        page = decode_page(data)
    forms = [MIMEText(text, kind, "utf-8") for text, kind in ((plain, "plain"), (page, "html")) if text]
    return [MIMEMultipart("alternative", None, forms)] if len(forms) > 1 else list(forms)


def _line(text: str) -> str:
    return " ".join(text.split())
