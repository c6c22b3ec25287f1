from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from oreqa.core import Document
from oreqa.datasets.pairs import Candidate
from oreqa.generation.drafts import Draft
from oreqa.generation.filters import Filters, text_reason
from oreqa.index.in_memory import index_documents
from oreqa.index.search import Index
from oreqa.models.reader.reader import Reader


@pytest.mark.parametrize(
    ("question", "answer", "reason"),
    [
        ("How many legs has a bee?", "six", None),
        ("Six legs?", "six", "vague"),
        ("", "six", "vague"),
        ("???", "six", "vague"),
        ("What is the name of it?", "six", "vague"),
        ("What kind of bee is it?", "six", None),
        ("How many of the six legs move?", "Six.", "answer_inside"),
        ("Where in Japan do bees live?", "an apiary in Japan", None),
        ("Who lives in Japan?", "pan", None),
        ("Where is the Hive?", "the hive", "answer_inside"),
        ("Which word is an article here?", "the", None),
        ("Où vivent les abeilles à Paris?", "à Paris", "answer_inside"),
    ],
)
def test_reasons_of_wording(question: str, answer: str, reason: str | None) -> None:
    assert text_reason(question, answer) == reason


class Judge:
    """A classifier that finds long questions improbable; it keeps what it scored."""

    fingerprint = "judge"

    def __init__(self) -> None:
        self.scored: list[tuple[str, str]] = []

    def score(self, questions: Sequence[str], candidates: Sequence[Sequence[Candidate]]) -> list[NDArray[np.float32]]:
        self.scored += [(question, c.answer) for question, (c,) in zip(questions, candidates, strict=True)]
        return [np.array([-3.0 if len(question) > 25 else 3.0], np.float32) for question in questions]


@pytest.fixture(scope="module")
def bees(tmp_path_factory: pytest.TempPathFactory) -> Index:
    folder = tmp_path_factory.mktemp("bees") / "kb"
    index_documents(
        folder,
        [
            Document("bees", "Bees", "A honey bee has five eyes. It lives for six weeks in summer."),
            Document("ants", "Ants", "An ant queen can live for thirty years. Ants sleep for nine minutes at a time."),
        ],
    )
    return Index.open(folder)


@pytest.mark.slow
def test_the_round_trip_keeps_questions_that_lead_back_to_their_answer(bees: Index) -> None:
    passages = list(bees.passages())
    (bee,) = (n for n, passage in enumerate(passages) if passage.document_key == "bees")
    filters = Filters(bees, Reader("minilm-reader"), 0.8, None, 0.0)
    text = passages[bee].text
    drafts = [
        Draft(bee, "five", text.index("five"), "s", "How many eyes does a honey bee have?"),
        Draft(bee, "six weeks", text.index("six"), "s", "How long can an ant queen live?"),
        Draft(bee, "five", text.index("five"), "s", "Five eyes?"),
    ]
    assert [draft.dropped for draft in filters(drafts, passages)] == [None, "round_trip", "vague"]
    assert filters([], passages) == []


def test_the_classifier_judges_what_no_other_filter_dropped(bees: Index) -> None:
    passages, judge = list(bees.passages()), Judge()
    (bee,) = (n for n, passage in enumerate(passages) if passage.document_key == "bees")
    start = passages[bee].text.index("six")
    filters = Filters(bees, None, 0.0, judge, 0.5)  # type: ignore[arg-type]
    drafts = [Draft(bee, "six weeks", start, "s", q) for q in ("How long does it live?", "Six weeks?", "How long bees " * 5)]
    kept = filters(drafts, passages)
    assert [draft.dropped for draft in kept] == [None, "vague", "improbable"]
    assert kept[0].probability == pytest.approx(1 / (1 + np.exp(-3)), abs=1e-4)
    assert kept[1].probability is None
    assert judge.scored == [
        (drafts[0].question, "It lives for six weeks in summer."),
        (drafts[2].question, judge.scored[1][1]),
    ]


def test_the_fingerprint_tells_models_and_limits_apart(bees: Index, tmp_path: Path) -> None:
    judge = Judge()
    fingerprints = {Filters(bees, None, 0.0, j, p).fingerprint for j, p in ((None, 0.0), (judge, 0.5), (judge, 0.6))}  # type: ignore[arg-type]
    assert len(fingerprints) == 3
