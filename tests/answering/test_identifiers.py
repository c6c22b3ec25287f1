from __future__ import annotations

import pytest
from growth import growth

from oreqa.answering.identifiers import holding, identifiers
from oreqa.core import Document, Hit, Passage, Sentence
from oreqa.corpus.splitter import paragraph_passage


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("What is the default of SQLITE_MAX_COLUMN?", ["sqlitemaxcolumn"]),
        ("What do --dry-run and max_connections do?", ["dryrun", "maxconnections"]),
        ("Who found CVE-2021-3449?", ["cve20213449"]),
        ("Which company has 70B3D501B, and which 1234567 or the 1990s?", ["70b3d501b"]),
        ("Who won the well-known match of 1987 - or 1988?", []),
        ("Who was the 1000th visitor, in den 1990ern, with 250GB?", []),
        ("2024年东京奥运会在哪里举行", []),
        ("What are the symptoms of COVID-19?", []),
        ("The book --Paul wrote it", []),
        ("Is - or -- or _ or a_ or _b or x--y or --1 an option?", []),
        ("", []),
    ],
)
def test_identifiers_of_a_question(question: str, named: list[str]) -> None:
    assert identifiers(question) == named


def hit(text: str, title: str = "") -> Hit:
    passage = paragraph_passage(Document("a", title, text))
    return Hit(1.0, passage, passage.sentences[0], 0, 0, {})


def test_passages_hold_them_however_they_are_joined() -> None:
    hits = [hit("MAX CONNECTIONS is 5."), hit("max_files is 7."), hit("It is 9.", title="max-connections"), hit("max.")]
    assert holding(["maxconnections"], hits) == [hits[0], hits[2]]
    assert holding(["maxconnections", "maxfiles"], hits) == []
    assert holding(identifiers("cafe\u0301_size"), [hit("Set caf\u00e9_size.")]) != []
    assert holding([], hits) == hits
    assert holding(["a"], []) == []


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("max_wal", "max_wal_senders is 10."),
        ("max_part_1", "max_part_10 is 3."),
        ("wal_size", "max_wal_size is 3."),
        ("CVE-2024-309", "CVE-2024-3094 affects xz."),
        ("--no-edit", "There is no editor in this image."),
        ("--edit", "Use --no-edit to skip the editor."),
        ("--dry-run", "--no-dry-run undoes it."),
    ],
)
def test_longer_names_are_others(name: str, text: str) -> None:
    assert holding(identifiers(name), [hit(text)]) == []
    assert holding(identifiers(name), [hit(f"{text} So does {name}: it is.")]) != []


@pytest.mark.parametrize("unit", ["a", "a_", "_", "-", "a--", "ab "])
def test_passages_are_searched_in_linear_time(unit: str) -> None:
    def made(size: int) -> list[Hit]:
        text = unit * (size // len(unit))
        return [Hit(1.0, Passage("a", "", "", text, 0, len(text), ()), Sentence("", 0, 0), 0, 0, {})]

    assert growth(lambda hits: holding(["aab"], hits), made, 20_000) < 10


@pytest.mark.parametrize("unit", ["a_", "--", "--a-", "A-", "AA-1", "_", "a"])
def test_time_is_linear(unit: str) -> None:
    assert growth(identifiers, lambda size: unit * (size // len(unit)), 20_000) < 10
