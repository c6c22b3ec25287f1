"""Archives, mailboxes and attachments: every member is a document, or is named among those that were not read."""

from __future__ import annotations

import contextlib
import gzip
import io
import random
import struct
import tracemalloc
import zipfile
from collections.abc import Mapping
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oreqa.core import Document
from oreqa.corpus import containers, limits
from oreqa.corpus.containers import Contents, mailbox_messages, zip_members
from oreqa.corpus.readers import read_documents
from oreqa.errors import DocumentError


def packed(files: Mapping[str, bytes | str], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", method) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return data.getvalue()


def mail(subject: str, text: str, **files: bytes) -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"] = subject, "anna@example.org"
    message.set_content(text)
    for name, data in files.items():
        message.add_attachment(data, maintype="application", subtype="x", filename=name.replace("_", "."))
    return message


def without_header(document: Document) -> Document:
    return replace(document, text=document.text.removeprefix(f"from: anna@example.org; subject: {document.title}\n\n"))


def read(path: Path) -> tuple[list[Document], list[str]]:
    lines: list[str] = []
    documents = [without_header(document) for document in read_documents(path, on_unread=lines.append)]
    return documents, [line.replace(str(path.parent), "") for line in lines]


def texts(path: Path) -> dict[str, str]:
    return {document.key.partition(path.name)[2]: document.text for document in read(path)[0]}


def test_the_members_of_an_archive(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    files = {
        "docs/notes.md": "# Deep\n\nPlankton.",
        "rows.csv": "id,name\n7,tent\n9,boots\n",
        "more.txt.gz": gzip.compress(b"Packed twice."),
        "inner.zip": packed({"x.txt": "Inside."}),
        ".hidden/x.txt": "no",
        "__MACOSX/x.txt": "no",
        "folder/": "",
        "list.mbox": b"From a\n" + bytes(mail("Plan", "See it.")),
    }
    path.write_bytes(packed(files))
    assert texts(path) == {
        "#docs/notes.md": "Plankton.",
        "#rows.csv#7": "id: 7; name: tent",
        "#rows.csv#9": "id: 9; name: boots",
        "#more.txt.gz": "Packed twice.",
        "#inner.zip#x.txt": "Inside.",
        "#list.mbox#1": "See it.",
    }
    assert read(path)[1] == []


def test_members_that_cannot_be_read_are_named_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    files = {"good.txt": "Good.", "logo.png": b"x", "bad.pdf": b"x", "empty.txt": "", "README": "x", "big.txt": b"x" * 100}
    path.write_bytes(packed(files))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "TEXT_FILE_BYTES", 99)
        documents, (line,) = read(path)
    assert [document.text for document in documents] == ["Good."]
    assert line.startswith(
        "5 files in it not read: logo.png (its file type is not supported), bad.pdf (it is not a readable"
    )
    assert line.endswith("), empty.txt (it holds no text), ...")
    path.write_bytes(packed({"logo.png": b"x"}))
    with pytest.raises(DocumentError, match=r"^it holds no text that can be read: logo\.png \(its file type is not"):
        read(path)


def test_members_with_one_name_and_members_that_lie_deep(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    nested = packed({"deepest.txt": "No."})
    for level in range(limits.NESTED - 1, 0, -1):
        nested = packed({f"{level}.zip": nested, f"{level}.txt": "Yes."})
    path.write_bytes(packed({"a.txt": "One.", "b.txt": "Two.", "0.zip": nested}).replace(b"b.txt", b"a.txt"))
    documents, (line,) = read(path)
    assert [document.text for document in documents] == ["One.", "Two.", *["Yes."] * (limits.NESTED - 1)]
    assert [document.key.partition("#")[2] for document in documents[:2]] == ["a.txt", "a (2).txt"]
    assert line == "1 file in it not read: deepest.txt (it lies too deep in other files)"


def test_equal_names_are_numbered_apart_from_names_that_look_so(tmp_path: Path) -> None:
    path = tmp_path / "one.eml"
    message = mail("Minutes", "Attached.", **{"plan (2)_txt": b"First."})
    for text in ("Second.", "Third.", "Fourth."):
        message.add_attachment(text.encode(), maintype="application", subtype="x", filename="plan.txt")
    for text in ("Yes.", "No."):
        message.add_attachment(mail("Re: plan", text))
    path.write_bytes(bytes(message))
    assert list(texts(path).items())[1:] == [
        ("#plan (2).txt", "First."),
        ("#plan.txt", "Second."),
        ("#plan (3).txt", "Third."),
        ("#plan (4).txt", "Fourth."),
        ("#Re: plan.eml", "Yes."),
        ("#Re: plan (2).eml", "No."),
    ]
    assert read(path)[1] == []


def test_members_of_a_zip_that_are_gzipped_rows_or_lie_above_it(tmp_path: Path) -> None:
    path = tmp_path / "a.zip"
    path.write_bytes(packed({"t.csv.gz": gzip.compress(b"id,name\n7,tent\n"), "../notes.txt": "Above."}))
    assert texts(path) == {"#t.csv.gz#7": "id: 7; name: tent", "#../notes.txt": "Above."}


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_member_that_states_less_than_it_holds(method: int) -> None:
    data = bytearray(packed({"a.txt": b"x" * (30 << 20)}, method))
    for mark, place in ((b"PK\3\4", 22), (b"PK\1\2", 24)):
        begin = data.index(mark) + place
        data[begin : begin + 4] = struct.pack("<L", 1000)
    file = io.BytesIO(data)
    tracemalloc.start()
    try:
        (member,) = zip_members(file, Contents())
        assert tracemalloc.get_traced_memory()[1] < 4 << 20
    finally:
        tracemalloc.stop()
    assert member.data is None
    usual = method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED)
    assert ("it is damaged" if usual else "it is packed by a method that is not read: pack it by deflate") in member.problem


@pytest.mark.parametrize("members", [1, limits.MEMBERS + 1])
def test_the_64_bit_end_of_an_archive(members: int) -> None:
    data = packed({"a.txt": "One."})
    end = data.rindex(b"PK\5\6")
    *_, length, start, _ = struct.unpack("<4s4H2LH", data[end:])
    long_end = struct.pack("<4sQ2H2L4Q", b"PK\6\6", 44, 45, 45, 0, 0, members, members, length, start)
    locator = struct.pack("<4sLQL", b"PK\6\7", 0, end, 1)
    large = data[:end] + long_end + locator + data[end:]
    if members == 1:
        assert [member.data for member in zip_members(io.BytesIO(large), Contents())] == [b"One."]
        large = large.replace(b"PK\6\6", b"PK\0\0")
    with pytest.raises(DocumentError, match="its 64-bit end is missing" if members == 1 else "more than 10,000 members"):
        list(zip_members(io.BytesIO(large), Contents()))


def test_members_are_counted_whatever_the_end_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MEMBERS", 3)
    data = bytearray(packed({f"{number}.txt": "x" for number in range(5)}))
    end = data.rindex(b"PK\5\6")
    data[end + 8 : end + 12] = struct.pack("<2H", 3, 3)
    with pytest.raises(DocumentError, match="it has more than 3 members"):
        list(zip_members(io.BytesIO(data), Contents()))


def test_archives_in_a_file_share_one_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ARCHIVE_BYTES", 4000)
    inner = packed({"x.txt": "x" * 1500})
    path = tmp_path / "a.zip"
    path.write_bytes(packed({"1.zip": inner, "2.zip": inner, "3.zip": inner, "4.txt.gz": gzip.compress(b"y" * 3000)}))
    documents, (line,) = read(path)
    assert len(documents) == 2
    assert line.startswith("2 files in it not read: 3.zip (it unpacks to more than 0 MB, with the archives before it in the")


def test_what_is_encrypted_damaged_or_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.zip"
    data = bytearray(packed({"a.txt": "A secret of many words.", "b.txt": "Good."}, zipfile.ZIP_STORED))
    for mark, place in ((b"PK\3\4", 6), (b"PK\1\2", 8)):
        data[data.index(mark) + place] |= 1
    path.write_bytes(data)
    assert read(path)[1] == ["1 file in it not read: a.txt (it is encrypted)"]
    data = bytearray(packed({"a.txt": "A text of many words.", "b.txt": "Good."}, zipfile.ZIP_STORED))
    data[data.index(b"many")] ^= 1
    path.write_bytes(data)
    assert read(path)[1] == ["1 file in it not read: a.txt (it is damaged (BadZipFile: Bad CRC-32 for file 'a.txt'))"]
    monkeypatch.setattr(limits, "PARSED_FILE_BYTES", 10)
    assert "a.txt (it is larger than" in read(path)[1][0]
    monkeypatch.setattr(limits, "ARCHIVE_BYTES", 20)
    with pytest.raises(DocumentError, match="it unpacks to more than"):
        read(path)
    monkeypatch.setattr(limits, "MEMBERS", 1)
    with pytest.raises(DocumentError, match="it has more than 1 members: split it, or unpack it"):
        read(path)


def test_a_long_list_of_members_is_not_read(tmp_path: Path) -> None:
    """The count of members may lie; the length of their list is what costs memory."""
    data = bytearray(packed({f"{number}.txt": "x" for number in range(50)}))
    end = data.rindex(b"PK\5\6")
    data[end + 8 : end + 16] = struct.pack("<2HL", 1, 1, limits.MEMBERS * 400 + 1)
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(DocumentError, match="it has more than 10,000 members"):
        read(tmp_path / "a.zip")


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "it is not a zip archive"), (b"PK\5\6", "it is a damaged zip archive"), (b"x" * 99, "not a zip")],
)
def test_what_is_no_archive(tmp_path: Path, data: bytes, reason: str) -> None:
    (tmp_path / "a.zip").write_bytes(data)
    with pytest.raises(DocumentError, match=reason):
        read(tmp_path / "a.zip")


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_a_damaged_archive_gives_members_or_a_document_error(draw: random.Random) -> None:
    data = bytearray(packed({f"{number}.txt": "some words " * number for number in range(1, 6)}))
    for _ in range(draw.randint(1, 4)):
        data[draw.randrange(len(data))] = draw.randrange(256)
    with contextlib.suppress(DocumentError):
        for member in zip_members(io.BytesIO(data), Contents()):
            assert member.data is None or len(member.data) <= limits.PARSED_FILE_BYTES


def test_the_messages_of_a_mailbox(tmp_path: Path) -> None:
    first, second = (
        mail("Boots", "From now on:\n\n>From the shop, 40 euros."),
        mail("Plan", "See it.", plan_md=b"# Plan\n\nMay."),
    )
    path = tmp_path / "list.mbox"
    quoted = bytes(first).replace(b"\nFrom now", b"\n>From now").replace(b"\n>From the", b"\n>>From the")
    path.write_bytes(b"\n\nFrom a@example.org Mon\n" + quoted + b"\nFrom b@example.org Tue\n" + bytes(second) + b"\n")
    documents, lines = read(path)
    assert lines == []
    assert [document.key.partition("list.mbox")[2] for document in documents] == ["#1", "#2", "#2#plan.md"]
    assert [document.title for document in documents] == ["Boots", "Plan", "Plan"]
    assert documents[0].text == "From now on:\n\n>From the shop, 40 euros."
    assert documents[2].fields == {"from": "anna@example.org"}


def test_a_mailbox_of_any_name_that_is_named_itself(tmp_path: Path) -> None:
    path = tmp_path / "Inbox"
    path.write_bytes(b"From - Mon\n" + bytes(mail("Plan", "See it.")))
    assert texts(path) == {"#1": "See it."}
    path.write_bytes(b"From here on\nall is text.")
    assert texts(path) == {"": "From here on\nall is text."}


def test_where_messages_begin() -> None:
    """In list archives without blank lines between messages, and not at sentences that begin with From."""
    box = (
        b"From a at b.org  Wed Feb  1 19:06:04 2006\r\nSubject: One\r\n\r\nText.\r\n"
        b"From c at b.org  Wed Feb  1 20:06:04 2006\r\nSubject: Two\r\n\r\n"
        b"From this all follows.\r\n\r\nFrom 10:30 on in 2006\r\nwe met.\r\n\r\nFrom d\r\n>From e\r\nSubject: Three\r\n\r\n"
    )
    assert [
        (member.name, member.data.partition(b"\r\n")[0]) for member in mailbox_messages(io.BytesIO(box)) if member.data
    ] == [
        ("1", b"Subject: One"),
        ("2", b"Subject: Two"),
        ("3", b"From e"),
    ]


def test_lines_of_a_mailbox_may_be_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(containers, "_LINE", 8)
    box = b"From a\nSubject: A long line From here to there\n\nFrom b\nSubject: Two\n\n"
    assert [member.data for member in mailbox_messages(io.BytesIO(box))] == [box[7:48], box[55:]]


def test_a_mailbox_of_too_many_messages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MESSAGES", 2)
    box = b"\n".join(b"From a\n" + bytes(mail("Plan", f"Number {number}.")) for number in range(3))
    (tmp_path / "a.mbox").write_bytes(box)
    with pytest.raises(DocumentError, match="it has more than 2 messages: split it"):
        read(tmp_path / "a.mbox")
    (tmp_path / "a.zip").write_bytes(packed({"a.mbox": box, "b.txt": "Good."}))
    documents, lines = read(tmp_path / "a.zip")
    assert [document.key.rpartition("#")[2] for document in documents] == ["1", "2", "b.txt"]
    assert lines == ["1 file in it not read: a.mbox (it has more than 2 messages: split it)"]


def test_what_is_no_mailbox_and_a_message_that_is_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(DocumentError, match='its first line does not begin with "From "'):
        list(mailbox_messages(io.BytesIO(b"Subject: x\n")))
    assert list(mailbox_messages(io.BytesIO(b"\n\n"))) == []
    monkeypatch.setattr(limits, "PARSED_FILE_BYTES", 200)
    box = b"From a\n" + bytes(mail("Long", "word " * 60)) + b"\nFrom b\n" + bytes(mail("Short", "Good."))
    (tmp_path / "a.mbox").write_bytes(box)
    documents, lines = read(tmp_path / "a.mbox")
    assert [document.text for document in documents] == ["Good."]
    assert lines == ["1 file in it not read: 1 (it is larger than 0 MB)"]


def test_attachments_of_a_mail(tmp_path: Path) -> None:
    path = tmp_path / "one.eml"
    message = mail(
        "Minutes", "Attached.", minutes_txt=b"Osaka was chosen.", logo_png=b"x", a_zip=packed({"x.txt": "Inside."})
    )
    forwarded = mail("Before", "The earlier one.", old_txt=b"Kyoto.")
    message.add_attachment(forwarded)
    path.write_bytes(bytes(message))
    assert texts(path) == {
        "": "Attached.\n\nAttachments: minutes.txt, logo.png, a.zip, Before",
        "#minutes.txt": "Osaka was chosen.",
        "#a.zip#x.txt": "Inside.",
        "#Before.eml": "The earlier one.\n\nAttachments: old.txt",
        "#Before.eml#old.txt": "Kyoto.",
    }
    assert read(path)[1] == ["1 file in it not read: logo.png (its file type is not supported)"]


@pytest.mark.parametrize("name", ["a.tar", "a.tar.gz", "a.7z", "a.rar"])
def test_other_archives_are_to_be_unpacked(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"x")
    with pytest.raises(DocumentError, match=rf"unpack it \([a-z7 ]+ {name}\), and index the folder"):
        read(tmp_path / name)
