"""E-mails (.eml): the text of the message, and who wrote it to whom and when."""

from __future__ import annotations

from dataclasses import replace
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from pathlib import Path

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.formats.html import read_page
from oreqa.corpus.formats.html_source import as_html, decode_page, visible_words
from oreqa.errors import DocumentError

_FIELDS = {"From": "from", "To": "to", "Cc": "cc", "Date": "date"}
_PARTS = 1000
"""Of one message, at the most."""


def read_mail(data: bytes, path: Path) -> Document:
    """A message. Its title is the subject; plain text is preferred to HTML; attachments are named, and not read."""
    message = BytesParser(policy=policy.default).parsebytes(data)
    if not message.keys():
        raise DocumentError("it is not a readable e-mail: it has no header")
    builder = TextBuilder(path)
    texts, attachments = _parts(message)
    pages = [(text, as_html(text) if kind == "html" else "") for kind, text in texts]
    builder.start_page("", sum(visible_words(page) if page else count_words(text) for text, page in pages))
    for text, page in pages:
        if page:
            read_page(page).fill(builder)
        else:
            _add_plain(builder, text)
    if attachments:
        builder.add_block("Attachments: " + ", ".join(attachments))
    document = builder.document(_header(message, "Subject"))
    fields = {name: value for header, name in _FIELDS.items() if (value := _header(message, header))}
    return replace(document, fields=fields)


def _parts(message: EmailMessage) -> tuple[list[tuple[str, str]], list[str]]:
    """The texts of a message with their kinds, and the names of all else."""
    texts: list[tuple[str, str]] = []
    attachments: list[str] = []
    waiting: list[EmailMessage] = [message]
    for _ in range(_PARTS):
        if not waiting:
            break
        part = waiting.pop(0)
        kind = part.get_content_type()
        children = [child for child in part.iter_parts() if isinstance(child, EmailMessage)] if part.is_multipart() else []
        if kind == "multipart/alternative" and children:
            waiting.insert(0, _preferred(children))
        elif kind == "message/rfc822" and part is not message:
            attachments.append((_header(children[0], "Subject") if children else "") or "a message")
        elif children:
            waiting[:0] = children
        elif kind in ("text/plain", "text/html") and not part.is_attachment():
            texts.append((kind.removeprefix("text/"), _text(part)))
        elif kind.startswith("multipart/"):  # damaged: its parts cannot be told apart
            texts.append(("plain", _text(part)))
        else:
            attachments.append(_file_name(part) or kind)
    return texts, attachments


def _preferred(children: list[EmailMessage]) -> EmailMessage:
    """Of several forms of one text the plain one, if it says anything."""
    plain = [child for child in children if child.get_content_type() == "text/plain" and _text(child).strip()]
    return plain[0] if plain else children[-1]


def _text(part: EmailMessage) -> str:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    charset = part.get_content_charset("")
    try:
        text = data.decode(charset) if charset else decode_page(data)
    except (LookupError, UnicodeDecodeError):
        text = decode_page(data)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _add_plain(builder: TextBuilder, text: str) -> None:
    """Paragraphs as they stand; what follows the sign of a signature is left out."""
    lines = text.split("\n")
    sign = next((number for number, line in enumerate(lines) if line == "-- "), len(lines))
    builder.leave_out("signature", "\n".join(lines[sign:]))
    paragraph: list[str] = []
    for line in [*lines[:sign], ""]:
        if line.strip():
            paragraph.append(line.rstrip())
        elif paragraph:
            builder.add_block("\n".join(paragraph))
            paragraph = []


def _header(message: EmailMessage, name: str) -> str:
    try:
        value = message.get(name, "")
    except Exception:  # a damaged header makes the library stumble; the rest can be read
        return ""
    return " ".join(str(value).split())[: limits.TITLE_CHARACTERS]


def _file_name(part: EmailMessage) -> str:
    try:
        return " ".join((part.get_filename("") or "").split())[: limits.TITLE_CHARACTERS]
    except Exception:  # as above
        return "unnamed"
