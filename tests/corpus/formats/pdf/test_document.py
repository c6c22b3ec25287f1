"""PDFs made here, read to text, headings, places and counts."""

from __future__ import annotations

import io
from pathlib import Path

import pypdfium2
import pytest
from drawn_pdf import pdf, read
from growth import growth
from reportlab.lib.utils import ImageReader
from reportlab.pdfgen.canvas import Canvas

from oreqa.corpus.formats.pdf.document import read_pdf
from oreqa.corpus.formats.pdf.furniture import find_contents, find_heads
from oreqa.corpus.formats.pdf.headings import Bookmark, numbered_headings, outline_headings
from oreqa.corpus.formats.pdf.lines import Line
from oreqa.corpus.formats.pdf.paragraphs import join, measure, split_blocks, words_of
from oreqa.corpus.readers import read_documents
from oreqa.errors import DocumentError

FACTOR = 9
"""Four times the input takes four times as long, not sixteen times."""

PROSE = (
    "The octopus is a soft-bodied mollusc with eight arms that lives in the sea and eats crabs and shells",
    "that it finds among the stones of the ground; it can change its colour and its shape within a second,",
    "has three hearts and blue blood, and is thought to be the cleverest of all the animals without bones.",
)


def line(text: str, number: int = 0, page: int = 0, left: float = 72, base: float | None = None, **others: bool) -> Line:
    height = 720 - 14 * number if base is None else base
    return Line(page, number, text, left, height, left + 5 * len(text), height + 8, height, 10, **others)


def paragraphs(lines: list[Line]) -> list[str]:
    measure(lines)
    words = words_of(lines)
    return [join(block.lines, words)[0] for block in split_blocks(lines)]


def test_lines_are_joined_and_places_are_pages() -> None:
    document = read(["\n".join(PROSE), "Second page."])
    assert document.text == " ".join(PROSE) + "\n\nSecond page."
    assert [(place.start, place.name) for place in document.places] == [(0, "page 1"), (len(" ".join(PROSE)) + 2, "page 2")]
    assert [section.heading for section in document.sections] == [""]
    assert [(page.page, page.source, page.read, page.left_out) for page in document.pages] == [
        ("page 1", 59, 59, {}),
        ("page 2", 2, 2, {}),
    ]


def test_a_paragraph_goes_on_over_the_page() -> None:
    document = read(["\n".join(PROSE[:2]), f"{PROSE[2]}\n\nThe next paragraph is a short one."])
    assert document.text == " ".join(PROSE) + "\n\nThe next paragraph is a short one."
    assert [document.text[place.start :].split()[0] for place in document.places] == ["The", "has"]
    assert [page.read for page in document.pages] == [40, 26]


@pytest.mark.parametrize(
    ("lines", "texts"),
    [
        (["the words are bro-", "ken over two lines"], ["the words are broken over two lines"]),
        (["the words are Bro-", "Ken over two lines"], ["the words are Bro-Ken over two lines"]),
        (["well known is the well-", "known octopus of it"], ["well known is the well-known octopus of it"]),
        (["re-use and re-use of re-", "use where it is good"], ["re-use and re-use of re-use where it is good"]),
        (["state and art of the state-of-the-", "art"], ["state and art of the state-of-the-art"]),
        (["a short line", "- one", "- two", "12. three"], ["a short line", "- one", "- two", "12. three"]),
        (["a", "", "b"], ["a", "b"]),
    ],
)
def test_lines_of_a_paragraph(lines: list[str], texts: list[str]) -> None:
    assert paragraphs([line(text, number) for number, text in enumerate(lines) if text]) == texts


def test_short_lines_are_rows_that_stay_together() -> None:
    lines = [
        line(text, number) for number, text in enumerate((*PROSE, "", "for x in y:", "print(x)", "return", PROSE[0])) if text
    ]
    measure(lines)
    blocks = list(split_blocks(lines))
    assert [(len(block.lines), block.joined) for block in blocks] == [
        (3, False),
        (1, False),
        (1, True),
        (1, True),
        (1, True),
    ]


def test_an_indented_line_begins_a_paragraph() -> None:
    lines = [line(text, number, left=84 if number in (0, 3) else 72) for number, text in enumerate(PROSE * 2)]
    assert paragraphs(lines) == [" ".join(PROSE)] * 2


def test_columns_are_read_one_after_the_other() -> None:
    columns = [line(text[:40], number, left=72) for number, text in enumerate(PROSE)]
    columns += [line(text[40:80], number + 3, left=320, base=720 - 14 * number) for number, text in enumerate(PROSE)]
    assert paragraphs(columns)[0].startswith(f"{PROSE[0][:40]} {PROSE[1][:40]}")


def test_running_heads_are_omitted_and_counted() -> None:
    def draw(canvas: Canvas, number: int) -> None:
        canvas.drawString(72, 790, f"The Book of the Sea {number + 7}" if number % 2 else f"{number + 7} Chapter 3")
        canvas.drawCentredString(300, 30, f"- {number + 1} -")

    document = read([f"Page {word} is about {word}." for word in ("one", "two", "three", "four", "five", "six")], draw=draw)
    assert "Book" not in document.text and "Chapter" not in document.text  # noqa: PT018
    assert document.text.split("\n\n")[1] == "Page two is about two."
    assert [dict(page.left_out) for page in document.pages[:2]] == [{"running heads": 4}, {"running heads": 7}]
    assert all(page.read == 5 for page in document.pages)


@pytest.mark.parametrize(
    "number",
    ["Page {} of 2", "{}/2", "- {} -", "{}", "page {}", "Seite {} von 2", "{} | P a g e", "[{} of 2]", "Page 1{} of 40"],
)
@pytest.mark.parametrize("height", [30, 800])
def test_the_page_numbers_of_short_files_are_no_text(number: str, height: int) -> None:
    def draw(canvas: Canvas, page: int) -> None:
        canvas.drawCentredString(300, height, number.format(page + 1))

    document = read(["The octopus is a mollusc.", "It has three hearts."], draw=draw)
    assert document.text == "The octopus is a mollusc.\n\nIt has three hearts."
    assert all(page.left_out["running heads"] for page in document.pages)


def test_a_running_head_of_two_pages_with_their_numbers() -> None:
    def draw(canvas: Canvas, page: int) -> None:
        canvas.drawString(60, 30, "Fish Ltd. Page 1 of 2" if page == 0 else "Fish Ltd. Page 2 of 2")

    document = read(["The octopus is a mollusc.", "It has three hearts."], draw=draw)
    assert document.text == "The octopus is a mollusc.\n\nIt has three hearts."


@pytest.mark.parametrize("text", ["7", "5/2", "1/3", "page 1 of the log", "12 of 40", "Figure 1", "2024", "1,500"])
def test_numbers_that_are_not_the_pages_stay(text: str) -> None:
    assert (
        text
        in read(
            ["The octopus.", "It has three hearts."], draw=lambda canvas, page: page or canvas.drawString(60, 30, text)
        ).text
        or text == "1/2"
    )


def test_headings_at_the_same_height_are_no_running_heads() -> None:
    def draw(canvas: Canvas, number: int) -> None:
        canvas.setFont("Helvetica-Bold", 18)
        canvas.drawString(72, 760, f"Example {number + 2}")

    document = read([f"{PROSE[0]}\n{PROSE[1]}" for _ in range(5)], draw=draw)
    assert "Example 4" in document.text


def test_contents_below_a_title_and_their_last_lines_on_the_next_page_are_omitted() -> None:
    leader = ". " * 20
    first = (
        "A Guide\nBy Ida Berg.\nIt tells of bees and of boats.\nMore of them is told below, too.\nContents\n"
        + "\n".join(f"{n} A part {leader}{n + 1}" for n in range(1, 9))
    )
    rest = f"9 A part that has a long name, and is about\nmany things {leader}10\n10 Last {leader}11"
    document = read([first, rest, "The text.", "The price of a boat\nrises: 5"])
    assert [list(page.left_out) for page in document.pages] == [["table of contents"], ["table of contents"], [], []]
    assert "Ida Berg" in document.text
    assert "A part" not in document.text
    assert "Last" not in document.text
    assert "rises: 5" in document.text


@pytest.mark.parametrize(
    "page",
    [
        f"Prices\nall in euro\nHoney {'. ' * 20}12\nWax {'. ' * 20}7",
        f"Prices\nall in euro\nHoney {'. ' * 20}12\nWax {'. ' * 20}17",
        f"Honey {'. ' * 20}12\nWax {'. ' * 20}7",
        f"Honey {'. ' * 20}3\nWax {'. ' * 20}7",
    ],
)
def test_a_list_of_prices_on_the_page_after_the_contents_is_text(page: str) -> None:
    contents = "Contents\n" + "\n".join(f"{n} A part {'. ' * 20}{n + 1}" for n in range(1, 9))
    document = read([contents, page, "The text."])
    assert [list(each.left_out) for each in document.pages] == [["table of contents"], [], []]
    assert all(line.split(" .")[0] in document.text for line in page.split("\n"))


@pytest.mark.parametrize("at", [1, 2, 9])
def test_an_entry_of_an_index_named_contents_does_not_cut_it(at: int) -> None:
    letters = "aabbccddeeffgghhii"
    entries = [f"{letter}word, {number % 7}, {number % 7 + 9}" for number, letter in enumerate(letters)]
    document = read(["The text.", "\n".join([*entries[:at], "Contents", *entries[at:]])])
    assert document.text == "The text."
    assert list(document.pages[1].left_out) == ["index"]


def test_tables_of_contents_and_indexes_are_omitted() -> None:
    contents = "Contents\n" + "\n".join(f"{n} A part {'. ' * 20}{3 * n}" for n in range(1, 9))
    prices = "Prices\n" + "\n".join(
        f"{name} {'.' * 20} {price}" for name, price in zip("dcbaeg", (9, 2, 7, 1, 3, 2), strict=True)
    )
    index = "\n".join(f"{letter}word, {number}, {number + 2}" for number, letter in enumerate("aabbccddeeffgghhii", 10))
    document = read([contents, prices, "The text.", index])
    assert document.text.startswith("Prices\nd ... 9")
    assert document.text.endswith("The text.")
    assert [list(page.left_out) for page in document.pages] == [["table of contents"], [], [], ["index"]]
    assert all(page.source == page.read + sum(page.left_out.values()) for page in document.pages)


def test_the_outline_gives_the_sections() -> None:
    def draw(canvas: Canvas, number: int) -> None:
        for key, title, level, page in (
            ("a", "Animals", 0, 0),
            ("b", "1.1 The octopus", 1, 0),
            ("c", "Not on the page", 0, 1),
        ):
            if page == number:
                canvas.bookmarkPage(key)
                canvas.addOutlineEntry(title, key, level)

    document = read(["Animals\n\nOf all kinds.\n\n\nThe octopus\n\nIt has three hearts.", "More."], draw=draw)
    sections = [(section.heading, document.text[section.start : section.end]) for section in document.sections]
    assert sections == [
        ("Animals", "Of all kinds."),
        ("Animals > The octopus", "It has three hearts."),
        ("Not on the page", "More."),
    ]
    assert [page.read for page in document.pages] == [10, 1]


def test_numbered_headings_in_bold_do_without_an_outline() -> None:
    def draw(canvas: Canvas, number: int) -> None:
        canvas.setFont("Helvetica-Bold", 16)
        canvas.drawString(72, 750, ("1 Animals", "1.1 The octopus", "2 Plants")[number])

    document = read([" ".join((PROSE[number], "3 hearts")) for number in range(3)], draw=draw)
    assert [section.heading for section in document.sections] == ["1 Animals", "1 Animals > 1.1 The octopus", "2 Plants"]


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ("A Book", "A Book"),
        ("  ", "some file"),
        ("Microsoft Word - a.doc", "some file"),
        ("paper.dvi", "some file"),
        ("untitled", "some file"),
        ("some_file", "some file"),
        ("5", "5"),
    ],
)
def test_the_title_is_the_metadatas_if_it_is_one(given: str, title: str) -> None:
    assert read(["Text."], title=given).title == title


def test_the_biggest_line_is_the_title_where_the_metadata_has_none() -> None:
    def draw(canvas: Canvas, number: int) -> None:
        canvas.setFont("Helvetica", 24)
        canvas.drawString(72, 780, "The Octopus")

    assert read(["\n".join(PROSE)], draw=draw).title == "The Octopus"


def test_pages_that_are_pictures_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from PIL import Image

    monkeypatch.setattr("oreqa.corpus.formats.pdf.document.is_installed", lambda: False)

    def draw(canvas: Canvas, number: int) -> None:
        if number in (2, 3, 5):
            canvas.drawImage(ImageReader(Image.new("RGB", (8, 8))), 100, 100, 300, 300)

    document = read(["Text.", "", "", "", "More.", ""], draw=draw)
    assert [page.page for page in document.pages] == ["page 1", "page 3", "page 4", "page 5", "page 6"]
    assert [page.page for page in document.pages if not page.source] == ["page 3", "page 4", "page 6"]


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            b"%PDF-1.4 broken",
            "it is not a readable PDF; it is damaged, or of another type: save it again in its own program",
        ),
        (b"", "it is not a readable PDF"),
        (pdf(["Secret."], "word"), "encrypted"),
        (pdf([""]), "^it holds no text$"),
    ],
)
def test_what_cannot_be_read_is_refused_in_one_line(tmp_path: Path, content: bytes, reason: str) -> None:
    (tmp_path / "a.pdf").write_bytes(content)
    with pytest.raises(DocumentError, match=reason) as caught:
        list(read_documents(tmp_path / "a.pdf"))
    assert "\n" not in str(caught.value)


def test_it_is_read_within_the_limits_of_the_child(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(pdf(["Text."] * 50))
    (document,) = read_documents(tmp_path / "a.pdf")
    assert document.text.split("\n\n") == ["Text."] * 50


@pytest.mark.parametrize("rotation", [90, 180, 270])
def test_pages_that_are_shown_turned(rotation: int) -> None:
    def draw(canvas: Canvas, number: int) -> None:
        canvas.translate(*{90: (595, 0), 180: (595, 842), 270: (0, 842)}[rotation])
        canvas.rotate(rotation)
        for line, content in enumerate((*PROSE, "", "A short line.", "Another line.")):
            canvas.drawString(72, 520 - 14 * line, content)

    source = pypdfium2.PdfDocument(pdf([""], draw=draw))
    source[0].set_rotation(rotation)
    buffer = io.BytesIO()
    source.save(buffer)
    document = read_pdf(buffer.getvalue(), Path("a.pdf"))
    assert document.text == " ".join(PROSE) + "\n\nA short line.\n\nAnother line."


def test_text_that_stands_upright_and_text_off_the_page() -> None:
    def draw(canvas: Canvas, number: int) -> None:
        canvas.drawString(72, 900, "Off the page.")
        canvas.rotate(90)
        canvas.drawString(300, -400, "Text that stands upright.")

    assert read(["Text."], draw=draw).text == "Text that stands upright.\n\nText."


@pytest.mark.slow
@pytest.mark.parametrize("text", ["a", "a-", "1.", "-", "a . . . . . . 1", "1.1 Title", "."])
def test_many_lines_take_time_in_proportion(text: str) -> None:
    def work(size: int) -> list[Line]:
        return [line(text, n, bold=bool(n % 2)) for n in range(size)]

    def layout(lines: list[Line]) -> None:
        find_heads([lines], [800])
        find_contents(lines, 100)
        paragraphs(lines)
        numbered_headings([lines])
        outline_headings([Bookmark(1, "Title", 0, None)] * 10, [lines])

    assert growth(layout, work, 5_000) < FACTOR


@pytest.mark.parametrize("unit", ["a", "a-", "a ", ". ", ".", "1 ", ", 1", "aaa, 1 "])
def test_a_long_line_takes_time_in_proportion(unit: str) -> None:
    def layout(text: str) -> None:
        lines = [line(text), line(text, 1)]
        find_heads([lines], [800])
        find_contents(lines, 100)
        paragraphs(lines)
        numbered_headings([lines])
        outline_headings([Bookmark(1, "Title", 0, None)], [lines])

    assert growth(layout, lambda size: unit * size, 10_000) < FACTOR


@pytest.mark.slow
def test_a_hundred_thousand_blank_lines() -> None:
    assert read(["\n" * 100_000 + "Text."]).pages == ()


def test_a_bibliography_is_no_index() -> None:
    letters = "ABCDEFGHIJKLMNOPQR"
    page = "\n".join(
        f"{letter}dler, K.: The history of town {letter}, Oxford, {1960 + n}" for n, letter in enumerate(letters)
    )
    (counts,) = read([page]).pages
    assert counts.left_out == {}
    assert counts.read == counts.source


def test_a_hyphen_before_a_conjunction_stays() -> None:
    text = read(["The rules come with short-\nand long-term contracts of every kind that one\ncan think of."]).text
    assert "short- and long-term" in text


def test_every_column_has_its_own_measures() -> None:
    left = [Line(0, n, "left", 50, 700 - 12 * n, 250, 710 - 12 * n, 700 - 12 * n, 10) for n in range(4)]
    right = [Line(0, 4 + n, "right", 300, 700 - 15 * n, 520, 710 - 15 * n, 700 - 15 * n, 10) for n in range(4)]
    measure([*left, *right])
    assert {(line.edge, line.margin, line.pitch) for line in left} == {(50, 250, 12)}
    assert {(line.edge, line.margin, line.pitch) for line in right} == {(300, 520, 15)}
