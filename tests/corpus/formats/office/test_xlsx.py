from __future__ import annotations

import datetime
import io
import re
import zipfile
from pathlib import Path

import openpyxl
import pytest

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


def test_hidden_sheets_are_left_out() -> None:
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
