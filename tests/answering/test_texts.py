"""Questions about texts that are not indexed."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import oreqa
from oreqa import Document, InputError

TEXTS = ["Bees dance to tell each other where flowers are.", "An octopus has three hearts. Its blood is blue."]
HEARTS, FLOWERS = "How many hearts does an octopus have?", "Who dances to tell where flowers are?"


@pytest.fixture(autouse=True)
def _no_folder_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    yield
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_an_answer_names_its_text_by_its_number() -> None:
    answers = oreqa.ask(HEARTS, TEXTS, k=1)
    assert [(answer.text, answer.passage.document_key) for answer in answers] == [("three", "1")]
    assert answers[0].confidence is not None
    assert TEXTS[1][answers[0].start : answers[0].end] == "three"


@pytest.mark.slow
def test_a_list_of_questions_gives_a_list_of_lists() -> None:
    both = oreqa.ask([HEARTS, FLOWERS, "Who won in 1974?"], iter(TEXTS), k=1)
    assert [[answer.passage.document_key for answer in answers] for answers in both] == [["1"], ["0"], []]
    assert oreqa.ask([], TEXTS) == []


@pytest.mark.slow
def test_one_text_and_documents_with_keys() -> None:
    assert oreqa.ask(HEARTS, TEXTS[1])[0].passage.document_key == "0"
    document = Document("animals/octopus", "Octopus", TEXTS[1])
    for texts in (document, [TEXTS[0], document, TEXTS[0]]):
        (answer,) = oreqa.ask(HEARTS, texts, k=1)
        assert (answer.passage.document_key, answer.passage.title) == ("animals/octopus", "Octopus")
    assert len(oreqa.ask("octopus", TEXTS, k=5, threshold=0)) > 1


@pytest.mark.parametrize(
    ("questions", "texts", "k", "message"),
    [
        (HEARTS, [], 3, "there are no texts to answer from: the list is empty"),
        (HEARTS, "", 3, r"texts\[0\] holds no text"),
        (HEARTS, ["a b", " \n\u200b"], 3, r"texts\[1\] holds no text"),
        (HEARTS, [Document("a", "", "")], 3, r"texts\[0\] holds no text"),
        (HEARTS, 5, 3, "texts are a string, a Document or a list of these, not an int"),
        (HEARTS, None, 3, "texts are a string, a Document or a list of these, not None"),
        (HEARTS, ["a", 5], 3, r"texts\[1\] is an int, not a string or a Document"),
        (HEARTS, ["a", ["b"]], 3, r"texts\[1\] is a list, not a string or a Document"),
        (HEARTS, {"text": "a"}, 3, "texts are a string, a Document or a list of these, not a dict"),
        (
            HEARTS,
            ["a b", Document("0", "", "b c")],
            3,
            r"texts\[0\] and texts\[1\] have the same key, '0'; keys must differ",
        ),
        ("", TEXTS, 3, "the question is empty"),
        ([HEARTS, " "], TEXTS, 3, "question 2 is empty"),
        (5, TEXTS, 3, "questions are a string or a list of strings, not an int"),
        (HEARTS, TEXTS, 0, "the number of answers is 0; it must be a whole number from 1"),
        (TEXTS, HEARTS, "x", "the number of answers is 'x'"),
    ],
)
def test_what_cannot_be_asked_is_one_line(questions: Any, texts: Any, k: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        oreqa.ask(questions, texts, k)
    assert "\n" not in str(raised.value)


def test_importing_it_loads_nothing_heavy() -> None:
    heavy = "{'torch', 'transformers', 'numpy', 'openvino', 'faiss'}"
    program = f"import sys, oreqa; assert 'ask' in dir(oreqa); assert not {heavy} & set(sys.modules); oreqa.ask; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)
