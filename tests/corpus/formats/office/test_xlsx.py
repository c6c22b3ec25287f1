from __future__ import annotations

import datetime
import io
import re
import zipfile
from pathlib import Path

import openpyxl
import pytest
import xlsxwriter
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont
from openpyxl.styles import Font

from oreqa.core import MISSING, Document, PageWords
from oreqa.corpus import limits
from oreqa.corpus.formats.office import xlsx
from oreqa.corpus.formats.office.sheets import Sheet
from oreqa.corpus.formats.office.xlsx import read_xlsx
from oreqa.errors import DocumentError


def saved(book: openpyxl.Workbook, *change: bytes) -> bytes:
    buffer = io.BytesIO()
    book.save(buffer)
    if not change:
        return buffer.getvalue()
    changed = io.BytesIO()
    with zipfile.ZipFile(buffer) as source, zipfile.ZipFile(changed, "w") as target:
        for name in source.namelist():
            target.writestr(name, source.read(name).replace(*change))
    return changed.getvalue()


def read(rows: list[list[object]], *change: bytes) -> Document:
    book = openpyxl.Workbook()
    book.active.title = "Prices"
    for row in rows:
        book.active.append(row)
    return read_xlsx(saved(book, *change), Path("a.xlsx"))


def test_rows_name_their_columns() -> None:
    document = read(
        [
            ["name", "price", "since"],
            ["Tent", 80.5, datetime.date(2024, 1, 5)],
            [],
            ["Stove", None, 2],
            ["Ünï", True, 3.0],
        ]
    )
    assert document.text.split("\n\n") == [
        "name: Tent; price: 80.5; since: 2024-01-05",
        "name: Stove; since: 2",
        "name: Ünï; price: TRUE; since: 3",
    ]
    assert [place.name for place in document.places] == [f"sheet Prices, row {n}" for n in (2, 4, 5)]
    assert [section.heading for section in document.sections] == ["Prices"]
    assert [(page.page, page.source, page.read) for page in document.pages] == [("sheet Prices", 6, 6)]


def test_captions_and_rows_without_names() -> None:
    document = read([["Prices of 2024"], [], ["a", "b"], [1, 2], [3, None], [], ["Others"], ["c", "d"], ["x", 5]])
    assert document.text.split("\n\n") == ["Prices of 2024", "a: 1; b: 2", "a: 3", "Others", "c: x; d: 5"]
    assert read([[1, 2], [3, 4]]).text == "1 | 2\n\n3 | 4"
    assert read([["a", "b"]]).text == "a | b"
    assert read([["one cell"]]).text == "one cell"
    assert read([]).text == ""


def test_percentages_and_merged_cells() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["name", "name too", "share"])
    sheet.append(["both", None, 0.255])
    sheet.append(["#N/A", "=1+1", 0.1 + 0.2])
    sheet["C2"].number_format = "0.0%"
    sheet.merge_cells("A2:B2")
    assert read_xlsx(saved(book), Path("a.xlsx")).text == "name: both; name too: both; share: 25.5%\n\nshare: 0.3"


def test_hidden_sheets_are_omitted() -> None:
    book = openpyxl.Workbook()
    book.active.append(["shown"])
    hidden = book.create_sheet("Hidden")
    hidden.append(["secret"])
    hidden.sheet_state = "hidden"
    assert read_xlsx(saved(book), Path("a.xlsx")).text == "shown"


def test_declared_sizes_are_not_believed() -> None:
    assert read([["a"], ["b"]], b'ref="A1:A2"', b'ref="A1:XFD1048576"').text == "a\n\nb"
    assert read([["a"], ["b"]], b'r="A2"', b'r="XFD1048576"').text.endswith("b")


def test_strict_and_damaged_workbooks() -> None:
    with pytest.raises(DocumentError, match="Strict"):
        read(
            [["a"]],
            b"http://schemas.openxmlformats.org/spreadsheetml/2006/main",
            b"http://purl.oclc.org/ooxml/spreadsheetml/main",
        )
    with pytest.raises(DocumentError, match=r"not a readable \.xlsx"):
        read([["a"]], b"<sheetData>", b"<sheetData")


def changed(data: bytes, part: str, content: bytes | None) -> bytes:
    """A workbook of which one part is another, or missing."""
    target = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(target, "w") as archive:
        for name in source.namelist():
            if name != part or content is not None:
                archive.writestr(name, content if name == part and content is not None else source.read(name))
    return target.getvalue()


def two_sheets() -> openpyxl.Workbook:
    book = openpyxl.Workbook()
    book.active.title = "One"
    book.active.append(["first"])
    book.create_sheet("Two").append(["second"])
    return book


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "second"),
        (b"<worksheet", "second"),
        (
            b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData><row r="1"><c r="A1"'
            b' t="str"><v>begun</v></c></row><row r="2"><c r="A2" t="s"><v>999</v></c></row></sheetData></worksheet>',
            "begun\n\nsecond",
        ),
    ],
)
def test_a_damaged_sheet_is_named_and_the_others_read(content: bytes | None, text: str) -> None:
    document = read_xlsx(changed(saved(two_sheets()), "xl/worksheets/sheet1.xml", content), Path("a.xlsx"))
    assert document.text == text
    read = text.count("begun")
    assert document.pages == (PageWords("sheet One", read, read, {MISSING: 0}), PageWords("sheet Two", 1, 1))


def test_a_chart_without_a_drawing_loses_no_sheet() -> None:
    book = two_sheets()
    book.create_chartsheet("Chart")
    data = changed(saved(book), "xl/chartsheets/_rels/sheet1.xml.rels", None)
    assert read_xlsx(data, Path("a.xlsx")).text == "first\n\nsecond"


def test_formulas_without_a_result_are_counted() -> None:
    (page,) = read([["two words", "=1+1"], [None, "=A1"]]).pages
    assert (page.source, page.read, page.left_out) == (4, 2, {"formulas without a result": 2})
    (page,) = read([["a", "=1+1"]], b"</f>", b"</f><v>2</v>").pages
    assert (page.source, page.read, page.left_out) == (1, 1, {})


def test_a_row_costs_its_cells_and_not_its_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(Sheet, "add_row", lambda self, number, cells: sizes.append(len(cells)))
    read([["a"], ["b"]], b'r="A2"', b'r="XFD2"')
    assert sizes == [1, 1]


def test_text_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "TEXT_CHARACTERS", 1000)
    with pytest.raises(DocumentError, match="its text is longer"):
        read([["text of a row", n] for n in range(100)])


def test_merged_cells_fill_their_region() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (
        ["Shops"],
        [],
        ["region", "town", "Monday", "Tuesday"],
        ["West", "Bergen", 7, 8],
        [None, "Ulm", "shut"],
        ["North"],
        ["x" * 70, "Oslo", 1, 2],
        [None, "Bodø", 3, 4],
    ):
        sheet.append(row)
    for region in ("A1:D1", "A4:A5", "C5:D5", "A6:D6", "A7:A8"):
        sheet.merge_cells(region)
    document = read_xlsx(saved(book), Path("a.xlsx"))
    assert document.text.split("\n\n") == [
        "Shops",
        "region: West; town: Bergen; Monday: 7; Tuesday: 8",
        "region: West; town: Ulm; Monday: shut; Tuesday: shut",
        "region: North",
        f"region: {'x' * 70}; town: Oslo; Monday: 1; Tuesday: 2",
        "town: Bodø; Monday: 3; Tuesday: 4",
    ]
    (page,) = document.pages
    assert page.source == page.read


@pytest.mark.parametrize("size", [70, 700, 7000])
def test_merged_cells_are_found_behind_many_rows(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "_CHUNK_BYTES", size)
    book = openpyxl.Workbook()
    for number in range(300):
        book.active.append([number, "b"])
    book.active.merge_cells("A299:A300")
    assert read_xlsx(saved(book), Path("a.xlsx")).text.endswith("298 | b")


@pytest.mark.parametrize("size", [70, 7000])
def test_merged_cells_whose_elements_have_a_prefix(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xlsx, "_CHUNK_BYTES", size)
    book = openpyxl.Workbook()
    for row in (["name", "name too", "share"], ["both", None, 3]):
        book.active.append(row)
    book.active.merge_cells("A2:B2")
    changed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(book))) as source, zipfile.ZipFile(changed, "w") as target:
        for name in source.namelist():
            content = source.read(name)
            if name.startswith("xl/worksheets/"):
                content = re.sub(rb"<(/?)(?=\w)", rb"<\1x:", content).replace(b"xmlns=", b"xmlns:x=")
            target.writestr(name, content)
    assert read_xlsx(changed.getvalue(), Path("a.xlsx")).text == "name: both; name too: both; share: 3"


def test_what_is_struck_out_is_omitted_and_counted() -> None:
    book = openpyxl.Workbook()
    sheet = book.active
    out, kept = InlineFont(strike=True), InlineFont(b=True)
    both = CellRichText(TextBlock(out, "59 or 49 euros "), "now ", TextBlock(kept, "39 euros"))
    for row in (["Name", "Price", "Note"], ["Pot", both, "old"], ["gone", 7, None], ["Pan", 8, "sold out"], [None, 5]):
        sheet.append(row)
    for place in ("C2", "A3", "B3", "B4"):
        sheet[place].font = Font(strike=True)
    sheet["C4"].font = Font(strike=False)
    sheet["A6"] = CellRichText("out of date ", TextBlock(kept, "but good"))
    sheet["A6"].font = Font(strike=True)
    document = read_xlsx(saved(book), Path("a.xlsx"))
    assert document.text.split("\n\n") == [
        "Name: Pot; Price: now 39 euros",
        "Name: Pan; Note: sold out",
        "Price: 5",
        "Name: but good",
    ]
    page = document.pages[0]
    assert page.left_out == {"struck-out text": 9}
    assert page.source == page.read + 9


def test_a_row_that_is_struck_out_ends_no_table() -> None:
    book = openpyxl.Workbook()
    for row in (["Name", "Price"], ["Pot", None], ["Pan", None], ["Lid", None]):
        book.active.append(row)
    book.active["A3"].font = Font(strike=True)
    assert read_xlsx(saved(book), Path("a.xlsx")).text == "Name: Pot\n\nName: Lid"


def test_shared_texts_are_struck_out_in_part() -> None:
    buffer = io.BytesIO()
    with xlsxwriter.Workbook(buffer) as book:  # as Excel, it keeps texts in a part of their own
        out, kept = book.add_format({"font_strikeout": True}), book.add_format({"bold": True})
        sheet = book.add_worksheet("Prices")
        sheet.write_rich_string("A1", out, "old", kept, " or ", "new")
        sheet.write_string("A2", "gone", out)
        sheet.write_rich_string("A3", "all ", kept, "but this", out)
    document = read_xlsx(buffer.getvalue(), Path("a.xlsx"))
    assert document.text == "or new\n\nbut this"
    assert document.pages[0] == PageWords("sheet Prices", 7, 4, {"struck-out text": 3})


def test_what_is_struck_out_in_a_text_box_is_omitted() -> None:
    book = openpyxl.Workbook()
    book.active.append(["a text"])
    data = saved(book)
    kinds = b'<Relationships xmlns="r"><Relationship Id="d" Type="t/drawing" Target="/xl/drawings/drawing1.xml"/></Relationships>'
    drawing = b'<d><p><r><rPr strike="dblStrike"/><t>old</t></r><r><t>new</t></r></p></d>'
    buffer = io.BytesIO(data)
    with zipfile.ZipFile(buffer, "a") as target:
        target.writestr("xl/worksheets/_rels/sheet1.xml.rels", kinds)
        target.writestr("xl/drawings/drawing1.xml", drawing)
    assert read_xlsx(buffer.getvalue(), Path("a.xlsx")).text == "a text\n\nnew"
