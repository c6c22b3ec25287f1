"""MPNet as a reader, with fused attention and low-rank differences from its base.

The encoder equals transformers' MPNetModel; its checkpoint's names are mapped by ``checkpoint_names``. Attention runs in one
kernel, with the relative position bias (Song et al. 2020, 2004.09297) as part of its mask.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping

import torch
from torch import Tensor, nn
from torch.nn import functional

HEADS, BUCKETS, FARTHEST, PADDING = 12, 32, 128, 1
LINEAR = {
    "query": "attention.attn.q",
    "key": "attention.attn.k",
    "value": "attention.attn.v",
    "output": "attention.attn.o",
    "up": "intermediate.dense",
    "down": "output.dense",
}
NORMS = {"attention_norm": "attention.LayerNorm", "output_norm": "output.LayerNorm"}


class Linear(nn.Module):  # type: ignore[misc]
    """A linear layer, and a low-rank difference ``b @ a`` (``[out, rank]``, ``[rank, in]``) once it is given one."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.empty(outputs, inputs)), nn.Parameter(torch.empty(outputs))
        self.a: nn.Parameter | None = None
        self.b: nn.Parameter | None = None
        self.squares: Tensor | None = None  # sums of the inputs' squares, while they are measured

    def forward(self, x: Tensor) -> Tensor:
        if self.squares is not None:
            self.squares += x.detach().float().square().flatten(0, -2).sum(0)
        weight = self.weight if self.a is None or self.b is None else self.weight + (self.b @ self.a).to(self.weight.dtype)
        return functional.linear(x, weight, self.bias)


class Layer(nn.Module):  # type: ignore[misc]
    def __init__(self, width: int, inner: int, dropout: float) -> None:
        super().__init__()
        self.query, self.key, self.value, self.output = (Linear(width, width) for _ in range(4))
        self.up, self.down = Linear(width, inner), Linear(inner, width)
        self.attention_norm, self.output_norm = nn.LayerNorm(width, 1e-5), nn.LayerNorm(width, 1e-5)
        self.dropout = dropout

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        rows, tokens, width = x.shape
        query, key, value = (
            linear(x).view(rows, tokens, HEADS, -1).transpose(1, 2) for linear in (self.query, self.key, self.value)
        )
        attended = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask)
        attended = attended.transpose(1, 2).reshape(rows, tokens, width)
        x = self.attention_norm(x + functional.dropout(self.output(attended), self.dropout, self.training))
        return self.output_norm(x + functional.dropout(self.down(functional.gelu(self.up(x))), self.dropout, self.training))


class MPNetReader(nn.Module):  # type: ignore[misc]
    """MPNet with the reader's heads; its embeddings and position bias stay as they are."""

    def __init__(self, state: Mapping[str, Tensor], dropout: float) -> None:
        super().__init__()
        words, width = state["embeddings.word_embeddings.weight"].shape
        positions = len(state["embeddings.position_embeddings.weight"])
        layers = 1 + max(int(name.split(".")[2]) for name in state if name.startswith("encoder.layer."))
        self.words, self.positions, self.norm = (
            nn.Embedding(words, width),
            nn.Embedding(positions, width),
            nn.LayerNorm(width, 1e-5),
        )
        self.bias = nn.Embedding(BUCKETS, HEADS)
        inner = len(state["encoder.layer.0.intermediate.dense.bias"])
        self.layers = nn.ModuleList([Layer(width, inner, dropout) for _ in range(layers)])
        self.qa_outputs, self.qa_classifier = nn.Linear(width, 2), nn.Linear(width, 1)
        for head in (self.qa_outputs, self.qa_classifier):
            nn.init.normal_(head.weight, std=0.02)
            nn.init.zeros_(head.bias)
        self.dropout = dropout
        with torch.no_grad():
            for name, parameter in self.named_parameters():
                if not name.startswith("qa_"):
                    parameter.copy_(state[checkpoint_name(name)])
        for frozen in (self.words, self.positions, self.norm, self.bias):
            frozen.requires_grad_(False)

    def forward(self, ids: Tensor, mask: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return start and end logits ``[N, T]`` and selection logits ``[N]`` of ids and mask (bool) ``[N, T]``."""
        places = torch.arange(ids.shape[1], device=ids.device)
        x = functional.dropout(
            self.norm(self.words(ids) + self.positions(places + PADDING + 1)), self.dropout, self.training
        )
        kind = x.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else x.dtype
        hidden = torch.zeros(len(ids), 1, 1, ids.shape[1], dtype=dtype, device=ids.device).masked_fill_(
            ~mask[:, None, None], -3e4
        )
        bias = self.bias(position_bucket(places[None] - places[:, None])).permute(2, 0, 1)[None]
        for layer in self.layers:
            x = layer(x, hidden + bias.to(dtype))
        spans = self.qa_outputs(x)
        return spans[..., 0].float(), spans[..., 1].float(), self.qa_classifier(x[:, 0])[..., 0].float()

    def linear_layers(self) -> Iterator[tuple[str, Linear]]:
        """Yield the layers' linear maps with their names in a checkpoint."""
        for number, layer in enumerate(self.layers):
            for ours, theirs in LINEAR.items():
                yield f"encoder.layer.{number}.{theirs}", getattr(layer, ours)


def position_bucket(distance: Tensor) -> Tensor:
    """The bucket of a relative position: one each for near ones, logarithmic ones up to ``FARTHEST``; half for each side."""
    half, exact = BUCKETS // 2, BUCKETS // 4
    size = distance.abs()
    logarithm = torch.log(size.float().clamp(min=1) / exact) / math.log(FARTHEST / exact)
    far = (exact + (logarithm * (half - exact)).long()).clamp(max=half - 1)
    return torch.where(distance > 0, half, 0) + torch.where(size < exact, size, far)


def checkpoint_name(name: str) -> str:
    """The name of a parameter in transformers' checkpoint."""
    outside = {"words": "word_embeddings", "positions": "position_embeddings", "norm": "LayerNorm"}
    first, rest = name.split(".", 1)
    if first == "bias":
        return f"encoder.relative_attention_bias.{rest}"
    if first != "layers":
        return f"embeddings.{outside[first]}.{rest}" if first in outside else name
    number, module, kind = rest.split(".")
    return f"encoder.layer.{number}.{ {**LINEAR, **NORMS}[module] }.{kind}".replace(" ", "")
