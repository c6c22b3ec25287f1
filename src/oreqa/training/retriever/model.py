"""A dual encoder with training-only companions: a cross-encoder that teaches it, or text decoders."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import PreTrainedConfig
from transformers.activations import ACT2FN

from oreqa.files import write_json
from oreqa.models.encoder.module import DualEncoder, Tower
from oreqa.models.names import CROSS
from oreqa.training.retriever.variational import VariationalDecoders

_KIND = "cross-encoder of an alignment"
"""The kind stored in a saved cross-encoder."""

HEADS = 12
"""Attention heads, or fewer if the width is not a multiple."""


def _setting(config: PreTrainedConfig, *names: str, default: Any = None) -> Any:
    """Return a setting under its architecture's name."""
    return next((getattr(config, name) for name in names if hasattr(config, name)), default)


class CrossAttention(nn.Module):  # type: ignore[misc]
    """Refines the states of one text by the tokens of another (Wang et al. 2021, section 3.3, Eq. 2 to 4).

    As printed, the other text's tokens are the queries, and the text's own are keys and values: the result has a row for
    each token of the other.
    """

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__()
        width, inner = config.hidden_size, _setting(config, "intermediate_size", "hidden_dim")
        self.heads = next(heads for heads in range(HEADS, 0, -1) if width % heads == 0)
        self.query, self.key, self.value, self.output = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.inner, self.outer = nn.Linear(width, inner), nn.Linear(inner, width)
        self.activation = ACT2FN[_setting(config, "hidden_act", "activation", "hidden_activation")]
        self.norm = nn.LayerNorm(width, eps=_setting(config, "layer_norm_eps", "norm_eps", default=1e-12))
        self.dropout = nn.Dropout(_setting(config, "hidden_dropout_prob", "dropout", "mlp_dropout"))

    def forward(self, states: Tensor, is_token: Tensor, others: Tensor) -> Tensor:
        """Return ``LayerNorm(H' + FFN(H'))``, ``[B, M, width]``.

        ``states`` ``[B, N, width]`` are the text's; ``is_token`` (bool, ``[B, N]``) excludes padding; ``others`` ``[B,
        M, width]`` are the other text's.
        """
        query, key, value = (
            layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2)
            for layer, x in ((self.query, others), (self.key, states), (self.value, states))
        )
        attended = nn.functional.scaled_dot_product_attention(query, key, value, is_token[:, None, None])
        refined = self.output(attended.transpose(1, 2).flatten(2))
        return self.norm(refined + self.dropout(self.outer(self.activation(self.inner(refined)))))


class CrossSide(nn.Module):  # type: ignore[misc]
    """A separate encoder for the questions and answers of a batch, whose tokens then attend to each other's."""

    def __init__(self, config: PreTrainedConfig, normalise: bool) -> None:
        super().__init__()
        self.tower = Tower(config)
        self.attention = CrossAttention(config)
        self.normalise = normalise

    def forward(self, questions: dict[str, Tensor], passages: dict[str, Tensor], rows: Tensor, outputs: Tensor) -> Tensor:
        """Return the vectors of ``B`` questions and of their answers, ``[B, 2, D]``.

        ``questions`` and ``passages`` are the dual encoder's inputs; the answer to each question is the ``outputs``'th
        (``[B]``) of the passage in its row (``rows``, ``[B]``).
        """
        states, pool = self._tokens(questions, torch.arange(len(rows), device=rows.device), torch.zeros_like(rows))
        answer_states, answer_pool = self._tokens(passages, rows, outputs)
        question_attention = self.attention(states, pool > 0, answer_states)
        answer_attention = self.attention(answer_states, answer_pool > 0, states)
        vectors = torch.cat(
            [
                self.tower.pooled(question_attention, answer_pool[:, None]),
                self.tower.pooled(answer_attention, pool[:, None]),
            ],
            1,
        ).float()
        return nn.functional.normalize(vectors, dim=-1) if self.normalise else vectors

    def _tokens(self, inputs: dict[str, Tensor], rows: Tensor, outputs: Tensor) -> tuple[Tensor, Tensor]:
        """Return the states of the tokens that belong to an output of a row, ``[B, N, width]``, and their pooling weights.

        The weights, ``[B, N]``, are 0 for padding.
        """
        states = self.tower.states(inputs["input_ids"], inputs["attention_mask"], inputs["token_type_ids"])
        pool = inputs["pool"][rows, outputs]
        longest = int((pool > 0).sum(1).max())
        places = (pool > 0).to(torch.int8).argsort(dim=1, descending=True, stable=True)[:, :longest]
        tokens = states[rows[:, None], places]
        return tokens, pool.gather(1, places)


def start_cross(model: DualEncoder) -> CrossSide:
    """Return a cross-encoder that starts from the dual encoder's passage encoder, with new attention."""
    cross = CrossSide(model.config, model.normalise)
    cross.tower.load_state_dict(model.passages.state_dict())
    for name, weight in model.passages.named_parameters():
        cross.tower.get_parameter(name).requires_grad_(weight.requires_grad)
    std = model.config.initializer_range
    for layer in cross.attention.modules():
        if isinstance(layer, nn.Linear):
            nn.init.normal_(layer.weight, std=std)
            if layer.bias is not None:
                nn.init.zeros_(layer.bias)
    return cross


def save_cross(cross: CrossSide, out: Path) -> None:
    """Write the cross-encoder's weights and settings into the folder ``cross`` of the model's."""
    folder = out / CROSS
    folder.mkdir(exist_ok=True)
    save_file(
        {name: value.detach().contiguous() for name, value in cross.state_dict().items()}, folder / "model.safetensors"
    )
    config = cross.tower.backbone.config.to_dict()
    write_json(folder / "config.json", config | {"oreqa": {**config["oreqa"], "kind": _KIND}})


class RetrieverModel(nn.Module):  # type: ignore[misc]
    """What a retriever's training trains. ``batches`` counts the batches so far; it is saved with every checkpoint."""

    def __init__(
        self, encoder: DualEncoder, cross: CrossSide | None = None, decoders: VariationalDecoders | None = None
    ) -> None:
        super().__init__()
        self.encoder, self.cross, self.decoders = encoder, cross, decoders
        self.batches: Tensor
        self.register_buffer("batches", torch.zeros((), dtype=torch.long))

    def forward(self, **inputs: Any) -> Tensor:
        """Return the dual encoder's vectors; with ``passages`` among the inputs, the cross-encoder's vectors of pairs."""
        module = self.encoder if self.cross is None or "passages" not in inputs else self.cross
        vectors: Tensor = module(**inputs)
        return vectors


def start_model(
    encoder: DualEncoder, *, with_cross: bool = False, decoders: Literal["dual", "cross"] | None = None
) -> RetrieverModel:
    """Return the encoder with new companions: a cross-encoder, or ``decoders`` of a kind of ``VariationalDecoders``."""
    text_decoders = None
    if decoders is not None:
        words = encoder.passages.backbone.get_input_embeddings()
        text_decoders = VariationalDecoders(encoder.width, words.embedding_dim, decoders, unit_length=encoder.normalise)
    return RetrieverModel(encoder, start_cross(encoder) if with_cross else None, text_decoders)
