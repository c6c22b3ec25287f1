"""The choice of precision, and each precision that this processor offers against f32, within bounds of its own."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.datasets.pairs import Candidate
from oreqa.errors import InputError
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.graph import precision as module
from oreqa.models.graph.precision import encoder_precision, gpu_precision, heads_precision, offered_precisions
from oreqa.models.reader.reader import Reader

QUESTION = "How many hearts has an octopus?"
TEXTS = [QUESTION, "Paris is the capital of France. " * 40, "fox", "", "The fox, it jumps over the dog."]
PASSAGES = [
    ("Octopus", "An octopus has three hearts. Its blood is blue. It lives in the sea."),
    ("", "Paris is the capital of France, and its largest city."),
]
SENTENCES = ("An octopus has three hearts.", "Its blood is blue.", "It lives in the sea.")
CANDIDATES = [Candidate(sentence, PASSAGES[0][1], "Octopus") for sentence in SENTENCES]


def offered(precision: str) -> str:
    """The precision, if this processor has it; else the test is skipped."""
    if precision not in offered_precisions():
        pytest.skip(f"this processor does not compute in {precision}")
    return precision


def pretend(monkeypatch: pytest.MonkeyPatch, *precisions: str) -> None:
    monkeypatch.setattr(module, "offered_precisions", lambda: precisions)


def test_every_processor_offers_f32() -> None:
    assert offered_precisions()[0] == "f32"


@pytest.mark.parametrize(
    ("processor", "encoder", "heads"),
    [(("f32", "bf16", "i8"), "bf16", "bf16"), (("f32", "i8"), "f32", "i8"), (("f32",), "f32", "f32")],
)
def test_auto_is_the_best_that_the_processor_offers(
    monkeypatch: pytest.MonkeyPatch, processor: tuple[str, ...], encoder: str, heads: str
) -> None:
    pretend(monkeypatch, *processor)
    assert (encoder_precision("auto"), heads_precision("auto")) == (encoder, heads)
    monkeypatch.delenv("OREQA_PRECISION")
    assert (encoder_precision(), heads_precision()) == (encoder, heads)


def test_the_argument_comes_before_the_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, "f32", "bf16", "i8")
    monkeypatch.setenv("OREQA_PRECISION", "bf16")
    assert (encoder_precision(), heads_precision(), gpu_precision()) == ("bf16", "bf16", "bf16")
    assert (encoder_precision("f32"), heads_precision("f32"), gpu_precision("f32")) == ("f32", "f32", "f32")
    assert (encoder_precision("i8"), heads_precision("i8"), gpu_precision("auto")) == ("f32", "i8", "bf16")


def test_what_the_processor_lacks_is_refused(monkeypatch: pytest.MonkeyPatch, tiny: Path, tiny_reader: Path) -> None:
    pretend(monkeypatch, "f32")
    with pytest.raises(InputError, match=r"does not compute in bf16: choose one of auto, f32$"):
        Encoder(tiny, precision="bf16")
    for choose in (encoder_precision, heads_precision):
        with pytest.raises(InputError, match="does not compute in i8"):
            choose("i8")
    monkeypatch.setenv("OREQA_PRECISION", "bf16")
    with pytest.raises(InputError, match="does not compute in bf16"):
        Reader(tiny_reader)
    with pytest.raises(InputError, match="i8 runs only on the CPU"):
        gpu_precision("i8")


def test_wrong_words_are_refused(monkeypatch: pytest.MonkeyPatch, tiny: Path) -> None:
    with pytest.raises(InputError, match=r"^there is no precision 'f16': choose auto, f32, bf16 or i8$"):
        Encoder(tiny, precision="f16")
    monkeypatch.setenv("OREQA_PRECISION", "float32")
    with pytest.raises(InputError, match=r"^OREQA_PRECISION: there is no precision 'float32'"):
        Encoder(tiny)


@pytest.mark.parametrize("command", [("search", "x", "--index", "kb"), ("index", ".", "--index", "kb")])
def test_commands_refuse_wrong_words_in_one_line(command: tuple[str, ...]) -> None:
    result = CliRunner().invoke(app, [*command, "--precision", "f16"])
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "no precision 'f16'" in result.stderr
    result = CliRunner(env={"OREQA_PRECISION": "f16"}).invoke(app, command)
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "OREQA_PRECISION: " in result.stderr


def test_the_option_decides_for_every_model_of_a_command(tiny: Path, library: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    command = ["index", str(library), "--index", str(tmp_path / "kb"), "--model", str(tiny), "--precision", "f32"]
    result = CliRunner(env={"OREQA_CACHE": str(cache), "OREQA_PRECISION": "no"}).invoke(app, command)
    assert result.exit_code == 0, result.output
    assert [folder.name.split("-")[2] for folder in cache.glob("encoder-*")] == ["f32"]


@pytest.mark.numeric
@pytest.mark.parametrize(("precision", "bound"), [("f32", 1e-6), ("bf16", 0.015), ("i8", 1e-6)])
def test_vectors_are_near_those_of_f32(tiny: Path, precision: str, bound: float) -> None:
    exact = Encoder(tiny, precision="f32").encode(TEXTS)
    rounded = Encoder(tiny, precision=offered(precision)).encode(TEXTS)
    np.testing.assert_allclose(rounded, exact, atol=bound)
    assert (rounded * exact).sum(1).min() > 0.999
    assert np.array_equal(rounded, exact) == (precision != "bf16")  # i8 too: an encoder's vectors are kept and compared


@pytest.mark.numeric
@pytest.mark.parametrize(("precision", "bound"), [("bf16", 0.15), ("i8", 0.2)])
def test_a_classifiers_scores_are_near_those_of_f32(tiny_classifier: Path, precision: str, bound: float) -> None:
    exact, rounded = (
        np.concatenate(CrossEncoder(tiny_classifier, precision=name).score([QUESTION] * 20, [CANDIDATES] * 20))
        for name in ("f32", offered(precision))
    )
    assert not np.array_equal(exact, rounded)
    np.testing.assert_allclose(rounded, exact, atol=bound)


@pytest.mark.numeric
@pytest.mark.slow
@pytest.mark.parametrize(
    ("precision", "vectors", "reader", "classifier"),
    [("bf16", 0.01, 0.4, 0.15), ("i8", 1e-6, 0.6, 0.15)],  # of the classifier: in probability, as people see it
)
def test_the_packaged_models_are_near_their_f32(precision: str, vectors: float, reader: float, classifier: float) -> None:
    pair = "f32", offered(precision)
    exact, rounded = (Encoder("all-minilm-l6-v2", precision=name).encode(TEXTS) for name in pair)
    np.testing.assert_allclose(rounded, exact, atol=vectors)
    assert (rounded * exact).sum(1).min() > 0.9995
    readers = [Reader("minilm-reader", precision=name) for name in pair]
    exact_spans, rounded_spans = (
        {(s.passage_number, s.start, s.end): s.scores for s in loaded.read([QUESTION], [PASSAGES], k=5)[0]}
        for loaded in readers
    )
    assert next(iter(exact_spans)) == next(iter(rounded_spans)) == (0, 15, 20)  # three
    assert len(exact_spans.keys() & rounded_spans.keys()) >= 5
    for span in exact_spans.keys() & rounded_spans.keys():
        assert rounded_spans[span] == pytest.approx(exact_spans[span], abs=reader)
    scores = [CrossEncoder("minilm-classifier", precision=name).score([QUESTION], [CANDIDATES])[0] for name in pair]
    np.testing.assert_allclose(*(1 / (1 + np.exp(-logits)) for logits in scores), atol=classifier)
    assert np.array_equal(*(np.argsort(logits) for logits in scores))
