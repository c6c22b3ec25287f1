"""The trainable dual encoder: one BERT for questions and answers or one for each, with pooling, projection, normalisation.

It is saved as a folder that sentence-transformers loads; with input types (below), through ``QuestionTransformer``; two
encoders as its ``Router``.

The learned input-type embedding of Yang et al. (2021, section 4.2) is a row of BERT's token-type table: types 0 and 1 are
the two segments of an answer, ``QUERY_TOKEN_TYPE`` is the single segment of a question. Segment and input type are thus
one learned vector, added to every token.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor, nn
from transformers import BertConfig, BertModel, BertPreTrainedModel

from oreqa.errors import ModelError
from oreqa.files import write_json
from oreqa.models.encoder.folder import PASSAGES, QUESTIONS, ROUTER, EncoderFolder, load_dense, read_encoder_folder
from oreqa.models.fitted import encoder_fitted, write_fitted
from oreqa.models.folders import FITTED
from oreqa.models.graph.cache import cached_fingerprint

QUERY_TOKEN_TYPE = 2
"""The token type of a question's tokens, in models with input types."""


class DualEncoder(BertPreTrainedModel):  # type: ignore[misc]
    """Encodes questions and answers. ``config.oreqa`` has the context, the projection's width and, for an encoder of each
    (Xiong et al. 2021, section 2.1), ``towers`` = "separate": two of one shape, which share nothing; for vectors of any
    length, ``similarity`` = "dot"."""

    config_class = BertConfig

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        settings = getattr(config, "oreqa", None) or {}
        width, separate = settings.get("projection"), settings.get("towers") == "separate"
        self.bert = BertModel(config, add_pooling_layer=False)
        self.projection = nn.Linear(config.hidden_size, width) if width else None
        self.question_bert = BertModel(config, add_pooling_layer=False) if separate else None
        self.question_projection = nn.Linear(config.hidden_size, width) if width and separate else None
        self.normalise = settings.get("similarity") != "dot"
        self.post_init()

    @property
    def width(self) -> int:
        """Dimensions of the vectors."""
        return int(self.config.hidden_size if self.projection is None else self.projection.out_features)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, pool: Tensor, questions: bool = False
    ) -> Tensor:
        """Return vectors ``[N, outputs, D]`` of inputs ``[N, T]``; ``pool`` are pooling weights ``[N, outputs, T]``.

        ``questions`` says that the inputs are questions, which may have an encoder of their own.
        """
        bert, projection = self.bert, self.projection
        if questions and self.question_bert is not None:
            bert, projection = self.question_bert, self.question_projection
        hidden: Tensor = bert(input_ids, attention_mask, token_type_ids).last_hidden_state
        vectors = torch.bmm(pool.to(hidden.dtype), hidden)
        if projection is not None:
            vectors = projection(vectors)
        return nn.functional.normalize(vectors.float(), dim=-1) if self.normalise else vectors.float()


def start_from(backbone: Path, settings: dict[str, Any], dropout: float | None) -> DualEncoder:
    """Return a dual encoder initialised from a BERT-like folder. ``settings`` become ``config.oreqa``.

    Two encoders begin as the backbone's two, or both as its one. The backbone's projection is kept if it has the width that
    is asked for. The question's token type starts as a copy of type 0, so that the untrained model computes what the
    backbone does. Raises ModelError if the backbone has two encoders, and one is asked for or their shapes differ, or if its
    projection of that width is no single linear layer.
    """
    passages = read_encoder_folder(backbone)
    questions = passages.questions or passages
    config = BertConfig.from_pretrained(passages.transformer)
    config.oreqa = settings
    if dropout is not None:
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout
    model = DualEncoder(config)
    if passages.questions and model.question_bert is None:
        raise ModelError(f"{backbone}: it has an encoder of questions and one of passages; set towers=separate")
    if unlike := [key for key in _SHAPE if passages.config.get(key) != questions.config.get(key)]:
        raise ModelError(f"{backbone}: its two encoders differ in {', '.join(unlike)}; only two of one shape are trained")
    model.bert = _load_bert(passages, config)
    _copy_projection(passages, model.projection)
    if model.question_bert is not None:
        model.question_bert = _load_bert(questions, config)
        _copy_projection(questions, model.question_projection)
    if settings["query_token_type"]:
        types = model.bert.embeddings.token_type_embeddings
        extended = nn.Embedding(QUERY_TOKEN_TYPE + 1, config.hidden_size)
        with torch.no_grad():
            extended.weight[: types.num_embeddings] = types.weight
            extended.weight[types.num_embeddings :] = types.weight[0]
        model.bert.embeddings.token_type_embeddings = extended
        config.type_vocab_size = model.config.type_vocab_size = QUERY_TOKEN_TYPE + 1
    return model


_SHAPE = (
    "hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size", "hidden_act", "vocab_size",
    "max_position_embeddings", "type_vocab_size",
)  # fmt: skip
"""Settings that two encoders of one shape have in common."""


def _load_bert(folder: EncoderFolder, config: BertConfig) -> BertModel:
    return BertModel.from_pretrained(folder.transformer, config=config, add_pooling_layer=False)


def _copy_projection(folder: EncoderFolder, projection: nn.Linear | None) -> None:
    if projection is None or not folder.dense or folder.width != projection.out_features:
        return
    if len(folder.dense) > 1 or folder.dense[0].activation != "identity":
        raise ModelError(
            f"{folder.path}: its projection to {projection.out_features} dimensions is no single linear layer; "
            "set projection to another width, for a new layer"
        )
    weight, bias = load_dense(folder.dense[0])
    with torch.no_grad():
        projection.weight.copy_(torch.from_numpy(weight))
        projection.bias.copy_(torch.zeros_like(projection.bias) if bias is None else torch.from_numpy(bias))


class QuestionTransformer(Transformer):
    """A sentence-transformers Transformer that gives questions (``encode_query``) the token type QUERY_TOKEN_TYPE."""

    def preprocess(self, inputs: Sequence[Any], *arguments: Any, **kwargs: Any) -> dict[str, Any]:
        """Tokenise texts; with ``task`` "query", as questions."""
        features: dict[str, Any] = super().preprocess(inputs, *arguments, **kwargs)
        if kwargs.get("task") == "query":
            features["token_type_ids"] = torch.full_like(features["input_ids"], QUERY_TOKEN_TYPE)
        return features


def save_encoder(model: DualEncoder, origin: EncoderFolder, pooling: str, max_tokens: int, out: Path) -> None:
    """Write a trained dual encoder as a sentence-transformers folder.

    The tokenizers and the fitted weights of the retrieval scores are those of ``origin``.
    """
    out.mkdir(parents=True, exist_ok=True)
    if model.question_bert is None:
        modules = _save_tower(out, "", model.bert, model.projection, model.config, origin, pooling, max_tokens)
        rows = list(modules.items())
    else:
        towers = {
            PASSAGES: (model.bert, model.projection, model.config, origin),
            QUESTIONS: (model.question_bert, model.question_projection, model.config, origin.questions or origin),
        }
        saved = {route: _save_tower(out, f"{route}_", *tower, pooling, max_tokens) for route, tower in towers.items()}
        router = {
            "types": {name: kind for modules in saved.values() for name, kind in modules.items()},
            "structure": {route: list(modules) for route, modules in saved.items()},
            "parameters": {"default_route": PASSAGES, "allow_empty_key": True},
        }
        write_json(out / ROUTER, router)
        rows = [("", f"{_MODULES}.Router")]
    if model.normalise:
        rows.append((f"{len(rows)}_Normalize", f"{_MODULES}.Normalize"))
    else:
        write_json(out / "config_sentence_transformers.json", {"similarity_fn_name": "dot"})
    write_json(
        out / "modules.json",
        [{"idx": i, "name": str(i), "path": name, "type": kind} for i, (name, kind) in enumerate(rows)],
    )
    # Cosines keep their scale in training, so that the weights against BM25 still fit; a calibration does not.
    fusion = encoder_fitted(str(origin.path), cached_fingerprint(origin.path)).fusion
    if fusion and model.normalise:
        write_fitted(out / FITTED, fusion=dict(fusion))


_MODULES = "sentence_transformers.models"


def _save_tower(
    out: Path,
    prefix: str,
    bert: BertModel,
    projection: nn.Linear | None,
    config: BertConfig,
    origin: EncoderFolder,
    pooling: str,
    max_tokens: int,
) -> dict[str, str]:
    """Write one encoder's modules into ``out``, in folders that begin with ``prefix``: their names, and their classes.

    Without a prefix, BERT lies in ``out`` itself.
    """
    transformer = f"{prefix}0_Transformer" if prefix else ""
    names = {transformer: f"{_MODULES}.Transformer", f"{prefix}1_Pooling": f"{_MODULES}.Pooling"}
    if config.oreqa["query_token_type"]:
        names[transformer] = "oreqa.models.encoder.module.QuestionTransformer"
    folder, pooling_folder = (out / name for name in names)
    folder.mkdir(exist_ok=True)
    _save_weights(bert, folder)
    write_json(folder / "config.json", config.to_dict() | {"architectures": ["BertModel"]})
    write_json(folder / "sentence_bert_config.json", {"max_seq_length": max_tokens, "do_lower_case": origin.lower_case})
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        if (origin.transformer / name).is_file():
            shutil.copyfile(origin.transformer / name, folder / name)
    pooling_folder.mkdir(exist_ok=True)
    modes = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token"}
    chosen = {mode: name == pooling for name, mode in modes.items()}
    write_json(pooling_folder / "config.json", {"word_embedding_dimension": config.hidden_size, **chosen})
    if projection is not None:
        dense = out / f"{prefix}2_Dense"
        names[dense.name] = f"{_MODULES}.Dense"
        dense.mkdir(exist_ok=True)
        settings = {"in_features": projection.in_features, "out_features": projection.out_features, "bias": True}
        settings["activation_function"] = "torch.nn.modules.linear.Identity"
        write_json(dense / "config.json", settings)
        _save_weights(projection, dense, "linear.")
    return names


def _save_weights(module: nn.Module, folder: Path, prefix: str = "") -> None:
    state = {f"{prefix}{name}": value.detach().contiguous() for name, value in module.state_dict().items()}
    save_file(state, folder / "model.safetensors")
