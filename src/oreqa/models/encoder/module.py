"""The trainable dual encoder: one BERT for questions and answers, with pooling, projection and normalisation.

It is saved as a folder that sentence-transformers loads; with input types (below), through ``QuestionTransformer``.

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

from oreqa.files import write_json
from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.fitted import encoder_fitted, write_fitted
from oreqa.models.folders import FITTED
from oreqa.models.graph.cache import cached_fingerprint

QUERY_TOKEN_TYPE = 2
"""The token type of a question's tokens, in models with input types."""


class DualEncoder(BertPreTrainedModel):  # type: ignore[misc]
    """Encodes questions and answers. ``config.oreqa`` has the context and the projection's width."""

    config_class = BertConfig

    def __init__(self, config: BertConfig) -> None:
        super().__init__(config)
        self.bert = BertModel(config, add_pooling_layer=False)
        width = (getattr(config, "oreqa", None) or {}).get("projection")
        self.projection = nn.Linear(config.hidden_size, width) if width else None
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, pool: Tensor) -> Tensor:
        """Return unit vectors ``[N, outputs, D]`` of inputs ``[N, T]``; ``pool`` are pooling weights ``[N, outputs, T]``."""
        hidden: Tensor = self.bert(input_ids, attention_mask, token_type_ids).last_hidden_state
        vectors = torch.bmm(pool.to(hidden.dtype), hidden)
        if self.projection is not None:
            vectors = self.projection(vectors)
        return nn.functional.normalize(vectors.float(), dim=-1)


def start_from(backbone: Path, settings: dict[str, Any], dropout: float | None) -> DualEncoder:
    """Return a dual encoder initialised from a BERT-like folder. ``settings`` become ``config.oreqa``.

    The question's token type starts as a copy of type 0, so that the untrained model computes what the backbone does.
    """
    config = BertConfig.from_pretrained(backbone)
    config.oreqa = settings
    if dropout is not None:
        config.hidden_dropout_prob = config.attention_probs_dropout_prob = dropout
    model = DualEncoder(config)
    model.bert = BertModel.from_pretrained(backbone, config=config, add_pooling_layer=False)
    if settings["query_token_type"]:
        types = model.bert.embeddings.token_type_embeddings
        extended = nn.Embedding(QUERY_TOKEN_TYPE + 1, config.hidden_size)
        with torch.no_grad():
            extended.weight[: types.num_embeddings] = types.weight
            extended.weight[types.num_embeddings :] = types.weight[0]
        model.bert.embeddings.token_type_embeddings = extended
        config.type_vocab_size = model.config.type_vocab_size = QUERY_TOKEN_TYPE + 1
    return model


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

    The tokenizer and the fitted weights of the retrieval scores are those of ``origin``.
    """
    out.mkdir(parents=True, exist_ok=True)
    state = {name: value.detach().contiguous() for name, value in model.state_dict().items()}
    save_file({name[5:]: value for name, value in state.items() if name.startswith("bert.")}, out / "model.safetensors")
    config = model.config.to_dict() | {"architectures": ["BertModel"]}
    write_json(out / "config.json", config)
    has_input_types = bool(model.config.oreqa["query_token_type"])
    first = (
        "oreqa.models.encoder.module.QuestionTransformer" if has_input_types else "sentence_transformers.models.Transformer"
    )
    modules = [first, "sentence_transformers.models.Pooling"]
    if model.projection is not None:
        modules.append("sentence_transformers.models.Dense")
        (out / "2_Dense").mkdir(exist_ok=True)
        width = model.projection.out_features
        settings = {"in_features": model.config.hidden_size, "out_features": width, "bias": True}
        settings["activation_function"] = "torch.nn.modules.linear.Identity"
        write_json(out / "2_Dense" / "config.json", settings)
        layer = {"linear.weight": state["projection.weight"], "linear.bias": state["projection.bias"]}
        save_file(layer, out / "2_Dense" / "model.safetensors")
    modules.append("sentence_transformers.models.Normalize")
    names = [module.rsplit(".", 1)[-1] for module in modules]
    rows = [
        {"idx": i, "name": str(i), "path": f"{i}_{name}" if i else "", "type": module}
        for i, (name, module) in enumerate(zip(names, modules, strict=True))
    ]
    write_json(out / "modules.json", rows)
    (out / "1_Pooling").mkdir(exist_ok=True)
    modes = {"mean": "pooling_mode_mean_tokens", "cls": "pooling_mode_cls_token"}
    chosen = {mode: name == pooling for name, mode in modes.items()}
    write_json(out / "1_Pooling" / "config.json", {"word_embedding_dimension": model.config.hidden_size, **chosen})
    write_json(out / "sentence_bert_config.json", {"max_seq_length": max_tokens, "do_lower_case": origin.lower_case})
    # Cosines keep their scale in training, so that the weights against BM25 still fit; a calibration does not.
    if fusion := encoder_fitted(str(origin.path), cached_fingerprint(origin.path)).fusion:
        write_fitted(out / FITTED, fusion=dict(fusion))
    for name in ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "special_tokens_map.json"):
        if (origin.path / name).is_file():
            shutil.copyfile(origin.path / name, out / name)
