from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from oreqa.index import tables
from oreqa.index.documents import read_document
from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.index.tables import WholeTable, tables_around

Read = Callable[..., list[WholeTable]]

STAFF = "name,city,age\nAnna,Berlin,41\nBen,Bonn,\nCarl,Berlin,52\n"
FLEET = """# Fleet

Ships of the line.

| Ship | Length (m) | Port |
|---|---|---|
| Alba | 120 | Kiel |
| Bora | 1,140 | Kiel |

## Old

| Ship | Length (m) | Port |
|---|---|---|
| Cita | 90 | Ulm |
| Dora | 80 | |
"""


@pytest.fixture
def read(tmp_path: Path, fitted: Path) -> Read:
    """The tables of files with these texts."""

    def of(where: tuple[tuple[str, tuple[str, ...]], ...] = (), **texts: str) -> list[WholeTable]:
        files = tmp_path / "files"
        files.mkdir(exist_ok=True)
        for name, text in texts.items():
            (files / name.replace("_", ".")).write_text(text)
        index_files(tmp_path / "kb", files, Settings(str(fitted)), prune=True)
        with Index.open(tmp_path / "kb") as index:
            snapshot = index.snapshot()
            return tables_around(snapshot, snapshot.ids_after(0, 10_000), where)

    return of


def cells(table: WholeTable) -> list[list[str]]:
    return [[row.cell(column) for column in table.columns] for row in table.rows]


def test_the_rows_of_a_file_are_one_table(read: Read, tmp_path: Path) -> None:
    (table,) = read(staff_csv=STAFF)
    assert (table.head, table.columns) == ("staff", ("name", "city", "age"))
    assert cells(table) == [["Anna", "Berlin", "41"], ["Ben", "Bonn", ""], ["Carl", "Berlin", "52"]]
    for row in table.rows:
        (passage,) = read_document(tmp_path / "kb", row.passage.document_key)
        assert row.text == passage.text[row.start : row.end]
        assert all(passage.text[start:end] == row.cell(name) for name, (start, end) in row.cells.items())


def test_a_file_that_fulfils_conditions_in_part(read: Read) -> None:
    (table,) = read((("city", ("Berlin",)),), staff_csv=STAFF)
    assert [row.cell("name") for row in table.rows] == ["Anna", "Carl"]


def test_rows_that_are_gone_are_no_rows(read: Read, tmp_path: Path, fitted: Path) -> None:
    read(staff_csv=STAFF)
    (tmp_path / "files" / "staff.csv").write_text(STAFF.replace("Carl,Berlin,52\n", ""))
    index_files(tmp_path / "kb", tmp_path / "files", Settings(str(fitted)))
    with Index.open(tmp_path / "kb") as index:
        (table,) = tables_around(index.snapshot(), index.snapshot().ids_after(0, 10_000), ())
    assert [row.cell("name") for row in table.rows] == ["Anna", "Ben"]


def test_cells_with_semicolons_are_read_by_the_names_of_the_columns(read: Read) -> None:
    (table,) = read(faults_csv="code,remedy,days\nE1,wait; then press,3\nE2,wait,4\nE3,city: press,5\n")
    assert cells(table) == [["E1", "wait; then press", "3"], ["E2", "wait", "4"], ["E3", "city: press", "5"]]


def test_tables_of_a_text_stand_under_their_headings(read: Read) -> None:
    new, old = read(fleet_md=FLEET)
    assert new.head.split() == ["fleet", "Fleet", "Ships", "of", "the", "line."]
    assert cells(new) == [["Alba", "120", "Kiel"], ["Bora", "1,140", "Kiel"]]
    assert "Old" in old.head
    assert cells(old) == [["Cita", "90", "Ulm"], ["Dora", "80", ""]]


def test_a_table_with_a_row_that_cannot_be_read_is_not_whole(read: Read) -> None:
    table = "| Ship | Length | Port |\n|---|---|---|\n| Alba | 120 | Kiel |\n| Bora | 9; or 8 | Kiel |\n"
    assert read(fleet_md=table + "| Cita | 7 | Ulm |\n| Dora | 6 | Ulm |\n| Emma | 6 | Ulm |\n") == []


def test_a_table_that_is_too_long_is_not_read(read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "MAX_PASSAGES", 3)
    assert len(read(staff_csv=STAFF)) == 1
    monkeypatch.setattr(tables, "MAX_PASSAGES", 2)
    assert read(staff_csv=STAFF) == []


def test_prose_has_no_tables(read: Read) -> None:
    assert read(note_txt="Anna works in Berlin. Ben works in Bonn.") == []
