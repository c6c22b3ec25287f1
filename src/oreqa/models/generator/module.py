"""Question generators in torch: our own, which is trained here and runs on a GPU, and a BART or T5, which runs on either.

Ours is a single BERT or MPNet with UniLM's prefix mask (Dong et al. 2019), and BERT's language model head.

The prefix (context and answer) sees all of itself; the question sees the prefix and its own preceding tokens. One stack of
layers both reads and writes, so that only the head is new; the output embeddings are the input's. A BERT's tensor names
are those of transformers' BertLMHeadModel, which can load the folder.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor, nn
from transformers import (
    BertConfig,
    BertLMHeadModel,
    DynamicCache,
    EncoderDecoderCache,
    MPNetConfig,
    PreTrainedConfig,
)
from transformers.models.bert.modeling_bert import BertPredictionHeadTransform

from oreqa.arrays import Floats
from oreqa.errors import ModelError, describe
from oreqa.models.generator.inputs import GeneratorFolder
from oreqa.models.generator.seq2seq import Seq2SeqFolder
from oreqa.models.graph.module import HeadedModel
from oreqa.models.graph.torch import load_module, torch_precision
from oreqa.models.names import read_config
from oreqa.models.settings import SEQ2SEQ
from oreqa.models.weights import language_head, load_weights


def prefix_mask(prefixes: Tensor, lengths: Tensor, tokens: int) -> Tensor:
    """Return the additive attention mask ``[N, 1, T, T]`` float32: 0 where row i may see column j, else the lowest number.

    ``prefixes`` and ``lengths`` (``[N]``) are the numbers of tokens of the prefix, and of prefix and question together;
    ``tokens`` is T. The mask is float because transformers' eager attention adds it to the scores: a bool mask would mask
    nothing there.
    """
    place = torch.arange(tokens, device=prefixes.device)
    in_prefix = place < prefixes[:, None, None]
    before = (place <= place[:, None]) & (place < lengths[:, None, None])
    mask = torch.zeros(in_prefix.shape[0], tokens, tokens, device=prefixes.device)
    return mask.masked_fill(~(in_prefix | before), torch.finfo(torch.float32).min)[:, None]


class BertGenerator(BertLMHeadModel):  # type: ignore[misc]
    """Predicts each token of a question from its passage, the answer and the tokens before it."""

    config_class = BertConfig

    def forward(
        self, input_ids: Tensor, prefixes: Tensor, lengths: Tensor, token_type_ids: Tensor, predicts: Tensor
    ) -> Tensor:
        """Return logits ``[P, V]`` of the token after each of the P tokens that ``predicts`` (bool, ``[N, T]``) marks.

        ``input_ids`` and ``token_type_ids`` (1 for the question) are ``[N, T]``; see ``prefix_mask`` for the others.
        """
        mask = prefix_mask(prefixes, lengths, input_ids.shape[1])
        hidden = self.bert(input_ids, mask, token_type_ids, use_cache=False).last_hidden_state
        logits: Tensor = self.cls(hidden[predicts])
        return logits


class MPNetGenerator(HeadedModel):
    """The same with an MPNet, which keeps no keys and values, and with BERT's head."""

    def __init__(self, config: MPNetConfig) -> None:
        super().__init__(config)
        self.cls = nn.Module()
        self.cls.predictions = nn.Module()
        self.cls.predictions.transform = BertPredictionHeadTransform(config)
        self.cls.predictions.bias = nn.Parameter(torch.zeros(config.vocab_size))
        self.post_init()

    def forward(
        self, input_ids: Tensor, prefixes: Tensor, lengths: Tensor, token_type_ids: Tensor, predicts: Tensor
    ) -> Tensor:
        """Implement ``BertGenerator.forward``; the token types are not used."""
        mask = prefix_mask(prefixes, lengths, input_ids.shape[1])
        hidden = self.backbone(input_ids, attention_mask=mask).last_hidden_state[predicts]
        head, words = self.cls.predictions, self.backbone.get_input_embeddings().weight
        return nn.functional.linear(head.transform(hidden), words, head.bias)


def new_generator(config: PreTrainedConfig) -> BertGenerator | MPNetGenerator:
    """Return a random generator of the architecture of ``config``. Raises ModelError for unsupported architectures."""
    if config.model_type not in ("bert", "mpnet"):
        raise ModelError(f"a question generator is a BERT or an MPNet, not a {config.model_type}: begin with another model")
    return BertGenerator(config) if config.model_type == "bert" else MPNetGenerator(config)


def start_head(model: BertGenerator | MPNetGenerator) -> None:
    """Initialise the head that an encoder lacks: its layer is the identity, before GELU and layer norm."""
    dense = model.cls.predictions.transform.dense
    with torch.no_grad():
        nn.init.eye_(dense.weight)
        nn.init.zeros_(dense.bias)


class TorchDecoder:
    """A batch of prefixes; see ``Decoder``."""

    def __init__(self, module: Any, device: str) -> None:
        self._module, self._device = module, device
        self._cache: Any = None
        self._visible: Any = None
        self._positions: Any = None

    def start(self, prefixes: Sequence[Sequence[int]]) -> Floats:
        """Implement ``Decoder.start``."""
        self._cache = DynamicCache(config=self._module.config)
        rows = [torch.tensor(prefix) for prefix in prefixes]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(self._device)
        lengths = torch.tensor([len(prefix) for prefix in prefixes], device=self._device)
        places = torch.arange(ids.shape[1], device=self._device)
        self._visible = places < lengths[:, None]
        self._positions = lengths[:, None]
        return self._run(ids, torch.zeros_like(ids), places.expand_as(ids), lengths - 1)

    def step(self, rows: Sequence[int], tokens: Sequence[int]) -> Floats:
        """Implement ``Decoder.step``."""
        ids = torch.tensor(tokens, device=self._device)[:, None]
        chosen = torch.tensor(rows, device=self._device)
        self._cache.batch_select_indices(chosen)
        positions = self._positions[chosen]
        self._visible = torch.cat([self._visible[chosen], torch.ones_like(ids, dtype=torch.bool)], dim=1)
        self._positions = positions + 1
        return self._run(ids, torch.ones_like(ids), positions, torch.zeros_like(chosen))

    def _run(self, ids: Any, types: Any, positions: Any, last: Any) -> Floats:
        # A float mask: transformers' eager attention adds it to the scores.
        dtype = self._module.dtype
        mask = torch.zeros(self._visible.shape, dtype=dtype, device=self._device)
        mask = mask.masked_fill(~self._visible, torch.finfo(dtype).min)[:, None, None]
        with torch.inference_mode():
            hidden = self._module.bert(
                ids, mask.expand(-1, 1, ids.shape[1], -1), types, positions, past_key_values=self._cache, use_cache=True
            ).last_hidden_state
            logits = self._module.cls(hidden[torch.arange(len(ids), device=self._device), last])
        return np.asarray(logits.float().cpu())


class WholeDecoder:
    """A batch of prefixes of a model without a key-value cache: every step reads all tokens again; see ``Decoder``."""

    def __init__(self, module: MPNetGenerator, device: str) -> None:
        self._module, self._device = module, device
        self._rows: list[tuple[int, list[int]]] = []

    def start(self, prefixes: Sequence[Sequence[int]]) -> Floats:
        """Implement ``Decoder.start``."""
        self._rows = [(len(prefix), list(prefix)) for prefix in prefixes]
        return self._run()

    def step(self, rows: Sequence[int], tokens: Sequence[int]) -> Floats:
        """Implement ``Decoder.step``."""
        chosen = [self._rows[row] for row in rows]
        self._rows = [(size, [*ids, token]) for (size, ids), token in zip(chosen, tokens, strict=True)]
        return self._run()

    def _run(self) -> Floats:
        rows = [torch.tensor(ids) for _, ids in self._rows]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True).to(self._device)
        sizes, lengths = torch.tensor([(size, len(row)) for size, row in self._rows], device=self._device).T
        last = torch.arange(ids.shape[1], device=self._device) == lengths[:, None] - 1
        with torch.inference_mode():
            logits = self._module(ids, sizes, lengths, torch.zeros_like(ids), last)
        return np.asarray(logits.float().cpu())


class Seq2SeqDecoder:
    """A batch of inputs of a BART or T5; see ``Decoder``."""

    def __init__(self, module: Any, device: str) -> None:
        self._module, self._device = module, device
        self._cache: Any = None
        self._hidden: Any = None
        self._mask: Any = None

    def start(self, prefixes: Sequence[Sequence[int]]) -> Floats:
        """Implement ``Decoder.start``."""
        config = self._module.config
        self._cache = EncoderDecoderCache(DynamicCache(config=config), DynamicCache(config=config))
        rows = [torch.tensor(prefix) for prefix in prefixes]
        ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=config.pad_token_id).to(self._device)
        lengths = torch.tensor([len(prefix) for prefix in prefixes], device=self._device)
        self._mask = (torch.arange(ids.shape[1], device=self._device) < lengths[:, None]).long()
        with torch.inference_mode():
            self._hidden = self._module.get_encoder()(input_ids=ids, attention_mask=self._mask).last_hidden_state
        begin = torch.tensor(first_tokens(self._module), device=self._device)
        return self._run(begin.expand(len(rows), -1))

    def step(self, rows: Sequence[int], tokens: Sequence[int]) -> Floats:
        """Implement ``Decoder.step``."""
        chosen = torch.tensor(rows, device=self._device)
        self._cache.batch_select_indices(chosen)
        self._hidden, self._mask = self._hidden[chosen], self._mask[chosen]
        return self._run(torch.tensor(tokens, device=self._device)[:, None])

    def _run(self, ids: Any) -> Floats:
        with torch.inference_mode():
            logits = self._module(
                encoder_outputs=(self._hidden,),
                attention_mask=self._mask,
                decoder_input_ids=ids,
                past_key_values=self._cache,
                use_cache=True,
            ).logits[:, -1]
        return np.asarray(logits.float().cpu())


def first_tokens(module: Any) -> list[int]:
    """Return the tokens that the decoder of a BART or T5 starts from, as in its training."""
    config = module.config
    return [config.decoder_start_token_id, *([config.bos_token_id] if config.model_type == "bart" else [])]


class TorchDecoders:
    """A generator on a device, which one decoder keeps busy."""

    width = 1

    def __init__(self, module: Any, device: str, kind: type[TorchDecoder | WholeDecoder | Seq2SeqDecoder]) -> None:
        self.module, self._device, self._kind = module, device, kind

    def decoder(self) -> TorchDecoder | WholeDecoder | Seq2SeqDecoder:
        """Return a new decoder."""
        return self._kind(self.module, self._device)


def open_session(folder: GeneratorFolder, precision: str | None, device: str = "cuda") -> TorchDecoders:
    """Return the generator on ``device`` (always in f32 if that is the CPU)."""
    if isinstance(folder, Seq2SeqFolder):
        module = load_seq2seq(folder.path)
        return TorchDecoders(module.to(device, torch_precision(device, precision)).eval(), device, Seq2SeqDecoder)
    weights = load_weights(folder.path)
    language_head(weights, folder.path, folder.config)  # reports what is missing
    module = load_module(new_generator, folder, weights, device, precision)
    return TorchDecoders(module, device, TorchDecoder if isinstance(module, BertGenerator) else WholeDecoder)


def load_seq2seq(path: Path, **settings: Any) -> Any:
    """Load the BART or T5 of a folder, with some ``settings`` overridden. Raises ModelError if it cannot be read."""
    architecture = next(name for name in read_config(path)["architectures"] if name in SEQ2SEQ)
    try:
        return getattr(transformers, architecture).from_pretrained(
            path, local_files_only=True, use_safetensors=True, **settings
        )
    except (OSError, ValueError, RuntimeError) as error:
        raise ModelError(f"{path}: transformers cannot load it ({describe(error)})") from error
