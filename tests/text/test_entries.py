from __future__ import annotations

import pytest

from oreqa.text.entries import other_entries

OPTIONS = "-l, --keep-last=N\nkeep some\n\n--keep=N\nkeep all, not with --keep-last\n\nProse in it.\n\n--user=U\n\n--password=P\nlog in\n\n--batch\n--no-batch\nask nothing"


def cut(question: str, *texts: tuple[str, str]) -> list[list[str]]:
    ranges = other_entries(question, texts)
    return [[text[start:end].strip() for start, end in of_text] for of_text, (_, text) in zip(ranges, texts, strict=True)]


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("What does --keep-last do?", OPTIONS[: OPTIONS.index("--keep=N")]),
        ("What does --keep do?", OPTIONS[OPTIONS.index("--keep=N") : OPTIONS.index("--user")]),
        ("What is --user?", OPTIONS[OPTIONS.index("--user") : OPTIONS.index("--batch")]),
        ("Do --password and --user belong together?", OPTIONS[OPTIONS.index("--user") : OPTIONS.index("--batch")]),
        ("What does --no-batch do?", OPTIONS[OPTIONS.index("--batch") :]),
    ],
)
def test_the_entries_that_a_question_names_are_kept(question: str, kept: str) -> None:
    [others] = cut(question, ("OPTIONS", OPTIONS))
    rest = OPTIONS
    for other in others:
        rest = rest.replace(other, "")
    assert rest.split() == kept.split()


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Which option keeps snapshots?", OPTIONS),  # it names no identifier
        ("What does --keep-first do?", OPTIONS),  # no entry is about it
        ("What does --keep-last do?", "--keep-last=N\nkeep some"),
        ("What does --keep-last do?", ""),
        (
            "What does --json do?",
            "--json DATA\nshort for\n--data DATA\n--header H\nNothing is checked.",
        ),  # lines of an entry
    ],
)
def test_nothing_is_cut_where_nothing_else_is_described(question: str, text: str) -> None:
    assert cut(question, ("OPTIONS", text)) == [[]]


def test_a_heading_names_what_the_beginning_is_about() -> None:
    forward, decode = (
        ("Variables > 3.191. mime_forward", "Default: no"),
        ("Variables > 3.192. mime_forward_decode", "Default: yes"),
    )
    prose = ("Variables", "mime_forward is a variable.\n\nmail_check\nHow often to look.")
    assert cut("What is the default of mime_forward?", decode, forward, prose) == [
        ["Default: yes"], [], ["mail_check\nHow often to look."]
    ]  # fmt: skip
    assert cut("What is the default of mime_forward?", decode, prose) == [[], []]


SETTINGS = "infra-host-ttl: <seconds>\nDefault is 900.\n\nport: <port number>\nDefault is 53.\n\nNote:\nIt is a port."


@pytest.mark.parametrize(
    ("question", "excluded"),
    [
        ("How long is infra-host-ttl?", ["port: <port number>\nDefault is 53.\n\nNote:\nIt is a port."]),
        ("What is the default of infra-host-ttl?", [SETTINGS[SETTINGS.index("port") :], "<seconds>"]),
        ("What is the default of a well-known port?", []),  # no entry is about it
        ("What is the default of port?", []),  # a word like others
    ],
)
def test_settings_with_a_colon_are_entries(question: str, excluded: list[str]) -> None:
    assert cut(question, ("Options", SETTINGS)) == [excluded]


def test_all_names_of_a_line_count_whatever_is_set_to_them() -> None:
    text = "-n=NUM, --number=NUM\nhow many\n\n--size=N\nhow large, not with --number"
    assert cut("What does --number do?", ("Options", text)) == [["--size=N\nhow large, not with --number"]]


def test_long_lines_of_signs_take_no_time() -> None:
    line = "a_" * 20_000
    assert cut("What does --keep do?", ("Options", f"{line}\n\n--keep\nYes.\n\n{line}: <x>\nNo.")) == [[]]
