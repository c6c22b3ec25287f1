"""Questions from lists of options, settings and commands."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.core import Document
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.pairs import load_pairs
from oreqa.datasets.paragraphs import load_squad, placed_answers
from oreqa.errors import InputError
from oreqa.generation import mine_definitions
from oreqa.generation.definitions import Entry, definition_drafts, entry_questions, find_entries
from oreqa.index import Index
from oreqa.index.in_memory import index_documents

TEXT = """The program has options.

-n
--dry-run
Show what would be deleted. Nothing is deleted.

-d DIR
This option sets the directory of the lock files (see Files).

ConnectTimeout
Specifies the seconds until a connection fails. The default is 30.

file-size
The largest size of a file in bytes.

MULTIOS <D>
A short one.

A line of prose that names --verbose in passing.
Use it with care, and not too often."""


def questions_of(text: str, seed: int = 0) -> list[tuple[str, str]]:
    passage = paragraph_passage(Document("manual", "Manual", text))
    return [(draft.question, draft.answer) for draft in definition_drafts([passage], random.Random(seed))]


def test_entries_are_paragraphs_that_begin_with_a_name() -> None:
    entries = list(find_entries(TEXT))
    assert [entry.name for entry in entries] == ["--dry-run", "-d", "ConnectTimeout", "file-size"]
    for entry in entries:
        assert TEXT.startswith(entry.name, entry.start)
        assert TEXT.startswith(entry.description, entry.place)
    assert entries[0].description == "Show what would be deleted. Nothing is deleted."


def test_a_name_may_stand_in_a_paragraph_of_its_own() -> None:
    text = "-I, --no-filename\n\nNever print the path of a file.\n\nIt is the default.\n\n--all\n\n--no-ignore\nSearch every file there is."
    entries = [(entry.name, entry.description) for entry in find_entries(text)]
    assert entries == [
        ("--no-filename", "Never print the path of a file."),
        ("--no-ignore", "Search every file there is."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "-n",
        "-n\nShort.",
        "Note:\nThis is a remark about all of them.",
        "- one\n- two of the list items here",
        "Options\nThese are all of the options there are.",
        "--" + "x" * 90 + "\nShow what would be deleted there.",
    ],
)
def test_other_paragraphs_have_no_entries(text: str) -> None:
    assert list(find_entries(text)) == []


def test_descriptions_ask_for_names() -> None:
    entry = Entry("--dry-run", 0, "Show what would be deleted.", 10)
    asked = {question for seed in range(40) for question, _, _ in entry_questions(entry, random.Random(seed))}
    assert {"How do I show what would be deleted?", "Which switch shows what would be deleted?"} <= asked
    assert all("setting" not in question for question in asked)
    thing = Entry("file-size", 0, "The largest size of a file, in bytes.", 10)
    asked = {question for seed in range(40) for question, _, _ in entry_questions(thing, random.Random(seed))}
    assert "Which setting is for the largest size of a file, in bytes?" in asked


@pytest.mark.parametrize(
    ("description", "phrase"),
    [
        ("This option sets the time (in seconds) of a query; see below.", "sets the time of a query"),
        ("Tries the next of the servers in the list. Then it gives up.", "tries the next of the servers in the list"),
        ("Passes the name of the file on.", "passes the name of the file on"),
        ("Quits as soon as it can.", "quits as soon as it can"),
    ],
)
def test_the_first_sentence_is_what_is_asked(description: str, phrase: str) -> None:
    asked = {q for seed in range(40) for q, _, _ in entry_questions(Entry("--x", 0, description, 0), random.Random(seed))}
    assert f"Which flag {phrase}?" in asked


@pytest.mark.parametrize(
    "description",
    ["Blue is the colour of the sky here.", "Set it.", "The default of it is used here.", "Print {a|b} if it is there.",
     "Print " + "very " * 20 + "much."],
)  # fmt: skip
def test_other_descriptions_ask_nothing(description: str) -> None:
    assert entry_questions(Entry("--x", 0, description, 0), random.Random(0)) == []


def test_defaults_are_asked_for_where_they_stand() -> None:
    entry = list(find_entries(TEXT))[2]
    *_, (question, answer, start) = entry_questions(entry, random.Random(0))
    assert "ConnectTimeout" in question
    assert (answer, TEXT[start : start + 2]) == ("30", "30")
    for text in ("The default is to fail.", "The default is that it fails.", "By default it is 3."):
        assert entry_questions(Entry("--x", 0, text, 0), random.Random(0)) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("The default is /etc/rsyncd.conf unless the daemon runs as a user.", None),
        ("Reads it. The default is /etc/rsyncd.conf.", "/etc/rsyncd.conf"),
        ("It defaults to using blocking I/O.", None),
        ("The default is 30 seconds.", "30"),
        ("The limit (default: 'stdin')", "stdin"),
        ("Size of the buffer (default: 0=no buffer)", None),
    ],
)
def test_a_default_is_whole(text: str, value: str | None) -> None:
    answers = [answer for _, answer, _ in entry_questions(Entry("--x", 0, text, 0), random.Random(0)) if answer != "--x"]
    assert answers == ([] if value is None else [value])


def test_an_entry_ends_where_the_next_begins() -> None:
    table = "BORG_LOGGING_CONF\nWhere the logging is set up from.\nBORG_REMOTE_PATH\nDefault is borg.\n-c SECONDS | default: 1800"
    (entry,) = find_entries(table)
    assert entry.description == "Where the logging is set up from."
    assert (
        list(find_entries("--stdin-name\nNAME | use it in the archive (default: 'stdin')\n--stdin-group | default: 'wheel'"))
        == []
    )


def test_no_question_is_asked_twice() -> None:
    copies = [paragraph_passage(Document(str(number), "", TEXT)) for number in range(3)]
    questions = [draft.question for draft in definition_drafts(copies, random.Random(0))]
    assert len(questions) == len(set(questions)) > len(questions_of(TEXT))


@given(st.text("-ab \n.A_:", max_size=80), st.integers(0, 3))
def test_every_answer_stands_in_its_passage(text: str, seed: int) -> None:
    passage = paragraph_passage(Document("d", "", text + "\n\n--x\nPrint all of the names. Defaults to none."))
    for draft in definition_drafts([passage], random.Random(seed)):
        assert passage.text.startswith(draft.answer, draft.start)


def test_files_that_readers_and_retrievers_learn_from(fitted: Path, tmp_path: Path) -> None:
    index_documents(tmp_path / "kb", [Document("manual", "Manual", TEXT)], model=fitted)
    out = tmp_path / "d.json"
    result = CliRunner().invoke(app, ["mine", "definitions", "--index", str(tmp_path / "kb"), "--out", str(out), "--json"])
    count = json.loads(result.stdout)["questions"]
    questions = [(p.text, question) for p in load_squad(out) for question in p.questions]
    assert len(questions) == count >= 6
    assert all(placed_answers(text, question) for text, question in questions)
    assert mine_definitions(tmp_path / "d.jsonl", index=tmp_path / "kb") == count
    pairs = list(load_pairs(tmp_path / "d.jsonl"))
    assert {pair.question for pair in pairs} == {question.text for _, question in questions}
    with pytest.raises(InputError, match="it exists already"):
        mine_definitions(out, index=tmp_path / "kb")


def test_documents_without_definitions(fitted: Path, tmp_path: Path) -> None:
    index_documents(tmp_path / "kb", ["Bees dance."], model=fitted)
    with pytest.raises(InputError, match="no list of options, settings or commands with descriptions was found"):
        mine_definitions(tmp_path / "d.json", index=tmp_path / "kb")
    assert not (tmp_path / "d.json").exists()
    with Index.open(tmp_path / "kb") as index:
        assert definition_drafts(list(index.passages()), random.Random(0)) == []
