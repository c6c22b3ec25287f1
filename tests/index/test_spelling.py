from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.core import Document
from oreqa.index.in_memory import index_documents
from oreqa.index.search import Index
from oreqa.index.snapshot import Snapshot
from oreqa.index.spelling import misspelt, with_words

TEXT = "Ask clerk@monet.example or read /srv/ledger/notes. Garbage is collected on Wednesday. The mayor receives guests. The treasurer's cabbage grows. A rhinoceros."


@pytest.fixture(scope="module")
def snapshot(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    kb = tmp_path_factory.mktemp("spelling") / "kb"
    index_documents(kb, [Document("town/guets/a.txt", "Town", TEXT)], model=tiny)
    return Index.open(kb).snapshot()


@pytest.mark.parametrize(
    ("question", "respelt"),
    [
        ("wich day is the garbige colected", {"garbige": "Garbage", "colected": "collected"}),
        ("who does the mayor recieve", {"recieve": "receives"}),  # letters in another order
        ("which rinocerros", {"rinocerros": "rhinoceros"}),  # a long word with two letters wrong
        ("where is the towwn", {}),  # five letters, of which none may be too many
        ("where is the mayro", {"mayro": "mayor"}),
        ("which garbag and which collecting", {}),  # their stems are there
        ("where is the garbbbge", {}),
        ("what is a farbage", {}),  # another first letter
        ("what does monit say", {}),  # near to a part of an address alone
        ("who keeps the ledgar", {}),  # near to a part of a path alone
        ("where is guets", {}),  # a document is below it
        ("Which Garbige, garbige_days, /garbige and garbige.txt", {}),
        ("", {}),
    ],
)
def test_words_that_no_document_holds(snapshot: Snapshot, question: str, respelt: dict[str, str]) -> None:
    assert misspelt(question, snapshot, lambda word: False) == respelt


def test_words_that_are_spelt_well_stay(snapshot: Snapshot) -> None:
    assert misspelt("which garbige", snapshot, lambda word: word == "garbige") == {}
    assert misspelt("which garbiges", snapshot, lambda word: word == "garbig") == {}  # its stem is a word
    assert misspelt("which garbige", snapshot, lambda word: word == "garbage") == {"garbige": "Garbage"}


def test_a_question_in_another_language_is_no_misspelt_one(snapshot: Snapshot) -> None:
    assert misspelt("Was garbige der Turm?", snapshot, lambda word: False) == {}
    assert misspelt("What garbige is there?", snapshot, lambda word: False) == {"garbige": "Garbage"}


def test_an_empty_index_knows_no_other_words(tiny: Path, tmp_path: Path) -> None:
    index_documents(tmp_path / "kb", [], model=tiny)
    with Index.open(tmp_path / "kb") as index:
        assert misspelt("garbige", index.snapshot(), lambda word: False) == {}


def test_only_whole_words_are_replaced() -> None:
    assert (
        with_words("a garbige, garbiges and garbige-day?", {"garbige": "garbage"}) == "a garbage, garbiges and garbige-day?"
    )
