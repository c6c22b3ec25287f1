from __future__ import annotations

import math
import sys
from itertools import pairwise
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from oreqa.core import Document, Passage, Span
from oreqa.corpus.splitter import paragraph_passage
from oreqa.errors import InputError, ModelError
from oreqa.generation.candidates import AGREEMENT, MIN_WORDS, Entities, answer_candidates, is_askable, prose_ranges
from oreqa.models.extractor.extractor import Extractor
from oreqa.text.answers import normalize_answer

TEXT = "Alan Turing wrote On Computable Numbers in 1936. Turing, Alan Turing, was 24 years old."


class FakePipeline:
    """A spaCy pipeline that finds given words."""

    pipe_names = ("ner",)

    def __init__(self, *words: str) -> None:
        self._words = words

    def pipe(self, texts: Any, batch_size: int) -> Any:
        for text in texts:
            places = [(text.index(word), text.index(word) + len(word)) for word in self._words if word in text]
            yield SimpleNamespace(ents=[SimpleNamespace(start_char=a, end_char=b) for a, b in places])


def test_rules_alone() -> None:
    (candidates,) = answer_candidates(TEXT)
    assert [(c.text, c.source) for c in candidates if c.source != "phrase"] == [
        ("1936", "date"), ("On Computable Numbers", "name"), ("Alan Turing", "name"), ("24", "number"), ("Turing", "name"),
    ]  # fmt: skip
    assert [c.text for c in candidates].count("Alan Turing") == 1
    assert len(answer_candidates(TEXT, 2)[0]) == 2


class FakeExtractor:
    """An extractor that finds given spans, best first."""

    def __init__(self, *spans: tuple[str, float]) -> None:
        self._spans = spans

    def extract(self, passages: list[tuple[str, str]], *, k: int, overlapping: bool) -> list[list[Span]]:
        assert overlapping
        return [
            [Span(t, text.index(t), text.index(t) + len(t), 0, score, {}) for t, score in self._spans if t in text][:k]
            for _, text in passages
        ]


def test_the_extractor_comes_first_and_others_fill(tiny_extractor: Path) -> None:
    extractor = Extractor(tiny_extractor, precision="f32")
    passages = [("Turing", TEXT), "the fox"]
    lone = answer_candidates(passages, 3, extractor=extractor, rules=False)
    for (_, text), spans, candidates in zip(
        (("", TEXT), ("", "the fox")), extractor.extract(passages, k=6), lone, strict=True
    ):
        distinct = {normalize_answer(span.text): span for span in reversed(spans) if normalize_answer(span.text)}
        assert [(c.start, c.end) for c in candidates] == [
            (span.start, span.end) for span in spans if span in distinct.values()
        ][:3]
        assert all(text[c.start : c.end] == c.text for c in candidates)
    for candidates in answer_candidates(passages, 30, extractor=extractor):
        sources = [candidate.source == "extractor" for candidate in candidates]
        assert sources == sorted(sources, reverse=True)


def test_spans_that_a_rule_finds_too_rise() -> None:
    extractor: Any = FakeExtractor(("wrote", -1.0), ("in 1936", -1.2), ("1936", -1.5), ("Alan", -2.0))
    (candidates,) = answer_candidates(TEXT, 4, extractor=extractor)
    assert [(c.text, c.source, c.score) for c in candidates] == [
        ("1936", "extractor", -1.5 + AGREEMENT),
        ("wrote", "extractor", -1.0),
        ("Alan", "extractor", -2.0),
        ("On Computable Numbers", "name", pytest.approx(math.log(0.15))),
    ]
    (candidates,) = answer_candidates(TEXT, 4, extractor=extractor, rules=False)
    assert [c.text for c in candidates] == ["wrote", "in 1936", "Alan"]


def test_entities_come_before_rules() -> None:
    entities = Entities(FakePipeline("Computable", "24"))
    (candidates,) = answer_candidates(TEXT, entities=entities)
    assert [(c.text, c.source) for c in candidates[:3]] == [("Computable", "entity"), ("24", "entity"), ("1936", "date")]
    (alone,) = answer_candidates(TEXT, entities=entities, rules=False)
    assert [c.text for c in alone] == ["Computable", "24"]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=25, deadline=None)
@given(
    text=st.one_of(st.text(max_size=200), st.lists(st.sampled_from([*TEXT.split(), " ", "the", '"']))), k=st.integers(1, 9)
)
def test_candidates_are_distinct_spans_of_their_passage(tiny_extractor: Path, text: str | list[str], k: int) -> None:
    passage = text if isinstance(text, str) else " ".join(text)
    for extractor in (None, Extractor(tiny_extractor, precision="f32")):
        (candidates,) = answer_candidates([passage], k, extractor=extractor)
        assert len(candidates) <= k
        assert all(passage[c.start : c.end] == c.text != "" for c in candidates)
        assert len({normalize_answer(c.text) for c in candidates}) == len(candidates)
        places = sorted((c.start, c.end) for c in candidates)
        assert all(a[1] <= b[0] for a, b in pairwise(places))


def test_wrong_arguments() -> None:
    with pytest.raises(InputError, match="answer candidates need an extractor, entities or rules"):
        answer_candidates("x", rules=False)
    with pytest.raises(InputError, match="k is 0"):
        answer_candidates("x", 0)
    with pytest.raises(InputError, match="a passage is its text"):
        answer_candidates([1])  # type: ignore[list-item]
    extractor: Any = FakeExtractor()
    with pytest.raises(InputError, match="name an extractor or entities"):
        answer_candidates("x", extractor=extractor, entities=Entities(FakePipeline()))
    assert answer_candidates([]) == []


def test_spacy_is_loaded_where_it_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(name: str, exclude: list[str]) -> FakePipeline:
        if name == "none":
            raise OSError("no such pipeline")
        pipeline = FakePipeline("Turing")
        pipeline.pipe_names = () if name == "tagger" else ("ner",)  # type: ignore[assignment]
        return pipeline

    spacy = ModuleType("spacy")
    spacy.load = load  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "spacy", spacy)
    assert list(Entities.load().find([TEXT, ""])) == [[(5, 11)], []]
    with pytest.raises(ModelError, match="spaCy has no pipeline 'none': python -m spacy download none"):
        Entities.load("none")
    with pytest.raises(InputError, match="'tagger' finds no entities"):
        Entities.load("tagger")
    monkeypatch.setitem(sys.modules, "spacy", None)
    with pytest.raises(ModelError, match="pip install spacy"):
        Entities.load()


def passage(text: str) -> Passage:
    return paragraph_passage(Document("a", "", text))


def test_ranges_are_of_the_passage() -> None:
    prose = "The archive is kept for 30 days. "
    mixed = passage(f"Usage:\n\n{prose}\n\n--keep 30 | days\n\n{prose}")
    ranges = prose_ranges(mixed)
    assert [mixed.text[start:end] for start, end in ranges] == [prose.strip()] * 2


def test_askable_passages_are_long_and_hold_prose() -> None:
    assert is_askable(passage("The archive is kept for 30 days. " * 4))
    assert not is_askable(passage("The archive is kept for 30 days."))
    assert not is_askable(passage("- fix the archive, #12\n" * MIN_WORDS))
