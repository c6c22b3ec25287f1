from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from interruption import interrupted
from safetensors.numpy import load_file
from tiny_models import make_head, tokenizer_of

pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from oreqa.datasets.load import load_paragraphs, load_task  # noqa: E402
from oreqa.datasets.pairs import Candidate  # noqa: E402
from oreqa.datasets.paragraphs import split_articles  # noqa: E402
from oreqa.errors import InputError, ModelError  # noqa: E402
from oreqa.index.passages import index_passages  # noqa: E402
from oreqa.index.store import Settings  # noqa: E402
from oreqa.mining.predictions import load_predictions, mine_predictions  # noqa: E402
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder  # noqa: E402
from oreqa.models.cross_encoder.inputs import CrossEncoderInputs  # noqa: E402
from oreqa.models.reader.reader import Reader  # noqa: E402
from oreqa.training.cross_encoder.examples import CandidateList, DrawnPredictions, draw_predictions, windowed  # noqa: E402
from oreqa.training.cross_encoder.recipe import RerankerRecipe  # noqa: E402
from oreqa.training.cross_encoder.train import train_reranker  # noqa: E402
from oreqa.training.records import train_recorded  # noqa: E402

OPTIMISER = {"learning_rate": 3e-3, "batch": 4, "checkpoint_steps": 3}


def test_mining_and_the_re_ranker(squad_file: Path, tiny_reader: Path, tmp_path: Path) -> None:
    reader = Reader(tiny_reader)
    out = tmp_path / "predictions.jsonl"
    count = mine_predictions(squad_file, out, reader=reader, passages=2, k=60)
    rows = list(load_predictions(out))
    assert count == len(rows) == 2 * len(split_articles(load_paragraphs(squad_file))[0])
    for row in rows:
        assert len(row.passages) == 2
        assert all(span.text == row.passages[span.passage_number][1][span.start : span.end] for span in row.spans)
    out.write_text("".join(out.read_text().splitlines(keepends=True)[:10]) + '{"id": "to')  # as if interrupted
    assert mine_predictions(squad_file, out, reader=reader, passages=2, k=60) == count
    assert sorted(row.id for row in load_predictions(out)) == sorted(row.id for row in rows)
    with pytest.raises(InputError, match="line 1: made from other data, by another reader or with other settings"):
        mine_predictions(squad_file, out, reader=reader, passages=3, k=60)
    recipe = RerankerRecipe.model_validate({
        "kind": "reranker", "reader": str(tiny_reader), "predictions": str(out), "candidates": 5, "frozen_layers": 1,
        "max_tokens": 48, "dropout": 0.0, "epochs": 2, "optimiser": OPTIMISER,
    })  # fmt: skip
    learnable = [row for row in rows if any(row.right) and not all(row.right)]
    assert learnable
    record = train_recorded(train_reranker, recipe, tmp_path / "k")
    assert record["questions"] == len(learnable)
    before, after = load_file(tiny_reader / "model.safetensors"), load_file(tmp_path / "k" / "model.safetensors")
    assert (before["bert.encoder.layer.0.output.dense.weight"] == after["bert.encoder.layer.0.output.dense.weight"]).all()
    assert (before["bert.encoder.layer.1.output.dense.weight"] != after["bert.encoder.layer.1.output.dense.weight"]).any()
    spans = sum(min(5, len(row.spans)) for row in learnable)
    pointwise = recipe.model_copy(update={"loss": "cross_entropy", "epochs": 1})
    steps = train_reranker(pointwise, tmp_path / "pointwise")["steps"]
    assert record["steps"] / 2 < steps <= -(-spans // OPTIMISER["batch"])  # a batch is so many spans, not questions
    small = recipe.model_copy(update={"backbone": str(tmp_path / "k"), "epochs": 1})
    train_reranker(small, tmp_path / "s")  # begins as the re-ranker, with its head
    with pytest.raises(ModelError, match="it is a reader, not a reranker"):
        train_reranker(recipe.model_copy(update={"backbone": str(tiny_reader)}), tmp_path / "u")
    scores = CrossEncoder(tmp_path / "k").score(["who"], [[Candidate("fox", "fox 3"), Candidate("3", "fox 3")]])
    assert scores[0].shape == (2,)


def test_predictions_are_the_best_of_all_passages(squad_file: Path, tmp_path: Path) -> None:
    loaded = Reader(make_head(tmp_path / "dpr", "reader", shared=False))
    mine_predictions([squad_file], tmp_path / "p.jsonl", reader=loaded, passages=3, k=40, draw=6)
    crowded = 0
    for row in load_predictions(tmp_path / "p.jsonl"):
        (spans,) = loaded.read([row.question], [row.passages], k=1000)
        logits = {span.passage_number: span.scores["passage_logit"] for span in spans}
        total = sum(math.exp(logit) for logit in logits.values())
        slow = {
            (s.passage_number, s.start, s.end): math.log(
                math.exp(s.scores["span"]) * math.exp(logits[s.passage_number]) / total
            )
            for s in spans
        }
        best = sorted(slow.values(), reverse=True)[:40]
        assert [span.score for span in row.spans] == pytest.approx(best, abs=1e-3)
        assert [slow[s.passage_number, s.start, s.end] for s in row.spans] == pytest.approx(best, abs=1e-3)
        crowded += max(sum(s.passage_number == p for s in row.spans) for p in range(3)) > 14
    assert crowded  # one passage may have more than its share


def test_patterns_label_the_predictions_of_a_question_list(
    tiny: Path, tiny_reader: Path, squad_file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = index_passages(tmp_path / "index", load_task(squad_file).passages, Settings(model=str(tiny)))
    rows = [{"question": "who jumps", "pattern": "DOG|fox|then it"}, {"question": "who sleeps", "answers": ["the bone"]}]
    rows.append({"question": "who flies", "answers": []})  # nothing answers it: there is nothing to label
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    reader, out = Reader(tiny_reader), tmp_path / "p.jsonl"
    assert mine_predictions(tmp_path / "q.jsonl", out, reader=reader, passages=2, k=300, index=index) == 2
    patterned, named = sorted(load_predictions(out), key=lambda row: row.id)
    assert (patterned.id, named.id) == ("q.jsonl#1", "q.jsonl#2")
    hits = index.search([patterned.question], 2, mode="hybrid", unit="passage")[0]
    assert [text for _, text in patterned.passages] == [hit.passage.text for hit in hits]
    for span, right in zip(patterned.spans, patterned.right, strict=True):
        assert right == span.text.startswith(("dog", "fox", "then it"))
    for span, right in zip(named.spans, named.right, strict=True):
        assert right == (span.text in ("the bone", "bone"))
    assert any(patterned.right)
    assert any(named.right)
    with pytest.raises(InputError, match="name the index to search"):
        mine_predictions(tmp_path / "q.jsonl", tmp_path / "n.jsonl", reader=reader, passages=2, k=9)
    monkeypatch.setenv("OREQA_INDEX", str(index.folder))
    assert mine_predictions(tmp_path / "q.jsonl", out, reader=reader, passages=2, k=300) == 2
    with pytest.raises(InputError, match="leave index out"):
        mine_predictions(squad_file, tmp_path / "n.jsonl", reader=reader, passages=2, k=9, index=index)


def test_candidates_hold_one_right_answer_first(tiny: Path) -> None:
    from oreqa.core import Span
    from oreqa.mining.predictions import ReaderPredictions

    text = " ".join("abcdefgh")
    spans = tuple(Span(text[i : i + 1], i, i + 1, 0, 0.0, {}) for i in range(0, 15, 2))
    row = ReaderPredictions("1", "q", (("", text),), spans, tuple(span.text in "dg" for span in spans))
    inputs = CrossEncoderInputs(tiny / "tokenizer.json", 48, "marked")
    lists = windowed(list(draw_predictions([row] * 20, 4, 5, random.Random(0))), inputs)
    assert [candidate.label for candidate in lists[0]] == [1, 0, 0, 0]
    first, name = inputs.token_id("[unused0]"), tokenizer_of(tiny).id_to_token
    marked = [[name(c.window.ids[c.window.ids.index(first) + 1]) for c in candidates] for candidates in lists]
    assert all(len(found) == 4 and found[0] in "dg" for found in marked)
    assert {found[0] for found in marked} == {"d", "g"}
    assert {letter for found in marked for letter in found[1:]} == set("abcef")  # the pool's five best wrong ones


@pytest.mark.parametrize("loss", ["cross_entropy", "listwise_softmax"])
def test_every_epoch_draws_other_spans_and_makes_inputs_batch_by_batch(
    squad_file: Path, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: str
) -> None:
    out = tmp_path / "predictions.jsonl"
    mine_predictions(squad_file, out, reader=tiny_reader, passages=2, k=60)
    made, labels = [], []

    def batch_by_batch(
        model: object, examples: list[DrawnPredictions], collate: Any, *_: object, out: Path, **__: object
    ) -> dict[str, int]:
        for begin in range(0, len(examples), 4):
            assert len(made) == begin  # nothing is made before its batch
            labels.extend(collate(examples[begin : begin + 4])["labels"].tolist())
        out.mkdir()
        drawn.extend(examples)
        return {}

    def counted(each: list[DrawnPredictions], inputs: CrossEncoderInputs) -> list[CandidateList]:
        made.extend(each)
        return windowed(each, inputs)

    monkeypatch.setattr("oreqa.training.cross_encoder.examples.windowed", counted)
    monkeypatch.setattr("oreqa.training.cross_encoder.train.fit", batch_by_batch)
    drawn: list[DrawnPredictions] = []
    recipe = RerankerRecipe.model_validate({
        "kind": "reranker", "reader": str(tiny_reader), "predictions": str(out), "candidates": 5, "epochs": 3, "loss": loss,
        "max_tokens": 48, "optimiser": OPTIMISER,
    })  # fmt: skip
    questions = train_reranker(recipe, tmp_path / "k")["questions"]
    if loss == "listwise_softmax":
        epochs = [
            {row.row.id: row.places for row in drawn[begin : begin + questions]} for begin in (0, questions, 2 * questions)
        ]
        assert epochs[0].keys() == epochs[1].keys()
        assert all(epochs[0][name] != epochs[1][name] for name in epochs[0])
        assert {tuple(row) for row in labels} == {(1.0, 0.0, 0.0, 0.0, 0.0)}
    else:
        assert sum(label for (label,) in labels) == 3 * questions
        assert all(len(row.places) == 1 for row in drawn)
        lengths = [[row.length for row in drawn[begin : begin + 4]] for begin in range(0, len(drawn) // 4 * 4, 4)]
        spread = sum(max(batch) - min(batch) for batch in lengths) / len(lengths)
        assert spread < (max(map(max, lengths)) - min(map(min, lengths))) / 4


def test_an_interrupted_re_ranker_ends_the_same(squad_file: Path, tiny_reader: Path, tmp_path: Path) -> None:
    predictions = tmp_path / "predictions.jsonl"
    mine_predictions(squad_file, predictions, reader=tiny_reader, passages=2, k=60)
    recipe = RerankerRecipe.model_validate({
        "kind": "reranker", "reader": str(tiny_reader), "predictions": str(predictions), "candidates": 5, "epochs": 3,
        "max_tokens": 48, "optimiser": OPTIMISER,
    })  # fmt: skip
    train_reranker(recipe, tmp_path / "whole")
    interrupted(lambda: train_reranker(recipe, tmp_path / "cut"), step=5)
    assert train_reranker(recipe, tmp_path / "cut")["seconds_since_step"] == 3
    whole, cut = (load_file(tmp_path / place / "model.safetensors") for place in ("whole", "cut"))
    assert all((whole[name] == cut[name]).all() for name in whole)
