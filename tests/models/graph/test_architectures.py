"""Every architecture against transformers' own, on random models with padding and inputs of all lengths."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("transformers")
import torch
from architectures import CONFIGS, TOKENS, WIDTH, make_transformer
from transformers.models.mpnet.modeling_mpnet import MPNetEncoder

from oreqa.errors import ModelError
from oreqa.models.graph.architectures import build_graph
from oreqa.models.graph.mpnet import buckets
from oreqa.models.graph.openvino import compile_cached
from oreqa.models.graph.precision import offered_precisions
from oreqa.models.names import model_fingerprint, read_config
from oreqa.models.weights import load_weights

pytestmark = pytest.mark.train

LENGTHS = (TOKENS, 37, 9, 2, 1)


def inputs_of(model: Any, lengths: tuple[int, ...] = LENGTHS) -> dict[str, np.ndarray]:
    """Random tokens of these lengths behind each other, padded as transformers pads."""
    rng, tokens = np.random.default_rng(0), max(lengths)
    mask = (np.arange(tokens) < np.array(lengths)[:, None]).astype(np.int64)
    ids = rng.integers(4, model.config.vocab_size, mask.shape)
    ids[mask == 0] = model.config.pad_token_id
    types = np.zeros_like(ids)
    if getattr(model.config, "type_vocab_size", 1) > 1:
        types[:, tokens // 3 :] = 1
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": types * mask}


def hidden_states(folder: Path, inputs: dict[str, np.ndarray], precision: str = "f32", **options: bool) -> np.ndarray:
    graph = build_graph(folder, load_weights(folder), read_config(folder), eight_bits=precision == "i8", **options)
    key = f"test-{model_fingerprint(folder)[:16]}-{sorted(options)}"
    compiled = compile_cached(key, lambda: graph.model({"hidden": graph.hidden}), precision)
    return np.array(compiled(list(inputs.values()))["hidden"])


def expected_states(model: Any, inputs: dict[str, np.ndarray]) -> np.ndarray:
    names = ("input_ids", "attention_mask", *(["token_type_ids"] if hasattr(model.config, "type_vocab_size") else []))
    with torch.no_grad():
        return model(**{name: torch.from_numpy(inputs[name]) for name in names}).last_hidden_state.numpy()


@pytest.mark.numeric
@pytest.mark.parametrize(("precision", "bound"), [("f32", 1e-5), ("bf16", 0.3), ("i8", 0.2)])
@pytest.mark.parametrize("model_type", CONFIGS)
def test_hidden_states_are_transformers(tmp_path: Path, model_type: str, precision: str, bound: float) -> None:
    if precision not in offered_precisions():
        pytest.skip(f"this processor does not compute in {precision}")
    model = make_transformer(tmp_path / "m", model_type)
    inputs = inputs_of(model)
    states, expected = hidden_states(tmp_path / "m", inputs, precision), expected_states(model, inputs)
    is_token = inputs["attention_mask"] == 1
    difference = np.abs(states - expected)[is_token]  # of states with a variance of 1
    assert difference.max() < bound
    assert difference.mean() < bound / 8


@pytest.mark.parametrize("model_type", CONFIGS)
def test_the_first_token_alone_has_the_same_states(tmp_path: Path, model_type: str) -> None:
    model = make_transformer(tmp_path / "m", model_type)
    inputs = inputs_of(model)
    first = hidden_states(tmp_path / "m", inputs, cls_only=True)
    assert first.shape == (len(LENGTHS), 1, WIDTH)
    np.testing.assert_allclose(first[:, 0], expected_states(model, inputs)[:, 0], atol=1e-5)


@pytest.mark.parametrize("model_type", [name for name in CONFIGS if name != "modernbert"])
def test_tokens_behind_a_kept_prefix_see_all_that_is_before_them(tmp_path: Path, model_type: str) -> None:
    model = make_transformer(tmp_path / "m", model_type)
    folder, steps = tmp_path / "m", 3
    rng = np.random.default_rng(1)
    lengths = np.array([20, 6])  # of the prefixes
    texts = [rng.integers(4, model.config.vocab_size, length + steps) for length in lengths]
    ids = np.zeros((2, 20), np.int64)
    for row, text, length in zip(ids, texts, lengths, strict=True):
        row[:length] = text[:length]
    mask, places = (np.arange(20) < lengths[:, None]).astype(np.int64), np.tile(np.arange(20), (2, 1))
    graph = build_graph(folder, load_weights(folder), read_config(folder), cached=True)
    request = compile_cached("cached-" + model_type, lambda: graph.model({"h": graph.hidden}), "f32").create_infer_request()
    rows = np.arange(2, dtype=np.int32)
    hidden = [request.infer([ids, mask, np.zeros_like(ids), places, rows])["h"].copy()]
    for step in range(steps):
        rows = rows[::-1].copy()  # each step, the rows change their places
        lengths, mask, texts = lengths[::-1], mask[::-1], texts[::-1]
        mask = np.concatenate([mask, np.ones((2, 1), np.int64)], 1)
        token = np.array([[text[length + step]] for text, length in zip(texts, lengths, strict=True)])
        place = (lengths + step)[:, None]
        hidden.append(request.infer([token, mask, np.zeros_like(token), place, np.array([1, 0], np.int32)])["h"].copy())
    for row, (text, length) in enumerate(zip(texts[::-1], lengths[::-1], strict=True)):
        seen = np.tril(np.ones((length + steps, length + steps), bool))
        seen[:length, :length] = True
        bias = torch.from_numpy(np.where(seen, 0, -1e9).astype(np.float32))[None, None]
        with torch.no_grad():
            expected = model(torch.from_numpy(text)[None], attention_mask=bias).last_hidden_state[0].numpy()
        np.testing.assert_allclose(hidden[0][row, :length], expected[:length], atol=1e-5)
        for step in range(steps):
            place = row if step % 2 else 1 - row
            np.testing.assert_allclose(hidden[1 + step][place, 0], expected[length + step], atol=1e-5)


@pytest.mark.parametrize("model_type", ["roberta", "distilbert", "mpnet", "modernbert"])
def test_segments_do_not_matter_where_there_are_none(tmp_path: Path, model_type: str) -> None:
    model = make_transformer(tmp_path / "m", model_type)
    inputs = inputs_of(model)
    expected = hidden_states(tmp_path / "m", inputs)
    np.testing.assert_array_equal(hidden_states(tmp_path / "m", {**inputs, "token_type_ids": inputs["input_ids"]}), expected)


@pytest.mark.parametrize(
    ("model_type", "settings"),
    [
        ("electra", {"embedding_size": WIDTH}),
        ("roberta", {"type_vocab_size": 2}),
        ("distilbert", {"activation": "relu"}),
        ("mpnet", {"max_position_embeddings": 402, "hidden_act": "gelu_new"}),
        (
            "modernbert",
            {"attention_bias": True, "mlp_bias": True, "norm_bias": True, "layer_types": ["sliding_attention"] * 3},
        ),
        ("modernbert", {"global_rope_theta": 100.0, "local_rope_theta": 20.0}),
    ],
    ids=str,
)
def test_settings_are_obeyed(tmp_path: Path, model_type: str, settings: dict[str, Any]) -> None:
    model = make_transformer(tmp_path / "m", model_type, **settings)
    inputs = inputs_of(model, (settings.get("max_position_embeddings", TOKENS + 2) - 2, 5))
    states, is_token = hidden_states(tmp_path / "m", inputs), inputs["attention_mask"] == 1
    np.testing.assert_allclose(states[is_token], expected_states(model, inputs)[is_token], atol=1e-5)


def test_old_settings_of_modernbert_say_the_same(tmp_path: Path) -> None:
    model = make_transformer(tmp_path / "m", "modernbert", global_rope_theta=100.0, local_rope_theta=20.0)
    inputs = inputs_of(model)
    expected, config = hidden_states(tmp_path / "m", inputs), read_config(tmp_path / "m")
    old = {name: value for name, value in config.items() if name not in ("layer_types", "rope_parameters")}
    old |= {"global_attn_every_n_layers": 2, "global_rope_theta": 100.0, "local_rope_theta": 20.0}
    (tmp_path / "m" / "config.json").write_text(json.dumps(old))
    np.testing.assert_array_equal(hidden_states(tmp_path / "m", inputs), expected)


@pytest.mark.parametrize(
    ("model_type", "settings", "reason"),
    [
        ("distilbert", {"activation": "silu"}, "the activation 'silu' is not supported; supported: gelu"),
        ("modernbert", {"hidden_activation": "silu"}, "the activation 'silu' is not supported"),
        (
            "modernbert",
            {"layer_types": ["full_attention"]},
            "its layer_types must be 3 of full_attention and sliding_attention",
        ),
        ("modernbert", {"rope_scaling": {"type": "yarn"}}, r"scaled rotary positions \(rope_scaling, rope_type\)"),
        ("mpnet", {"num_attention_heads": 2}, r"encoder.relative_attention_bias.weight of shape \(32, 4\) does not fit"),
        ("mpnet", {"num_attention_heads": 5}, "its hidden_size 32 is not a multiple of its num_attention_heads 5"),
        ("roberta", {"position_embedding_type": "relative_key"}, "relative position embeddings are not supported"),
        ("deberta", {}, "the model type 'deberta' is not supported; supported: bert, "),
    ],
)
def test_unknown_settings_are_refused(tmp_path: Path, model_type: str, settings: dict[str, Any], reason: str) -> None:
    make_transformer(tmp_path, "bert" if model_type == "deberta" else model_type)
    config = {**read_config(tmp_path), **settings, "model_type": model_type}
    with pytest.raises(ModelError, match=reason):
        build_graph(tmp_path, load_weights(tmp_path), config)


def test_modernbert_is_no_generator(tmp_path: Path) -> None:
    make_transformer(tmp_path, "modernbert")
    with pytest.raises(ModelError, match="'modernbert' is not supported; supported: bert, dpr, roberta"):
        build_graph(tmp_path, load_weights(tmp_path), read_config(tmp_path), cached=True)


def test_buckets_of_distances_are_transformers() -> None:
    distances = torch.arange(-600, 601)
    expected = MPNetEncoder.relative_position_bucket(distances)
    np.testing.assert_array_equal(buckets(distances.numpy()), expected.numpy())
