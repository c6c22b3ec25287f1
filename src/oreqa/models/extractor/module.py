"""The trainable extractor: an encoder of any architecture with a low-rank biaffine head over pairs of tokens.

A span from token i to token j scores ``q_i . k_j / sqrt(r) + a_i + b_j``: the ends are judged together, because without a
question the best start and the best end often belong to different answers. ``qa_start`` outputs q and a, ``qa_end`` k and
b.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from transformers import PreTrainedConfig

from oreqa.models.extractor.inputs import ExtractorFolder
from oreqa.models.graph.module import HeadedModel
from oreqa.models.graph.torch import TorchSession, load_module
from oreqa.models.weights import load_weights

SPAN_WIDTH = 64
"""r, the width of the vectors q and k."""


class ExtractorModel(HeadedModel):
    """Scores each pair of tokens as the first and the last of a span that people ask about."""

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__(config)
        self.qa_start = nn.Linear(config.hidden_size, SPAN_WIDTH + 1)
        self.qa_end = nn.Linear(config.hidden_size, SPAN_WIDTH + 1)
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the scores ``[N, T, T]`` of the spans from each token to each token for inputs ``[N, T]``."""
        hidden = self.states(input_ids, attention_mask, token_type_ids)
        start, end = self.qa_start(hidden), self.qa_end(hidden)
        pairs = start[..., :-1] @ end[..., :-1].transpose(1, 2) / SPAN_WIDTH**0.5
        scores: Tensor = pairs + start[..., -1:] + end[..., -1:].transpose(1, 2)
        return scores


def banded(scores: Tensor, width: int) -> Tensor:
    """Return ``[N, T, width]``: the scores of the spans from each token i to the tokens i, i + 1, ... i + width - 1.

    ``scores`` are ``[N, T, T]``. Where a span would pass the last token, the score is that of another span: mask it.
    """
    tokens = scores.shape[1]
    ends = torch.arange(tokens, device=scores.device)[:, None] + torch.arange(width, device=scores.device)
    return scores.gather(2, ends.clamp(max=tokens - 1).expand(len(scores), -1, -1))


def open_session(folder: ExtractorFolder, precision: str | None, device: str = "cuda") -> TorchSession:
    """Return a session with the same output as OpenVINO's, on ``device`` (always in f32 if that is the CPU)."""
    return TorchSession(load_module(ExtractorModel, folder, load_weights(folder.path), device, precision), device)
