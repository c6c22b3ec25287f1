from __future__ import annotations

import io
import zipfile
from pathlib import Path

import odfdo
import pytest

from oreqa.core import Document
from oreqa.corpus.formats.office.odf import read_odf
from oreqa.errors import DocumentError


def saved(source: odfdo.Document) -> bytes:
    buffer = io.BytesIO()
    source.save(buffer)
    return buffer.getvalue()


def read(elements: str, kind: str = "text", **others: str) -> Document:
    names = ("office", "text", "table", "draw", "style", "presentation", "svg", "meta")
    spaces = " ".join(f'xmlns:{name}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"' for name in names)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        styles = others.pop("automatic", "")
        body = f"<office:automatic-styles>{styles}</office:automatic-styles><office:body><office:{kind}>{elements}</office:{kind}></office:body>"
        archive.writestr("content.xml", f"<office:document-content {spaces}>{body}</office:document-content>")
        for name, content in others.items():
            archive.writestr(f"{name}.xml", f"<office:x {spaces}>{content}</office:x>")
    return read_odf(buffer.getvalue(), Path("a.odt"))


def parts(document: Document) -> list[tuple[str, str]]:
    return [(s.heading, document.text[s.start : s.end]) for s in document.sections]


def balanced(document: Document) -> bool:
    return all(page.source == page.read + sum(page.left_out.values()) for page in document.pages)


def test_headings_lists_and_tables() -> None:
    source = odfdo.Document("text")
    body = source.body
    body.clear()
    body.append(odfdo.Header(1, "One"))
    body.append(odfdo.Paragraph("You need:"))
    body.append(odfdo.List(["a tent", "a stove"]))
    body.append(odfdo.Header(2, "Two"))
    table = odfdo.Table("T", width=2, height=2)
    table.set_values([["left", "right"], [1, 2]])
    body.append(table)
    document = read_odf(saved(source), Path("a_file.odt"))
    assert parts(document) == [("One", "You need:\n- a tent\n- a stove"), ("One > Two", "left | right\n1 | 2")]
    assert balanced(document)


def test_rows_below_a_header_name_their_columns() -> None:
    cells = [f"<table:table-cell><text:p>{text}</text:p></table:table-cell>" for text in ("Name", "Price", "Pot", "8")]
    header, row = (f"<table:table-row>{''.join(part)}</table:table-row>" for part in (cells[:2], cells[2:]))
    document = read(f"<table:table><table:table-header-rows>{header}</table:table-header-rows>{row}</table:table>")
    assert document.text == "Name: Pot; Price: 8"
    assert balanced(document)


def test_numbers_of_lists() -> None:
    level = (
        "<text:list-level-style-number text:level='{}' style:num-format='{}' style:num-suffix=')' text:start-value='{}'/>"
    )
    style = f"<text:list-style style:name='L'>{level.format(1, 1, 3)}{level.format(2, 'a', 1)}</text:list-style>"
    inner = "<text:list><text:list-item><text:p>in</text:p></text:list-item></text:list>"
    items = f"<text:list-item><text:p>x</text:p><text:p>more</text:p>{inner}</text:list-item><text:list-item><text:p>y</text:p></text:list-item>"
    assert read(f"<text:list text:style-name='L'>{items}</text:list>", automatic=style).text == "3) x\n\nmore\n\na) in\n4) y"


def test_titles_notes_boxes_and_what_is_omitted() -> None:
    elements = (
        "<text:tracked-changes><text:p>gone</text:p></text:tracked-changes>"
        "<text:p text:style-name='P1'>The Title</text:p>"
        "<text:table-of-content><text:index-body><text:p>Intro 1</text:p></text:index-body></text:table-of-content>"
        "<text:section><text:p>Text<text:s text:c='9'/>and<text:line-break/>line<text:note><text:note-citation>1</text:note-citation>"
        "<text:note-body><text:p>The note.</text:p></text:note-body></text:note>.<draw:frame><draw:text-box><text:p>In the box.</text:p>"
        "</draw:text-box><svg:desc>a box</svg:desc></draw:frame><office:annotation><text:p>Why?</text:p></office:annotation></text:p></text:section>"
    )
    footer = (
        "<office:master-styles><style:master-page><style:header><text:p>ACME Ltd</text:p></style:header>"
        "<style:footer><text:p>Page <text:page-number>3</text:page-number></text:p><text:p>The Title</text:p></style:footer></style:master-page></office:master-styles>"
    )
    automatic = "<style:style style:name='P1' style:parent-style-name='Title'/>"
    document = read(elements, automatic=automatic, styles=footer)
    assert document.title == "The Title"
    assert parts(document) == [("", "Text and\nline.\nThe note.\n\nIn the box."), ("Headers and footers", "ACME Ltd")]
    assert document.pages[0].left_out == {
        "deletions": 1, "table of contents": 2, "descriptions of pictures": 2, "comments": 1, "headers and footers": 4,
    }  # fmt: skip
    assert balanced(document)


def test_the_field_of_the_title_is_text() -> None:
    document = read("<text:p>Welcome to <text:title>Annual Budget Plan</text:title> of 2024</text:p>")
    assert document.text == "Welcome to Annual Budget Plan of 2024"
    assert document.pages[0].left_out == {}


def test_a_spreadsheet() -> None:
    source = odfdo.Document("spreadsheet")
    source.body.clear()
    table = odfdo.Table("Prices")
    table.set_values([["name", "price"], ["Tent", 80], ["Stove", 30]])
    source.body.append(table)
    document = read_odf(saved(source), Path("a.ods"))
    assert document.text == "name: Tent; price: 80\n\nname: Stove; price: 30"
    assert [place.name for place in document.places] == ["sheet Prices, row 2", "sheet Prices, row 3"]
    assert balanced(document)


def test_repeated_cells_and_rows_are_bounded() -> None:
    cell = "<table:table-cell table:number-columns-repeated='{}'>{}</table:table-cell>"
    rows = (
        f"<table:table-row table:number-rows-repeated='1048000'>{cell.format(16384, '')}</table:table-row>"
        f"<table:table-row>{cell.format(2, '<text:p>x</text:p>')}{cell.format(10**30, '')}</table:table-row>"
    )
    document = read(f"<table:table table:name='S'>{rows}</table:table>", "spreadsheet")
    assert (document.text, document.places[0].name) == ("x | x", "sheet S, row 1048001")


def test_a_presentation() -> None:
    frame = "<draw:frame presentation:class='{}'><draw:text-box><text:p>{}</text:p></draw:text-box></draw:frame>"
    pages = "".join(
        f"<draw:page>{frame.format('title', title) if title else ''}<draw:g>{frame.format('outline', text)}</draw:g>"
        f"<presentation:notes>{frame.format('notes', 'Slowly.')}</presentation:notes></draw:page>"
        for title, text in (("The Octopus", "A talk"), ("Hearts", "Three."), ("", "Arms."))
    )
    document = read(pages, "presentation")
    assert document.title == "The Octopus"
    assert parts(document) == [("", "A talk\n\nSlowly."), ("Hearts", "Three.\n\nSlowly."), ("slide 3", "Arms.\n\nSlowly.")]
    assert [place.name for place in document.places][:3] == ["slide 1", "slide 1, notes", "slide 2"]
    assert balanced(document)


def test_damaged_and_encrypted_files() -> None:
    for data in (b"", b"PK\x03\x04"):
        with pytest.raises(DocumentError, match=r"not a readable \.odt"):
            read_odf(data, Path("a.odt"))
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("META-INF/manifest.xml", "<manifest:encryption-data/>")
        archive.writestr("content.xml", b"\x01\x02")
    with pytest.raises(DocumentError, match="encrypted"):
        read_odf(buffer.getvalue(), Path("a.odt"))
    assert read("<text:h text:outline-level='99999'>H</text:h><text:p>t</text:p>").text == "t"


def test_what_is_struck_out_is_omitted_and_counted() -> None:
    styles = "".join(
        f'<style:style style:name="{name}" style:family="{family}"><style:text-properties {line}/></style:style>'
        for name, family, line in (
            ("T1", "text", 'style:text-line-through-style="solid"'),
            ("T2", "text", 'style:text-line-through-style="none"'),
            ("P1", "paragraph", 'style:text-line-through-type="double"'),
            ("P2", "text", 'style:text-line-through-style="solid"'),
        )
    )
    document = read(
        '<text:p text:style-name="P2">It costs <text:span text:style-name="T1">59 <text:span>or so</text:span> </text:span>'
        '<text:span text:style-name="T2">39</text:span> euros.</text:p><text:p text:style-name="P1">No more.</text:p>',
        automatic=styles,
    )
    assert document.text == "It costs 39 euros."
    assert document.pages[0].left_out == {"struck-out text": 5}
    assert balanced(document)
