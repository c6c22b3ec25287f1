"""What all loaded models share."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa import CrossEncoder, Encoder, Extractor, QuestionGenerator, Reader
from oreqa.datasets.pairs import Candidate
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_ENCODER, DEFAULT_GENERATOR, DEFAULT_READER
from oreqa.errors import InputError, ModelError

MODELS = [
    (Encoder, "tiny"), (Reader, "tiny_reader"), (CrossEncoder, "tiny_classifier"), (Extractor, "tiny_extractor"),
    (QuestionGenerator, "tiny_generator"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "fixture"), MODELS)
def test_a_model_is_opened_by_its_name_or_folder(kind: type, fixture: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(fixture)
    model, same = kind(folder), kind.load(str(folder), device="cpu")
    assert model.fingerprint == same.fingerprint
    assert len(model.fingerprint) == 64
    assert repr(model) == repr(same)
    assert repr(model).startswith(f"{kind.__name__}({folder.name!r}, ")
    with pytest.raises(ModelError, match="there is no model 'minilm'"):
        kind("minilm")
    with pytest.raises(TypeError):
        kind(folder, "cpu")


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "name"), [
    (Encoder, DEFAULT_ENCODER), (Reader, DEFAULT_READER), (CrossEncoder, DEFAULT_CLASSIFIER), (QuestionGenerator, DEFAULT_GENERATOR),
])  # fmt: skip
def test_without_a_name_it_is_the_model_that_comes_with_oreqa(kind: type, name: str) -> None:
    assert kind().fingerprint == kind.load().fingerprint == kind(name).fingerprint  # type: ignore[attr-defined]


def test_no_extractor_comes_with_oreqa() -> None:
    with pytest.raises(TypeError, match="name"):
        Extractor()  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("question", "reason"), [("", "the question is empty"), ("x" * 10_001, "more than 10,000: shorten it")]
)
def test_questions_have_a_length(tiny_reader: Path, tiny_classifier: Path, question: str, reason: str) -> None:
    reader, classifier = Reader(tiny_reader), CrossEncoder(tiny_classifier)
    with pytest.raises(InputError, match=reason):
        reader.read(question, ["a fox"])
    with pytest.raises(InputError, match=reason):
        classifier.rank(question, ["a fox"])
    with pytest.raises(InputError, match=reason.replace("the question", "question 2")):
        classifier.score(["a", question], [["a fox"], ["a fox"]])


def test_half_a_character_is_no_text(tiny_reader: Path, tiny_classifier: Path) -> None:
    reader, classifier = Reader(tiny_reader), CrossEncoder(tiny_classifier)
    for text in ("a fox\ud800", ("a\ud800", "fox")):
        with pytest.raises(InputError, match="half of a surrogate pair"):
            reader.read("a", [text])
    for candidate in ("a fox\ud800", Candidate("fox", "a fox\ud800"), Candidate("fox", "a fox", "\ud800")):
        with pytest.raises(InputError, match="half of a surrogate pair"):
            classifier.rank("a", [candidate])
