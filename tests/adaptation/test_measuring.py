from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import pytest
from lives import LIVES, NAMES
from tiny_models import make_head

from oreqa.adaptation import measuring
from oreqa.adaptation.report import Gain
from oreqa.answering.reranking import reranked_hits
from oreqa.datasets.reqa import ReqaTask
from oreqa.evaluation.metrics import paired_difference
from oreqa.evaluation.runs import load_run
from oreqa.index.in_memory import index_documents
from oreqa.index.search import Index
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.fitted import write_fitted
from oreqa.progress import no_progress


@pytest.fixture
def kb(fitted: Path, tmp_path: Path) -> Path:
    index_documents(tmp_path / "kb", LIVES, model=fitted)
    return tmp_path / "kb"


@pytest.mark.slow
def test_other_questions_of_the_user_are_answered_anew(kb: Path, tmp_path: Path) -> None:
    own, answered = tmp_path / "own.jsonl", []
    for name in (*NAMES[:2], NAMES[1]):
        own.write_text(json.dumps({"question": f"What did {name} read?", "answers": ["books about bees"]}) + "\n")
        measuring.answer_questions(own, kb, tmp_path / "before", 0, "cpu", no_progress)
        (row,) = load_run(tmp_path / "before").questions.values()
        answered.append((row["question"], (tmp_path / "before" / "metrics.json").stat().st_mtime_ns))
    assert [question for question, _ in answered] == [f"What did {name} read?" for name in (*NAMES[:2], NAMES[1])]
    assert answered[1] == answered[2] != answered[0]


def test_a_question_ranks_the_first_passage_that_answers_it(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measuring, "SEARCHED_TOGETHER", 2)
    with Index.open(kb) as index:
        passages = list(index.passages())
        owners = [passage for passage in passages for _ in passage.sentences]
        sentences = [sentence.text for passage in passages for sentence in passage.sentences]
        task = ReqaTask(tuple(passages), tuple(sentences), tuple((place,) for place in range(len(sentences))))
        values = measuring.reciprocal_ranks(task, index, "", no_progress)
        for text, owner, value in zip(sentences, owners, values, strict=True):
            ranked = [hit.passage for hit in index.search(text, measuring.RANKED, mode="hybrid", unit="passage")]
            assert value == (1 / (1 + ranked.index(owner)) if owner in ranked else 0)
    assert max(values) == 1.0


def test_a_classifier_re_ranks_before_the_ranks_are_counted(
    kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measuring, "RERANKED", 9)
    folder = make_head(tmp_path / "classifier", "classifier", marking="marked")
    write_fitted(folder / "fitted.json", rerank_weight=1000.0)  # or else the retriever's score would decide
    classifier = CrossEncoder(folder)
    with Index.open(kb) as index:
        passages = list(index.passages())
        owners = [passage for passage in passages for _ in passage.sentences]
        sentences = [sentence.text for passage in passages for sentence in passage.sentences]
        task = ReqaTask(tuple(passages), tuple(sentences), tuple((place,) for place in range(len(sentences))))
        values = measuring.reciprocal_ranks(task, index, "", no_progress, classifier)
        plain = measuring.reciprocal_ranks(task, index, "", no_progress)
        for text, owner, value in zip(sentences, owners, values, strict=True):
            (hits,) = reranked_hits(
                classifier, [text], [index.search(text, measuring.RANKED, mode="hybrid", unit="passage")], 9
            )
            assert value == 1 / (1 + [hit.passage for hit in hits].index(owner))
    assert values != plain


def test_what_a_classifier_gains_is_measured_against_its_state_before(kb: Path, tmp_path: Path) -> None:
    folders = [make_head(tmp_path / name, "classifier", seed=seed, marking="marked") for seed, name in enumerate("ab")]
    for folder in folders:
        write_fitted(folder / "fitted.json", rerank_weight=1000.0)
    with Index.open(kb) as index:
        passages = list(index.passages())
        sentences = [sentence.text for passage in passages for sentence in passage.sentences]
        task = ReqaTask(tuple(passages), tuple(sentences), tuple((place,) for place in range(len(sentences))))
        plain, first, second = (
            measuring.reciprocal_ranks(task, index, "", no_progress, classifier)
            for classifier in (None, *map(CrossEncoder, folders))
        )
        compare = partial(Gain.from_questions, seed=0, significance=paired_difference)
        gains = measuring.classifier_gains(task, index, (folders[0], folders[1]), plain, compare, "cpu", no_progress)
    assert len({sum(plain), sum(first), sum(second)}) == 3
    for rival, before in (("no re-ranking", plain), ("the classifier before", first)):
        assert gains[rival].before == pytest.approx(100 * sum(before) / len(before))
        assert gains[rival].after == pytest.approx(100 * sum(second) / len(second))
