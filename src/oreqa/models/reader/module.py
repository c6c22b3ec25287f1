"""The trainable reader: an encoder of any architecture with heads for start, end and passage selection.

Its tensor names are those of transformers' classes for question answering (``bert.*``, ``qa_outputs``), which can load it
(but ModernBERT's, which has another head). The selection head is ``qa_classifier``, as in DPR's reader.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForQuestionAnswering, PreTrainedConfig

from oreqa.models.graph.module import HeadedModel, encode_tokens
from oreqa.models.graph.torch import TorchSession, load_module
from oreqa.models.reader.inputs import ReaderFolder
from oreqa.models.weights import load_weights


class ReaderModel(HeadedModel):
    """Scores each token as the start and the end of the answer, and the passage as containing it."""

    def __init__(self, config: PreTrainedConfig) -> None:
        config.num_labels = 2  # start and end: transformers' classes take the width of their head from here
        super().__init__(config)
        self.qa_outputs = nn.Linear(config.hidden_size, 2)
        self.qa_classifier = nn.Linear(config.hidden_size, 1)
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return start and end logits ``[N, T]`` and selection logits ``[N]`` (on [CLS]) for inputs ``[N, T]``."""
        hidden = self.states(input_ids, attention_mask, token_type_ids)
        spans = self.qa_outputs(hidden)
        return spans[..., 0], spans[..., 1], self.qa_classifier(hidden[:, 0])[..., 0]


def read_groups(model: nn.Module, batch: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Run the reader on ``[G, P, T]`` inputs, skipping passages that are only padding.

    Returns start and end logits ``[G, P, T]`` and selection logits ``[G, P]``; those of skipped passages are 0.
    """
    real = batch["attention_mask"].any(-1)
    inputs: dict[str, Any] = {name: batch[name][real] for name in ("input_ids", "attention_mask", "token_type_ids")}
    start, end, selection = model(**inputs)
    return tuple(_spread(logits, real) for logits in (start, end, selection))


def _spread(logits: Tensor, real: Tensor) -> Tensor:
    out = torch.zeros((*real.shape, *logits.shape[1:]), dtype=logits.dtype, device=logits.device)
    out[real] = logits
    return out


def open_session(folder: ReaderFolder, precision: str | None, device: str = "cuda") -> TorchSession:
    """Return a session with the same outputs as OpenVINO's, on ``device`` (always in f32 if that is the CPU)."""
    weights = load_weights(folder.path)
    if "qa_classifier.weight" in weights:
        return TorchSession(load_module(ReaderModel, folder, weights, device, precision), device)
    model = load_module(AutoModelForQuestionAnswering.from_config, folder, weights, device, precision)
    return TorchSession(_spans_alone(model), device)


def _spans_alone(model: Any) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    """A reader that was not trained to select passages: transformers' own class."""

    def read(input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, Tensor]:
        logits = encode_tokens(model, input_ids, attention_mask, token_type_ids)
        return logits.start_logits, logits.end_logits

    return read
