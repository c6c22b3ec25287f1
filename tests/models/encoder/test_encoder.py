from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_models import make_model

from oreqa.errors import InputError, ModelError
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import read_encoder_folder
from oreqa.models.graph import session as module
from oreqa.progress import part_of

TEXTS = ["the fox", "a much longer text about a fox and the dog that it did not see", "", "éàü 😀", "fox"]


def exact(folder: Path) -> Encoder:
    """The encoder in float32, whatever the processor and the precision that the tests run in."""
    return Encoder(folder, precision="f32")


def slow_bert(folder: Path, ids: list[int]) -> np.ndarray:
    """BERT's last hidden states, written down plainly in float64: ``[tokens, width]``."""
    from math import erf, sqrt

    w = {name: value.astype(float) for name, value in load_file(folder / "model.safetensors").items()}
    config = json.loads((folder / "config.json").read_text())
    heads, size = config["num_attention_heads"], config["hidden_size"] // config["num_attention_heads"]

    def norm(x: np.ndarray, name: str) -> np.ndarray:
        x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + config["layer_norm_eps"])
        return x * w[f"{name}.weight"] + w[f"{name}.bias"]

    def linear(x: np.ndarray, name: str) -> np.ndarray:
        return x @ w[f"{name}.weight"].T + w[f"{name}.bias"]

    e = "embeddings."
    x = w[f"{e}word_embeddings.weight"][ids] + w[f"{e}position_embeddings.weight"][: len(ids)]
    x = norm(x + w[f"{e}token_type_embeddings.weight"][0], f"{e}LayerNorm")
    for layer in range(config["num_hidden_layers"]):
        base = f"encoder.layer.{layer}"
        q, k, v = (linear(x, f"{base}.attention.self.{n}") for n in ("query", "key", "value"))
        out = np.zeros_like(x)
        for head in range(heads):
            part = slice(head * size, (head + 1) * size)
            scores = q[:, part] @ k[:, part].T / sqrt(size)
            p = np.exp(scores - scores.max(-1, keepdims=True))
            out[:, part] = p / p.sum(-1, keepdims=True) @ v[:, part]
        x = norm(linear(out, f"{base}.attention.output.dense") + x, f"{base}.attention.output.LayerNorm")
        inner = linear(x, f"{base}.intermediate.dense")
        inner = inner * 0.5 * (1 + np.vectorize(erf)(inner / sqrt(2)))
        x = norm(linear(inner, f"{base}.output.dense") + x, f"{base}.output.LayerNorm")
    return x


def unit(x: np.ndarray) -> np.ndarray:
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def token_ids(encoder: Encoder, text: str) -> list[int]:
    return encoder.inputs.tokenizer.encode(text).ids


def test_equals_bert_written_down(tiny: Path) -> None:
    encoder = exact(tiny)
    expected = [unit(slow_bert(tiny, token_ids(encoder, text)[:64]).mean(0)) for text in TEXTS]
    np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=2e-5)


@pytest.mark.parametrize(
    ("pooling", "dense", "normalise"), [("cls", False, True), ("mean", True, False), ("cls", True, True)]
)
def test_modules_of_the_folder_are_applied(tmp_path: Path, pooling: str, dense: bool, normalise: bool) -> None:
    folder = make_model(tmp_path / "m", pooling, dense, normalise)
    encoder = exact(folder)
    rows = []
    for text in TEXTS:
        hidden = slow_bert(folder, token_ids(encoder, text))
        x = hidden[0] if pooling == "cls" else hidden.mean(0)
        if dense:
            d = load_file(folder / "2_Dense" / "model.safetensors")
            x = np.tanh(d["linear.weight"] @ x + d["linear.bias"])
        rows.append(unit(x) if normalise else x)
    assert encoder.dim == (8 if dense else 32)
    np.testing.assert_allclose(encoder.encode(TEXTS), rows, atol=5e-5)


@pytest.mark.train
def test_equals_sentence_transformers(tiny: Path) -> None:
    from sentence_transformers import SentenceTransformer

    expected = SentenceTransformer(str(tiny), device="cpu").encode(TEXTS)
    np.testing.assert_allclose(exact(tiny).encode(TEXTS), expected, atol=2e-5)


@pytest.mark.train
def test_torch_session_gives_the_same(tmp_path: Path) -> None:
    from oreqa.models.encoder.module import open_session

    folder = make_model(tmp_path / "m", dense=True)
    encoder = exact(folder)
    torch_encoder = Encoder.of(encoder.folder, open_session(encoder.folder, "f32", "cpu"))
    np.testing.assert_allclose(torch_encoder.encode(TEXTS), encoder.encode(TEXTS), atol=2e-5)


@pytest.mark.train
@pytest.mark.slow
def test_default_model_equals_sentence_transformers() -> None:
    from sentence_transformers import SentenceTransformer

    encoder = exact(Path("all-minilm-l6-v2"))
    texts = ["What is the capital of France?", "Paris is the capital of France. " * 40, "短い文", ""]
    expected = SentenceTransformer(str(encoder.folder.path), device="cpu").encode(texts)
    np.testing.assert_allclose(encoder.encode(texts), expected, atol=1e-4)


def test_sentences_are_means_of_their_own_tokens_in_context(tiny: Path) -> None:
    encoder = exact(tiny)
    text = "the fox ran. a dog slept!"
    spans = [(0, 12), (13, 25)]
    (rows,) = encoder.encode_passages([("title", text, spans)])
    ids = [*token_ids(encoder, "title.")[:-1], *token_ids(encoder, text)[1:-1], 3]
    hidden = slow_bert(tiny, ids)
    begin = len(token_ids(encoder, "title.")) - 1
    middle = begin + len(token_ids(encoder, text[:12])) - 2
    expected = [hidden.mean(0), hidden[begin:middle].mean(0), hidden[middle:-1].mean(0)]
    np.testing.assert_allclose(rows, unit(np.array(expected)), atol=2e-5)


def test_long_passages_are_read_in_runs_of_sentences(tiny: Path) -> None:
    encoder = exact(tiny)
    sentences = [f"{word} " * 12 for word in ("abcd", "efgh", "ijkl")]  # 48 tokens each; 62 fit
    text = "".join(sentences)
    spans = [(60 * i, 60 * i + 59) for i in range(3)]
    (rows,) = encoder.encode_passages([("", text, spans)])
    alone = [encoder.encode_passages([("", s, [(0, 59)])])[0] for s in sentences]
    np.testing.assert_allclose(rows[1:], [a[1] for a in alone], atol=2e-5)
    np.testing.assert_allclose(rows[0], unit(np.mean([a[0] for a in alone], axis=0)), atol=2e-5)


def test_a_long_passage_without_sentences_has_a_vector_of_full_length(tmp_path: Path) -> None:
    encoder = exact(make_model(tmp_path / "m", normalise=False))
    text = "a b c d e f g h i j " * 20
    (rows,) = encoder.encode_passages([("", text, [])])
    assert rows[0] == pytest.approx(encoder.encode(text), abs=1e-4)


def test_sentences_alone_for_models_that_pool_the_first_token(tmp_path: Path) -> None:
    encoder = exact(make_model(tmp_path / "m", "cls"))
    (rows,) = encoder.encode_passages([("", "ab cd. ef", [(0, 6), (7, 9)])])
    np.testing.assert_allclose(rows, encoder.encode(["ab cd. ef", "ab cd.", "ef"]), atol=1e-6)


WITHOUT_TOKENS = ["", " ", "\u200b", "\x07\x08", "\u0301\u0302", "\ufe0f"]


@pytest.mark.parametrize("text", WITHOUT_TOKENS)
@pytest.mark.parametrize(("pooling", "answers"), [("mean", "inside"), ("mean", "pairs"), ("cls", "alone")])
def test_texts_without_tokens_have_a_vector(tmp_path: Path, pooling: str, answers: str, text: str) -> None:
    folder = make_model(tmp_path / "m", pooling)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "oreqa": {"answers": answers}}))
    encoder = exact(folder)
    hidden = slow_bert(folder, [2, 3])  # [CLS] [SEP]
    expected = unit(hidden.mean(0) if pooling == "mean" else hidden[0])
    np.testing.assert_allclose(encoder.encode([text, "fox"])[0], expected, atol=2e-5)
    for head in ("", "title"):
        without_spans, with_spans = encoder.encode_passages([(head, text, []), (head, text, [(0, len(text)), (0, 0)])])
        assert (without_spans.shape, with_spans.shape) == ((1, 32), (3, 32))
        np.testing.assert_allclose(np.linalg.norm([*without_spans, *with_spans], axis=1), 1, atol=1e-5)
        np.testing.assert_allclose(with_spans[0], without_spans[0], atol=0.5 if answers == "pairs" else 1e-5)
        if answers == "inside":
            np.testing.assert_allclose(with_spans[1:], [without_spans[0]] * 2, atol=1e-5)
            if not head:
                np.testing.assert_allclose(without_spans[0], expected, atol=2e-5)


def test_a_sentence_without_tokens_has_the_vector_of_what_is_read_with_it(tiny: Path) -> None:
    encoder = exact(tiny)
    text = "the fox ran. \u200b a dog slept!"
    fox, blank, dog = (0, 12), (13, 14), (15, 27)
    (rows,) = encoder.encode_passages([("title", text, [fox, blank, dog])])
    (whole,) = encoder.encode_passages([("title", text, [(0, 27)])])
    (without,) = encoder.encode_passages([("title", text, [fox, dog])])
    np.testing.assert_allclose(rows[2], whole[1], atol=1e-5)
    np.testing.assert_allclose(rows[[0, 1, 3]], without, atol=1e-5)


@pytest.mark.parametrize("place", range(4))
def test_a_sentence_without_tokens_anywhere_in_a_long_passage_changes_no_other(tiny: Path, place: int) -> None:
    encoder = exact(tiny)
    sentences = [f"{word} " * 12 for word in ("abcd", "efgh", "ijkl")]  # 48 tokens each; 62 fit
    with_blank = [*sentences[:place], "\u200b ", *sentences[place:]]
    ends = np.cumsum([len(s) for s in with_blank])
    spans = [(int(end) - len(s), int(end) - 1) for s, end in zip(with_blank, ends, strict=True)]
    (rows,) = encoder.encode_passages([("", "".join(with_blank), spans)])
    (expected,) = encoder.encode_passages([("", "".join(sentences), [(60 * i, 60 * i + 59) for i in range(3)])])
    np.testing.assert_allclose(np.delete(rows, 1 + place, 0), expected, atol=1e-5)
    assert np.linalg.norm(rows[1 + place]) == pytest.approx(1, abs=1e-5)


def test_spans_out_of_order_are_read_where_they_stand(tiny: Path) -> None:
    encoder = exact(tiny)
    text = "".join(f"{word} " * 12 for word in ("abcd", "efgh", "ijkl"))
    spans = [(60 * i, 60 * i + 59) for i in range(3)]
    (rows,) = encoder.encode_passages([("", text, [*spans, spans[0]])])
    np.testing.assert_allclose(rows[4], rows[1], atol=1e-5)


@pytest.mark.parametrize("number", [np.nan, np.inf])
def test_numbers_that_are_none_are_refused(tiny: Path, tmp_path: Path, number: float) -> None:
    folder = shutil.copytree(tiny, tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    weights["encoder.layer.1.output.LayerNorm.bias"][3] = number
    save_file(weights, folder / "model.safetensors")
    encoder = Encoder(folder, precision="f32")
    with pytest.raises(ModelError, match="m: the model gives NaN or infinite numbers"):
        encoder.encode(["fox"])
    with pytest.raises(ModelError, match="NaN or infinite"):
        encoder.encode_passages([("", "fox", [(0, 3)])])


def test_order_and_batches_do_not_matter(tiny: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = exact(tiny)
    texts = [f"{'word ' * (i % 7)}{i}" for i in range(50)]
    expected = [encoder.encode([text])[0] for text in texts]
    monkeypatch.setattr(module, "BATCH_TOKENS", 40)
    done: list[int] = []
    np.testing.assert_allclose(encoder.encode(texts, progress=part_of(done.append)), expected, atol=1e-5)
    assert sum(done) == 50
    done.clear()
    passages = [("", text * 5, [(0, 2)]) for text in texts]
    encoder.encode_passages(passages, progress=part_of(done.append))
    assert sum(done) == 50


def test_nothing_and_wrong_types(tiny: Path) -> None:
    encoder = Encoder(tiny)
    assert encoder.encode([]).shape == (0, 32)
    assert encoder.encode_passages([]) == []
    assert encoder.encode_passages([("", "", [])])[0].shape == (1, 32)
    for texts in (["one text", 2.5], {"one": "text"}, None, b"text"):
        with pytest.raises(InputError, match="texts are a string or a list of strings"):
            encoder.encode(texts)  # type: ignore[arg-type]
    assert encoder.count_tokens(["", "abc", "the"]) == [0, 3, 1]


def test_one_text_and_every_kind_of_list(tiny: Path) -> None:
    encoder = Encoder(tiny)
    vectors = encoder.encode(["a fox", "the dog"])
    assert encoder.encode("the dog").shape == (32,)
    assert np.allclose(encoder.encode("the dog"), vectors[1], atol=1e-6)
    for texts in (("a fox", "the dog"), np.array(["a fox", "the dog"]), (text for text in ("a fox", "the dog"))):
        assert np.allclose(encoder.encode(texts), vectors, atol=1e-6)


def test_an_error_in_a_callback_reaches_the_caller(tiny: Path) -> None:
    def fail(steps: int) -> None:
        raise ValueError("from the callback")

    with pytest.raises(ValueError, match="from the callback"):
        Encoder(tiny).encode(["a"], progress=part_of(fail))


def test_wrong_devices(tiny: Path) -> None:
    with pytest.raises(InputError, match="no device 'tpu'"):
        Encoder(tiny, device="tpu")
    try:
        import torch
    except ImportError:
        reason = "a GPU needs torch"
    else:
        if torch.cuda.is_available():
            pytest.skip("there is a GPU")
        reason = "torch finds no GPU"
    with pytest.raises(ModelError, match=reason):
        Encoder(tiny, device="cuda")


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        pytest.param(
            {"model_type": "funnel"}, "transformers cannot load or convert the model type .funnel.", marks=pytest.mark.train
        ),
        ({"hidden_act": "silu"}, "activation 'silu'"),
        ({"position_embedding_type": "relative_key"}, "relative position"),
        ({"hidden_size": -5}, "hidden_size is -5; it must be a whole number of at least 1"),
        ({"hidden_size": "32"}, "hidden_size is '32'"),
        ({"hidden_size": 64}, r"its tensor bert.embeddings.\w+.weight of shape .* does not fit"),
        ({"hidden_size": None}, "hidden_size is None"),
        ({"num_attention_heads": 5}, "32 is not a multiple of its num_attention_heads 5"),
        ({"num_hidden_layers": 3}, "lack bert.encoder.layer.2"),
        ({"num_hidden_layers": 1.5}, "num_hidden_layers is 1.5"),
        ({"max_position_embeddings": 0}, "max_position_embeddings is 0"),
        ({"oreqa": [1]}, "must be a JSON object with a model's settings"),
        ({"layer_norm_eps": "x"}, "layer_norm_eps is 'x'; it must be a number above 0"),
    ],
)
def test_other_and_damaged_architectures_are_refused(
    tiny: Path, tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    folder = shutil.copytree(tiny, tmp_path / "m")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, **change}))
    with pytest.raises(ModelError, match=reason):
        Encoder(folder)


@pytest.mark.parametrize("name", ["tokenizer.json", "model.safetensors", "2_Dense/model.safetensors"])
@pytest.mark.parametrize("content", [b"", b"{}", b"\xff" * 100, None], ids=["empty", "braces", "noise", "truncated"])
def test_damaged_files_are_named_in_one_line(tmp_path: Path, name: str, content: bytes | None) -> None:
    folder = make_model(tmp_path / "m", dense=True)
    whole = (folder / name).read_bytes()
    (folder / name).write_bytes(whole[: len(whole) // 2] if content is None else content)
    with pytest.raises(ModelError) as caught:
        Encoder(folder)
    assert str(folder / Path(name).parent) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_incomplete_weights_are_refused(tiny: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny, tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.bias"]
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ModelError, match=r"lack bert.encoder.layer.1.output.dense.bias"):
        Encoder(folder)


@pytest.mark.train
def test_torch_refuses_incomplete_weights(tiny: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from oreqa.models.encoder.module import open_session

    folder = shutil.copytree(tiny, tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    del weights["encoder.layer.1.output.dense.bias"]
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    with pytest.raises(ModelError, match=r"lack encoder.layer.1.output.dense.bias"):
        open_session(read_encoder_folder(folder), "f32", "cpu")
