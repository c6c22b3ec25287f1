"""Encoders give sentence-transformers' vectors, whatever a folder says: pooling, prompts, layers, similarity, dimensions."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save_file
from tiny_models import WIDTH, make_model

from oreqa.errors import InputError, ModelError
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import SENTENCE_SETTINGS, read_encoder_folder
from oreqa.models.encoder.pooling import POOLINGS

pytestmark = pytest.mark.train
sentence_transformers = pytest.importorskip("sentence_transformers")

from architectures import CONFIGS, PREFIXED, TOKENS, make_transformer  # noqa: E402

TEXTS = ["the fox", "a much longer text about a fox and the dog " * 4, "", "éàü 😀 ÉÀ", "fox", "İstanbul"]


def reference(folder: Path, **options: Any) -> Any:
    return sentence_transformers.SentenceTransformer(str(folder), device="cpu", **options)


def exact(folder: Path, **options: Any) -> Encoder:
    return Encoder(folder, precision="f32", **options)


def passages(encoder: Encoder, texts: list[str]) -> np.ndarray:
    """The vectors of texts as passages; longer ones than a passage's are cut as sentence-transformers does."""
    return np.stack([rows[0] for rows in encoder.encode_passages([("", text, []) for text in texts])])


def close(vectors: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(vectors, expected, atol=1e-5, rtol=1e-5)


def with_settings(folder: Path, **settings: Any) -> Path:
    (folder / SENTENCE_SETTINGS).write_text(json.dumps(settings))
    return folder


def with_modules(folder: Path, *modules: tuple[str, dict[str, Any]]) -> Path:
    """The folder with these modules after its Transformer."""
    rows = [{"idx": 0, "name": "0", "path": "", "type": "sentence_transformers.models.Transformer"}]
    for number, (kind, settings) in enumerate(modules, 1):
        path = folder / f"{number}_{kind}"
        path.mkdir(exist_ok=True)
        (path / "config.json").write_text(json.dumps(settings))
        row = {"idx": number, "name": str(number), "path": path.name, "type": f"sentence_transformers.models.{kind}"}
        rows.append(row)
    (folder / "modules.json").write_text(json.dumps(rows))
    return folder


def same_as_torch(encoder: Encoder) -> None:
    from oreqa.models.encoder.module import open_session

    on_torch = Encoder.of(encoder.folder, open_session(encoder.folder, "f32", "cpu"))
    close(on_torch.encode(TEXTS), encoder.encode(TEXTS))


def old_form(mode: str) -> dict[str, Any]:
    return {"word_embedding_dimension": WIDTH, **{key: name == mode for name, key in POOLINGS.items()}}


def new_form(mode: str) -> dict[str, Any]:
    return {"embedding_dimension": WIDTH, "pooling_mode": mode}


@pytest.mark.parametrize("pool_prompt", [True, False])
@pytest.mark.parametrize("form", [old_form, new_form])
@pytest.mark.parametrize("mode", POOLINGS)
def test_every_pooling_with_prompts(
    tmp_path: Path, mode: str, form: Callable[[str], dict[str, Any]], pool_prompt: bool
) -> None:
    folder = with_modules(make_model(tmp_path / "m"), ("Pooling", {**form(mode), "include_prompt": pool_prompt}))
    with_settings(folder, prompts={"query": "query: ", "document": "a passage: "}, similarity_fn_name="dot")
    encoder, expected = exact(folder), reference(folder)
    close(encoder.encode(TEXTS), expected.encode_query(TEXTS))
    close(encoder.encode(TEXTS), expected.encode(TEXTS, prompt_name="query"))
    short = [text[:30] for text in TEXTS]
    close(passages(encoder, short), expected.encode_document(short))
    if form is new_form:
        same_as_torch(encoder)


@pytest.mark.parametrize(
    ("settings", "query", "document"),
    [
        ({}, None, None),
        ({"prompts": {"query": "query: ", "passage": "passage: "}}, "query", "passage"),
        ({"prompts": {"query": "find: "}}, "query", None),
        ({"prompts": {"corpus": "text: ", "query": ""}}, None, "corpus"),
        ({"prompts": {"document": "x", "passage": "y", "query": None}}, None, "document"),
        ({"prompts": {"document": "", "passage": "passage: ", "query": "query: "}}, "query", "passage"),
        ({"prompts": {"all": "text: "}, "default_prompt_name": "all"}, "all", "all"),
        ({"prompts": {"query": "find: "}, "default_prompt_name": "query"}, "query", None),
        ({"prompts": {"other": "find: "}}, None, None),
    ],
)
def test_prompts_are_chosen(tiny: Path, tmp_path: Path, settings: Any, query: str | None, document: str | None) -> None:
    folder = with_settings(shutil.copytree(tiny, tmp_path / "m"), **settings)
    encoder, texts = exact(folder), ["the fox", "a dog and a bee"]
    texts_by_name = settings.get("prompts", {})
    expected = reference(tiny)
    for vectors, name in ((encoder.encode(texts), query), (passages(encoder, texts), document)):
        close(vectors, expected.encode(texts, prompt=texts_by_name.get(name, "")))
    if query:
        close(encoder.encode(texts), reference(folder).encode(texts, prompt_name=query))


@pytest.mark.parametrize("activation", ["activation.Tanh", "linear.Identity", "activation.GELU", "activation.ReLU", None])
@pytest.mark.parametrize("order", [("Dense", "Normalize"), ("Normalize", "Dense"), ("Dense", "Dense", "Normalize")])
def test_layers_in_any_order(tmp_path: Path, order: tuple[str, ...], activation: str | None) -> None:
    layer = {"in_features": WIDTH, "out_features": WIDTH, "bias": True}
    if activation:
        layer["activation_function"] = f"torch.nn.modules.{activation}"
    modules = [(kind, layer if kind == "Dense" else {}) for kind in order]
    folder = with_modules(make_model(tmp_path / "m"), ("Pooling", new_form("mean")), *modules)
    rng = np.random.default_rng(1)
    for path in folder.glob("*_Dense"):
        weights = {"linear.weight": rng.normal(0, 0.3, (WIDTH, WIDTH)), "linear.bias": rng.normal(0, 0.3, WIDTH)}
        save_file({name: value.astype(np.float32) for name, value in weights.items()}, path / "model.safetensors")
    with_settings(folder, similarity_fn_name="dot")
    encoder = exact(folder)
    close(encoder.encode(TEXTS), reference(folder).encode(TEXTS))
    same_as_torch(encoder)


@pytest.mark.parametrize("settings", [{}, {"similarity_fn_name": None}, {"similarity_fn_name": "cosine"}])
def test_vectors_that_are_compared_by_their_cosine_have_unit_length(tmp_path: Path, settings: dict[str, Any]) -> None:
    folder = with_settings(make_model(tmp_path / "m", normalise=False), **settings)
    expected = reference(folder)
    assert expected.similarity_fn_name == "cosine"
    close(exact(folder).encode(TEXTS), expected.encode(TEXTS, normalize_embeddings=True))


@pytest.mark.parametrize("dim", [1, 8, 31])
def test_leading_dimensions(tiny: Path, tmp_path: Path, dim: int) -> None:
    folder = with_settings(shutil.copytree(tiny, tmp_path / "m"), truncate_dim=dim)
    said, truncated, whole = exact(folder), exact(tiny, truncate_dim=dim), exact(tiny)
    expected = reference(folder).encode(TEXTS, normalize_embeddings=True)
    text, spans = "the fox ran. a dog slept!", [(0, 12), (13, 25)]
    for encoder in (said, truncated):
        assert encoder.dim == dim
        close(encoder.encode(TEXTS), expected)
        rows, full = (e.encode_passages([("title", text, spans)])[0] for e in (encoder, whole))
        cut = full[:, :dim]
        close(rows, cut / np.linalg.norm(cut, axis=1, keepdims=True))
    assert len({said.fingerprint, truncated.fingerprint, whole.fingerprint}) == 3
    assert exact(tiny, truncate_dim=WIDTH).fingerprint == whole.fingerprint
    assert exact(folder, truncate_dim=dim).fingerprint == said.fingerprint
    np.testing.assert_allclose(exact(folder, truncate_dim=WIDTH).encode(TEXTS), whole.encode(TEXTS), atol=1e-6)


@pytest.mark.parametrize("dim", [0, -1, 33, True, 2.0])
def test_dimensions_that_there_are_not(tiny: Path, dim: Any) -> None:
    with pytest.raises(InputError, match=f"of the model's 32 dimensions, 1 to 32 can be kept, not {dim!r}"):
        Encoder(tiny, truncate_dim=dim)


PLAIN = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": "[PAD]"}
"""A tokenizer_config.json that leaves tokenizer.json as it is."""


def test_lower_case_is_the_tokenizers(tiny: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(tiny, tmp_path / "m")
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    tokenizer["normalizer"]["lowercase"] = False
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    (folder / "tokenizer_config.json").write_text(json.dumps(PLAIN))
    texts = ["The FOX", "İstanbul ẞ", "fox"]
    for lower in (True, False):
        (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 40, "do_lower_case": lower}))
        encoder = exact(folder)
        close(encoder.encode(texts), reference(folder).encode(texts))
        (rows,) = encoder.encode_passages([("", "İİ fox. a DOG", [(0, 7), (8, 13)])])
        (alone,) = encoder.encode_passages([("", "İİ fox. a DOG", [(8, 13)])])
        np.testing.assert_allclose(rows[2], alone[1], atol=1e-6)
    assert encoder.max_tokens == 38


@pytest.mark.parametrize(
    ("file", "content", "longest"),
    [
        ("tokenizer_config.json", {"model_max_length": 20}, 18),
        ("tokenizer_config.json", {"model_max_length": 10**30}, 62),
        ("sentence_roberta_config.json", {"max_seq_length": 30}, 28),
        ("sentence_bert_config.json", {"max_seq_length": 9000}, 62),
    ],
)
def test_longest_inputs(tiny: Path, tmp_path: Path, file: str, content: Any, longest: int) -> None:
    folder = shutil.copytree(tiny, tmp_path / "m")
    (folder / file).write_text(json.dumps(content))
    assert exact(folder).max_tokens == longest


def test_a_prompt_takes_space_from_passages_alone(tiny: Path, tmp_path: Path) -> None:
    folder = with_settings(shutil.copytree(tiny, tmp_path / "m"), prompts={"document": "text: ", "query": "a b "})
    encoder = exact(folder)
    assert encoder.max_tokens == 62 - 5  # t ##e ##x ##t :
    text = "abc d e f g h " * 40
    close(encoder.encode(text), reference(tiny).encode(f"a b {text}"))
    (folder / SENTENCE_SETTINGS).write_text(json.dumps({"prompts": {"document": "x " * 60}}))
    with pytest.raises(ModelError, match="its prompt of 60 tokens leaves no space in 62 for a text"):
        Encoder(folder)


def test_sentences_in_context_have_nothing_of_the_prompt(tiny: Path, tmp_path: Path) -> None:
    folder = with_settings(shutil.copytree(tiny, tmp_path / "m"), prompts={"document": "text: "})
    text, first, second = "the fox ran. a dog slept!", (0, 12), (13, 25)
    (rows,) = exact(folder).encode_passages([("title", text, [first, second])])
    (same,) = exact(tiny).encode_passages([("text: title", text, [first, second])])  # what stands before is the same
    np.testing.assert_allclose(rows, same, atol=1e-6)


E5 = {
    "modules": [("Pooling", old_form("mean")), ("Normalize", {})],
    "limit": {"max_seq_length": 512, "do_lower_case": False},
}
BGE = {"modules": [("Pooling", old_form("cls")), ("Normalize", {})], "limit": {"max_seq_length": 512, "do_lower_case": True}}
ARCTIC_SETTINGS = {
    "__version__": {"sentence_transformers": "2.7.0.dev0", "transformers": "4.39.3", "pytorch": "2.1.0"},
    "prompts": {"query": "Represent this sentence for searching relevant passages: "},
    "default_prompt_name": None,
}
SEARCH = "Represent this sentence for searching relevant passages: "


@pytest.mark.parametrize(
    ("name", "parts", "settings", "question", "passage"),
    [
        ("e5-small-v2", E5, None, "query: ", "passage: "),
        ("models--intfloat--e5-base-v2/snapshots/0a1b2c", E5, None, "query: ", "passage: "),
        ("multilingual-E5-small", E5, None, "query: ", "passage: "),
        ("bge-small-en-v1.5", BGE, {"__version__": {"sentence_transformers": "2.2.2"}}, SEARCH, ""),
        ("snowflake-arctic-embed-xs", BGE, ARCTIC_SETTINGS, SEARCH, ""),
        ("e5-small-of-mine", E5, None, "", ""),
        ("e5-small", E5, {"prompts": {"query": "", "document": ""}}, "query: ", "passage: "),
        ("e5-small", E5, {"prompts": {"query": "find: ", "document": ""}}, "find: ", ""),
        ("mine", E5, {"prompts": {"query": "", "document": ""}}, "", ""),
    ],
)
def test_models_that_people_know(
    tmp_path: Path, name: str, parts: dict[str, Any], settings: Any, question: str, passage: str
) -> None:
    folder = make_model(tmp_path / name)
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "max_position_embeddings": 64}))
    with_modules(folder, *parts["modules"])
    (folder / "sentence_bert_config.json").write_text(json.dumps(parts["limit"]))
    if settings is not None:
        with_settings(folder, **settings)
    expected, encoder = reference(folder), exact(folder)
    expected.max_seq_length = 64  # the tiny model's positions
    texts = ["the fox", "a dog and a bee", "ÉÀ"]
    close(encoder.encode(texts), expected.encode(texts, prompt=question))
    close(passages(encoder, texts), expected.encode(texts, prompt=passage))
    if settings is not None and any(settings.get("prompts", {}).values()):
        close(encoder.encode(texts), expected.encode_query(texts))


def test_prompts_by_name_are_part_of_the_fingerprint(tiny: Path, tmp_path: Path) -> None:
    known, plain = (shutil.copytree(tiny, tmp_path / name) for name in ("e5-small", "mine"))
    assert Encoder(plain).fingerprint == Encoder(tiny).fingerprint != Encoder(known).fingerprint
    assert (
        str(Encoder(known).prompts)
        == "questions begin with 'query: ', passages begin with 'passage: ' (by the model's name)"
    )


@pytest.mark.parametrize("settings", [{"similarity_fn_name": "euclidean"}, {"similarity_fn_name": "manhattan"},
                                      {"prompts": ["query: "]}, {"prompts": {"query": 7}}, {"default_prompt_name": "other"},
                                      {"truncate_dim": "x"}, {"truncate_dim": 0}, []])  # fmt: skip
def test_settings_that_are_not_supported_are_refused_in_one_line(tiny: Path, tmp_path: Path, settings: Any) -> None:
    folder = shutil.copytree(tiny, tmp_path / "m")
    (folder / SENTENCE_SETTINGS).write_text(json.dumps(settings))
    with pytest.raises(ModelError) as caught:
        Encoder(folder)
    assert str(folder) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("modules", "reason"),
    [
        ([("Dense", {}), ("Pooling", {})], "Pooling is supported only after the first module"),
        ([("Pooling", {}), ("CNN", {})], "the module sentence_transformers.models.CNN is not supported"),
        ([("Pooling", {}), ("Dense", {"use_residual": True})], "use_residual is not supported"),
        ([("Pooling", {}), ("Dense", {"module_input_name": "token_embeddings"})], "module_input_name 'token_embeddings'"),
        ([("Pooling", {}), ("Dense", {"activation_function": "torch.nn.SiLU"})], "the activation SiLU is not supported"),
        ([("Pooling", {"pooling_mode": "middle"})], "the pooling middle is not supported"),
    ],
)
def test_modules_that_are_not_supported(tmp_path: Path, modules: list[tuple[str, dict[str, Any]]], reason: str) -> None:
    folder = with_modules(make_model(tmp_path / "m"), *modules)
    with pytest.raises(ModelError, match=reason):
        read_encoder_folder(folder)


@pytest.mark.parametrize("mode", ["mean", "cls", "max"])
@pytest.mark.parametrize("model_type", CONFIGS)
def test_every_architecture(tmp_path: Path, model_type: str, mode: str) -> None:
    folder = tmp_path / "m"
    make_transformer(folder, model_type)
    special = ("<pad>", "<s>", "</s>") if model_type in PREFIXED else ("[PAD]", "[CLS]", "[SEP]")
    names = dict(zip(("pad_token", "cls_token", "sep_token"), special, strict=True))
    (folder / "tokenizer_config.json").write_text(json.dumps({**PLAIN, **names, "model_max_length": TOKENS}))
    with_modules(folder, ("Pooling", new_form(mode)), ("Normalize", {}))
    with_settings(folder, prompts={"query": "query: "})
    encoder = exact(folder)
    assert encoder.inputs.folder.max_tokens == TOKENS  # 512 of the 514 positions of RoBERTa and MPNet
    texts = [*TEXTS, "a fox and a bee " * 40]
    close(encoder.encode(texts), reference(folder).encode(texts, prompt_name="query"))
    same_as_torch(encoder)
