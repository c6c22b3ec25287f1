from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_models import make_head

from oreqa.core import Span
from oreqa.errors import InputError, ModelError
from oreqa.models.heads import load_weights, read_head_folder
from oreqa.runtime.reader import PassageReader
from oreqa.runtime.spans import best_spans

PASSAGES = [
    ("Title", "The fox, it jumps over the dog. " * 4),
    ("", "é😀 Straße İ ﬁ fox"),
    ("t", "a"),
    ("t", ""),
]


def exact(reader: Path, reranker: Path | None = None) -> PassageReader:
    """The reader in float32, whatever the processor and the precision that the tests run in."""
    return PassageReader.load(reader, reranker, precision="f32")


def test_every_span_slices_to_its_text(tiny_reader: Path) -> None:
    (spans,) = exact(tiny_reader).read(["what fox"], [PASSAGES], top=50)
    assert {span.passage for span in spans} == {0, 1, 2}
    for span in spans:
        assert PASSAGES[span.passage][1][span.start : span.end] == span.text != ""
    assert [span.score for span in spans] == sorted((span.score for span in spans), reverse=True)


def test_batches_change_nothing(tiny_reader: Path) -> None:
    reader = exact(tiny_reader)
    questions = [f"q{i} fox" for i in range(70)]  # more than a chunk
    together = reader.read(questions, [PASSAGES[: 1 + i % 3] for i in range(70)], top=3)
    for number in (0, 34, 69):
        (alone,) = reader.read([questions[number]], [PASSAGES[: 1 + number % 3]], top=3)
        assert [(s.passage, s.start, s.end) for s in alone] == [(s.passage, s.start, s.end) for s in together[number]]
        assert [s.score for s in alone] == pytest.approx([s.score for s in together[number]], abs=1e-4)


def test_nothing_to_read(tiny_reader: Path) -> None:
    reader = exact(tiny_reader)
    assert reader.read([], []) == []
    assert reader.read(["x", "y"], [[], [("", "")]]) == [[], []]
    with pytest.raises(InputError, match="list of questions"):
        reader.read("x", [[]])
    with pytest.raises(InputError, match="no re-ranker"):
        reader.rerank(["x"], [[]], [[]])


@pytest.mark.train
def test_logits_equal_torch(tiny_reader: Path, tiny_reranker: Path) -> None:
    torch = pytest.importorskip("torch")
    from oreqa.runtime.torch_heads import TorchHeads

    assert torch
    ours = exact(tiny_reader, tiny_reranker)
    (spans,) = ours.read(["what fox"], [PASSAGES], top=4)
    (scores,) = ours.rerank(["what fox"], [PASSAGES], [spans])
    theirs = PassageReader(TorchHeads(ours.folder, ours.reranker, "cpu"), ours.folder, ours.reranker)
    (again,) = theirs.read(["what fox"], [PASSAGES], top=4)
    assert [(s.passage, s.start, s.end) for s in spans] == [(s.passage, s.start, s.end) for s in again]
    assert [s.score for s in spans] == pytest.approx([s.score for s in again], abs=1e-3)
    np.testing.assert_allclose(scores, theirs.rerank(["what fox"], [PASSAGES], [spans])[0], atol=1e-3)


@pytest.mark.train
def test_our_folder_loads_as_transformers_question_answering(tiny_reader: Path) -> None:
    pytest.importorskip("torch")
    from transformers import BertForQuestionAnswering

    model = BertForQuestionAnswering.from_pretrained(tiny_reader).eval()
    reader = exact(tiny_reader)
    question, passage = reader._inputs.tokenize(["fox", "the dog"])
    (window,) = reader._inputs.windows(question, None, passage)
    import torch

    ids = torch.tensor([window.ids])
    types = torch.tensor([[int(i >= window.segment) for i in range(len(window.ids))]])
    with torch.no_grad():
        out = model(ids, token_type_ids=types)
    (spans,) = reader.read(["fox"], [[("", "the dog")]], top=1)
    from oreqa.runtime.spans import Logit

    part = slice(window.first, window.last)
    ends = out.start_logits[0, part].numpy(), out.end_logits[0, part].numpy()
    best = best_spans([Logit(0, 0, *ends, 0.0, *passage.edges(0, len(passage.ids)))], 1, True)
    assert best[0].span == pytest.approx(spans[0].score, abs=1e-3)


@pytest.mark.parametrize("layout", ["hub", "dpr in transformers", "dpr"])
def test_other_layouts_read_the_same(tiny_reader: Path, tmp_path: Path, layout: str) -> None:
    shutil.copytree(tiny_reader, tmp_path / "m")
    weights = load_file(tiny_reader / "model.safetensors")
    config = json.loads((tiny_reader / "config.json").read_text())
    del config["oreqa"]
    if layout == "hub":
        config["architectures"] = ["BertForQuestionAnswering"]
        weights = {name: value for name, value in weights.items() if not name.startswith("qa_classifier")}
    else:
        config["architectures"] = ["DPRReader"]
        inner = "span_predictor.encoder.bert_model." if "transformers" in layout else "encoder."
        outer = "span_predictor." if "transformers" in layout else ""
        weights = {
            inner + name.removeprefix("bert.") if name.startswith("bert.") else outer + name: value
            for name, value in weights.items()
        }
    save_file(weights, tmp_path / "m" / "model.safetensors")
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    folder = read_head_folder(tmp_path / "m", "reader")
    assert (folder.titles, folder.closing) == ((False, True) if layout == "hub" else (True, False))
    found, wanted = load_weights(folder.path), load_weights(tiny_reader)
    assert all(np.array_equal(found[name], wanted[name]) for name in found if name.startswith(("bert.", "qa_")))
    (spans,) = exact(tmp_path / "m").read(["what fox"], [PASSAGES], top=2)
    assert all(PASSAGES[s.passage][1][s.start : s.end] == s.text for s in spans)
    assert all((s.parts["selection"] == 0) == (layout == "hub") for s in spans)


def test_a_difference_reads_as_the_whole(tiny_reader: Path, tiny: Path, tmp_path: Path) -> None:
    from oreqa.models.differences import pack_difference

    whole = load_weights(tiny_reader)
    base = {f"bert.{name}": value for name, value in load_file(tiny / "model.safetensors").items()}
    shutil.copytree(tiny_reader, tmp_path / "m")
    (tmp_path / "m" / "model.safetensors").unlink()
    (tmp_path / "m" / "tokenizer.json").unlink()
    save_file(pack_difference(whole, base), tmp_path / "m" / "difference.safetensors")
    config = json.loads((tiny_reader / "config.json").read_text())
    config["oreqa"] |= {"difference_from": str(tiny), "base": str(tiny)}
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    packed = load_weights(tmp_path / "m")
    assert all(np.allclose(packed[name], value, atol=0.02) for name, value in whole.items())
    assert len(exact(tmp_path / "m").read(["fox"], [PASSAGES], top=1)[0]) == 3


def test_common_layers_are_compiled_once_and_change_nothing(
    tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reranker = make_head(tmp_path / "r", "reranker", base=str(tiny_reader), layers=1)
    weights = load_file(reranker / "model.safetensors")
    lower = load_file(tiny_reader / "model.safetensors")
    weights |= {n: v for n, v in lower.items() if n.startswith(("bert.embeddings", "bert.encoder.layer.0."))}
    save_file(weights, reranker / "model.safetensors")
    for name in ("shared", "apart"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path / "shared"))
    shared = exact(tiny_reader, reranker)
    assert len(list((tmp_path / "shared").glob("lower1-*"))) == 1
    config = json.loads((reranker / "config.json").read_text())
    config["oreqa"]["base"] = ""
    (reranker / "config.json").write_text(json.dumps(config))
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path / "apart"))
    apart = exact(tiny_reader, reranker)
    assert not list((tmp_path / "apart").glob("lower*"))
    found = [r.read(["fox"], [PASSAGES], top=2) for r in (shared, apart)]
    assert [s.score for s in found[0][0]] == pytest.approx([s.score for s in found[1][0]], abs=1e-4)
    scores = [r.rerank(["fox"], [PASSAGES], found[0])[0] for r in (shared, apart)]
    np.testing.assert_allclose(*scores, atol=1e-4)


def test_reranking_sees_the_span(tiny_reader: Path, tiny_reranker: Path) -> None:
    reader = exact(tiny_reader, tiny_reranker)
    spans = [Span("The", 0, 3, 0, 0.0, {}), Span("fox", 4, 7, 0, 0.0, {}), Span("fox", 4, 7, 0, 0.0, {})]
    (scores,) = reader.rerank(["what"], [PASSAGES], [spans])
    assert scores[0] != pytest.approx(scores[1])
    assert scores[1] == pytest.approx(scores[2])
    assert reader.rerank([], [], []) == []
    assert len(reader.rerank(["x"], [PASSAGES], [[]])[0]) == 0


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda w: w.pop("qa_outputs.weight"), "its weights lack qa_outputs.weight: they are not a reader's"),
        (
            lambda w: w.update({"qa_outputs.weight": w["qa_outputs.weight"][:, :8].copy()}),
            "does not fit a model of hidden_size 32",
        ),
        (lambda w: w.update({n: w[n][:1].copy() for n in ("qa_outputs.weight", "qa_outputs.bias")}), "a reader's has two"),
    ],
)
def test_heads_that_do_not_fit_are_refused(
    tiny_reader: Path, tmp_path: Path, change: Callable[[dict[str, np.ndarray]], object], reason: str
) -> None:
    shutil.copytree(tiny_reader, tmp_path / "m")
    weights = load_file(tmp_path / "m" / "model.safetensors")
    change(weights)
    save_file(weights, tmp_path / "m" / "model.safetensors")
    with pytest.raises(ModelError, match=reason):
        PassageReader.load(tmp_path / "m")


@pytest.mark.parametrize("setting", [{"max_tokens": 0}, {"max_tokens": "x"}, {"overlap": -1}, {"layers": 1.5}])
def test_damaged_settings_are_refused(tiny_reader: Path, tmp_path: Path, setting: dict[str, object]) -> None:
    shutil.copytree(tiny_reader, tmp_path / "m")
    config = json.loads((tmp_path / "m" / "config.json").read_text())
    config["oreqa"] |= setting
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match=f"m: its setting {next(iter(setting))} is"):
        PassageReader.load(tmp_path / "m")


def test_numbers_that_are_none_are_refused(tiny_reader: Path, tiny_reranker: Path, tmp_path: Path) -> None:
    broken = []
    for folder, name in ((tiny_reader, "qa_classifier.bias"), (tiny_reranker, "classifier.bias")):
        broken.append(shutil.copytree(folder, tmp_path / folder.name))
        weights = load_file(broken[-1] / "model.safetensors")
        weights[name][0] = np.nan
        save_file(weights, broken[-1] / "model.safetensors")
    with pytest.raises(ModelError, match="reader: the model gives NaN"):
        PassageReader.load(broken[0]).read(["fox"], [PASSAGES])
    with pytest.raises(ModelError, match="reranker: the model gives NaN"):
        PassageReader.load(tiny_reader, broken[1]).rerank(["fox"], [PASSAGES], [[Span("The", 0, 3, 0, 0.0, {})]])


def test_wrong_folders(tiny: Path, tiny_reader: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="not a reader"):
        PassageReader.load(tiny)
    with pytest.raises(ModelError, match="it is a reader, not a reranker"):
        PassageReader.load(tiny_reader, tiny_reader)
    with pytest.raises(ModelError, match="there is no model 'nowhere'"):
        PassageReader.load("nowhere")
    with pytest.raises(InputError, match="choose cpu or cuda"):
        PassageReader.load(tiny_reader, device="tpu")
    shutil.copytree(tiny_reader, tmp_path / "m")
    (tmp_path / "m" / "model.safetensors").rename(tmp_path / "m" / "pytorch_model.bin")
    with pytest.raises(ModelError, match="pickled weights"):
        PassageReader.load(tmp_path / "m")
    (tmp_path / "m" / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match=r"tokenizer\.json is missing"):
        PassageReader.load(tmp_path / "m")
