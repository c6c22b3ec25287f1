from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file
from training_parts import reader_recipe

pytest.importorskip("torch")
pytestmark = [pytest.mark.train, pytest.mark.slow]

from oreqa.datasets.paragraphs import Gold, Paragraph, Question, save_squad  # noqa: E402
from oreqa.defaults import DEFAULT_READER  # noqa: E402
from oreqa.errors import InputError  # noqa: E402
from oreqa.models.names import find_model  # noqa: E402
from oreqa.models.reader.reader import Reader  # noqa: E402
from oreqa.models.weights import load_weights  # noqa: E402
from oreqa.progress import Advance  # noqa: E402
from oreqa.training.reader.recipe import ReaderRecipe  # noqa: E402
from oreqa.training.reader.train import train_reader  # noqa: E402
from oreqa.training.records import train_recorded  # noqa: E402


def test_training_leaves_the_process_as_it_was(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    from transformers import logging

    logging.set_verbosity_info()
    logging.enable_progress_bar()
    try:
        train_reader(reader_recipe(squad_file, tiny), tmp_path / "m")
        assert (logging.get_verbosity(), logging.is_progress_bar_enabled()) == (logging.INFO, True)
    finally:
        logging.set_verbosity_warning()


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


def test_a_reader_started_from_a_classifier_loads_in_transformers(
    squad_file: Path, tiny_classifier: Path, tmp_path: Path
) -> None:
    from transformers import AutoModelForQuestionAnswering

    assert json.loads((tiny_classifier / "config.json").read_text())["id2label"] == {"0": "LABEL_0"}
    train_reader(reader_recipe(squad_file, tiny_classifier), tmp_path)
    AutoModelForQuestionAnswering.from_pretrained(tmp_path)


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
    unusable = " (what was saved at step 7 is damaged or incomplete)" if torn else ""
    total, *steps = stages[f"training from step 3{unusable}"]
    assert steps == [1] * (total or 0)  # the time of earlier steps is not known, so they would spoil the rate
    whole, cut = (load_file(tmp_path / n / "model.safetensors") for n in ("whole", "cut"))
    assert all((whole[name] == cut[name]).all() for name in whole)


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
    spans = [Reader(folder).read("Who runs?", ["The brown fox runs home."]) for folder in (tmp_path / "out", DEFAULT_READER)]
    assert spans[0][0].text == spans[1][0].text


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


def test_a_reader_of_held_out_articles_alone_is_refused(tiny: Path, tmp_path: Path) -> None:
    file = tmp_path / "manual.json"
    save_squad(file, [Paragraph("Admin Manual", "It listens on port 9.", (Question("1", "Which port?", (Gold("9", 19),)),))])
    with pytest.raises(InputError, match=r"there is nothing to learn from: .* all of its articles are held out"):
        train_reader(reader_recipe(file, tiny), tmp_path / "out")
