"""Graphs that lie in a folder or are converted, against transformers' output."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("transformers")
import torch
from architectures import FOREIGN, TOKENS, make_transformer

from oreqa.errors import ModelError
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.graph.cache import cached_fingerprint
from oreqa.models.graph.foreign import foreign_graph
from oreqa.models.graph.openvino import compile_cached
from oreqa.models.graph.precision import offered_precisions
from oreqa.models.graph.quiet_openvino import ov
from oreqa.models.graph.session import Batch
from oreqa.models.names import model_fingerprint, read_config
from oreqa.models.reader.reader import Reader
from oreqa.models.settings import is_foreign

pytestmark = [pytest.mark.train, pytest.mark.system]

OUTPUTS = {
    "": ["last_hidden_state"],
    "QuestionAnswering": ["start_logits", "end_logits"],
    "SequenceClassification": ["logits"],
}
LENGTHS = (TOKENS, 21, 9, 1)


def example(model: Any) -> dict[str, torch.Tensor]:
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if getattr(model.config, "type_vocab_size", 0) > 1 else [])]
    return {name: torch.ones(2, 16, dtype=torch.int64) for name in names}


def save_onnx(model: Any, folder: Path, head: str = "") -> None:
    (folder / "onnx").mkdir()
    inputs, outputs = example(model), OUTPUTS[head]
    axes = {name: {0: "batch", 1: "tokens"} for name in [*inputs, *outputs] if name != "logits"} | {"logits": {0: "batch"}}
    torch.onnx.export(
        model, (), str(folder / "onnx" / "model.onnx"), kwargs=inputs, input_names=list(inputs), output_names=outputs,
        dynamic_axes={name: axes[name] for name in [*inputs, *outputs]}, dynamo=False, verbose=False,
    )  # fmt: skip
    (folder / "model.safetensors").unlink()


def save_openvino(model: Any, folder: Path, head: str = "") -> None:
    (folder / "openvino").mkdir()
    ov.save_model(ov.convert_model(model, example_input=example(model)), folder / "openvino" / "openvino_model.xml", False)
    (folder / "model.safetensors").unlink()


def leave_weights(model: Any, folder: Path, head: str = "") -> None:
    """The graph is converted from them."""


def inputs_of(model: Any) -> list[np.ndarray]:
    """Random tokens, with zeros for padding."""
    mask = (np.arange(TOKENS) < np.array(LENGTHS)[:, None]).astype(np.int64)
    ids = np.random.default_rng(0).integers(4, model.config.vocab_size, mask.shape) * mask
    segments = np.tile(np.arange(TOKENS) > 7, (len(LENGTHS), 1)) * mask
    return [ids, mask, segments if getattr(model.config, "type_vocab_size", 0) > 1 else np.zeros_like(ids)]


def expected_outputs(model: Any, inputs: list[np.ndarray]) -> dict[str, np.ndarray]:
    ids = np.where(inputs[1] == 1, inputs[0], model.config.pad_token_id)
    arrays = dict(zip(example(model), map(torch.from_numpy, [ids, *inputs[1:]]), strict=False))
    with torch.no_grad():
        return {name: value.numpy() for name, value in model(**arrays).items() if name != "past_key_values"}


def outputs(folder: Path, inputs: list[np.ndarray], head: str, precision: str = "f32") -> np.ndarray:
    graph = foreign_graph(folder, read_config(folder), head, eight_bits=precision == "i8")
    key = f"foreign-{model_fingerprint(folder)[:16]}"
    return np.array(compile_cached(key, lambda: graph.model({"hidden": graph.hidden}), precision)(inputs)["hidden"])


@pytest.mark.parametrize("head", OUTPUTS)
@pytest.mark.parametrize("save", [save_onnx, save_openvino, leave_weights])
@pytest.mark.parametrize("model_type", FOREIGN)
def test_outputs_are_transformers(tmp_path: Path, model_type: str, save: Callable[..., None], head: str) -> None:
    folder = tmp_path / "m"
    model = make_transformer(folder, model_type, head)
    save(model, folder, head)
    assert is_foreign(folder, read_config(folder))
    inputs = inputs_of(model)
    computed, expected = outputs(folder, inputs, head), expected_outputs(model, inputs)
    is_token = inputs[1] == 1
    if head == "SequenceClassification":
        np.testing.assert_allclose(computed, expected["logits"], atol=1e-4)
    elif head:
        for place, name in enumerate(OUTPUTS[head]):
            np.testing.assert_allclose(computed[is_token, place], expected[name][is_token], atol=1e-4)
    else:
        np.testing.assert_allclose(computed[is_token], expected["last_hidden_state"][is_token], atol=1e-4)


@pytest.mark.numeric
@pytest.mark.parametrize(("precision", "bound"), [("bf16", 0.2), ("i8", 0.2)])
def test_other_precisions_are_near(tmp_path: Path, precision: str, bound: float) -> None:
    if precision not in offered_precisions():
        pytest.skip(f"this processor does not compute in {precision}")
    model = make_transformer(tmp_path, "deberta-v2")
    save_onnx(model, tmp_path)
    inputs = inputs_of(model)
    difference = np.abs(outputs(tmp_path, inputs, "", precision) - expected_outputs(model, inputs)["last_hidden_state"])
    assert 1e-4 < difference[inputs[1] == 1].max() < bound


@pytest.mark.parametrize("head", ["", "SequenceClassification"])
def test_decoders_are_converted(
    tmp_path: Path, head: str, capfd: pytest.CaptureFixture[str], recwarn: pytest.WarningsRecorder
) -> None:
    """Their cache of keys and values is not traced, and nothing is printed."""
    import transformers

    config = transformers.Qwen3Config(
        vocab_size=60, hidden_size=16, intermediate_size=24, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, head_dim=8, max_position_embeddings=64, pad_token_id=0, num_labels=1,
    )  # fmt: skip
    torch.manual_seed(0)
    model = getattr(transformers, f"AutoModelFor{head}" if head else "AutoModel").from_config(config).eval()
    model.save_pretrained(tmp_path)
    inputs = inputs_of(model)
    expected = expected_outputs(model, inputs)
    capfd.readouterr()
    recwarn.clear()
    actual = outputs(tmp_path, inputs, head)
    assert (capfd.readouterr(), recwarn.list) == (("", ""), [])
    wanted = expected[OUTPUTS[head][0]]
    rows = inputs[1].astype(bool) if not head else np.ones(len(wanted), bool)
    np.testing.assert_allclose(actual.reshape(wanted.shape)[rows], wanted[rows], atol=1e-4)


def test_positions_that_a_graph_counts_itself_leave_out_padding(tmp_path: Path) -> None:
    model = make_transformer(tmp_path, "roberta")
    save_openvino(model, tmp_path)  # the architecture is built, but there are no weights
    inputs = inputs_of(model)
    computed, expected = outputs(tmp_path, inputs, ""), expected_outputs(model, inputs)["last_hidden_state"]
    np.testing.assert_allclose(computed[inputs[1] == 1], expected[inputs[1] == 1], atol=1e-4)


class WithPositions(torch.nn.Module):
    """A graph with all inputs in 32 bits, and another name for its output."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any, position_ids: Any) -> Any:
        inputs = {"attention_mask": attention_mask, "token_type_ids": token_type_ids, "position_ids": position_ids}
        longs = {name: tensor.long() for name, tensor in inputs.items()}
        return self.model(input_ids.long(), **longs).last_hidden_state


def save_with_positions(folder: Path, output: str, extra: str = "position_ids") -> Any:
    model = make_transformer(folder, "bert", max_position_embeddings=TOKENS)
    names = ["input_ids", "attention_mask", "token_type_ids", extra]
    inputs = tuple(torch.ones(2, 16, dtype=torch.int32) for _ in names)
    axes = {name: {0: "batch", 1: "tokens"} for name in [*names, output]}
    torch.onnx.export(
        WithPositions(model).eval(), inputs, str(folder / "model.onnx"), input_names=names, output_names=[output], dynamic_axes=axes,
        dynamo=False, verbose=False,
    )  # fmt: skip
    (folder / "model.safetensors").unlink()
    return model


def test_other_types_names_and_explicit_positions(tmp_path: Path) -> None:
    model = save_with_positions(tmp_path, "token_embeddings")
    inputs = inputs_of(model)
    computed, expected = outputs(tmp_path, inputs, ""), expected_outputs(model, inputs)["last_hidden_state"]
    np.testing.assert_allclose(computed[inputs[1] == 1], expected[inputs[1] == 1], atol=1e-4)


def test_other_inputs_and_outputs_are_refused(tmp_path: Path) -> None:
    save_with_positions(tmp_path / "a", "sentence_embedding")
    with pytest.raises(ModelError, match="has no output last_hidden_state or token_embeddings, but sentence_embedding"):
        foreign_graph(tmp_path / "a", read_config(tmp_path / "a"))
    save_with_positions(tmp_path / "b", "last_hidden_state", "task_id")
    with pytest.raises(ModelError, match=r"its graph has the input task_id; oreqa gives input_ids, attention_mask"):
        foreign_graph(tmp_path / "b", read_config(tmp_path / "b"))


@pytest.mark.parametrize("save", [save_onnx, save_openvino, leave_weights])
def test_an_encoder_runs_and_its_graph_is_kept(
    tmp_path: Path, save: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "m"
    model = make_transformer(folder, "deberta-v2")
    save(model, folder)
    texts = ["a fox", "the fox jumps over the dog " * 9, ""]
    encoder = Encoder(folder, precision="f32")
    vectors = encoder.encode(texts)
    for text, vector in zip(texts, vectors, strict=True):
        ids = torch.tensor([encoder.inputs.tokenizer.encode(text).ids[:TOKENS]])
        ids[0, -1] = 3
        with torch.no_grad():
            expected = model(ids).last_hidden_state[0].mean(0).numpy()
        np.testing.assert_allclose(vector, expected, atol=1e-5)
    monkeypatch.setitem(sys.modules, "transformers", None)  # importing it raises ImportError
    np.testing.assert_array_equal(Encoder(folder, precision="f32").encode(texts), vectors)


@pytest.mark.parametrize("save", [save_onnx, leave_weights])
def test_a_reader_and_a_cross_encoder_run(tmp_path: Path, save: Callable[..., None]) -> None:
    reader = make_transformer(tmp_path / "reader", "deberta-v2", "QuestionAnswering")
    save(reader, tmp_path / "reader", "QuestionAnswering")
    loaded = Reader(tmp_path / "reader", precision="f32")
    inputs = inputs_of(reader)
    ((_, (start, end)),) = loaded.session.run(iter([Batch(tuple(inputs), np.arange(len(LENGTHS)))]))
    expected, is_token = expected_outputs(reader, inputs), inputs[1] == 1
    np.testing.assert_allclose(start[is_token], expected["start_logits"][is_token], atol=1e-4)
    np.testing.assert_allclose(end[is_token], expected["end_logits"][is_token], atol=1e-4)
    assert loaded.read(["who jumps"], [[("", "a fox jumps over the dog")]], k=2)[0]
    for labels in (1, 2):
        folder = tmp_path / f"cross{labels}"
        cross = make_transformer(folder, "deberta-v2", "SequenceClassification", num_labels=labels)
        save(cross, folder, "SequenceClassification")
        session = CrossEncoder(folder, precision="f32").session
        ((_, (scores,)),) = session.run(iter([Batch(tuple(inputs), np.arange(len(LENGTHS)))]))
        logits = expected_outputs(cross, inputs)["logits"]
        np.testing.assert_allclose(scores, logits[:, -1] - (logits[:, 0] if labels == 2 else 0), atol=1e-4)


def test_the_fingerprint_covers_the_graph_that_is_used(tmp_path: Path) -> None:
    folder = tmp_path / "m"
    save_onnx(make_transformer(folder, "deberta-v2"), folder)
    before = cached_fingerprint(folder)
    (folder / "onnx" / "model.onnx_data").write_bytes(b"more")
    (folder / "pytorch_model.bin").write_bytes(b"not read")
    assert cached_fingerprint(folder) == model_fingerprint(folder) != before
    graph = folder / "onnx" / "model.onnx"
    graph.write_bytes(graph.read_bytes() + b"x")
    assert cached_fingerprint(folder) == model_fingerprint(folder)


def test_a_graph_that_is_not_used_changes_no_fingerprint(tmp_path: Path, tiny: Path) -> None:
    folder = shutil.copytree(tiny, tmp_path / "m")
    before = model_fingerprint(folder)
    (folder / "onnx").mkdir()
    (folder / "onnx" / "model.onnx").write_bytes(b"graph")
    assert model_fingerprint(folder) == before == model_fingerprint(tiny)
    assert not is_foreign(folder, read_config(folder))


def test_code_in_a_folder_is_never_run(tmp_path: Path) -> None:
    make_transformer(tmp_path, "bert")
    code = tmp_path / "code.py"
    code.write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    config = {**read_config(tmp_path), "auto_map": {"AutoModel": "code.Model", "AutoConfig": "code.Config"}}
    (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        ModelError, match=r"comes as code \(auto_map in config.json\), which oreqa does not run; put its graph"
    ):
        Encoder(tmp_path)
    assert not (tmp_path / "ran").exists()


def test_what_would_help_is_said_in_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_transformer(tmp_path / "m", "deberta-v2")
    with pytest.raises(ModelError, match=r"its weights lack qa_outputs.bias: they belong to another kind of model$"):
        foreign_graph(tmp_path / "m", read_config(tmp_path / "m"), "QuestionAnswering")
    config = {**read_config(tmp_path / "m"), "model_type": "unheard-of"}
    (tmp_path / "m" / "config.json").write_text(json.dumps(config))
    with pytest.raises(
        ModelError, match=r"^[^\n]*transformers cannot load or convert the model type 'unheard-of'[^\n]*onnx/model.onnx$"
    ):
        Encoder(tmp_path / "m")
    monkeypatch.setitem(sys.modules, "torch", None)
    message = (
        r"does not build the model type 'unheard-of'; put its graph there as openvino/\S+ or onnx/model.onnx, or install"
    )
    with pytest.raises(ModelError, match=message):
        Encoder(tmp_path / "m")


@pytest.mark.parametrize("place", ["onnx/model.onnx", "openvino/openvino_model.xml"])
@pytest.mark.parametrize("content", [b"", b"no graph"])
def test_damaged_graphs_are_named(tmp_path: Path, place: str, content: bytes) -> None:
    make_transformer(tmp_path, "deberta-v2")
    (tmp_path / place).parent.mkdir()
    (tmp_path / place).write_bytes(content)
    with pytest.raises(ModelError, match=f"{place}: OpenVINO cannot read it") as error:
        Encoder(tmp_path)
    assert "\n" not in str(error.value)
