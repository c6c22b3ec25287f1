from __future__ import annotations

import pytest

from oreqa.text.queried_entries import other_entries, queried_entries

OPTIONS = "-l, --keep-last=N\nkeep some\n\n--keep=N\nkeep all, not with --keep-last\n\nProse in it.\n\n--user=U\n\n--password=P\nlog in\n\n--batch\n--no-batch\nask nothing"


def cut(question: str, *texts: tuple[str, str]) -> list[list[str]]:
    ranges = other_entries(question, [("a.1", *text) for text in texts])
    return [
        [text[start:end].strip() for start, end in text_ranges] for text_ranges, (_, text) in zip(ranges, texts, strict=True)
    ]


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
        ["Default: yes"], [], ["mail_check\nHow often to look.", "mime_forward is a variable."]
    ]  # fmt: skip
    assert cut("What is the default of mime_forward?", decode, prose) == [[], []]


SETTINGS = "infra-host-ttl: <seconds>\nDefault is 900.\n\nport: <port number>\nDefault is 53.\n\nNote:\nIt is a port."


@pytest.mark.parametrize(
    ("question", "excluded"),
    [
        ("How do I set the default of infra-host-ttl?", [SETTINGS[SETTINGS.index("port") :]]),
        ("How long is infra-host-ttl?", ["port: <port number>\nDefault is 53.\n\nNote:\nIt is a port."]),
        ("What is the default of infra-host-ttl?", [SETTINGS[SETTINGS.index("port") :], "<seconds>"]),
        ("What is the default of a well-known port?", []),  # no entry is about it
        (
            "What is the default of port?",
            ["infra-host-ttl: <seconds>\nDefault is 900.", "<port number>", "Note:\nIt is a port."],
        ),
        ("Which port is the default?", []),  # a word like others
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


FONTS = "title\nInitial title. Default: foot.\n\nlocked-title\nThe program keeps it.\n\nmax_qos value\nDefaults to 2.\n\nfsync=int\nDefaults to 0.\n\nstart_type [ automatic | lazy | once ]\nautomatic is the default."


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("What is the default of locked-title?", ""),  # its entry states none, those beside it do
        ("What is the default of max_qos?", "Defaults to 2."),
        ("What is start_type by default?", "automatic is the default."),
        ("What does locked-title do?", "locked-title The program keeps it."),
    ],
)
def test_the_default_of_another_entry_is_none_of_this(question: str, kept: str) -> None:
    [ranges] = other_entries(question, [("a.1", "SECTION: main", FONTS)])
    rest = list(FONTS)
    for start, end in ranges:
        rest[start:end] = " " * (end - start)
    assert "".join(rest).split() == kept.split()


def test_prose_counts_that_names_what_is_asked_for_beside_a_default() -> None:
    prose = "By default, keep_all is 5.\n\nThe default of others is 7.\n\nkeep_all is new."
    entry = "keep_all\nKeep all."
    assert cut("What is the default of keep_all?", ("Notes", prose), ("Options", entry)) == [
        ["The default of others is 7.", "keep_all is new."], [entry]
    ]  # fmt: skip
    assert cut("What is the default of keep_all?", ("Notes", prose)) == [[]]  # no entry is about it


def test_a_heading_in_small_letters_is_a_name() -> None:
    question = "What is the default of answer-rotation?"
    assert cut(question, ("server > answer-rotation", "Turns answers. Default: off"), ("server > zone-max", "Default: 3")) == [
        ["Turns answers."], ["Default: 3"]
    ]  # fmt: skip
    assert cut(question, ("server > Answer-rotation", "Default: off"), ("server > Zone-max", "Default: 3")) == [[], []]


def test_terms_of_a_list_inside_of_an_entry_are_apart() -> None:
    text = "--import-options LIST\nOptions are:\nkeep-trust\nKeep it. Defaults to no.\nself-sigs-only\nAccept them."
    [kept] = other_entries("What does self-sigs-only do?", [("a.1", "OPTIONS", text)])
    assert [text[start:end].strip() for start, end in kept][-1] == "keep-trust\nKeep it. Defaults to no."
    assert cut("What does --import-options do?", ("OPTIONS", text)) == [[]]


def chosen(question: str, *texts: tuple[str, str, str]) -> list[list[str]]:
    return [
        [text[entry.start : entry.end].strip() for entry in entries]
        for entries, (*_, text) in zip(queried_entries(question, texts), texts, strict=True)
    ]


@pytest.mark.parametrize(
    ("name", "heading", "text", "has"),
    [
        ("reload", "", "reload_cache\nKeep it.\n\nreload\nRead it again.", True),
        ("reload", "", "reload_cache\nKeep it, also after a reload.", False),
        ("reload", "Commands > reload", "Read it again.", True),
        ("reload", "Commands > Reload", "Read it again.", False),
        ("reload", "", "reload is a command.", False),
        ("export", "", "--export-ssh-key\nWrite it.", False),
        ("export", "", "--export NAME\nWrite them.", True),
        ("name", "", "--export NAME\nWrite them.", False),  # a value
        ("shortest", "", "-shortest (output)\nFinish with the first.", True),
        ("output", "", "-shortest (output)\nFinish with the first.", False),
        ("pid file", "", "motd file\nA message.\n\npid file\nIts number.", True),
        ("set weight", "", "set weight <server> <weight>[%]\nChange it.", True),
        ("show", "", "show table <name>\nDump it.", True),  # what a name begins with
        ("wait-for", "", "wait-for [-L | -S | -U] channel\nWait for it.", True),
    ],
)
def test_an_entry_has_the_whole_name(name: str, heading: str, text: str, has: bool) -> None:
    assert any(chosen(f"What does {name} do?", ("a.1", heading, text))) is has


def test_an_option_is_that_with_its_dashes_where_there_is_one() -> None:
    term, option = ("a.html", "Flags", "‘shortest’\nStop soon.\n‘fast’\nRun."), ("b.html", "", "-shortest (output)\nFinish.")
    assert chosen("What does -shortest do?", term, option) == [[], ["-shortest (output)\nFinish."]]
    assert chosen("What does -shortest do?", term) == [["‘shortest’\nStop soon."]]
    assert chosen("What does -stats do?", ("a.1", "", "--stats\nCount."), ("b.1", "", "-stats\nPrint.")) == [
        [], ["-stats\nPrint."]
    ]  # fmt: skip


def test_the_entry_of_the_document_or_section_that_a_question_names_comes_first() -> None:
    quiet = ("man/rsync.1.gz", "", "--quiet\nSay less."), ("man/wget.1.gz", "", "--quiet\nSay nothing.")
    assert chosen("What does --quiet do in wget?", *quiet) == [[], ["--quiet\nSay nothing."]]
    assert chosen("What does --quiet do in scp?", *quiet) == [["--quiet\nSay less."], ["--quiet\nSay nothing."]]
    loops = ("f.html", "Muxers > gif", "loop\nHow often."), ("f.html", "Muxers > apng", "loop\nHow long.")
    assert chosen("What is the default of the loop option of the gif muxer?", *loops) == [["loop\nHow often."], []]


def test_a_name_as_the_question_spells_it_comes_first() -> None:
    texts = ("a.html", "", "window_size number\nHow many."), ("b.1", "", "window-size largest\nHow wide.")
    assert chosen("What is the default of window-size?", *texts) == [[], ["window-size largest\nHow wide."]]
    named = [("a.5", "", "window-size: BOOL\n    other: BOOL"), ("a.5", "server > window-size", "How wide. Default: off")]
    assert chosen("What is the default of window-size?", *named)[1] == ["How wide. Default: off"]


def test_an_entry_comes_before_a_row_about_the_same() -> None:
    row, entry = (
        ("a.1", "", "-l       copy links\n-u       skip newer files"),
        ("a.1", "", "--links, -l\nThis copies links."),
    )
    assert chosen("What does -l do?", row, entry) == [[], ["--links, -l\nThis copies links."]]
    assert chosen("What does -l do?", row) == [["-l       copy links"]]


def test_plain_words_rule_out_the_entries_on_longer_names() -> None:
    text = "reload_cache\nKeep what was read.\n\nreload\nRead the pages again."
    assert cut("What does reload do?", ("Commands", text)) == [["reload_cache\nKeep what was read."]]


def test_single_letters_differ_by_case() -> None:
    text = "-p, --page-requisites\nget all files\n\n-P PREFIX\nsave files in it"
    assert cut("What does wget -P do?", ("", text)) == [["-p, --page-requisites\nget all files"]]
    assert cut("What does wget -p do?", ("", text)) == [["-P PREFIX\nsave files in it"]]
    assert cut("What is the default of -P?", ("", f"By default -P is the folder.\n\n{text}")) == [
        ["-p, --page-requisites\nget all files", "-P PREFIX\nsave files in it"]
    ]
