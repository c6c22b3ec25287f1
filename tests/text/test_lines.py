from __future__ import annotations

from itertools import pairwise

import pytest
from growth import growth
from hypothesis import given
from hypothesis import strategies as st

from oreqa.text.lines import field_ends, line_ends, unit_ends, wraps

LONG = "The line is as long as the column is wide, and no word more would fit"


def lines_of(text: str) -> list[str]:
    """The text, cut at the ends of lines."""
    ends = line_ends(text)
    return [text[start:end].strip() for start, end in zip([0, *ends], [*ends, len(text)], strict=True)]


def test_units_are_paragraphs_and_lines_of_lists() -> None:
    text = "One\nparagraph.\n \nAnother:\n- an item\n- its like"
    assert [text[a:b].strip() for a, b in zip([0, *unit_ends(text)], [*unit_ends(text), len(text)], strict=True)] == [
        "One\nparagraph.", "Another:", "- an item", "- its like",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "Open\nMonday 9 to 17\nFriday 9 to 20",
        "\nOpen\nMonday 9 to 17\nFriday 9 to 20\n",
        "Address: 12 High Street, near the old town hall and the railway station\nPhone: 555\nFax: 556\nMail: x",
        "12 High Street, near the old town hall and the railway station\nPhone 555\nFax 556\nMail",
        "port = 22\nprotocol = 2\nbanner = none",
        "number | product | price\nA-8 | Drill, with a box of twelve bits and a charger for the battery | 74.90\nA-9 | Saw | 5",
        "- Put the kettle on the stove, and wait until it whistles quite loudly.\n- Pour it.",
        "| a | b |\n| c | d |",
    ],
)
def test_lists_and_rows_end_with_their_lines(text: str) -> None:
    assert lines_of(text.strip()) == text.strip().split("\n")
    assert set(line_ends(text)) >= {
        place + 1 for place, character in enumerate(text.rstrip()) if character == "\n" and place
    }
    assert not list(wraps(text))


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("ssh\t22/tcp\nsmtp\t\t25/tcp\nhttps\t443/tcp", [["ssh", "22/tcp"], ["smtp", "25/tcp"], ["https", "443/tcp"]]),
        ("AL:Alabama\nNU:Nunavut\nsee:below", [["AL", "Alabama"], ["NU", "Nunavut"], ["see", "below"]]),
        ("OAK:Oakland::US\nMME:Teesside::GB\nVRN:Verona::IT", [[a, b, c] for a, b, c in
         (("OAK", "Oakland", "US"), ("MME", "Teesside", "GB"), ("VRN", "Verona", "IT"))]),
        ("Mar 25\tOtago, and what\n\tbelongs to it\nMay 3\tOne\nMay 4\tTwo\nMay 5\tThree\nMay 6\tFour", [
         ["Mar 25", "Otago, and what\n\tbelongs to it"], ["May 3", "One"], ["May 4", "Two"], ["May 5", "Three"],
         ["May 6", "Four"]]),
    ],
)  # fmt: skip
def test_lines_in_columns_are_a_list_and_have_fields(text: str, fields: list[list[str]]) -> None:
    places = sorted({0, *line_ends(text), *field_ends(text), len(text)})
    parts = [text[begin:end].strip("\n") for begin, end in pairwise(places)]
    assert [part for part in parts if part.strip(":\t ")] == [part for line in fields for part in line]
    assert lines_of(text) == [text[text.index(line[0]) : text.index(line[-1]) + len(line[-1])] for line in fields]


@pytest.mark.parametrize(
    "text",
    [
        "\ta\n\tb\nc\t\nd",
        "ab:c\nprose that goes on\nand on",
        "At 10:30 it\nis 11:30 there\nand then 12:30.",
        "x: y\nz: w\nu: v",
        "",
    ],
)
def test_other_lines_have_no_fields(text: str) -> None:
    assert field_ends(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "\n".join([LONG] * 4),
        f"{LONG}\n{LONG}\nIn the end.",
        "Die Bundesregierung hat im letzten Jahr neue\nMaßnahmen für den Ausbau der Netze und der\nSpeicher beschlossen.",
        "The trial was run by the University of\nCalifornia, Berkeley, together with the\nMassachusetts Institute (MIT.)",
        "One goes\non here\nAnd here",
        "Two lines\nAre no list",
        "",
        "\n",
    ],
)
def test_prose_does_not(text: str) -> None:
    assert line_ends(text) == []


def test_wrapped_prose_is_distinguished_from_verse_code_and_paragraphs() -> None:
    assert list(wraps(f"{LONG}\ngoes on.")) == [len(LONG)]
    for text in (
        "result = subprocess.run(['git', 'status'], capture_output=True)\nprint(result)",
        "int main() {\n  return 0;\n}",
        "a\n\nb",
        "Mon 9 to 17\nTue 8 to 12",
        f"{LONG}\n    A new paragraph begins here.",
        f"{LONG}\n\n{LONG}",
    ):
        assert not list(wraps(text))
    code = "x = [" + "1, " * 40 + "]"
    assert list(wraps(f"{code}\n\n{LONG}\ngoes on.")) == [len(code) + 2 + len(LONG)]


def test_lines_in_columns_are_not_wrapped() -> None:
    options = (
        "--daemon                 run as an rsync daemon, which waits for others\n"
        "--address=ADDRESS        bind to the specified address\n"
        "--bwlimit=RATE           limit socket I/O bandwidth, in units of 1024 bytes"
    )
    assert not list(wraps(options))
    justified = f"{LONG.replace(' ', '  ', 1)}\ngoes on.  And then on."
    assert list(wraps(justified)) == [len(LONG) + 1]


@given(st.text(alphabet="ab .|-1:=\n\t\xa0{", max_size=200))
def test_places_are_of_line_breaks(text: str) -> None:
    assert all(text[place] == "\n" for place in wraps(text))
    ends = line_ends(text)
    assert ends == sorted(set(ends))
    assert not {place + 1 for place in wraps(text)} & set(ends)


@pytest.mark.parametrize("unit", ["a", "\n", "a\n", "| ", " | \n", "- ", "a: b\n", " ", "1.", "x\n\n"])
def test_time_is_linear(unit: str) -> None:
    assert growth(lambda text: list(wraps(text)), lambda size: unit * (size // len(unit)), 20_000) < 10


def test_lines_that_are_whole_paragraphs_are_not_wrapped() -> None:
    paragraph = "The filter is not enabled unless this is given. " * 4
    text = f"huffpuff\n{paragraph.strip()}\npanic panic\nThe argument is the threshold.\nstep step\nIt is a step."
    assert not list(wraps(text))
