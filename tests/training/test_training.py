from __future__ import annotations

import json
import math
import random
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file
from tiny_models import make_head
from training_parts import examples_of

pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from oreqa.datasets.load import load_paragraphs, load_task  # noqa: E402
from oreqa.datasets.pairs import Candidate  # noqa: E402
from oreqa.datasets.paragraphs import Gold, Paragraph, Question, is_held_out, save_squad, split_articles  # noqa: E402
from oreqa.defaults import DEFAULT_READER  # noqa: E402
from oreqa.errors import InputError, ModelError  # noqa: E402
from oreqa.index.passages import index_passages  # noqa: E402
from oreqa.index.store import Settings  # noqa: E402
from oreqa.mining.predictions import load_predictions, mine_predictions  # noqa: E402
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder  # noqa: E402
from oreqa.models.cross_encoder.inputs import CrossEncoderInputs  # noqa: E402
from oreqa.models.cross_encoder.module import BertCrossEncoder  # noqa: E402
from oreqa.models.names import find_model  # noqa: E402
from oreqa.models.reader.inputs import ReaderInputs  # noqa: E402
from oreqa.models.reader.reader import Reader  # noqa: E402
from oreqa.models.weights import load_weights  # noqa: E402
from oreqa.progress import Advance  # noqa: E402
from oreqa.training.backbone import start_bert  # noqa: E402
from oreqa.training.cross_encoder.examples import prediction_lists  # noqa: E402
from oreqa.training.cross_encoder.recipe import ClassifierRecipe, RerankerRecipe  # noqa: E402
from oreqa.training.cross_encoder.train import train_reranker  # noqa: E402
from oreqa.training.reader.examples import Drawing, Group, collate_groups, reader_groups  # noqa: E402
from oreqa.training.reader.recipe import ReaderRecipe  # noqa: E402
from oreqa.training.reader.train import train_reader  # noqa: E402
from oreqa.training.recipes import load_recipe  # noqa: E402
from oreqa.training.records import train_recorded  # noqa: E402
from oreqa.training.retriever.recipe import RetrieverRecipe  # noqa: E402
from oreqa.training.train import train_model  # noqa: E402

OPTIMISER = {"learning_rate": 3e-3, "batch": 4, "checkpoint_steps": 3}


def groups_of(recipe: ReaderRecipe, inputs: ReaderInputs) -> list[Group]:
    drawing = Drawing(
        negatives=recipe.negatives,
        unanswerable=recipe.unanswerable,
        distant=recipe.supervision == "distant",
        depth=recipe.depth,
    )
    groups: list[Group] = examples_of(partial(reader_groups, drawing=drawing), recipe, inputs)
    return groups


def reader_recipe(squad_file: Path, tiny: Path, **changes: object) -> ReaderRecipe:
    settings = {
        "kind": "reader", "backbone": str(tiny), "data": [{"file": str(squad_file)}], "max_tokens": 48, "overlap": 8,
        "negatives": 1.0, "unanswerable": 0.5, "dropout": 0.0, "optimiser": OPTIMISER, **changes,
    }  # fmt: skip
    return ReaderRecipe.model_validate(settings)


def decoded(inputs: ReaderInputs, ids: list[int]) -> str:
    return inputs._tokenizer.decode(ids).replace(" ##", "")


def test_groups_mark_the_answers(squad_file: Path, tiny: Path) -> None:
    inputs = ReaderInputs(tiny / "tokenizer.json", 48, 8)
    groups = groups_of(reader_recipe(squad_file, tiny), inputs)
    train, held = split_articles(load_paragraphs(squad_file))
    assert len(train) + len(held) == 24
    assert held
    assert not any(is_held_out(paragraph) for paragraph in train)
    answered = [group for group in groups if any(group.spans)]
    lone = [group for group in groups if not any(group.spans)]
    assert len(answered) == 2 * len(train)
    assert 0 < len(lone) < len(answered)
    for group in answered:
        assert [bool(spans) for spans in group.spans] == [True] + [False] * (len(group.windows) - 1)
        ((first, last),) = group.spans[0]
        text = decoded(inputs, group.windows[0].ids[first : last + 1])
        assert text.startswith(("f ##ox", "fox", "h ##ou", "house"))
    assert all(len(window.ids) <= 48 for group in groups for window in group.windows)
    again = groups_of(reader_recipe(squad_file, tiny), inputs)
    assert [g.windows[0].ids for g in again] == [g.windows[0].ids for g in groups]


@pytest.mark.parametrize(
    ("asked", "answerable"), [("all", {True, False}), ("answerable", {True}), ("unanswerable", {False})]
)
def test_a_part_of_a_files_questions_is_taken(tmp_path: Path, tiny: Path, asked: str, answerable: set[bool]) -> None:
    text = "The brown fox runs home."
    questions = (Question("1", "Who runs?", (Gold("fox", 10),)), Question("2", "Who swims?", ()))
    save_squad(tmp_path / "part.json", [Paragraph(f"T{n}", f"{text} {n}", questions) for n in range(6)], "2.0")
    changes = {"data": [{"file": str(tmp_path / "part.json"), "asked": asked}], "negatives": 0, "unanswerable": 0}
    groups = groups_of(reader_recipe(tmp_path, tiny, **changes), ReaderInputs(tiny / "tokenizer.json", 48, 8))
    assert {any(group.spans) for group in groups} == answerable


def test_an_epoch_is_drawn_alike_however_many_there_are(squad_file: Path, tiny: Path) -> None:
    inputs = ReaderInputs(tiny / "tokenizer.json", 48, 8)
    once, twice = (
        groups_of(reader_recipe(squad_file, tiny, data=[{"file": str(squad_file), "epochs": epochs}]), inputs)
        for epochs in (1, 2)
    )
    first, second = ([group.windows for group in part] for part in (twice[: len(once)], twice[len(once) :]))
    assert first == [group.windows for group in once]
    assert first != second


@pytest.mark.parametrize("supervision", ["given", "distant"])
def test_passages_that_mention_the_answer_are_no_negatives(squad_file: Path, tiny: Path, supervision: str) -> None:
    content = json.loads(squad_file.read_text())
    for article in content["data"]:
        article["paragraphs"][0]["context"] += ". beside The Fox, 3!"  # as an answer is normalised
    squad_file.write_text(json.dumps(content))
    maker = ReaderInputs(tiny / "tokenizer.json", 200, 8)
    recipe = reader_recipe(squad_file, tiny, max_tokens=200, unanswerable=0, negatives=3, supervision=supervision)
    counts: dict[str, int] = {}
    for group in groups_of(recipe, maker):
        first, last = group.spans[0][0]
        answer = decoded(maker, group.windows[0].ids[first : last + 1])
        counts[answer] = len(group.windows)
        for window in group.windows[1:]:
            passage = decoded(maker, window.ids[window.first : window.last]).replace("[UNK] ", "")
            assert f" {answer} " not in f" {passage} "
    assert counts.pop("fox 3") == 1
    assert set(counts.values()) == {4}


def test_distant_supervision_finds_every_occurrence(squad_file: Path, tiny: Path) -> None:
    content = json.loads(squad_file.read_text())
    for article in content["data"]:
        paragraph = article["paragraphs"][0]
        paragraph["context"] = paragraph["context"].replace("then it", "fox") + " " + paragraph["context"].split(" jumps")[0]
    squad_file.write_text(json.dumps(content))
    recipe = reader_recipe(squad_file, tiny, supervision="distant", max_tokens=200, negatives=0, unanswerable=0)
    groups = groups_of(recipe, ReaderInputs(tiny / "tokenizer.json", 200, 8))
    assert max(len(group.spans[0]) for group in groups) == 2


def test_training_leaves_the_process_as_it_was(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    from transformers import logging

    logging.set_verbosity_info()
    logging.enable_progress_bar()
    try:
        train_reader(reader_recipe(squad_file, tiny), tmp_path / "m")
        assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == (logging.INFO, True)
    finally:
        logging.set_verbosity_warning()


def test_collate_pads_with_nothing(squad_file: Path, tiny: Path) -> None:
    groups = groups_of(reader_recipe(squad_file, tiny), ReaderInputs(tiny / "tokenizer.json", 48, 8))[:6]
    batch = collate_groups(groups)
    for g, group in enumerate(groups):
        for p, window in enumerate(group.windows):
            size = len(window.ids)
            assert batch["input_ids"][g, p, :size].tolist() == window.ids
            assert batch["attention_mask"][g, p].sum() == size
            assert batch["tokens"][g, p].sum() == window.last - window.first
            assert batch["spans"][g, p, : len(group.spans[p])].tolist() == [list(s) for s in group.spans[p]]
        assert not batch["attention_mask"][g, len(group.windows) :].any()


@pytest.mark.parametrize("loss", ["dpr", "shared"])
def test_a_reader_learns_and_its_folder_reads(squad_file: Path, tiny: Path, tmp_path: Path, loss: str) -> None:
    data = [{"file": str(squad_file), "epochs": 6}]
    # Questions without an answer are easy, and stand in batches of their own: without them losses can be compared.
    recipe = reader_recipe(squad_file, tiny, loss=loss, data=data, unanswerable=0.0)
    record = train_recorded(train_reader, recipe, tmp_path / "r")
    losses = [loss for _, loss in record["losses"]]
    assert losses[-1] < losses[0]
    assert json.loads((tmp_path / "r" / "run.json").read_text())["recipe"]["loss"] == loss
    assert not (tmp_path / "r" / "checkpoints").exists()
    before, after = load_file(tiny / "model.safetensors"), load_file(tmp_path / "r" / "model.safetensors")
    name = "embeddings.word_embeddings.weight"
    assert (before[name] == after[f"bert.{name}"]).all()
    loaded = Reader(tmp_path / "r")
    assert loaded.folder.shared == (loss == "shared")
    assert loaded.read(["who jumps over dog 3"], [[("", "fox 3 jumps over dog 3")]])[0]
    with pytest.raises(InputError, match="holds a trained model already"):
        train_recorded(train_reader, recipe, tmp_path / "r")


def train_until(step: int, recipe: ReaderRecipe, out: Path) -> None:
    """Train, and interrupt it after a step."""
    from transformers import TrainerCallback, trainer

    class Stop(TrainerCallback):
        def on_step_end(self, args, state, control, **_) -> None:  # type: ignore[no-untyped-def]
            if state.global_step == step:
                raise KeyboardInterrupt

    trainer.DEFAULT_CALLBACKS.append(Stop)
    try:
        with pytest.raises(KeyboardInterrupt):
            train_reader(recipe, out)
    finally:
        trainer.DEFAULT_CALLBACKS.remove(Stop)


@pytest.mark.parametrize("torn", [False, True])
def test_an_interrupted_training_ends_as_an_uninterrupted_one(
    squad_file: Path, tiny: Path, tmp_path: Path, torn: bool
) -> None:
    recipe = reader_recipe(squad_file, tiny)
    train_reader(recipe, tmp_path / "whole")
    train_until(7 if torn else 5, recipe, tmp_path / "cut")
    checkpoints = tmp_path / "cut" / "checkpoints"
    assert (checkpoints / "checkpoint-3").is_dir()
    if torn:  # interrupted while it wrote: these two are passed over
        (checkpoints / "checkpoint-6" / "trainer_state.json").write_text('{"epo')
        (checkpoints / "checkpoint-7").mkdir()
    stages: dict[str, list[int | None]] = {}

    @contextmanager
    def progress(name: str, total: int | None) -> Iterator[Advance]:
        stages[name] = [total]
        yield stages[name].append

    assert train_reader(recipe, tmp_path / "cut", progress)["seconds_since_step"] == 3
    total, *steps = stages["training from step 3"]
    assert steps == [1] * (total or 0)  # the time of earlier steps is not known, so they would spoil the rate
    whole, cut = (load_file(tmp_path / n / "model.safetensors") for n in ("whole", "cut"))
    assert all((whole[name] == cut[name]).all() for name in whole)


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
    tiny: Path, tiny_reader: Path, squad_file: Path, tmp_path: Path
) -> None:
    index = index_passages(tmp_path / "index", load_task(squad_file).passages, Settings(model=str(tiny)))
    rows = [{"question": "who jumps", "pattern": "DOG|fox|then it"}, {"question": "who sleeps", "answers": ["the bone"]}]
    rows.append({"question": "who flies", "answers": []})  # nothing answers it: there is nothing to label
    (tmp_path / "q.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    reader, out = Reader(tiny_reader), tmp_path / "p.jsonl"
    assert mine_predictions(tmp_path / "q.jsonl", out, reader=reader, passages=2, k=300, index=index) == 2
    patterned, named = sorted(load_predictions(out), key=lambda row: row.id)
    assert (patterned.id, named.id) == ("q.jsonl#1", "q.jsonl#2")
    hits = index.search([patterned.question], 2, "hybrid", "passage")[0]
    assert [text for _, text in patterned.passages] == [hit.passage.text for hit in hits]
    for span, right in zip(patterned.spans, patterned.right, strict=True):
        assert right == span.text.startswith(("dog", "fox", "then it"))
    for span, right in zip(named.spans, named.right, strict=True):
        assert right == (span.text in ("the bone", "bone"))
    assert any(patterned.right)
    assert any(named.right)
    with pytest.raises(InputError, match="name the index to search"):
        mine_predictions(tmp_path / "q.jsonl", tmp_path / "n.jsonl", reader=reader, passages=2, k=9)
    with pytest.raises(InputError, match="leave index out"):
        mine_predictions(squad_file, tmp_path / "n.jsonl", reader=reader, passages=2, k=9, index=index)


def test_candidates_hold_one_right_answer_first(tiny: Path) -> None:
    from oreqa.core import Span
    from oreqa.mining.predictions import ReaderPredictions

    text = " ".join("abcdefgh")
    spans = tuple(Span(text[i : i + 1], i, i + 1, 0, 0.0, {}) for i in range(0, 15, 2))
    row = ReaderPredictions("1", "q", (("", text),), spans, tuple(span.text in "dg" for span in spans))
    inputs = CrossEncoderInputs(tiny / "tokenizer.json", 48, "marked")
    lists = [*prediction_lists([row] * 20, inputs, candidates=4, pool=5, rng=random.Random(0))]
    first, name = inputs.token_id("[unused0]"), inputs._tokenizer.id_to_token
    marked = [[name(c.window.ids[c.window.ids.index(first) + 1]) for c in candidates] for candidates in lists]
    assert all(len(found) == 4 and found[0] in "dg" for found in marked)
    assert {found[0] for found in marked} == {"d", "g"}
    assert {letter for found in marked for letter in found[1:]} == set("abcef")  # the pool's five best wrong ones


def test_a_reader_of_the_pack_learns_on(tmp_path: Path) -> None:
    """Its folder holds a difference from MiniLM: neither whole weights nor a tokenizer."""
    question = Question("1", "Who runs?", (Gold("fox", 10),))
    save_squad(tmp_path / "data.json", [Paragraph("T", f"The brown fox runs home. {n}", (question,)) for n in range(3)])
    still = {"learning_rate": 1e-12, "batch": 4}
    recipe = reader_recipe(tmp_path / "data.json", find_model(DEFAULT_READER), optimiser=still, negatives=0, unanswerable=0)
    train_reader(recipe, tmp_path / "out")
    began, ended = load_weights(find_model(DEFAULT_READER)), load_weights(tmp_path / "out")
    assert {"qa_outputs.weight", "qa_classifier.weight", "bert.encoder.layer.5.output.dense.weight"} <= set(ended)
    assert all(np.allclose(began[name], value, atol=1e-6) for name, value in ended.items())
    assert Reader(tmp_path / "out").read("Who runs?", ["The brown fox runs home."])[0].text == "The brown fox"


@pytest.mark.parametrize("head", [False, True])
def test_a_model_starts_from_another(tiny_reranker: Path, head: bool) -> None:
    import torch

    start = load_file(tiny_reranker / "model.safetensors")
    torch.manual_seed(0)
    model = start_bert(BertCrossEncoder, tiny_reranker, dropout=0.0, head=head, num_labels=1, oreqa={"pooler": False})
    same = {name for name, value in model.state_dict().items() if name in start and (value.numpy() == start[name]).all()}
    heads = {"classifier.weight", "classifier.bias"}
    assert same == set(start) - (set() if head else heads)


@pytest.mark.parametrize(("freeze", "layers"), [(False, 0), (True, 0), (True, 1)])
def test_embeddings_learn_unless_they_are_frozen(tiny_reader: Path, freeze: bool, layers: int) -> None:
    model = start_bert(
        BertCrossEncoder, tiny_reader, dropout=0.0, freeze_embeddings=freeze, frozen_layers=layers, num_labels=1
    )
    learned = {name for name, value in model.named_parameters() if value.requires_grad}
    assert ("bert.embeddings.word_embeddings.weight" in learned) is not freeze
    assert ("bert.embeddings.LayerNorm.bias" in learned) is not freeze
    assert ("bert.encoder.layer.0.output.dense.weight" in learned) is (layers == 0)
    assert "bert.encoder.layer.1.output.dense.weight" in learned


def test_the_papers_train_every_weight_and_the_pack_keeps_what_it_kept() -> None:
    recipes = Path(__file__).parents[2] / "recipes"
    for name, kind in (("reconsider", RerankerRecipe), ("augmentation-classifier", ClassifierRecipe)):
        recipe = load_recipe(kind, recipes / "papers" / f"{name}.toml")
        assert (recipe.freeze_embeddings, recipe.frozen_layers) == (False, 0)
    for name, kind in (("reranker", RerankerRecipe), ("classifier", ClassifierRecipe)):
        recipe = load_recipe(kind, recipes / "small" / f"{name}.toml")
        assert (recipe.freeze_embeddings, recipe.frozen_layers) == (True, 3 if kind is RerankerRecipe else 0)
    dpr = load_recipe(ReaderRecipe, recipes / "papers" / "dpr-reader.toml")
    assert (dpr.max_tokens, dpr.read_tokens, dpr.answer_tokens) == (350, None, 10)
    small = load_recipe(ReaderRecipe, recipes / "small" / "reader.toml")
    assert (small.max_tokens, small.read_tokens, small.answer_tokens) == (256, 256, 16)
    other = load_recipe(ReaderRecipe, recipes / "small" / "reader-negatives.toml")
    assert [part.file for part in other.data] == [part.file for part in small.data]
    assert [part.file.name for part in small.data if part.asked == "unanswerable"] == ["squad2-train-part.json.gz"]


def test_a_reader_reads_as_its_recipe_says(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    for number, (changes, wanted) in enumerate((
        ({}, (48, 16)), ({"max_tokens": 40, "read_tokens": 56, "answer_tokens": 2}, (56, 2)),
    )):  # fmt: skip
        train_reader(reader_recipe(squad_file, tiny, **changes), tmp_path / str(number))
        loaded = Reader(tmp_path / str(number))
        assert (loaded.folder.max_tokens, loaded.folder.answer_tokens) == wanted
    text = " ".join("abcdef")
    (spans,) = loaded.read(["a"], [[("", text)]], k=100)
    assert max(len(span.text.split()) for span in spans) == 2


@pytest.mark.parametrize(
    ("text", "changes", "message"),
    [
        ("kind = 'reader'", [], "data: it is missing"),
        ("kind = 'reader'\ndata = []\noptimiser = {learning_rate = 1e-4, batch = 1}", [], r"data: it must be a list of at least 1$"),
        ("kind = 'reader'\nspeed = 1\ndata = [{file = 'x'}]\noptimiser = {learning_rate = 1, batch = 1}", [], "there is no key speed; did you mean seed\\?$"),
        ("kind = ", [], "cannot be read as TOML"),
        ("kind = " + 5_000 * "[", [], "cannot be read as TOML"),
        ("seed = " + 5_000 * "1", [], "cannot be read as TOML"),
        ("kind = 'reader'", ["seed=" + 5_000 * "1"], "data: it is missing"),
        ("kind = 'reader'", ["data=" + 5_000 * "["], r'^the setting data=\[{55}…: it must be a list; write data=\[{file="..."}\]$'),
        ("kind = 'reader'\ndata = [{file = 'x'}]\noptimiser = {learning_rate = 1, batch = 1}", ["optimiser.batch=0"], "^the setting optimiser.batch=0: it must be greater"),
        ("kind = 'reader'\ndata = [{file = 'x'}]\noptimiser = {learning_rate = 1, batch = 1}", ['data=["x"]'], r"^the setting data=\[\"x\"\]: it must be a table"),
        ("kind = 'reader'\ndata = [{file = 'x'}]\noptimiser = {learning_rate = 1, batch = 1}", ["batch"], "the setting 'batch': write it as name=value, as in optimiser.batch=16"),
        ("kind = 'reader'\ndata = [{file = 'x'}]\noptimiser = {learning_rate = 1, batch = 1}", ["max_tokens=64"], "overlap = 64 is more than half of a window; set it to at most 32"),
        ("kind = 'reader'\ndata = [{file = 'x'}]\noptimiser = {learning_rate = 1, batch = 1}", ["read_tokens=96"], "at most 48"),
    ],
)  # fmt: skip
def test_bad_recipes(tmp_path: Path, text: str, changes: list[str], message: str) -> None:
    (tmp_path / "r.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        load_recipe(ReaderRecipe, tmp_path / "r.toml", changes)


def test_frozen_layers_need_frozen_embeddings() -> None:
    path = Path(__file__).parents[2] / "recipes" / "small" / "classifier.toml"
    with pytest.raises(InputError, match=r"frozen layers need .*; set freeze_embeddings=true, or frozen_layers=0"):
        load_recipe(ClassifierRecipe, path, ["freeze_embeddings=false", "frozen_layers=2"])
    assert load_recipe(ClassifierRecipe, path, ["freeze_embeddings=false", "frozen_layers=0"]).frozen_layers == 0


def test_soft_labels_need_candidates() -> None:
    path = Path(__file__).parents[2] / "recipes" / "small" / "retriever.toml"
    with pytest.raises(
        InputError, match=r"retriever\.toml: the recipe: loss = soft_labels compares .* set negatives to 1 or more"
    ):
        load_recipe(RetrieverRecipe, path, ["loss=soft_labels", "silver=missing_gold", "negatives=0"])
    with pytest.raises(InputError, match=r"set silver=missing_gold, or silver=none"):
        load_recipe(RetrieverRecipe, path, ["loss=soft_labels"])
    assert load_recipe(RetrieverRecipe, path, ["loss=soft_labels", "silver=missing_gold"]).negatives == 4
    assert load_recipe(RetrieverRecipe, path, ["loss=soft_labels", "silver=none"]).silver == "none"


@pytest.mark.parametrize(
    ("setting", "needs"),
    [
        ("patience=3", "patience = 3 would be ignored: it needs dev=FILE"),
        ("hops=2", "hops = 2 would be ignored: it needs pooling=attention"),
        ("patience=5", "it needs dev=FILE"),
        ("pooling=cls", "pooling = cls has no vector for a sentence .* set context=cross_segment, or none"),
    ],
)
def test_a_key_that_would_be_ignored_is_refused(setting: str, needs: str) -> None:
    path = Path(__file__).parents[2] / "recipes" / "small" / "retriever.toml"
    with pytest.raises(InputError, match=needs):
        load_recipe(RetrieverRecipe, path, [setting])
    for other in ("silver=none", "weight_power=3"):
        assert load_recipe(RetrieverRecipe, path, [other]).silver
    with pytest.raises(InputError, match=r"weight_power = 3.0 would be ignored: it needs silver=positives or missing_gold"):
        load_recipe(RetrieverRecipe, path, ["silver=none", "weight_power=3"])


def test_a_readers_depth_needs_a_search() -> None:
    path = Path(__file__).parents[2] / "recipes" / "small" / "reader.toml"
    alone = ["negatives=0", "unanswerable=0"]
    with pytest.raises(
        InputError, match=r"depth = 20 would be ignored: it needs negatives or unanswerable above 0, or super"
    ):
        load_recipe(ReaderRecipe, path, [*alone, "depth=20"])
    for retrieving in ("negatives=1", "unanswerable=0.1", "supervision=distant"):
        assert load_recipe(ReaderRecipe, path, [*alone, retrieving, "depth=7"]).depth == 7
    assert load_recipe(ReaderRecipe, path, alone).depth == 20


@pytest.mark.parametrize(
    ("setting", "hint"),
    [
        ("minimum_probability=0.3", "there is no key minimum_probability; did you mean min_probability\\?"),
        (
            "optimiser.learningrate=1",
            "^the setting optimiser.learningrate=1: there is no key .*; did you mean learning_rate\\?$",
        ),
        ("mined=soft", "there is no key mined; the keys here are kind, .*, loss, silver, min_probability, .*"),
    ],
)
def test_an_unknown_key_names_the_nearest(setting: str, hint: str) -> None:
    path = Path(__file__).parents[2] / "recipes" / "small" / "retriever.toml"
    with pytest.raises(InputError, match=hint):
        load_recipe(RetrieverRecipe, path, [setting])


def test_a_setting_without_a_value_leaves_the_key_out() -> None:
    path = Path(__file__).parents[2] / "recipes" / "small" / "endx-gru.toml"
    assert load_recipe(RetrieverRecipe, path).alignment is not None
    changed = load_recipe(RetrieverRecipe, path, ["alignment=", "variational.kind=cross", "dropout="])
    assert (changed.alignment, changed.variational.kind, changed.dropout) == (None, "cross", None)  # type: ignore[union-attr]
    with pytest.raises(
        InputError, match=r"^the setting alignment=5: it must be a table; to leave it out, write alignment=$"
    ):
        load_recipe(RetrieverRecipe, path, ["alignment=5"])
    with pytest.raises(InputError, match=r'^the setting data=x: it must be a list; write data=\["..."\]$'):
        load_recipe(RetrieverRecipe, path, ["data=x"])
    with pytest.raises(InputError, match=r"^the setting alignment.share=abc: it must be a valid number$"):
        load_recipe(RetrieverRecipe, path, ["alignment.share=abc"])
    with pytest.raises(InputError, match="are all 0: nothing would be learned"):
        load_recipe(RetrieverRecipe, path, ["alignment.share=0", "alignment.dual_share=0", "alignment.cross_share=0"])


def test_a_wrong_recipe_is_refused_before_torch_is_imported() -> None:
    import subprocess
    import sys

    code = """
import sys
from oreqa.training import train_model
try:
    train_model("retriever", sys.argv[1], "out", "alignment.share=-1")
except Exception as error:
    print(error, "torch" in sys.modules)
"""
    recipe = Path(__file__).parents[2] / "recipes" / "small" / "endx-gru.toml"
    printed = subprocess.run([sys.executable, "-c", code, str(recipe)], capture_output=True, text=True, check=True).stdout
    assert printed == "the setting alignment.share=-1: it must be greater than or equal to 0 False\n"


def test_wrong_arguments_of_train_model_are_one_line(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "reader.toml"
    recipe.write_text(f"""
        kind = "reader"
        backbone = "{tiny}"
        data = [{{file = "{squad_file}"}}]
        optimiser = {{learning_rate = 1e-4, batch = 4}}
    """)
    arguments: dict[str, Any] = {"kind": "reader", "recipe": str(recipe), "out": str(tmp_path / "out")}
    for changes, message in (
        ({"kind": "raeder"}, "there is no kind of model 'raeder': choose reader, reranker, classifier, retriever"),
        ({"kind": ["reader"]}, "there is no kind of model"),
        ({"recipe": 3}, "a recipe is a path, as a string or a Path, not an int"),
        ({"recipe": str(tmp_path / "none.toml")}, "there is no such recipe"),
        ({"out": None}, "out is a path, as a string or a Path, not None"),
        ({"out": str(recipe)}, "it is a file; name a folder"),
        ({"settings": {"seed": 1}}, "settings are a string or a list of strings, not a dict"),
        ({"settings": "speed=1"}, "there is no key speed"),
    ):
        with pytest.raises(InputError, match=message):
            train_model(**{**arguments, **changes})
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "run.json").write_text("{}")
    with pytest.raises(InputError, match="holds a trained model already"):  # the strings were read as paths
        train_model(**arguments, settings="seed=1")


def test_settings_change_a_recipe() -> None:
    path = Path(__file__).parents[2] / "recipes" / "small" / "reader.toml"
    recipe = load_recipe(ReaderRecipe, path, ["optimiser.batch=8", "backbone=some/folder", "loss=dpr"])
    assert (recipe.optimiser.batch, recipe.backbone, recipe.loss) == (8, "some/folder", "dpr")


def test_a_reader_of_held_out_articles_alone_is_refused(tiny: Path, tmp_path: Path) -> None:
    file = tmp_path / "manual.json"
    save_squad(file, [Paragraph("Admin Manual", "It listens on port 9.", (Question("1", "Which port?", (Gold("9", 19),)),))])
    with pytest.raises(InputError, match=r"there is nothing to learn from: .* all of its articles are held out"):
        train_reader(reader_recipe(file, tiny), tmp_path / "out")
