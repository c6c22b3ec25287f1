from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oreqa.datasets.load import load_task
from oreqa.datasets.pairs import load_pairs
from oreqa.errors import InputError
from oreqa.index.ingest import index_files
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.mining import silver as mining
from oreqa.mining.silver import MinedQuestion, mine_silver, score_silver, task_questions
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder


@pytest.fixture
def mined_index(squad_file: Path, tiny: Path, tmp_path: Path) -> Index:
    return index_passages(tmp_path / "index", load_task(squad_file).passages, Settings(model=str(tiny)))


def test_silver_goes_on_after_an_interruption(
    squad_file: Path, mined_index: Index, tiny_classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mining, "SCORED_TOGETHER", 8)
    texts, classifier = task_questions(load_task(squad_file)), CrossEncoder(tiny_classifier)
    whole = score_silver(texts, mined_index, classifier, tmp_path / "whole.jsonl", 5, min_probability=0)
    scored: list[int] = []
    score = CrossEncoder.score

    def fail_later(self: CrossEncoder, questions: list[str], *rest: object) -> object:
        scored.append(len(questions))
        if len(scored) == 3:
            raise KeyboardInterrupt
        return score(self, questions, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(CrossEncoder, "score", fail_later)
    out = tmp_path / "silver.jsonl"
    with pytest.raises(KeyboardInterrupt):
        score_silver(texts, mined_index, classifier, out, 5, min_probability=0)
    assert not out.exists()
    again = score_silver(texts, mined_index, classifier, out, 5, min_probability=0)
    assert again == whole
    assert sum(scored) == len(texts) + 8  # the chunk that failed is the only one that was scored twice
    assert [path.name for path in tmp_path.iterdir() if "silver" in path.name] == ["silver.jsonl"]
    pairs = list(load_pairs(out))
    assert {pair.source for pair in pairs} == {"gold", "silver"}
    for pair in pairs:
        assert pair.score is not None
        assert pair.weight == (1 if pair.source == "gold" else pair.score)
        retrieved = [hit.sentence.text for hit in mined_index.search([pair.question], 5, mode="hybrid", unit="sentence")[0]]
        where = [rank for rank, text in enumerate(retrieved, 1) if text == pair.positive.answer]
        assert pair.rank in where or (pair.rank is None and pair.source == "gold" and not where)
    assert {pair.rank is None for pair in pairs if pair.source == "gold"} == {True, False}


def test_parts_are_gathered_into_the_file_of_a_single_run(
    squad_file: Path, mined_index: Index, tiny_classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mining, "SCORED_TOGETHER", 4)
    texts = [question.text for question in task_questions(load_task(squad_file))]
    settings: dict[str, Any] = {"questions": texts, "index": tmp_path / "index", "classifier": tiny_classifier}
    whole = mine_silver(tmp_path / "whole.jsonl", **settings, min_probability=0.1)
    parts = [mine_silver(tmp_path / "s.jsonl", **settings, min_probability=0.1, part=f"{n}/2") for n in (1, 2)]
    assert sum(part.questions for part in parts) == whole.questions == len(texts)
    assert [row for part in parts for row in part.rows] == whole.rows
    assert not (tmp_path / "s.jsonl").exists()
    monkeypatch.setattr(CrossEncoder, "score", None)  # nothing is scored again
    mine_silver(tmp_path / "s.jsonl", **settings, min_probability=0.1)
    with pytest.raises(InputError, match="it exists already; name another file, or delete this one to mine anew"):
        mine_silver(tmp_path / "s.jsonl", **settings)
    assert (tmp_path / "s.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not list(tmp_path.glob(".s.jsonl*"))


def test_only_probable_pairs_are_kept_and_none_that_is_gold(
    squad_file: Path, mined_index: Index, tiny_classifier: Path, tmp_path: Path
) -> None:
    texts, classifier = task_questions(load_task(squad_file)), CrossEncoder(tiny_classifier)
    every = score_silver(texts, mined_index, classifier, tmp_path / "every.jsonl", 10, min_probability=0)
    scores = sorted({row["score"] for row in every if row["source"] == "silver"})
    middle = (scores[len(scores) // 2 - 1] + scores[len(scores) // 2]) / 2  # files hold rounded probabilities
    kept = score_silver(texts, mined_index, classifier, tmp_path / "kept.jsonl", 10, min_probability=middle)
    assert kept == [row for row in every if row["source"] == "gold" or row["score"] >= middle]
    golds = {(row["question"], row["answer"]) for row in every if row["source"] == "gold"}
    assert not golds & {(row["question"], row["answer"]) for row in every if row["source"] == "silver"}


def test_a_probability_of_exactly_the_bar_is_kept(
    squad_file: Path, mined_index: Index, tiny_classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    logits = np.array([0.0, -1e-3, 1e-3, 0.0], np.float32)  # p of a half, less, more, a half
    monkeypatch.setattr(CrossEncoder, "score", lambda *_: [logits])
    rows = score_silver([MinedQuestion("who")], mined_index, CrossEncoder(tiny_classifier), tmp_path / "s.jsonl", 4)
    assert [row["rank"] for row in rows] == [1, 3, 4]
    monkeypatch.setattr(CrossEncoder, "score", lambda *_: [np.full(4, 1000, np.float32)])
    sure = score_silver(
        [MinedQuestion("who")], mined_index, CrossEncoder(tiny_classifier), tmp_path / "t.jsonl", 4, min_probability=1
    )
    assert [row["weight"] for row in sure] == [1.0] * 4


@pytest.mark.slow
def test_silver_begins_anew_when_the_index_has_changed(
    library: Path, tiny: Path, tiny_classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mining, "SCORED_TOGETHER", 1)
    index_files(tmp_path / "kb", [library], Settings(str(tiny)))
    texts, out, classifier = (
        [MinedQuestion("boots"), MinedQuestion("tents")],
        tmp_path / "s.jsonl",
        CrossEncoder(tiny_classifier),
    )
    fingerprints, score = [], CrossEncoder.score

    def stop_at_tents(self: CrossEncoder, questions: list[str], *rest: object) -> object:
        if questions == ["tents"]:
            raise KeyboardInterrupt
        return score(self, questions, *rest)  # type: ignore[arg-type]

    for text in ("leather", "rubber!"):  # as many characters, passages and sentences
        rows = (library / "rows.jsonl").read_text()
        (library / "rows.jsonl").write_text(rows.replace("leather", text))
        index_files(tmp_path / "kb", [library], Settings(str(tiny)))
        index = Index.open(tmp_path / "kb")
        with monkeypatch.context() as patch:
            fingerprints.append(index.content_fingerprint)
            assert index.content_fingerprint == fingerprints[-1]
            if text == "leather":
                patch.setattr(CrossEncoder, "score", stop_at_tents)
                with pytest.raises(KeyboardInterrupt):
                    score_silver(texts, index, classifier, out, 9, min_probability=0)
            else:
                found = score_silver(texts, index, classifier, out, 9, min_probability=0)
    assert fingerprints[0] != fingerprints[1]
    assert {"The boots are made of rubber!."} == {row["answer"] for row in found if "made of" in row["answer"]}


def test_silver_begins_anew_with_other_weights_and_in_another_precision(
    mined_index: Index, tiny_classifier: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fingerprints: list[str] = []

    def keep(path: Path, part: None, fingerprint: str, *_: object) -> list[dict[str, object]]:
        path.touch()
        fingerprints.append(fingerprint)
        return []

    monkeypatch.setattr(mining, "shared_rows", keep)
    classifier = CrossEncoder(tiny_classifier)
    weights = dict(mined_index.weights("sentence"))
    others = {name: weight + 1 for name, weight in weights.items()}
    precision = {"encoder": "f32", "classifier": "f32"}
    for used, computed in ((weights, precision), (others, precision), (weights, {**precision, "classifier": "i8"})):
        monkeypatch.setattr(Index, "weights", lambda *_, used=used: used)
        monkeypatch.setattr(mining, "used_precision", lambda *_, computed=computed: computed)
        score_silver([MinedQuestion("who")], mined_index, classifier, tmp_path / "s.jsonl")
    assert len(set(fingerprints)) == 3


def test_questions_without_answers(mined_index: Index, tiny_classifier: Path, tmp_path: Path) -> None:
    rows = score_silver(
        [MinedQuestion("who eats the bone")],
        mined_index,
        CrossEncoder(tiny_classifier),
        tmp_path / "s.jsonl",
        4,
        min_probability=0,
    )
    assert [row["rank"] for row in rows] == [1, 2, 3, 4]
    assert [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()] == rows
