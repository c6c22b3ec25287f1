"""Static embeddings equal model2vec's and sentence-transformers', and work wherever an encoder does."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file
from tiny_models import make_model, tokenizer_of
from tokenizers import Tokenizer, models, pre_tokenizers

from oreqa.answering.answerer import Answerer
from oreqa.errors import InputError, ModelError
from oreqa.index.in_memory import index_documents
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.encoder.encoder import Encoder

TEXTS = ["the fox", "a much longer text about a fox and the dog that it did not see", "", "éàü 😀", "fox", "the fox " * 700]
DIM = 12


def make_static(folder: Path, tokenizer: Tokenizer, normalise: bool = True) -> Path:
    """A folder as sentence-transformers saves a StaticEmbedding: in a folder of its own, without a config.json."""
    part = folder / "0_StaticEmbedding"
    part.mkdir(parents=True)
    tokenizer.save(str(part / "tokenizer.json"))
    table = np.random.default_rng(3).normal(0, 1, (tokenizer.get_vocab_size(), DIM)).astype(np.float32)
    save_file({"embedding.weight": table}, part / "model.safetensors")
    kinds = {"0_StaticEmbedding": "StaticEmbedding", **({"1_Normalize": "Normalize"} if normalise else {})}
    rows = [
        {"idx": number, "name": str(number), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for number, (path, kind) in enumerate(kinds.items())
    ]
    (folder / "modules.json").write_text(json.dumps(rows))
    (folder / "1_Normalize").mkdir()
    settings = {"similarity_fn_name": "cosine" if normalise else "dot", "prompts": {"query": "", "document": ""}}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    return folder


def make_model2vec(folder: Path, tokenizer: Tokenizer, normalise: bool = True, **parts: np.ndarray) -> Path:
    """A folder as model2vec saves it."""
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    table = np.random.default_rng(4).normal(0, 1, (tokenizer.get_vocab_size(), DIM)).astype(np.float32)
    save_file({"embeddings": table, **parts}, folder / "model.safetensors")
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": normalise, "hidden_dim": DIM}
    (folder / "config.json").write_text(json.dumps(config))
    rows = [{"idx": 0, "name": "0", "path": ".", "type": "sentence_transformers.models.StaticEmbedding"}]
    if normalise:
        rows.append({"idx": 1, "name": "1", "path": "1_Normalize", "type": "sentence_transformers.models.Normalize"})
    (folder / "modules.json").write_text(json.dumps(rows))
    if not normalise:
        (folder / "config_sentence_transformers.json").write_text(json.dumps({"similarity_fn_name": "dot"}))
    return folder


def word_level() -> Tokenizer:
    """Whole words: all others are unknown, which model2vec leaves out."""
    words = ["[UNK]", "the", "fox", "a", "dog", "text", "much"]
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    return tokenizer


def unigram() -> Tokenizer:
    pieces = [("<unk>", 0.0), *((piece, -2.0) for piece in ("▁", "▁the", "▁fox", "a", "b", "t", "e", "x", "é"))]
    tokenizer = Tokenizer(models.Unigram(pieces, 0))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer


@pytest.fixture(scope="module")
def pieces(tiny: Path) -> Tokenizer:
    return tokenizer_of(tiny)


@pytest.mark.train
@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("make", [make_static, make_model2vec])
def test_equals_sentence_transformers(tmp_path: Path, pieces: Tokenizer, make: Callable[..., Path], normalise: bool) -> None:
    from sentence_transformers import SentenceTransformer

    folder = make(tmp_path / "m", pieces, normalise)
    expected = SentenceTransformer(str(folder), device="cpu")
    texts = TEXTS[:3] + TEXTS[4:5]  # without unknown words and the longest one, which model2vec treats its own way
    encoder = Encoder(folder)
    assert (encoder.dim, expected.get_embedding_dimension()) == (DIM, DIM)
    np.testing.assert_allclose(encoder.encode(texts), expected.encode_query(texts), atol=1e-5)
    rows = [rows[0] for rows in encoder.encode_passages([("", text, []) for text in texts])]
    np.testing.assert_allclose(rows, expected.encode_document(texts), atol=1e-5)
    if make is make_static:
        np.testing.assert_allclose(encoder.encode(TEXTS), expected.encode(TEXTS), atol=3e-5)  # torch adds 1,400 in a row


@pytest.mark.train
@pytest.mark.parametrize("normalise", [True, False])
@pytest.mark.parametrize("kind", ["pieces", "words", "unigram"])
@pytest.mark.parametrize("fewer", [False, True])
def test_equals_model2vec(tmp_path: Path, pieces: Tokenizer, kind: str, normalise: bool, fewer: bool) -> None:
    from model2vec import StaticModel

    tokenizer = {"pieces": lambda: pieces, "words": word_level, "unigram": unigram}[kind]()
    rng = np.random.default_rng(5)
    size = tokenizer.get_vocab_size()
    parts = {}
    if fewer:  # vectors that tokens share, each with its weight
        parts = {
            "embeddings": rng.normal(0, 1, (3, DIM)).astype(np.float32),
            "mapping": rng.integers(0, 3, size),
            "weights": rng.uniform(0.1, 2, size),
        }
    folder = make_model2vec(tmp_path / "m", tokenizer, normalise, **parts)
    expected = StaticModel.from_pretrained(folder)
    np.testing.assert_allclose(Encoder(folder).encode(TEXTS), expected.encode(TEXTS), atol=1e-5)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_length": 5}))
    expected = StaticModel.from_pretrained(folder)
    np.testing.assert_allclose(Encoder(folder).encode(TEXTS), expected.encode(TEXTS), atol=1e-5)


@pytest.mark.parametrize("make", [make_static, make_model2vec])
def test_a_sentence_is_the_mean_of_its_tokens(tmp_path: Path, pieces: Tokenizer, make: Callable[..., Path]) -> None:
    encoder = Encoder(make(tmp_path / "m", pieces))
    text, spans = "the fox ran. a dog slept!", [(0, 12), (13, 25), (25, 25)]
    (rows,) = encoder.encode_passages([("a title", text, spans)])
    np.testing.assert_allclose(rows[:3], encoder.encode([f"a title. {text}", text[:12], text[13:]]), atol=1e-6)
    np.testing.assert_allclose(rows[3], encoder.encode(text), atol=1e-6)  # of all sentences: it has no tokens


def test_answers_come_from_an_index_of_static_vectors(tmp_path: Path, pieces: Tokenizer, tiny_reader: Path) -> None:
    model = make_static(tmp_path / "model", pieces)
    texts = ["the fox ran over a hill. a bee hums.", "a dog slept in its house."]
    index_documents(tmp_path / "kb", texts, Settings(model=str(model)))
    with Index.open(tmp_path / "kb") as index:
        (hits,) = index.search(["a dog slept"], 1, mode="dense")
        assert hits[0].passage.text == texts[1]
    assert Answerer.load(tmp_path / "kb", reader=tiny_reader).ask("what ran over a hill?") is not None


def test_devices_and_damaged_files(tmp_path: Path, pieces: Tokenizer) -> None:
    folder = make_static(tmp_path / "m", pieces)
    with pytest.raises(InputError, match="no device 'tpu'"):
        Encoder(folder, device="tpu")
    weights = folder / "0_StaticEmbedding" / "model.safetensors"
    table = load_file(weights)["embedding.weight"]
    for content, reason in (
        ({"embedding.weight": table[:3]}, "its tokenizer has more tokens than it has vectors"),
        ({"embedding.weight": table[0]}, "it has no table of vectors"),
        ({"other": table}, "it has no table of vectors"),
        ({"embedding.weight": table, "mapping": np.array([len(table)])}, "mapping or weights do not fit"),
        ({"embedding.weight": table * np.nan}, "the model gives NaN"),
    ):
        save_file(content, weights)
        with pytest.raises(ModelError, match=reason):
            Encoder(folder).encode("the fox")
    weights.unlink()
    with pytest.raises(ModelError, match=r"model\.safetensors is missing"):
        Encoder(folder)


def test_layers_on_top_are_refused(tmp_path: Path, pieces: Tokenizer) -> None:
    folder = make_static(tmp_path / "m", pieces)
    shutil.copytree(make_model(tmp_path / "dense", dense=True) / "2_Dense", folder / "2_Dense")
    rows: list[Any] = json.loads((folder / "modules.json").read_text())
    rows.insert(1, {"idx": 1, "name": "1", "path": "2_Dense", "type": "sentence_transformers.models.Dense"})
    (folder / "modules.json").write_text(json.dumps(rows))
    with pytest.raises(ModelError, match="a static encoder with layers on top is not supported"):
        Encoder(folder)
