from __future__ import annotations

import pytest

from oreqa.text.entries import find_entries, may_name

COMMANDS = "ins_reg [key]\nNo longer exists.\nkill\nKill current window.\nlayout new [title]\nCreate a new layout."


def entries(text: str, *queried: str, heading: str = "") -> list[tuple[set[str], str]]:
    return [
        (set(entry.names), text[entry.body_start : entry.end].strip()) for entry in find_entries(heading, text, set(queried))
    ]


def test_descriptions_at_the_indent_of_their_names_are_entries() -> None:
    assert entries(COMMANDS, "kill") == [
        ({"insreg"}, "No longer exists."), ({"kill"}, "Kill current window."), ({"layoutnew"}, "Create a new layout.")
    ]  # fmt: skip


def test_a_name_with_values_ends_the_entry_before() -> None:
    zmodem = "zmodem [ off | auto ]\nDefine its support.\nzombie [keys[onerror]]\nWindows stay. By default off."
    assert entries(zmodem, "zmodem") == [
        ({"zmodem"}, "Define its support."), ({"zombie"}, "Windows stay. By default off.")
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("-l, --keep-last=N", {"-l", "--keeplast"}),
        ("-O file --output-document=file", {"-O", "--outputdocument"}),
        ("-f, --file FILE | -x", {"-f", "--file", "-x"}),
        ("--[no-]color, -c", {"--nocolor", "--color", "-c"}),
        ("-map [-]input_id[:one][?][,sync_id[:one]] | [label] (output) and so many values that it is longer", {"-map"}),
        ("--color[=WHEN], --colour[=WHEN]", {"--color", "--colour"}),
    ],
)
def test_the_options_of_a_line(line: str, names: set[str]) -> None:
    assert entries(f"{line}\nWhat it does.", min(names)) == [(names, "What it does.")]


@pytest.mark.parametrize(
    "line",
    ["-map 0:v -map 0:a -f hls", "-sf $(cat /run/x.pid) -f a.cfg", "-map 0:a \\", "-map is it. It maps."],
)
def test_code_and_prose_name_nothing(line: str) -> None:
    assert entries(f"{line}\nMore.", "-map", "-sf") == []


def test_rows_hold_a_name_and_what_is_said_of_it() -> None:
    rows = "-l      copy links\n-dM[<byte>] : poison memory\nrename | Rename the chain.\nmonitor [ on | off ]"
    assert entries(rows, "-l") == entries(rows, "rename")
    assert entries(rows, "-dm")[1:] == [({"-dm"}, "poison memory"), ({"rename"}, "Rename the chain.\nmonitor [ on | off ]")]


def test_a_text_without_the_name_may_have_no_entry() -> None:
    assert may_name({"--keeplast"}, "Use keep_last.")
    assert not may_name({"--keeplast"}, "Use keep-first.")
    assert may_name({"-P"}, "-P FILE")
    assert not may_name({"-P"}, "-p FILE")


def test_a_name_with_each_of_its_values_is_one_entry() -> None:
    text = "KeepAlive Yes\nKeepAlive No\nSupport connections.\n\nPort number\nListen.\n\nMaxClients N\nAs many.\n\nTwo Words Here\nProse."
    assert entries(text, "keepalive")[0] == ({"keepalive"}, "Support connections.")
    assert entries(text, "keepalive")[-1] == ({"maxclients"}, "As many.\n\nTwo Words Here\nProse.")


def test_a_command_may_stand_above_a_blank_line() -> None:
    assert entries("fg\n\nAlias for wait.\n\nlcd ldir\n\nChange it.\n\nNotes\n\nProse.", "fg") == [
        ({"fg"}, "Alias for wait."), ({"lcdldir"}, "Change it.\n\nNotes\n\nProse.")
    ]  # fmt: skip
    assert entries("dns:order (list)\nSets the order.", "dnsorder") == [({"dnsorder"}, "Sets the order.")]


def test_lines_of_quotes_and_blanks_are_no_names() -> None:
    assert entries('""\n  \nx\n\n\'\'\n""', "x") == []
