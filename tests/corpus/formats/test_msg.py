"""Outlook messages: what the e-mail said, who wrote it to whom and when, and what was attached to it."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.formats.msg import read_msg
from oreqa.corpus.readers import read_documents
from oreqa.errors import DocumentError

pytest.importorskip("olefile")
from ole_file import ole_file

Parts = dict[str, Any]
SENT = {0x0039: 133171236000000000}
"""2 January 2023, 9:00 UTC."""


def fixed(head: int, properties: Mapping[int, int]) -> bytes:
    rows = (struct.pack("<HHLQ", 3, name, 6, value) for name, value in properties.items())
    return bytes(head) + b"".join(rows)


def texts(**properties: str | bytes) -> Parts:
    """Properties by their identifiers: strings in UTF-16, bytes in the message's code page."""
    return {
        f"__substg1.0_{name[1:]}{'001F' if isinstance(value, str) else '001E'}": value.encode("utf-16-le")
        if isinstance(value, str)
        else value
        for name, value in properties.items()
    }


def message(head: int = 32, properties: Mapping[int, int] = SENT, **named: str | bytes) -> Parts:
    return {"__properties_version1.0": fixed(head, properties), **texts(**named)}


def person(number: int, kind: int, name: str, address: str) -> Parts:
    parts = {"__properties_version1.0": fixed(8, {0x0C15: kind}), **texts(_3001=name, _39FE=address)}
    return {f"__recip_version1.0_#{number:08X}": parts}


def attached(number: int, name: str, content: bytes | Parts) -> Parts:
    kind = "0102" if isinstance(content, bytes) else "000D"
    parts = {"__properties_version1.0": fixed(8, {}), **texts(_3707=name), f"__substg1.0_3701{kind}": content}
    return {f"__attach_version1.0_#{number:08X}": parts}


def read(parts: Parts) -> Document:
    return read_msg(ole_file(parts), Path("a.msg"))[0]


def body(document: Document) -> str:
    """The text of a message after the row of its fields."""
    header, _, text = document.text.partition("\n\n")
    assert header.removesuffix(f"; subject: {document.title}").endswith("date: Mon, 02 Jan 2023 09:00:00 +0000")
    return text


def test_a_message() -> None:
    parts = message(_0037="Plän", _1000="Hello.\r\n\r\nSee it.\r\n-- \r\nAnna", _0C1A="Berg, Anna", _5D01="anna@example.org")
    parts |= (
        person(0, 1, "Bob Low", "bob@example.org")
        | person(1, 2, "'c@example.org'", "c@example.org")
        | person(2, 3, "D", "d@e.org")
    )
    document = read(parts)
    assert (document.title, body(document)) == ("Plän", "Hello.\n\nSee it.")
    assert document.fields == {
        "from": '"Berg, Anna" <anna@example.org>',
        "to": "Bob Low <bob@example.org>",
        "cc": "c@example.org",
        "date": "Mon, 02 Jan 2023 09:00:00 +0000",
    }


def test_the_header_that_came_with_it_says_more() -> None:
    header = "From: Anna <a@b.org>\r\nTo: Bob\r\n <b@b.org>\r\nDate: Mon, 02 Jan 2023 10:00:00 +0100\r\n\r\n"
    document = read(message(_0037="Plan", _007D=header, _0C1A="Anna", _1000="Text.") | person(0, 1, "Else", "e@b.org"))
    assert document.fields == {"from": "Anna <a@b.org>", "to": "Bob <b@b.org>", "date": "Mon, 02 Jan 2023 10:00:00 +0100"}


@pytest.mark.parametrize("name", ["Anna Berg", "Berg, Anna", "Bérg, Anna"])
def test_a_sender_of_the_company_has_a_name_alone(name: str) -> None:
    assert read(message(_0037="Plan", _1000="Text.", _0C1A=name, _0C1F="/O=COMPANY/CN=ANNA")).fields["from"] == f'"{name}"'


def test_texts_in_a_code_page_and_html() -> None:
    russian = message(properties={0x3FFD: 1251}, _0037="Тест".encode("cp1251"), _1000="Привет всем.".encode("cp1251"))
    assert (read(russian).title, read(russian).text) == ("Тест", "subject: Тест\n\nПривет всем.")
    unnamed = message(_0037=b"Plan\0", _1000="Grüße.".encode())
    assert (read(unnamed).title, body(read(unnamed))) == ("Plan", "Grüße.")
    page = {"__substg1.0_10130102": "<meta charset=latin-1><p>Die <b>Grüße</b>.".encode("latin-1")}
    assert body(read(message() | page)) == "Die Grüße."
    assert body(read(message(_1000="See it.") | page)) == "See it."
    assert read(message(_1000="See it.") | page).pages[0].left_out == {"other form of the message": 2}


def test_attachments_are_documents(tmp_path: Path) -> None:
    path = tmp_path / "a.msg"
    inner = message(24, _0037="Old plan", _1000="It was worse.") | attached(0, "ä.txt", b"Deep text.")
    outer = (
        message(_0037="Plan", _1000="Both are attached.")
        | attached(0, "rows.csv", b"id,text\n7,tent\n")
        | attached(1, "", inner)
    )
    path.write_bytes(ole_file(outer | attached(2, "", b"?")))
    unread: list[str] = []
    documents = {d.key.removeprefix(str(path)): d for d in read_documents(path, on_unread=unread.append)}
    assert {key: body(d) if d.text.startswith("date: ") else d.text for key, d in documents.items()} == {
        "": "Both are attached.\n\nAttachments: rows.csv, Old plan, unnamed",
        "#rows.csv#7": "tent",
        "#Old plan.eml": "It was worse.\n\nAttachments: ä.txt",
        "#Old plan.eml#ä.txt": "Deep text.",
    }
    assert unread == ["1 file in it not read: unnamed (its file type is not supported)"]
    assert documents["#rows.csv#7"].fields["date"] == "Mon, 02 Jan 2023 09:00:00 +0000"


def test_messages_that_lie_too_deep_are_named(tmp_path: Path) -> None:
    path = tmp_path / "a.msg"
    parts = message(24, _0037="The last", _1000="No.")
    for level in range(limits.NESTED + 3):
        parts = message(24 if level < limits.NESTED + 2 else 32, _0037=f"At {level}", _1000="Yes.") | attached(0, "", parts)
    path.write_bytes(ole_file(parts))
    unread: list[str] = []
    assert len(list(read_documents(path, on_unread=unread.append))) == limits.NESTED + 1
    assert unread == ["1 file in it not read: At 1.eml (it lies too deep in other files)"]


def test_a_date_beyond_the_calendar_and_properties_that_are_cut_off() -> None:
    parts = message(properties={0x0039: 2**64 - 1}, _0037="Plan", _1000="Text.")
    parts["__properties_version1.0"] += b"\1"
    assert (read(parts).text, read(parts).fields) == ("subject: Plan\n\nText.", {})


@pytest.mark.parametrize("data", [b"", b"Subject: x\n\ny", ole_file({"a": b"x"})[:600]])
def test_what_is_no_message(data: bytes) -> None:
    with pytest.raises(DocumentError, match=r"^it is not a readable Outlook message"):
        read_msg(data, Path("a.msg"))
