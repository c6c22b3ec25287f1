"""Reads the settings of an encoder's folder: sentence-transformers' modules.json and the modules' own files.

A folder contains one encoder of questions and passages, or two behind sentence-transformers' Router: its route ``query``
encodes questions, its route ``document`` passages. An encoder is a Transformer (or recurrent layers), or a table of one
vector per token (``models.encoder.static``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, cast, get_args

from oreqa.errors import InputError, ModelError
from oreqa.models.differences import DIFFERENCE
from oreqa.models.encoder.pooling import Attention, Layer, load_dense, read_attention, read_layer, read_pooling
from oreqa.models.encoder.prompts import Prompts, read_prompts
from oreqa.models.encoder.static import static_tokens, table_width
from oreqa.models.graph.cache import cached_fingerprint
from oreqa.models.names import (
    ModelFolder,
    check_encoder,
    find_model,
    find_tokenizer,
    read_config,
    read_json_file,
    tokenizer_limit,
    valid_settings,
)
from oreqa.models.settings import (
    MIN_TOKENS,
    MODEL2VEC,
    RECURRENT,
    graph_files,
    has_weights,
    hidden_size,
    input_positions,
    missing_file,
    whole_number,
)
from oreqa.models.weights import Weights, load_weights

Context = Literal["late_chunking", "cross_segment", "none"]
"""How much of its passage an encoder sees with a sentence. ``late_chunking``: all of it, in one pass, and the sentence's
vector is the mean of its tokens (Günther et al. 2024). ``cross_segment``: all of it, as the second segment (Yang et al.
2021, section 4.2). ``none``: nothing."""

ROUTER = "router_config.json"
"""sentence-transformers' Router file, in a folder of two encoders."""

QUESTION_ROUTE, PASSAGE_ROUTE = "query", "document"
"""The Router's routes, which sentence-transformers' ``encode_query`` and ``encode_document`` take."""

SENTENCE_SETTINGS = "config_sentence_transformers.json"
"""sentence-transformers' file of a model's prompts, similarity and ``truncate_dim``."""

Cell = Literal["rnn", "gru", "lstm"]
"""Kinds of recurrent layers."""

NewEncoder = Literal["transformer", Cell]
"""Kinds of encoders that training initialises at random, over a backbone's token embeddings."""

_Module = tuple[str, Path]
"""The class of a sentence-transformers module, with the Python module it comes from, and its folder."""

_TRANSFORMERS = ("Transformer", "QuestionTransformer", "RecurrentTransformer")
_FIRST = (*_TRANSFORMERS, "StaticEmbedding")
"""Classes of the first module."""

_LATER = "Pooling, AttentionPooling, Dense, Normalize"
"""Classes of the later modules."""

_LIMITS = [f"sentence_{kind}_config.json" for kind in ("bert", "roberta", "distilbert", "camembert", "xlm-roberta")]
"""Names that sentence-transformers has used for the settings file of a Transformer module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EncoderFolder(ModelFolder):
    """The settings of a sentence-transformers folder.

    ``path`` is the model's folder, ``transformer`` the one with the encoder's settings, weights and tokenizer: the same,
    or one in it. ``context`` is what the encoder sees with a sentence, ``query_token_type`` the token type of a question's
    tokens, ``max_tokens`` the longest input with special tokens. With ``normalise``, vectors have unit length.

    For two encoders, these are the passages' settings, and ``questions`` has those of the questions' encoder.
    """

    transformer: Path
    pooling: str
    attention: Attention | None
    dense: tuple[Layer, ...]
    normalise: bool
    context: Context
    query_token_type: int
    lower_case: bool
    prompts: Prompts = field(default_factory=Prompts)
    pool_prompt: bool = True
    """Whether pooling includes the tokens of a prompt."""
    truncate_dim: int | None = None
    """Leading dimensions of the vectors to keep, from the folder's files."""
    requested_dim: int | None = None
    """Leading dimensions to keep, from the caller."""
    static: bool = False
    """Whether each token has one vector, independent of its context."""
    route: str = ""
    """Which of two encoders it is: QUESTION_ROUTE or PASSAGE_ROUTE."""
    questions: EncoderFolder | None = None

    @property
    def cell(self) -> Cell | None:
        """The kind of recurrent layers; None for a Transformer."""
        return cast(Cell, self.config["cell"]) if self.config.get("model_type") == RECURRENT else None

    @property
    def is_difference(self) -> bool:
        """Whether its weights are stored as their difference from another folder's, whose tokenizer it uses."""
        return "difference_from" in (self.config.get("oreqa") or {})

    @property
    def settings(self) -> Path:
        """The folder of the transformer's config.json."""
        return self.path if self.is_difference else self.transformer

    def load(self) -> Weights:
        """Load the transformer's tensors, named as by ``load_weights``."""
        return load_weights(self.settings)

    @property
    def width(self) -> int:
        """The dimensions of the vectors before truncation. Raises ModelError if the folder does not say."""
        if self.static:
            return table_width(self.transformer / "model.safetensors")
        if self.dense:
            return len(load_dense(self.dense[-1])[0])
        if self.attention is not None:
            return self.attention.output_width
        return hidden_size(self.config, self.transformer)

    @property
    def dim(self) -> int:
        """The dimensions of the vectors."""
        return min(self.width, self.requested_dim or self.truncate_dim or self.width)

    def cut_to(self, dim: int | None) -> EncoderFolder:
        """Return the settings with vectors of ``dim`` dimensions, unchanged for None.

        Raises InputError for an invalid number.
        """
        if dim is None or (dim == self.dim and type(dim) is int):
            return self
        if type(dim) is not int or not 0 < dim <= self.width:
            raise InputError(f"of the model's {self.width} dimensions, 1 to {self.width} can be kept, not {dim!r}")
        return replace(self, requested_dim=dim)


def encoder_fingerprint(folder: EncoderFolder) -> str:
    """Return the SHA-256 of everything that determines an encoder's vectors: its files, and settings outside of them."""
    fingerprint = cached_fingerprint(folder.path)
    prompts = [folder.prompts.question, folder.prompts.passage] if folder.prompts.by_name else []
    if prompts or folder.requested_dim:
        return hashlib.sha256(json.dumps([fingerprint, prompts, folder.requested_dim]).encode()).hexdigest()
    return fingerprint


def read_encoder_folder(path: Path) -> EncoderFolder:
    """Read the settings of an encoder's folder.

    Raises ModelError, with the reason, if it is not a supported sentence-transformers model.
    """
    with valid_settings(path):
        if (path / ROUTER).is_file():
            return _two_encoders(path)
        if (path / DIFFERENCE).is_file():
            return _difference(path)
        return _encoder_folder(path, _modules(path))


def _difference(path: Path) -> EncoderFolder:
    config = read_config(path)
    settings = config["oreqa"]
    check_encoder(path, config, has_modules=False)
    base = read_encoder_folder(find_model(str(settings["difference_from"])))
    max_tokens = min(base.max_tokens, whole_number(settings, "max_tokens", path, base.max_tokens, MIN_TOKENS))
    return replace(base, path=path, config=config, context=_context(path, settings, base.pooling), max_tokens=max_tokens)


def _two_encoders(path: Path) -> EncoderFolder:
    router = read_json_file(path / ROUTER)
    routes, types = router["structure"], router["types"]
    if set(routes) != {QUESTION_ROUTE, PASSAGE_ROUTE}:
        raise ModelError(f"{path}: its routes are {', '.join(sorted(routes))}; supported: query and document")
    first, *shared = _modules(path)
    if _class_name(first) not in ("Router", "Asym") or first[1] != path:
        raise ModelError(f"{path}: with {ROUTER}, the first module in modules.json must be Router, in the folder itself")
    settings = {}
    for route, (transformer, *others) in routes.items():
        modules = [(str(types[name]), path / name) for name in (transformer, *others)]
        settings[route] = replace(_encoder_folder(path, [*modules, *shared]), route=route)
    questions, passages = settings[QUESTION_ROUTE], settings[PASSAGE_ROUTE]
    if questions.width != passages.width:
        raise ModelError(
            f"{path}: vectors of questions have {questions.width} dimensions, those of passages {passages.width}"
        )
    return replace(passages, questions=questions)


def _modules(path: Path) -> list[_Module]:
    rows = read_json_file(path / "modules.json") if (path / "modules.json").is_file() else []
    return [(str(row["type"]), path / row["path"]) for row in rows]


def _class_name(module: _Module) -> str:
    return module[0].rsplit(".", 1)[-1]


def _encoder_folder(path: Path, modules: Sequence[_Module]) -> EncoderFolder:
    """Return the encoder of the modules, of which the first has the token weights; without modules, a Transformer."""
    first, transformer = (_class_name(modules[0]), modules[0][1]) if modules else ("Transformer", path)
    config = read_config(transformer) if (transformer / "config.json").is_file() else {}
    static = first == "StaticEmbedding" or config.get("model_type") == MODEL2VEC
    sentence_settings = read_json_file(path / SENTENCE_SETTINGS) if (path / SENTENCE_SETTINGS).is_file() else {}
    check_encoder(path, config, has_modules=bool(modules) and sentence_settings.get("model_type") != "CrossEncoder")
    whole = static or not (has_weights(transformer) or (config and graph_files(transformer, config)))
    for name in (*([] if static else ["config.json"]), *(["model.safetensors"] if whole else [])):
        if not (transformer / name).is_file():
            raise ModelError(missing_file(transformer, name))
    if config.get("model_type") == RECURRENT and config.get("cell") not in get_args(Cell):
        raise ModelError(f"{path}: its cell {config.get('cell')!r} is not supported; supported: {', '.join(get_args(Cell))}")
    if not static and first not in _TRANSFORMERS:
        raise ModelError(f"{path}: the module {modules[0][0]} is not supported; supported as the first: {', '.join(_FIRST)}")
    settings, limits = config.get("oreqa") or {}, {} if static else _limits(transformer)
    later = _later_modules(path, modules[1:], config, transformer)
    if static and (later["dense"] or later["attention"]):
        raise ModelError(f"{path}: a static encoder with layers on top is not supported, only with Normalize")
    if (similarity := sentence_settings.get("similarity_fn_name")) not in (None, "cosine", "dot"):
        raise ModelError(f"{path}: its similarity_fn_name {similarity!r} is not supported; supported: cosine, dot")
    later["normalise"] = later["normalise"] or bool(config.get("normalize")) or (bool(modules) and similarity != "dot")
    return EncoderFolder(
        path=path,
        transformer=transformer,
        config=config,
        tokenizer=find_tokenizer(transformer),
        context=_context(path, settings, later["pooling"]),
        query_token_type=whole_number(settings, "query_token_type", path, 0),
        max_tokens=static_tokens(config) if static else _max_tokens(transformer, config, limits),
        lower_case=bool(limits.get("do_lower_case")),
        prompts=read_prompts(path, sentence_settings),
        truncate_dim=None
        if sentence_settings.get("truncate_dim") is None
        else whole_number(sentence_settings, "truncate_dim", path, minimum=1),
        static=static,
        **later,
    )


def _later_modules(path: Path, modules: Sequence[_Module], config: Mapping[str, Any], transformer: Path) -> dict[str, Any]:
    """Return the modules after the token encoder as fields of EncoderFolder. Raises ModelError for unsupported ones."""
    fields: dict[str, Any] = {"pooling": "mean", "pool_prompt": True, "attention": None, "dense": (), "normalise": False}
    for place, module in enumerate(modules):
        kind, folder = _class_name(module), module[1]
        if kind in ("Pooling", "AttentionPooling") and place:
            raise ModelError(f"{path}: the module {module[0]} is supported only after the first module")
        if kind == "Pooling":
            fields["pooling"], fields["pool_prompt"] = read_pooling(folder)
        elif kind == "AttentionPooling":
            fields["pooling"], fields["attention"] = "attention", read_attention(folder, hidden_size(config, transformer))
        elif kind == "Dense":
            fields["dense"] = (*fields["dense"], read_layer(folder, unit_input=fields["normalise"]))
            fields["normalise"] = False
        elif kind == "Normalize":
            fields["normalise"] = True
        elif kind != "Dropout":
            raise ModelError(f"{path}: the module {module[0]} is not supported; supported after the first: {_LATER}")
    return fields


def _limits(transformer: Path) -> dict[str, Any]:
    """Return the settings of a Transformer module: ``max_seq_length`` and ``do_lower_case``."""
    file = next((transformer / name for name in _LIMITS if (transformer / name).is_file()), None)
    limits: dict[str, Any] = {} if file is None else read_json_file(file)
    return limits


def _max_tokens(transformer: Path, config: Mapping[str, Any], limits: Mapping[str, Any]) -> int:
    positions = input_positions(config, transformer)
    if limits.get("max_seq_length") is not None:
        return min(whole_number(limits, "max_seq_length", transformer, positions, MIN_TOKENS), positions)
    return min(tokenizer_limit(transformer, positions), positions)


def _context(path: Path, settings: dict[str, Any], pooling: str) -> Context:
    averages = pooling in ("mean", "attention")
    context = settings.get("context") or ("late_chunking" if averages else "none")
    if context not in get_args(Context) or (context == "late_chunking" and not averages):
        raise ModelError(f"{path}: the context {context!r} is not supported with {pooling} pooling")
    return cast(Context, context)
