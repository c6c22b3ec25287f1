from __future__ import annotations

import gzip
import os
from pathlib import Path
from unittest.mock import Mock

import pytest

from oreqa.core import Document
from oreqa.corpus import limits, process
from oreqa.corpus.formats import rows
from oreqa.corpus.readers import is_supported, read_documents
from oreqa.errors import DocumentError


def read(path: Path, content: bytes | str) -> list[Document]:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return list(read_documents(path))


def parts(document: Document) -> list[tuple[str, str]]:
    return [(s.heading, document.text[s.start : s.end].strip()) for s in document.sections]


def test_plain_text(tmp_path: Path) -> None:
    (document,) = read(tmp_path / "annual_report-2024.txt", "Hello.\r\nWorld.\r")
    assert (document.title, document.text) == ("annual report 2024", "Hello.\nWorld.\n")
    assert document.key == str(tmp_path / "annual_report-2024.txt")


def test_a_text_with_the_markup_of_restructuredtext_is_read_as_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "Council\n=======\n\n.. _members:\n\nIt has **five** members; see {}.\n"
    (plain,) = read(tmp_path / "plain.txt", text.format("security"))
    (marked_up,) = read(tmp_path / "marked.txt", text.format(":doc:`security`"))
    assert "It has **five** members; see security." in plain.text
    assert "It has five members; see security." in marked_up.text
    assert (marked_up.key, marked_up.title) == (str(tmp_path / "marked.txt"), "Council")
    monkeypatch.setattr(process, "parse", Mock(side_effect=DocumentError("it is damaged")))
    (read_again,) = read(tmp_path / "marked.txt", text.format(":doc:`security`"))
    assert "It has **five** members" in read_again.text


@pytest.mark.parametrize("name", ["README", "Makefile", "settings.cfg"])
def test_text_of_an_unknown_type_is_plain_text(tmp_path: Path, name: str) -> None:
    (document,) = read(tmp_path / name, "# Café\r\n\nAll: one")
    assert (document.title, document.text) == (Path(name).stem, "# Café\n\nAll: one")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    text = "Où est le café ? Le garçon a déjà mangé près de la forêt, très tôt, à côté de l'hôtel. " * 5
    assert read(tmp_path / "a.txt", text.encode(encoding))[0].text == text


@pytest.mark.parametrize(
    ("encoding", "text"),
    [
        ("cp1252", "Frau Krüger leitet die Abteilung."),
        ("cp1252", "It’s a test of the printer."),
        ("cp1252", "question;answer\nWer ist Frau Krüger?;Chefin\n"),
        ("cp1252", "Temperature 25 °C max; 10 µm"),
        ("cp1251", "Привет, как дела? Это печать."),
        ("shift_jis", "ソフトウェアの使い方を説明します。"),
        ("gb2312", "本手册说明打印机的使用方法。"),
        ("cp850", "Die Größe der Straße, für Köln."),
    ],
)
def test_short_texts_in_the_encodings_of_windows_and_dos(tmp_path: Path, encoding: str, text: str) -> None:
    assert read(tmp_path / "a.txt", text.encode(encoding))[0].text == text


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"", "no text"),
        ("a.txt", b" \n", "no text"),
        ("a.txt", b"MZ\0\0\0binary", "binary"),
        ("a.xyz", b"\x7fELF\0\0", "its file type is not supported, and it is not plain text$"),
        ("a.ps", b"%!PS Hello", "files of type .ps are not read"),
        ("a.txt", "\u200b\x01\n".encode(), "no text"),
    ],
)
def test_bad_files_are_named_in_one_line(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason) as caught:
        read(tmp_path / name, content)
    assert "\n" not in str(caught.value)


def test_supported_names() -> None:
    assert is_supported(Path("A.TXT"))
    assert is_supported(Path("b.jsonl.gz"))
    assert is_supported(Path("b.HTML.gz"))
    assert not is_supported(Path("b.pdf.gz"))
    assert is_supported(Path("c.py"))
    assert not is_supported(Path("c.exe"))


def test_formats_that_names_and_contents_tell(tmp_path: Path) -> None:
    page = b".TH LS 1\n.SH NAME\nls \\- list\n"
    files = {
        "ls.1": page,
        "ls.3pm.gz": gzip.compress(page),
        "syslog.1": b"Nov 26 started\n",
        "old.2.gz": b"not gzip",
        "lib.so.6": b"\x7fELF\0",
        "book.xml": b'<book xmlns="http://docbook.org/ns/docbook"><para>Text.</para></book>',
        "build.xml": b"<project/>",
    }
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "folder.1").mkdir()
    supported = [name for name in (*files, "folder.1", "gone.1") if is_supported(tmp_path / name)]
    assert supported == ["ls.1", "ls.3pm.gz", "book.xml"]
    (document,) = read_documents(tmp_path / "ls.3pm.gz")
    assert (document.key, document.title, document.text) == (str(tmp_path / "ls.3pm.gz"), "LS(1)", "ls - list")


def test_missing_file() -> None:
    with pytest.raises(DocumentError, match="cannot be read"):
        list(read_documents(Path("/nowhere/a.txt")))


def test_titles_and_headings_are_bounded(tmp_path: Path) -> None:
    long = "word " * 1000
    (document,) = read(tmp_path / "a.md", f"---\ntitle: {long}\n---\nText.\n\n# {long}\n\nMore.\n")
    assert document.title == long[:500]
    assert parts(document) == [
        ("", f"Text.\n\n{long.strip()}\n\nMore.")
    ]  # so long a line is no heading, and its text is kept
    (row,) = read(tmp_path / "a.jsonl", f'{{"text": "x", "title": "{long}"}}')
    assert row.title == long[:500]
    nested = "".join(f"{'#' * level} {level}{'x' * 400}\n\ntext\n\n" for level in range(1, 7))
    (document,) = read(tmp_path / "b.md", f"# Title\n\n{nested}")
    assert max(len(section.heading) for section in document.sections) == 500


def test_line_ends_count_as_one_character(tmp_path: Path) -> None:
    (document,) = read(tmp_path / "a.txt", b"\xef\xbb\xbfOne.\r\n\r\n# H\r\rTwo.\r\n")
    assert document.text == "One.\n\n# H\n\nTwo.\n"


def test_a_file_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TEXT_FILE_BYTES", 1 << 20)
    with pytest.raises(DocumentError, match=r"it is larger than 1 MB, the limit for \.txt files"):
        read(tmp_path / "a.txt", b"x" * (1 << 20) + b"y")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    for name in ("a.txt", "a.jsonl", "a.pdf"):
        os.mkfifo(tmp_path / name)
        with pytest.raises(DocumentError, match="not a regular file"):
            list(read_documents(tmp_path / name))
    (tmp_path / "b.txt").mkdir()
    with pytest.raises(DocumentError, match="not a regular file"):
        list(read_documents(tmp_path / "b.txt"))


def test_names_that_are_not_utf_8(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="its name is not UTF-8"):
        list(read_documents(tmp_path / "a\udcff.txt"))


def test_what_a_library_raises_is_the_files_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (ValueError("one\ntwo"), RecursionError(), MemoryError(), KeyError("\ud800")):

        def fail(*arguments: object, error: Exception = error) -> None:
            raise error

        monkeypatch.setattr(rows, "_sniffed", fail)
        with pytest.raises(DocumentError) as caught:
            read(tmp_path / "a.csv", "text\nx\n")
        assert "\n" not in str(caught.value)
        str(caught.value).encode()


@pytest.mark.parametrize("name", ["README.gz", "changelog.Debian.gz"])
def test_a_gzipped_text_of_any_kind_is_read(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"Bees dance."))
    (document,) = read_documents(tmp_path / name)
    assert (document.key, document.text) == (str(tmp_path / name), "Bees dance.")
    (tmp_path / name).write_bytes(gzip.compress(bytes(range(256))))
    with pytest.raises(DocumentError, match="unpack it"):
        list(read_documents(tmp_path / name))


def test_a_gzipped_picture_is_an_archive(tmp_path: Path) -> None:
    (tmp_path / "a.png.gz").write_bytes(gzip.compress(b"x"))
    with pytest.raises(DocumentError, match=r"unpack it \(gunzip -k a.png.gz\), and index the file"):
        list(read_documents(tmp_path / "a.png.gz"))
