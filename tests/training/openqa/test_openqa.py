from __future__ import annotations

import json
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from tiny_models import make_model, tokenizer_of

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

import oreqa.training.openqa.data as openqa_data  # noqa: E402
import oreqa.training.openqa.loss as openqa_loss  # noqa: E402
import oreqa.training.openqa.train as openqa  # noqa: E402
from oreqa.core import Span  # noqa: E402
from oreqa.datasets.load import answered_questions, load_passages  # noqa: E402
from oreqa.datasets.questions import OpenQuestion, answer_ranges  # noqa: E402
from oreqa.errors import InputError, ModelError  # noqa: E402
from oreqa.evaluation.openqa import evaluate_openqa  # noqa: E402
from oreqa.index.passages import index_passages  # noqa: E402
from oreqa.index.store import Settings  # noqa: E402
from oreqa.losses import open_retrieval  # noqa: E402
from oreqa.losses.open_retrieval import OpenQAScores  # noqa: E402
from oreqa.models.encoder.encoder import Encoder  # noqa: E402
from oreqa.models.encoder.folder import EncoderFolder  # noqa: E402
from oreqa.models.encoder.module import DualEncoder  # noqa: E402
from oreqa.models.reader.inputs import ReaderInputs  # noqa: E402
from oreqa.models.reader.module import read_groups  # noqa: E402
from oreqa.models.reader.reader import Reader  # noqa: E402
from oreqa.progress import ignore, no_progress  # noqa: E402
from oreqa.text.answers import normalize_answer  # noqa: E402
from oreqa.training.openqa.data import match_questions, open_collection  # noqa: E402
from oreqa.training.openqa.loss import OpenQALossOfBatch, OpenQAModel, QuestionCollator  # noqa: E402
from oreqa.training.openqa.recipe import OpenQARecipe  # noqa: E402
from oreqa.training.openqa.train import (  # noqa: E402
    LAMBDAS,
    DevSet,
    start_question_encoder,
    start_reader,
    train_openqa,
    write_lambda,
)
from oreqa.training.records import train_recorded  # noqa: E402
from oreqa.training.retriever.save import save_encoder  # noqa: E402

LOSSES = ["shared", "shared_joint", "shared_rerank", "joint", "separate"]


def encoder_of(recipe: OpenQARecipe, folder: EncoderFolder) -> DualEncoder:
    return start_question_encoder(folder, recipe.dropout, freeze_embeddings=recipe.freeze_embeddings)


def openqa_recipe(tiny: Path, tiny_reader: Path, file: Path, **changes: object) -> OpenQARecipe:
    settings = {
        "kind": "openqa", "retriever": str(tiny), "reader": str(tiny_reader), "corpus": str(file), "data": [str(file)],
        "dev": str(file), "passages": 3, "early_depth": 10, "match_depth": 20, "scale": 20.0, "max_tokens": 48, "overlap": 8,
        "optimiser": {"learning_rate": 1e-3, "batch": 2, "accumulate": 2, "checkpoint_steps": 3}, **changes,
    }  # fmt: skip
    return OpenQARecipe.model_validate(settings)


def weights_of(folder: Path) -> dict[str, np.ndarray]:
    files = sorted(folder.rglob("*.safetensors"))
    return {f"{f.relative_to(folder)}:{name}": value for f in files for name, value in load_file(f).items()}


def test_the_question_encoder_and_the_reader_are_tuned_and_evaluated(
    squad_file: Path, tiny: Path, tiny_reader: Path, tmp_path: Path
) -> None:
    out = tmp_path / "m"
    record = train_recorded(train_openqa, openqa_recipe(tiny, tiny_reader, squad_file), out)
    assert record["questions"] == len(answered_questions(squad_file))
    assert record["steps"] == -(-(record["questions"] - record["unmatched"]) // 4)
    assert 0 <= record["skipped"]["unretrieved"] <= record["skipped"]["unread"] <= record["questions"]
    assert record["lambda"] in LAMBDAS
    before, after = Encoder(tiny), Encoder(out / "retriever")
    passages = [("title", "fox 3 jumps over dog 3", [])]
    assert np.array_equal(before.encode_passages(passages)[0], after.encode_passages(passages)[0])
    assert not np.allclose(before.encode("who jumps over dog 3"), after.encode("who jumps over dog 3"), atol=1e-3)
    reader = Reader(out / "reader")
    assert reader.folder.fitted.combination["retrieval"] == record["lambda"]
    assert not (out / "checkpoints").exists()
    summary = evaluate_openqa(
        squad_file, tmp_path / "eval", model=out / "retriever", reader=out / "reader", span_reranker=None, passages=3
    )
    assert summary["settings"]["combination"]["retrieval"] == record["lambda"]


@pytest.mark.parametrize("loss", LOSSES)
def test_every_objective_trains_what_it_names(
    loss: str, squad_file: Path, tiny: Path, tiny_reader: Path, tmp_path: Path
) -> None:
    recipe = openqa_recipe(tiny, tiny_reader, squad_file, loss=loss, work=str(tmp_path / "work"), skip_unread=False)
    record = train_openqa(recipe, tmp_path / "m")
    assert all(np.isfinite(value) for _, value in record["losses"])
    heads = load_file(tmp_path / "m" / "reader" / "model.safetensors")
    began = load_file(tiny_reader / "model.safetensors")
    assert not np.array_equal(heads["qa_outputs.weight"], began["qa_outputs.weight"])
    assert np.array_equal(heads["qa_classifier.weight"], began["qa_classifier.weight"]) == (loss != "shared_rerank")
    reader = Reader(tmp_path / "m" / "reader")
    assert reader.folder.shared == loss.startswith("shared")
    unused = "retrieval" if loss == "shared_rerank" else "selection"
    assert reader.folder.fitted.combination[unused] == 0


def test_matches_are_those_of_a_slow_search_and_resume(
    squad_file: Path, tiny: Path, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = openqa_recipe(tiny, tiny_reader, squad_file, early_depth=5, match_depth=7)
    folder = Encoder(tiny).folder
    collection = open_collection(None, squad_file, folder, recipe.passages, tmp_path / "work", "cpu", no_progress)
    questions = answered_questions(squad_file)
    vectors = Encoder(tiny).encode([question.text for question in questions])
    monkeypatch.setattr(openqa_data, "TOGETHER", 4)
    file = tmp_path / "matches.jsonl"
    rows = match_questions(collection, vectors, questions, recipe.match_depth, file, ignore)
    texts = [passage.text for passage in load_passages(squad_file)]
    assert [text for _, text in collection.texts] == texts
    for row, vector in zip(rows, vectors, strict=True):
        nearest = np.argsort(-(collection.vectors @ vector))[:7]
        assert row.matches.tolist() == sorted(p for p in nearest.tolist() if answer_ranges(texts[p], row.question))
    assert any(len(row.matches) for row in rows)
    whole = file.read_text()
    file.write_text(whole[: len(whole) // 2])
    match_questions(collection, vectors, questions, recipe.match_depth, file, ignore)
    assert file.read_text() == whole


class _KilledAt(openqa.OpenQALossOfBatch):
    """A run that ends before its batch of this number."""

    def __init__(self, batch: int, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.left = batch

    def __call__(self, model: Any, batch: Any) -> Any:
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return super().__call__(model, batch)


@pytest.mark.system
def test_a_killed_run_ends_the_same(
    squad_file: Path, tiny: Path, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recipe = openqa_recipe(tiny, tiny_reader, squad_file, epochs=2)
    whole = train_openqa(recipe, tmp_path / "whole")
    for step in (2, 5, 9):
        out = tmp_path / f"killed-{step}"
        monkeypatch.setattr(openqa, "OpenQALossOfBatch", partial(_KilledAt, 2 * step))
        with pytest.raises(KeyboardInterrupt):
            train_openqa(recipe, out)
        monkeypatch.undo()
        resumed = train_openqa(recipe, out)
        assert resumed.pop("seconds_since_step", 0) == step // 3 * 3
        assert {**resumed, "seconds": 0} == {**whole, "seconds": 0}
        for part in ("retriever", "reader"):
            expected = weights_of(tmp_path / "whole" / part)
            assert all(np.array_equal(value, expected[name]) for name, value in weights_of(out / part).items())


def test_questions_of_a_list_with_patterns_and_an_index(
    squad_file: Path, tiny: Path, tiny_reader: Path, tmp_path: Path
) -> None:
    index_passages(tmp_path / "index", load_passages(squad_file), Settings(model=str(tiny))).close()
    rows = [
        {"question": "who jumps over dog 3", "pattern": r"fox \d+"},
        {"question": "where sleeps fox 5", "answers": ["house 5"]},
        {"question": "who flies", "answers": ["an eagle"]},
    ]
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "dev.jsonl").write_text(json.dumps({"question": "where sleeps fox 6", "answers": ["house 6"]}))
    changes = {"index": str(tmp_path / "index"), "data": [str(tmp_path / "q.jsonl")], "dev": str(tmp_path / "dev.jsonl")}
    recipe = openqa_recipe(tiny, tiny_reader, squad_file, **{**changes, "corpus": None, "match_depth": 24})
    record = train_openqa(recipe, tmp_path / "m")
    assert (record["questions"], record["unmatched"]) == (3, 1)


def test_what_cannot_be_tuned_is_refused(squad_file: Path, tiny: Path, tiny_reader: Path, tmp_path: Path) -> None:
    shutil.copytree(tiny, tmp_path / "other")
    config = json.loads((tmp_path / "other" / "config.json").read_text())
    (tmp_path / "other" / "config.json").write_text(json.dumps({**config, "layer_norm_eps": 1e-6}))
    index_passages(tmp_path / "index", load_passages(squad_file), Settings(model=str(tmp_path / "other"))).close()
    recipe = openqa_recipe(tiny, tiny_reader, squad_file, corpus=None, index=str(tmp_path / "index"))
    with pytest.raises(InputError, match="its vectors are of another encoder; index the passages with --model"):
        train_openqa(recipe, tmp_path / "m")
    deep = openqa_recipe(tiny, tiny_reader, squad_file, passages=30, early_depth=30, match_depth=30)
    with pytest.raises(InputError, match="passages = 30 are read"):
        train_openqa(deep, tmp_path / "m")
    (tmp_path / "q.jsonl").write_text(json.dumps({"question": "who jumps over dog 3", "answers": ["fox 3"]}))
    learned = openqa_recipe(tiny, tiny_reader, squad_file, data=[str(squad_file)] * 2, dev=str(tmp_path / "q.jsonl"))
    with pytest.raises(InputError, match="data holds all of its questions"):
        train_openqa(learned, tmp_path / "m")
    with pytest.raises(ValueError, match="either index or corpus"):
        openqa_recipe(tiny, tiny_reader, squad_file, corpus=None)


def test_an_encoder_with_a_layer_of_tanh_is_refused(squad_file: Path, tiny_reader: Path, tmp_path: Path) -> None:
    folder = make_model(tmp_path / "dense", dense=True)
    with pytest.raises(ModelError, match="one linear layer"):
        train_openqa(openqa_recipe(folder, tiny_reader, squad_file), tmp_path / "m")


def test_heads_have_a_rate_of_their_own(squad_file: Path, tiny: Path, tiny_reader: Path, tmp_path: Path) -> None:
    rates = {"learning_rate": 1e-12, "head_learning_rate": 1e-2, "batch": 4}
    train_openqa(openqa_recipe(tiny, tiny_reader, squad_file, optimiser=rates), tmp_path / "m")
    before, after = load_file(tiny_reader / "model.safetensors"), load_file(tmp_path / "m" / "reader" / "model.safetensors")
    moved = {name for name, value in after.items() if not np.allclose(value, before[name], atol=1e-6)}
    assert moved == {"qa_outputs.weight", "qa_outputs.bias"}


@pytest.mark.system
def test_three_processes_prepare_their_passages_once(
    squad_file: Path, tiny: Path, tiny_reader: Path, tmp_path: Path
) -> None:
    recipe = tmp_path / "r.toml"
    recipe.write_text(
        f'kind = "openqa"\nretriever = "{tiny}"\nreader = "{tiny_reader}"\ncorpus = "{squad_file}"\n'
        f'data = ["{squad_file}"]\ndev = "{squad_file}"\npassages = 3\nearly_depth = 10\nmatch_depth = 20\n'
        "max_tokens = 48\noverlap = 8\n[optimiser]\nlearning_rate = 1e-3\nbatch = 2\n"
    )
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=3", "-m", "oreqa", "train"]
    run = subprocess.run(
        [*command, "openqa", "--recipe", recipe, "--out", tmp_path / "m"], capture_output=True, text=True, timeout=200
    )
    assert run.returncode == 0, run.stderr
    record = json.loads((tmp_path / "m" / "run.json").read_text())
    assert record["steps"] == -(-(record["questions"] - record["unmatched"]) // 6)  # each learns from two at a time
    assert record["lambda"] in LAMBDAS
    assert not (tmp_path / "m" / "checkpoints").exists()


def test_a_batch_is_what_a_slow_retrieval_and_reading_give(
    squad_file: Path, tiny: Path, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scores, matches, windows, their spans and their passages' ranks, question by question, against loops."""
    recipe = openqa_recipe(tiny, tiny_reader, squad_file, early_depth=6, match_depth=9, passages=3, max_tokens=32, overlap=8)
    folder = Encoder(tiny).folder
    collection = open_collection(None, squad_file, folder, recipe.passages, tmp_path / "work", "cpu", no_progress)
    questions = answered_questions(squad_file)[:5]
    vectors = Encoder(tiny, precision="f32").encode([question.text for question in questions])
    rows = match_questions(collection, vectors, questions, recipe.match_depth, tmp_path / "m.jsonl", ignore)
    inputs = ReaderInputs(tiny_reader / "tokenizer.json", 32, titles=True, closing=True)
    model = OpenQAModel(encoder_of(recipe, folder), start_reader(recipe, tiny_reader)).eval()
    seen: dict[str, Any] = {}

    def keep_scores(scores: OpenQAScores) -> torch.Tensor:
        seen["scores"] = scores
        return torch.zeros(())

    def keep_reading(module: Any, reading: Any) -> Any:
        seen["reading"] = reading
        return read_groups(module, reading)

    monkeypatch.setattr(openqa_loss, "read_groups", keep_reading)
    with torch.no_grad():
        OpenQALossOfBatch(model, keep_scores, collection, rows, inputs, early_depth=6, passages=3, scale=recipe.scale)(
            model, QuestionCollator(folder, rows)(range(len(rows)))
        )
    scores, ids = seen["scores"], seen["reading"]["input_ids"]
    spans = 0
    for number, (row, vector) in enumerate(zip(rows, vectors, strict=True)):
        products = [20.0 * float(np.dot(vector, passage)) for passage in collection.vectors]
        nearest = sorted(range(len(products)), key=lambda place: -products[place])[:6]
        assert scores.retrieval[number].tolist() == pytest.approx([products[place] for place in nearest], abs=1e-3)
        assert scores.has_answer[number].tolist() == [place in row.matches.tolist() for place in nearest]
        window = 0
        for rank, place in enumerate(nearest[:3]):
            title, text = collection.texts[place]
            tokens = inputs.tokenize([title, text, row.question.text])
            for expected in inputs.windows(tokens[row.question.text], tokens[title], tokens[text]):
                assert ids[number, window, : len(expected.ids)].tolist() == list(expected.ids)
                assert (int(scores.ranks[number, window]), bool(scores.present[number, window])) == (rank, True)
                answers = set()
                golds = {normalize_answer(gold) for gold in row.question.answers}
                pieces = [tokenizer_of(tiny_reader).id_to_token(i) for i in expected.ids]
                for first in range(expected.first, expected.last):
                    for last in range(first, expected.last):
                        words = " ".join(pieces[first : last + 1]).replace(" ##", "")
                        cut = pieces[first].startswith("##") or pieces[last + 1].startswith("##")
                        if normalize_answer(words) in golds and not cut:
                            answers.add((first, last))
                assert {tuple(span) for span in scores.spans[number, window].tolist() if span[0] >= 0} == answers
                spans += len(answers)
                window += 1
        assert not scores.present[number, window:].any()
    assert spans


@pytest.mark.parametrize("skip", [True, False])
def test_a_question_that_is_not_read_is_skipped_or_still_retrieved(skip: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    retrieval, start, end = (torch.randn(2, size, generator=generator) for size in (4, 6, 6))
    retrieval.requires_grad_()
    spans = torch.tensor([[[[1, 2]]], [[[-1, -1]]]])  # nothing that is read for the second question holds an answer
    scores = OpenQAScores(
        retrieval=retrieval,
        has_answer=torch.tensor([[True, False, False, True], [False, False, True, False]]),
        start=start[:, None],
        end=end[:, None],
        selection=torch.zeros(2, 1),
        tokens=torch.ones(2, 1, 6, dtype=torch.bool),
        spans=spans,
        present=torch.ones(2, 1, dtype=torch.bool),
        ranks=torch.zeros(2, 1, dtype=torch.long),
    )
    open_retrieval.shared(scores, skip_unread=skip).backward()
    learned = retrieval.grad.abs().sum(-1) > 0
    assert learned.tolist() == [True, not skip]


def test_separate_passages_are_summed_over() -> None:
    """-log of the sum over passages and spans of P(span | passage): one passage that is certain leaves nothing to learn."""
    generator = torch.Generator().manual_seed(0)
    start, end = (torch.randn(1, 3, 5, generator=generator) for _ in range(2))
    spans = torch.tensor([[[[1, 2], [3, 3]], [[0, 4], [-1, -1]], [[-1, -1], [-1, -1]]]])
    scores = OpenQAScores(
        retrieval=torch.zeros(1, 4),
        has_answer=torch.zeros(1, 4, dtype=torch.bool),  # nothing for the early loss
        start=start,
        end=end,
        selection=torch.zeros(1, 3),
        tokens=torch.ones(1, 3, 5, dtype=torch.bool),
        spans=spans,
        present=torch.ones(1, 3, dtype=torch.bool),
        ranks=torch.arange(3)[None],
    )
    p_start, p_end = (torch.softmax(logits.double(), -1)[0] for logits in (start, end))
    expected = -torch.log(p_start[0, 1] * p_end[0, 2] + p_start[0, 3] * p_end[0, 3] + p_start[1, 0] * p_end[1, 4])
    assert open_retrieval.separate(scores, skip_unread=True).item() == pytest.approx(expected.item(), abs=1e-5)


@pytest.mark.parametrize("shared", [True, False])
def test_each_window_has_the_probability_of_its_passage(shared: bool) -> None:
    """Three windows, the second and the third of the second passage: -log of the sum of P(passage) P(span | passage)."""
    loss = open_retrieval.shared_joint if shared else open_retrieval.joint
    generator = torch.Generator().manual_seed(0)
    start, end = (torch.randn(1, 3, 4, generator=generator) for _ in range(2))
    retrieval = torch.tensor([[2.0, 1.0, -1.0]])
    scores = OpenQAScores(
        retrieval=retrieval,
        has_answer=torch.zeros(1, 3, dtype=torch.bool),  # nothing for the early loss
        start=start,
        end=end,
        selection=torch.zeros(1, 3),
        tokens=torch.ones(1, 3, 4, dtype=torch.bool),
        spans=torch.tensor([[[[0, 1]], [[-1, -1]], [[2, 3]]]]),
        present=torch.ones(1, 3, dtype=torch.bool),
        ranks=torch.tensor([[0, 1, 1]]),
    )
    p = torch.softmax(retrieval.double(), -1)[0]
    p_start, p_end = (
        torch.softmax(logits.double().flatten(1) if shared else logits.double(), -1).reshape(3, 4) for logits in (start, end)
    )
    expected = -torch.log(p[0] * p_start[0, 0] * p_end[0, 1] + p[1] * p_start[2, 2] * p_end[2, 3])
    assert loss(scores, skip_unread=True).item() == pytest.approx(expected.item(), abs=1e-5)


def test_the_readers_attention_has_its_own_dropout(squad_file: Path, tiny: Path, tiny_reader: Path) -> None:
    for changes, rates in (({}, (0.2, 0.2)), ({"attention_dropout": 0.0}, (0.2, 0.0))):
        config = start_reader(openqa_recipe(tiny, tiny_reader, squad_file, dropout=0.2, **changes), tiny_reader).config
        assert (config.hidden_dropout_prob, config.attention_probs_dropout_prob) == rates


@pytest.mark.parametrize(("loss", "part"), [("shared", "retrieval"), ("shared_rerank", "selection")])
def test_lambda_is_the_smallest_of_those_that_answer_most(
    squad_file: Path, tiny: Path, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, loss: str, part: str
) -> None:
    """The wrong span of the second passage reads better by 3, the right one of the first has half a point on its passage."""
    recipe = openqa_recipe(tiny, tiny_reader, squad_file, loss=loss, passages=2)
    folder = Encoder(tiny).folder
    vectors = np.zeros((4, folder.width), np.float32)
    vectors[0, 0], vectors[1, 0] = 1.0, 0.5
    collection = openqa_data.Collection([("", "right"), ("", "wrong"), ("", ""), ("", "")], vectors, "")
    right = Span("right", 0, 5, 0, 0.0, {"span": -4.0, "passage_logit": 0.5})
    wrong = Span("wrong", 0, 5, 1, 0.0, {"span": -1.0, "passage_logit": 0.0})

    class FakeReader:
        def read(self, questions: list[str], texts: object, k: int) -> list[list[Span]]:
            return [[wrong, right] for _ in questions]

    class FakeEncoder:
        def encode(self, questions: list[str]) -> np.ndarray:
            question = np.zeros((len(questions), folder.width), np.float32)
            question[:, 0] = 1.0
            return question

    monkeypatch.setattr(openqa, "current_encoder", lambda *_: FakeEncoder())
    encoder = encoder_of(recipe, folder)
    save_encoder(encoder, folder, folder.pooling, folder.max_tokens, tmp_path / "retriever")
    (tmp_path / "reader").mkdir()
    dev = [OpenQuestion("1", "who", ("Right",)), OpenQuestion("2", "what", ("other",))]
    reranks = loss == "shared_rerank"
    em = DevSet(dev, collection, folder, passages=2, reranks=reranks).em_by_lambda(encoder, FakeReader())  # type: ignore[arg-type]
    assert em == [50.0 if value >= 10 else 0.0 for value in LAMBDAS]  # half a point times 10 is more than 3, times 5 not
    assert write_lambda(em, reranks, tmp_path) == {
        "lambda": 10.0,
        "dev_em": [[v, e] for v, e in zip(LAMBDAS, em, strict=True)],
    }
    fitted = json.loads((tmp_path / "reader" / "fitted.json").read_text())["combination"]
    assert fitted[part] == 10.0
    assert fitted["retrieval"] + fitted["selection"] == 10.0
