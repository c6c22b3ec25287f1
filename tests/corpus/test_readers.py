from __future__ import annotations

import gzip
import io
import os
import re
import zipfile
from pathlib import Path

import docx
import pytest

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.formats import tables
from oreqa.corpus.formats.docx import read_docx
from oreqa.corpus.formats.pdf import _unwrap
from oreqa.corpus.readers import Fields, known, read_documents
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


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
def test_encodings(tmp_path: Path, encoding: str) -> None:
    text = "Où est le café ? Le garçon a déjà mangé près de la forêt, très tôt, à côté de l'hôtel. " * 5
    assert read(tmp_path / "a.txt", text.encode(encoding))[0].text == text


def test_html(tmp_path: Path) -> None:
    paragraphs = "".join(
        f"<p>This is sentence number {i} of a page about lighthouses and their keepers.</p>" for i in range(9)
    )
    page = f"""<html><head><title>Lighthouses</title><style>p {{color: red}}</style></head>
    <body><nav>Home | About</nav><article><h1>Lighthouses</h1>{paragraphs}<h2>Keepers</h2>
    <p>The keepers lived in the tower all year round with their families and goats.</p></article></body></html>"""
    (document,) = read(tmp_path / "a.html", page)
    assert document.title == "Lighthouses"
    assert "number 8" in document.text
    assert "color" not in document.text
    assert any(heading.endswith("Keepers") and "goats" in text for heading, text in parts(document))


def test_html_without_main_text_gives_all_text(tmp_path: Path) -> None:
    (document,) = read(tmp_path / "a.html", "<p>Just <b>this</b>.</p><script>var x</script>")
    assert "".join(document.text.split()) == "Justthis."


def pdf(pages: list[str], password: str = "") -> bytes:
    from reportlab.lib.pdfencrypt import StandardEncryption
    from reportlab.pdfgen.canvas import Canvas

    buffer = io.BytesIO()
    canvas = Canvas(buffer, encrypt=StandardEncryption(password, canPrint=0) if password else None)
    for page in pages:
        for number, line in enumerate(page.split("\n")):
            canvas.drawString(72, 720 - 14 * number, line)
        canvas.showPage()
    canvas.save()
    return buffer.getvalue()


def test_pdf_pages_are_sections_and_lines_are_joined(tmp_path: Path) -> None:
    (document,) = read(tmp_path / "a.pdf", pdf(["The first page is bro-\nken over\nthree lines.", "Second page."]))
    assert parts(document) == [("page 1", "The first page is broken over three lines."), ("page 2", "Second page.")]


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("one-\ntwo", "onetwo"),
        ("One-\nTwo", "One- Two"),
        ("-\na", "- a"),
        ("a\n \nb", "a\n\nb"),
        ("a\n- b\n12. c\n-", "a\n- b\n12. c\n-"),
        ("  a  \r\n\tb\0", "a b"),
    ],
)
def test_lines_of_a_pdf_page(page: str, text: str) -> None:
    assert _unwrap(page) == text


def test_docx(tmp_path: Path) -> None:
    source = docx.Document()
    source.add_heading("The Title", 0)
    source.add_paragraph("First.")
    source.add_heading("Part", 2)
    source.add_paragraph("Second.")
    table = source.add_table(1, 2)
    table.rows[0].cells[0].text, table.rows[0].cells[1].text = "left", "right"
    source.save(str(tmp_path / "a.docx"))
    (document,) = read_documents(tmp_path / "a.docx")
    assert document.title == "The Title"
    assert parts(document) == [("", "First."), ("Part", "Second.\n\nleft | right")]


def test_csv_and_tsv(tmp_path: Path) -> None:
    (a, b) = read(tmp_path / "a.csv", 'id,text,kind\n1,"One, with\na comma",x\n2,Two,y\n')
    assert (a.key.rsplit("#")[-1], a.text, a.fields) == ("1", "One, with\na comma", {"kind": "x"})
    assert b.text == "Two"
    path = tmp_path / "b.tsv"
    path.write_text("sku\tdescription\tproduct\n7\tA tent.\tTent\n")
    (row,) = read_documents(path, Fields("description", "product", "sku"))
    assert (row.key.rsplit("#")[-1], row.text, row.title, row.fields) == ("7", "A tent.", "Tent", {})


def test_jsonl(tmp_path: Path) -> None:
    lines = '{"text": "One.", "n": 5, "tags": ["a"]}\n\n{"text": "  "}\n{"text": "Two.", "title": "T"}\n'
    rows = read(tmp_path / "a.jsonl", lines)
    assert [(r.key.rsplit("#")[-1], r.title, r.text, r.fields) for r in rows] == [
        ("1", "", "One.", {"n": "5", "tags": '["a"]'}),
        ("3", "T", "Two.", {}),
    ]
    assert len(read(tmp_path / "b.jsonl.gz", gzip.compress(lines.encode()))) == 2


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.txt", b"", "no text"),
        ("a.txt", b" \n", "no text"),
        ("a.txt", b"MZ\0\0\0binary", "binary"),
        ("a.pdf", b"%PDF-1.4 broken", "PDF"),
        ("a.pdf", b"", "PDF"),
        ("a.docx", b"PK\x03\x04nothing", "docx"),
        ("a.xyz", b"what", "cannot be read; known"),
        ("a.jsonl", b"{oops\n", "line 1 is not JSON"),
        ("a.jsonl", b"[1]\n", "line 1 is a JSON list"),
        ("a.jsonl", b'{"words": "x"}\n', "row 1 has no text field; its fields are 'words'"),
        ("a.jsonl", b'{"id": 1, "text": "x"}\n{"id": 1, "text": "y"}\n', "row 2 repeats the identifier '1'"),
        ("a.jsonl", b'{"text": "ok"}\n{"text": "\xff\xfe"}\n', "line 2 is not utf-8"),
        ("a.jsonl.gz", b"\x1f\x8bnot", "gzip"),
        ("a.jsonl.gz", gzip.compress(b'{"text": "x"}\n')[:14] + b"\xff" * 20, "gzip"),
        ("a.csv", b"a,b\n1,2\n", "no text field"),
        ("a.csv", b"text," + b"a," * 12_000 + b"\nx\n", "line 1 has more than 10,000 fields"),
        ("a.jsonl", b'{"text": "x", "n": ' + b"9" * 5000 + b"}", "line 1 is not JSON"),
        ("a.jsonl", b'{"text": ' + b"[" * 50_000, "line 1 is not JSON"),
        ("a.jsonl", b'{"text": "x", "id": "' + b"9" * 501 + b'"}', "row 1 has an identifier of 501 characters"),
        ("a.jsonl", b"{" + b", ".join(b'"%d": 1' % n for n in range(99)) + b"}", "its fields are '0', .*'9', ...: name one"),
        ("a.txt", "\u200b\x01\n".encode(), "no text"),
        ("a.csv", b"", "no text"),
        ("a.csv", b"id,text\n", "no text"),
        ("a.jsonl", b"\n", "no text"),
        ("a.jsonl.gz", gzip.compress(b""), "no text"),
    ],
)
def test_bad_files_are_named_in_one_line(tmp_path: Path, name: str, content: bytes, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason) as caught:
        read(tmp_path / name, content)
    assert "\n" not in str(caught.value)


def test_encrypted_pdf(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="encrypted"):
        read(tmp_path / "a.pdf", pdf(["Secret."], "word"))


def test_an_overlong_line_is_refused_before_it_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROW_BYTES", 1000)
    with pytest.raises(DocumentError, match="line 2 is longer"):
        read(tmp_path / "a.jsonl", '{"text": "ok"}\n{"text": "' + "x" * 2000 + '"}\n')


def test_known() -> None:
    assert known(Path("A.TXT"))
    assert known(Path("b.jsonl.gz"))
    assert not known(Path("c.py"))


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


def test_text_is_unicode_whatever_a_table_holds(tmp_path: Path) -> None:
    line = r'{"id": "k\ud800", "title": "t\udfff", "text": "a\ud800b \ud83d\ude00", "f\ud800": ["\udc00"], "g": "\ud800"}'
    (row,) = read(tmp_path / "a.jsonl", line)
    assert (row.title, row.text, row.fields) == ("t\ufffd", "a\ufffdb 😀", {"f\ufffd": '["\ufffd"]', "g": "\ufffd"})
    assert row.key.endswith("#k\ufffd")


def test_a_row_may_spread_over_lines_within_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROW_BYTES", 1000)
    with pytest.raises(DocumentError, match=r"line \d+ is in a row of more than"):
        read(tmp_path / "a.csv", 'text,b\n"' + "x" * 8 + '"\n"' + "x" * 9 + "\nx" * 5000)


def test_short_and_long_rows_of_a_csv(tmp_path: Path) -> None:
    rows = read(tmp_path / "a.csv", "\nid,text,kind\n\n1,One.\n2,Two.,x,more,again\n")
    assert [(row.text, row.fields) for row in rows] == [("One.", {}), ("Two.", {"kind": "x", "extra": '["more", "again"]'})]


def test_a_gzip_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "PARSED_FILE_BYTES", 1000)
    with pytest.raises(DocumentError, match="more than 200 times its size"):
        read(tmp_path / "a.jsonl.gz", gzip.compress(b"\n" * 1_000_000))


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

        monkeypatch.setattr(tables, "detect_encoding", fail)
        with pytest.raises(DocumentError) as caught:
            read(tmp_path / "a.csv", "text\nx\n")
        assert "\n" not in str(caught.value)
        str(caught.value).encode()


def test_deeply_nested_html_keeps_its_text(tmp_path: Path) -> None:
    for depth in (300, 5000):
        (document,) = read(tmp_path / "a.html", "".join(f"<div><p>Text {n} is here.</p>" for n in range(depth)))
        assert f"Text {depth - 1} is here." in document.text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        (b"<p>hi<style>a</style>&#1;x</p>", "hi\n\x01x"),
        (b"<p>a\x00b</p><b>c", None),
        (b"<title>t</title>only this", "only this"),
        (b"no markup", "no markup"),
    ],
)
def test_odd_html(tmp_path: Path, page: bytes, text: str | None) -> None:
    try:
        (document,) = read(tmp_path / "a.html", page)
    except DocumentError as error:
        assert text is None and "binary" in str(error)  # noqa: PT018, PT017
    else:
        assert document.text == text


def test_pdf_with_a_number_for_a_title(tmp_path: Path) -> None:
    content = pdf(["Text."])
    assert b"/Title (untitled)" in content
    (document,) = read(tmp_path / "a.pdf", content.replace(b"/Title (untitled)", b"/Title 5         "))
    assert (document.title, parts(document)) == ("5", [("page 1", "Text.")])


def docx_file(body: str, **others: bytes) -> bytes:
    """A Word file with another body, and other ``core``, ``styles``."""
    buffer = io.BytesIO()
    docx.Document().save(buffer)
    changed = io.BytesIO()
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(changed, "w", zipfile.ZIP_DEFLATED) as target:
        for name in source.namelist():
            content = others.get(Path(name).stem, source.read(name))
            if name == "word/document.xml":
                content = re.sub(rb"<w:body>.*</w:body>", body.encode(), content, flags=re.DOTALL)
            target.writestr(name, content)
    return changed.getvalue()


PARAGRAPH = (
    "<w:p><w:pPr><w:pStyle w:val='Heading2'/></w:pPr><w:r><w:t>Part</w:t></w:r></w:p><w:p><w:r><w:t>Text.</w:t></w:r></w:p>"
)


def test_damaged_word_files(tmp_path: Path) -> None:
    cell = "<w:tc><w:tcPr>{}</w:tcPr><w:p><w:r><w:t>{}</w:t></w:r></w:p></w:tc>"
    wide = cell.format('<w:gridSpan w:val="60000000"/>', "wide") + cell.format("", "5") + cell.format("", "5")
    (document,) = read(tmp_path / "a.docx", docx_file(f"<w:body><w:tbl><w:tr>{wide}</w:tr></w:tbl></w:body>"))
    assert document.text == "wide | 5 | 5"
    (document,) = read(tmp_path / "a.docx", docx_file(f"<w:body>{PARAGRAPH}</w:body>", core=b"<odd/>"))
    assert parts(document) == [("Part", "Text.")]
    with pytest.raises(DocumentError, match="it is not a readable"):
        read(tmp_path / "a.docx", docx_file(""))
    bad_styles = b'<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:style w:type="odd"/></w:styles>'
    (document,) = read(tmp_path / "a.docx", docx_file(f"<w:body>{PARAGRAPH}</w:body>", styles=bad_styles))
    assert "Text." in document.text


def test_word_bombs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNPACKED_BYTES", 1 << 20)
    with pytest.raises(DocumentError, match="it unpacks to more than 1 MB"):
        read_docx(docx_file("<w:body>" + " " * (1 << 20)), Path("a.docx"))


@pytest.mark.slow
def test_a_word_file_of_millions_of_paragraphs_stays_within_its_memory(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="takes more than"):
        read(tmp_path / "a.docx", docx_file("<w:body>" + "<w:p><w:r><w:t>a</w:t></w:r></w:p>" * 4_000_000 + "</w:body>"))
