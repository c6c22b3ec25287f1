from __future__ import annotations

import gzip
import io
from pathlib import Path

import docx
import pytest

from oreqa.core import Document
from oreqa.corpus import limits
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


def test_markdown(tmp_path: Path) -> None:
    text = """---
title: "The Title"
---
Before.

# One

Text of one.

## Two

```
# not a heading
```

Three
-----

Last.
"""
    (document,) = read(tmp_path / "a.md", text)
    assert document.title == "The Title"
    assert document.text == text
    assert parts(document) == [
        ("", "Before."),
        ("One", "Text of one."),
        ("One > Two", "```\n# not a heading\n```"),
        ("One > Three", "Last."),
    ]


def test_markdown_title_is_its_first_heading(tmp_path: Path) -> None:
    (document,) = read(tmp_path / "a.md", "# Title\n\nText.\n\n## Part\n\nMore.\n")
    assert document.title == "Title"
    assert parts(document) == [("", "Text."), ("Part", "More.")]
    assert read(tmp_path / "some_name.md", "No heading.")[0].title == "some name"


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
        ("a.csv", b"a,b\n1,2\n", "no text field"),
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
