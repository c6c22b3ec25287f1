"""E-mails (.eml): a message's text, with sender, recipients and date as fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email import policy
from email.message import EmailMessage
from email.parser import BytesParser
from email.utils import parseaddr, parsedate_to_datetime, quote
from itertools import islice
from pathlib import Path
from typing import Any, cast

from oreqa.core import Document, Range
from oreqa.corpus import limits
from oreqa.corpus.builder import GAP, TextBuilder, count_words
from oreqa.corpus.formats.html.page import read_page
from oreqa.corpus.formats.html.source import as_html, decode_page, visible_words
from oreqa.errors import DocumentError
from oreqa.text.rows import record_text, row_text

_TEXTS = ("text/plain", "text/html")
_FIELDS = {"From": "from", "To": "to", "Cc": "cc", "Date": "date"}
_HEADER_CHARACTERS = 4000
"""Characters of a header that are read: longer ones take the library quadratic time."""

_EMPTY_QUOTES = re.compile(r'(?:"")+')
"""Empty quoted strings, which the library scans again for each that follows."""

_ADDRESSES = ("from", "to", "cc")
_NAMED_BEHIND = re.compile(r'(^|,)\s*([^\s<>(),;:"]+(?: at [^\s<>(),;:"]+)?)\s+\(([^()]+)\)\s*(?=,|$)')
"""An address with its owner's name in a comment, as in old mails and list archives: ``anna@example.org (Anna)``."""

_NEEDLESS_QUOTES = re.compile(r'(?:^|(?<=, ))"([^"\\,;:<>@()]+)"(?= <)|(?<=<)"([^"\\,;:<>@()]+)"(?=>)')

_QUOTE = "> "
_ORIGINAL = re.compile(
    r"^(?:-{3,} ?(?:Original Message|Ursprüngliche Nachricht|Message d'origine|Mensaje original) ?-{3,}"
    r"|_{10,}(?=\nFrom: ))$",
    re.MULTILINE | re.IGNORECASE,
)
"""The line that some programs write above a mail quoted in full, whose lines have no quote marks."""

_BLOCKQUOTE = re.compile(r"<(/?)blockquote\b[^<>]*>", re.IGNORECASE)
_CLEARLY_MORE = 1.5
"""An HTML version replaces the plain text if it has more than this many times its words."""


class _Policy(policy.EmailPolicy):
    """Reads only the beginning of endless headers, and names in comments as names."""

    def header_fetch_parse(self, name: str, value: str) -> Any:
        if hasattr(value, "name"):
            return super().header_fetch_parse(name, value)
        value = value[:_HEADER_CHARACTERS]
        if name.lower() in _ADDRESSES:
            value = _NAMED_BEHIND.sub(_named_before, _EMPTY_QUOTES.sub("", value))
        return super().header_fetch_parse(name, value)


def _named_before(match: re.Match[str]) -> str:
    """Return an address after its owner's name."""
    return f'{match[1]} "{quote(" ".join(match[3].split()))}" <{match[2]}>'


@dataclass(frozen=True, slots=True)
class _Text:
    """A text part of a message: plain text or HTML."""

    text: str
    is_page: bool

    @property
    def words(self) -> int:
        return visible_words(self.text) if self.is_page else count_words(self.text)


@dataclass(slots=True)
class _Parts:
    """A message's parts: texts to read, alternative forms of those, and attachments with their names."""

    texts: list[_Text] = field(default_factory=list)
    other_forms: list[_Text] = field(default_factory=list)
    attachments: list[tuple[str, EmailMessage]] = field(default_factory=list)


def read_mail(data: bytes, path: Path) -> tuple[Document, list[tuple[str, bytes]]]:
    """Read a message, and the files attached to it with their names: attached messages end in .eml.

    Its title is the subject; its text begins with sender, recipients, date and subject, and ends with the names of the
    attachments. Its passages' headings name the sender and the day. Of alternative plain text and HTML, the plain text is
    read unless the HTML has clearly more words. Lines of a quotation at the end of the mail begin with ">". Raises
    DocumentError if there is no header, or if there are too many parts.
    """
    message = cast(EmailMessage, BytesParser(policy=_Policy()).parsebytes(data))  # the type that the policy creates
    if not message.keys():
        raise DocumentError("it is not a readable e-mail: it has no header")
    builder = TextBuilder(path)
    parts = _parts(message)
    fields = {name: value for header, name in _FIELDS.items() if (value := _header(message, header))}
    if sender := _sent_by(fields):
        builder.add_heading(0, sender, added=True)
    unread = sum(text.words for text in parts.other_forms)
    builder.start_page("", unread + sum(text.words for text in parts.texts))
    subject = _header(message, "Subject")
    builder.add_block(_head(fields, subject), words=0)
    for text in parts.texts:
        if text.is_page:
            _add_page(builder, text.text)
        else:
            _add_plain(builder, text.text)
    if parts.attachments:
        builder.add_block("Attachments: " + ", ".join(name for name, _ in parts.attachments), words=0)
    document = builder.document(subject)
    (page,) = document.pages
    omitted = {**page.left_out, "other form of the message": unread} if unread else page.left_out
    document = replace(document, fields=fields, pages=(replace(page, left_out=omitted),))
    return document, _files(parts.attachments)


def _head(fields: Mapping[str, str], subject: str) -> str:
    """Return the row of a message's fields. A subject that would make it ambiguous gets a line of its own."""
    if not subject:
        return row_text(fields.items())
    row = record_text([*fields, "subject"], [*fields.values(), subject])
    return row or "\n".join(filter(None, (row_text(fields.items()), f"subject: {subject}")))


def _sent_by(fields: Mapping[str, str]) -> str:
    """Return the heading of a message's passages, with its sender and the day: "Anna Berg, 2 January 2023"."""
    name, address = parseaddr(fields.get("from", ""))
    day = ""
    with suppress(Exception):  # the library can fail on a damaged header
        date = parsedate_to_datetime(fields.get("date", ""))
        day = f"{date.day} {date:%B %Y}"
    return ", ".join(filter(None, (name or address, day)))


def _files(attachments: Iterable[tuple[str, EmailMessage]]) -> list[tuple[str, bytes]]:
    files = []
    for name, part in attachments:
        if part.get_content_type() == "message/rfc822":
            children = [child for child in part.iter_parts() if isinstance(child, EmailMessage)]
            files += [(f"{name}.eml", bytes(child)) for child in children]
        elif isinstance(content := part.get_payload(decode=True), bytes):
            files.append((name, content))
    return files


def _parts(message: EmailMessage) -> _Parts:
    parts = _Parts()
    pending: list[EmailMessage] = [message]
    count = 0
    while pending:
        count += 1
        if count > limits.MESSAGE_PARTS:
            raise DocumentError(f"it has more than {limits.MESSAGE_PARTS:,} parts: split it")
        part = pending.pop(0)
        kind = part.get_content_type()
        children = [child for child in part.iter_parts() if isinstance(child, EmailMessage)] if part.is_multipart() else []
        if kind == "multipart/alternative" and children:
            preferred, others = _preferred(children)
            pending.insert(0, preferred)
            parts.other_forms += others
        elif kind == "message/rfc822" and part is not message:
            name = (_header(children[0], "Subject") if children else "") or "a message"
            parts.attachments.append((name, part))
        elif children:
            pending[:0] = children
        elif kind in _TEXTS and not part.is_attachment():
            parts.texts.append(_read_text(part))
        elif kind.startswith("multipart/"):  # damaged: its parts cannot be separated
            parts.texts.append(_Text(_text(part), is_page=False))
        else:
            parts.attachments.append((_file_name(part) or kind, part))
    return parts


def _preferred(forms: list[EmailMessage]) -> tuple[EmailMessage, list[_Text]]:
    """Choose one of several alternative forms of a text; return it, and the texts of the others.

    Chooses the plain text, unless it is empty or only says that the message is HTML: then the last HTML form, or the last
    form of all, which by the standard is the sender's preferred one.
    """
    texts = {number: text for number, form in enumerate(forms) if (text := _first_text(form))}
    plain = [number for number, text in texts.items() if not text.is_page and text.words]
    pages = [number for number, text in texts.items() if text.is_page]
    if plain and not (pages and texts[pages[-1]].words > _CLEARLY_MORE * texts[plain[0]].words):
        chosen = plain[0]
    else:
        chosen = pages[-1] if pages else len(forms) - 1
    return forms[chosen], [text for number, text in texts.items() if number != chosen]


def _first_text(form: EmailMessage) -> _Text | None:
    """Return the text of one form of a message, which may include pictures: its first HTML part, else its first text."""
    inside = islice(form.walk(), limits.MESSAGE_PARTS)
    by_type = {part.get_content_type(): part for part in reversed([*inside]) if not part.is_attachment()}
    part = next((by_type[kind] for kind in reversed(_TEXTS) if kind in by_type), None)
    return None if part is None else _read_text(part)


def _read_text(part: EmailMessage) -> _Text:
    text = _text(part)
    is_page = part.get_content_type() == "text/html"
    return _Text(as_html(text) if is_page else text, is_page)


def _text(part: EmailMessage) -> str:
    data = part.get_payload(decode=True)
    if not isinstance(data, bytes):
        return ""
    charset = part.get_content_charset("")
    try:
        text = data.decode(charset) if charset else decode_page(data)
    except (LookupError, ValueError):  # no charset, an invalid one such as "undefined", or a wrong one
        text = decode_page(data)
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _add_page(builder: TextBuilder, page: str) -> None:
    """Add the text of a web page, with quote marks on the lines of a quotation at its end."""
    begin, end = _last_quotation(page)
    if begin == end or visible_words(page[end:]):
        read_page(page).add_to(builder)
        return
    read_page(page[:begin]).add_to(builder)
    quoted = TextBuilder(builder.path)
    read_page(page[begin:]).add_to(quoted)
    document = quoted.document()
    paragraphs = [quoted.title]
    for section in document.sections:
        paragraphs += [section.heading.rpartition(" > ")[2], *document.text[section.start : section.end].split(GAP)]
    for paragraph in filter(None, paragraphs):
        builder.add_block("\n".join(_QUOTE + line for line in paragraph.split("\n")))


def _last_quotation(page: str) -> Range:
    """Return the range of the last quotation that is not nested in another; (0, 0) without one."""
    depth, begin, last = 0, 0, (0, 0)
    for tag in _BLOCKQUOTE.finditer(page):
        if not tag[1]:
            begin, depth = tag.start() if depth == 0 else begin, depth + 1
        elif depth:
            depth -= 1
            last = (begin, tag.end()) if depth == 0 else last
    return last


def _add_plain(builder: TextBuilder, text: str) -> None:
    """Add the paragraphs of plain text up to the signature delimiter, with quote marks on an original message."""
    if original := _ORIGINAL.search(text):
        quoted = (_QUOTE + line if line.strip() else "" for line in text[original.end() :].strip("\n").split("\n"))
        text = text[: original.end()] + "\n\n" + "\n".join(quoted)
    lines = text.split("\n")
    signature = next((number for number, line in enumerate(lines) if line == "-- "), len(lines))
    builder.leave_out("signature", "\n".join(lines[signature:]))
    paragraph: list[str] = []
    for line in [*lines[:signature], ""]:
        if line.strip():
            paragraph.append(line.rstrip())
        elif paragraph:
            builder.add_block("\n".join(paragraph))
            paragraph = []


def _header(message: EmailMessage, name: str) -> str:
    try:
        value = message.get(name, "")
    except Exception:  # the library can fail on a damaged header; the rest can be read
        return ""
    text = " ".join(str(value).split())
    if name.lower() in _ADDRESSES:  # the library quotes a name with an initial
        text = _NEEDLESS_QUOTES.sub(lambda match: match[1] or match[2], text)
    return text[: limits.TITLE_CHARACTERS]


def _file_name(part: EmailMessage) -> str:
    try:
        return " ".join((part.get_filename("") or "").split())[: limits.TITLE_CHARACTERS]
    except Exception:  # as above
        return "unnamed"
