"""Tables in PDFs made here, read cell by cell."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from drawn_pdf import pdf, read
from growth import growth
from reportlab.pdfgen.canvas import Canvas

from oreqa.corpus.formats.pdf.boxes import find_boxes
from oreqa.corpus.readers import read_documents

PROSE = "The octopus is a soft-bodied mollusc with eight arms that lives in the sea and eats crabs and shells"
PARCELS = (("Size", "Zone 1", "Zone 2"), ("Small", "4.10", "5.30"), ("Medium", "6.20", "8.40"), ("Large", "9.10", "11.70"))
NAMED = "Size: Small; Zone 1: 4.10; Zone 2: 5.30"


def table(
    rows: Sequence[Sequence[str]], rules: Sequence[int] = (), columns: Sequence[int] = (72, 180, 270, 360), bold: int = 0
) -> str:
    """Read a page of a table whose cells are at ``columns``, with rules above the rows of the numbers ``rules``."""

    def draw(canvas: Canvas, number: int) -> None:
        for at, row in enumerate(rows):
            canvas.setFont("Helvetica-Bold" if at < bold else "Helvetica", 10)
            for left, cell in zip(columns, row, strict=False):
                canvas.drawString(left, 700 - 14 * at, cell)
        for at in rules:
            canvas.line(70, 711 - 14 * at, 420, 711 - 14 * at)

    return read([""], draw=draw).text


def test_the_cells_of_a_table_between_rules_have_the_names_of_their_columns() -> None:
    rows = table(PARCELS, rules=(0, 1, 4)).split("\n\n")
    assert rows == [NAMED, "Size: Medium; Zone 1: 6.20; Zone 2: 8.40", "Size: Large; Zone 1: 9.10; Zone 2: 11.70"]


def test_a_table_needs_no_rules_if_its_rows_are_many_or_its_header_bold() -> None:
    assert table(PARCELS, bold=1).startswith(NAMED)
    assert table(PARCELS).startswith(NAMED)
    towns = (("Ghent", "canals", "beer"), ("Lyon", "rivers", "silk"), ("Porto", "bridges", "wine"), ("Graz", "hills", "oil"))
    assert table(towns) == "Ghent | canals | beer\nLyon | rivers | silk\nPorto | bridges | wine\nGraz | hills | oil"
    assert table(PARCELS[:3]) == "Size Zone 1 Zone 2\nSmall 4.10 5.30\nMedium 6.20 8.40"


def test_a_grid_without_a_bold_header_has_none_unless_figures_stand_below_names() -> None:
    rows = (("Letters", "Meaning"), ("CAP", "Capacitor"), ("DIO", "Diode"))
    assert table(rows, rules=range(4)) == "Letters | Meaning\nCAP | Capacitor\nDIO | Diode"
    assert table(rows, rules=range(4), bold=1) == "Letters: CAP; Meaning: Capacitor\n\nLetters: DIO; Meaning: Diode"


def test_cells_of_several_lines_are_joined() -> None:
    rows = [("Name", "Use"), ("pump", "fills the foun-"), ("", "tain every day"), ("valve", "empties it")]
    assert table(rows, rules=(0, 1, 4)) == "Name: pump; Use: fills the fountain every day\n\nName: valve; Use: empties it"


def test_empty_cells_do_not_move_the_others() -> None:
    rows = [("Town", "Rain", "Snow"), ("Aby", "", "4"), ("Bro", "7", ""), ("Cul", "1", "2")]
    assert table(rows, rules=(0, 1, 4)).split("\n\n")[:2] == ["Town: Aby; Snow: 4", "Town: Bro; Rain: 7"]


def test_a_group_of_rows_may_have_a_title_across_columns() -> None:
    rows = [
        ("Unit", "Sign"),
        ("ohm", "O"),
        ("units that measure how radioactive a thing is",),
        ("curie", "Cu"),
        ("lux", "lx"),
    ]
    blocks = table(rows, rules=(0, 1, 5)).split("\n\n")
    assert blocks == ["Unit: ohm; Sign: O", rows[2][0], "Unit: curie; Sign: Cu", "Unit: lux; Sign: lx"]


def test_a_title_above_some_names_is_a_row_of_its_own() -> None:
    rows = [("", "", "Prices per zone"), *PARCELS]
    assert table(rows, rules=(0, 2, 5)).split("\n\n")[:2] == ["Prices per zone", NAMED]


def test_captions_and_what_follows_are_not_in_the_table() -> None:
    rows = [("Table 1:", "The prices"), *PARCELS, (f"{PROSE},",), ("and is thought to be the cleverest of all animals.",)]
    text = table(rows, rules=(1, 2, 5))
    assert text.startswith(f"Table 1: The prices\n\n{NAMED}\n\n")
    assert text.endswith(f"\n\n{PROSE}, and is thought to be the cleverest of all animals.")


@pytest.mark.parametrize(
    "rows",
    [
        [(str(line), "x = f(y);") for line in range(41, 49)],
        [(f"{line}.", "An item of a list") for line in range(1, 9)],
        [(f"[{line}]", "A. Author: A paper") for line in range(1, 9)],
        [("x", "=", "a + b", f"({line})") for line in range(1, 9)],
        [(f"word{line},", f"{line},", "12") for line in range(1, 9)],
    ],
)
def test_listings_lists_formulas_and_indexes_are_no_tables(rows: list[tuple[str, ...]]) -> None:
    assert " | " not in table(rows)


def test_a_word_gap_that_few_lines_have_parts_no_cells() -> None:
    lines = [("the first line of a text", "with a gap here"), *[(PROSE[at : at + 50],) for at in range(4)]]
    assert " | " not in table(lines * 2, columns=(72, 190))


@pytest.mark.parametrize("rotation", [0, 90])
def test_boxes_of_cells(tmp_path: Path, rotation: int) -> None:
    def draw(canvas: Canvas, number: int) -> None:
        if rotation:
            canvas.translate(842, 0)
            canvas.rotate(90)
        for at, row in enumerate(PARCELS):
            for left, cell in zip((72, 180, 270), row, strict=True):
                canvas.drawString(left, 500 - 14 * at, cell)
        for at in (0, 1, 4):
            canvas.line(70, 511 - 14 * at, 320, 511 - 14 * at)

    file = tmp_path / "a.pdf"
    file.write_bytes(pdf([""], draw=draw))
    (document,) = read_documents(file)
    (box,) = find_boxes(file, document.layout, document.text.index("8.40"), "8.40")
    corner = (595 * box.left, 842 * (1 - box.bottom)) if not rotation else (842 * (1 - box.bottom), 842 - 595 * box.right)
    assert (round(corner[0]), round(corner[1])) == (270, 472)


@pytest.mark.slow
@pytest.mark.parametrize("row", ["a  {0} b  {0}", "a             {0}", "a          b          c"])
def test_many_rows_take_time_in_proportion(row: str) -> None:
    def work(size: int) -> list[str]:
        return ["\n".join(row.format(at) for at in range(50))] * size

    assert growth(lambda pages: read(pages), work, 30) < 9
