"""The trainable reader: an encoder of any architecture with heads for start, end, passage selection and blocks.

Its tensor names are those of transformers' classes for question answering (``bert.*``, ``qa_outputs``), which can load it
(except ModernBERT's, which has another head). The selection head is ``qa_classifier``, as in DPR's reader; ``qa_blocks``
scores whether each token belongs to the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from transformers import AutoModelForQuestionAnswering, PreTrainedConfig

from oreqa.models.graph.module import HeadedModel, encode_tokens
from oreqa.models.graph.torch import TorchSession, load_module
from oreqa.models.reader.blocks import knows_blocks
from oreqa.models.reader.inputs import ReaderFolder
from oreqa.models.weights import load_weights


class ReaderModel(HeadedModel):
    """Scores each token as the start and the end of the answer, and the passage as containing it.

    With ``blocks``, it also scores each token as a part of the answer.
    """

    def __init__(self, config: PreTrainedConfig, blocks: bool = False) -> None:
        config.num_labels = 2  # start and end: transformers' classes take the width of their head from here
        super().__init__(config)
        self.qa_outputs = nn.Linear(config.hidden_size, 2)
        self.qa_classifier = nn.Linear(config.hidden_size, 1)
        self.qa_blocks = nn.Linear(config.hidden_size, 1) if blocks else None
        self.post_init()

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, ...]:
        """Return start and end logits ``[N, T]`` and selection logits ``[N]`` (on [CLS]) for inputs ``[N, T]``.

        With ``blocks``, also the tokens' log-odds ``[N, T]``.
        """
        hidden = self.states(input_ids, attention_mask, token_type_ids)
        spans = self.qa_outputs(hidden)
        outputs = spans[..., 0], spans[..., 1], self.qa_classifier(hidden[:, 0])[..., 0]
        return outputs if self.qa_blocks is None else (*outputs, self.qa_blocks(hidden)[..., 0])


def read_groups(model: nn.Module, batch: dict[str, Tensor]) -> tuple[Tensor, ...]:
    """Run the reader on ``[G, P, T]`` inputs, skipping passages that are only padding.

    Returns its outputs: start and end logits ``[G, P, T]``, selection logits ``[G, P]`` and so on, 0 for skipped passages.
    """
    real = batch["attention_mask"].any(-1)
    inputs: dict[str, Any] = {name: batch[name][real] for name in ("input_ids", "attention_mask", "token_type_ids")}
    return tuple(_spread(logits, real) for logits in model(**inputs))


def _spread(logits: Tensor, real: Tensor) -> Tensor:
    out = torch.zeros((*real.shape, *logits.shape[1:]), dtype=logits.dtype, device=logits.device)
    out[real] = logits
    return out


def open_session(folder: ReaderFolder, precision: str | None, device: str = "cuda") -> TorchSession:
    """Return a session with the same outputs as OpenVINO's, on ``device`` (always in f32 if that is the CPU)."""
    weights = load_weights(folder.path)
    if "qa_classifier.weight" in weights:
        kind = partial(ReaderModel, blocks=knows_blocks(weights))
        return TorchSession(load_module(kind, folder, weights, device, precision), device)
    model = load_module(AutoModelForQuestionAnswering.from_config, folder, weights, device, precision)
    return TorchSession(_spans_alone(model), device)


def _spans_alone(model: Any) -> Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]:
    """Return a reader that was not trained to select passages: transformers' own class."""

    def read(input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> tuple[Tensor, Tensor]:
        logits = encode_tokens(model, input_ids, attention_mask, token_type_ids)
        return logits.start_logits, logits.end_logits

    return read
