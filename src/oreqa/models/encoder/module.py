"""The trainable dual encoder: one token encoder for questions and answers or one for each, with pooling, projection and
normalisation.

It is saved as a folder that sentence-transformers loads: with input types (below) through ``QuestionTransformer``, two
encoders as its ``Router``.

The learned input-type embedding of Yang et al. (2021, section 4.2) is a row of the token-type table: types 0 and 1 are the
two segments of an answer, ``QUERY_TOKEN_TYPE`` is the single segment of a question. Segment and input type are thus
one learned vector, added to every token.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from sentence_transformers.base.modules import Module
from sentence_transformers.sentence_transformer.modules import Transformer
from torch import Tensor, nn
from transformers import (
    AutoConfig,
    AutoModel,
    AutoTokenizer,
    BertConfig,
    BertPreTrainedModel,
    BertTokenizerFast,
    PreTrainedConfig,
    PreTrainedModel,
)
from transformers.modeling_outputs import BaseModelOutput
from transformers.models.bert.modeling_bert import BertEmbeddings

from oreqa.errors import ModelError, describe
from oreqa.models.encoder.folder import EncoderFolder
from oreqa.models.encoder.pooling import Attention, Joining, Layer, load_attention, load_dense
from oreqa.models.graph.module import encode_tokens, model_config, new_backbone
from oreqa.models.graph.torch import TorchSession, torch_precision
from oreqa.models.settings import RECURRENT, encoder_prefix

QUERY_TOKEN_TYPE = 2
"""The token type of a question's tokens, in models with input types."""

_ACTIVATIONS = {"tanh": torch.tanh, "relu": torch.relu, "gelu": nn.functional.gelu, "identity": lambda x: x}
"""Activations of the layers after pooling."""

CELLS: dict[str, type[nn.RNNBase]] = {"rnn": nn.RNN, "gru": nn.GRU, "lstm": nn.LSTM}


class RecurrentConfig(BertConfig):  # type: ignore[misc]
    """The settings of BERT's embeddings and of ``num_hidden_layers`` recurrent layers with the ``cell`` rnn, gru or lstm.

    Each layer reads in both directions; a token's two states, half of ``hidden_size`` each, are concatenated.
    """

    model_type = RECURRENT
    cell: str = "gru"


class RecurrentModel(BertPreTrainedModel):  # type: ignore[misc]
    """A model called like BertModel; it returns states ``[N, T, hidden_size]``, 0 at padding."""

    config_class = RecurrentConfig

    def __init__(self, config: RecurrentConfig) -> None:
        super().__init__(config)
        self.embeddings = BertEmbeddings(config)
        self.recurrent = CELLS[config.cell](
            config.hidden_size,
            config.hidden_size // 2,
            num_layers=config.num_hidden_layers,
            dropout=config.hidden_dropout_prob if config.num_hidden_layers > 1 else 0.0,
            bidirectional=True,
            batch_first=True,
        )
        self.post_init()

    def get_input_embeddings(self) -> nn.Module:
        """Return the token embeddings, under transformers' name; decoders use them to generate words."""
        return self.embeddings.word_embeddings

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor | None = None, **_: Any
    ) -> BaseModelOutput:
        """Return the states; ``attention_mask`` is 1 for a text's tokens, which come first, and 0 for padding."""
        embedded = self.embeddings(input_ids=input_ids, token_type_ids=token_type_ids)
        lengths = attention_mask.sum(1).cpu()
        packed = nn.utils.rnn.pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        states, _last = self.recurrent(packed)
        padded, _lengths = nn.utils.rnn.pad_packed_sequence(states, batch_first=True, total_length=input_ids.shape[1])
        return BaseModelOutput(last_hidden_state=padded)


class AttentionPooling(Module):
    """``A = softmax(W2 tanh(W1 H^T))`` over a text's tokens: each of ``hops`` rows weighs the token states ``H``.

    The hops' vectors are ``concatenated`` or ``averaged``. It is also a sentence-transformers module.
    """

    config_keys: list[str] = ["width", "hidden", "hops", "joining"]  # noqa: RUF012  (as the base class declares it)

    def __init__(self, width: int, hidden: int, hops: int, joining: Joining) -> None:
        """Take the ``width`` of the states and ``hidden``, the height of W1."""
        super().__init__()  # type: ignore[no-untyped-call]
        self.width, self.hidden, self.hops, self.joining = width, hidden, hops, joining
        self.inner = nn.Linear(width, hidden, bias=False)
        self.outer = nn.Linear(hidden, hops, bias=False)

    def get_embedding_dimension(self) -> int:
        """Return the vectors' dimensions, under sentence-transformers' name."""
        return self.width * (self.hops if self.joining == "concatenated" else 1)

    def pool(self, states: Tensor, tokens: Tensor) -> Tensor:
        """Return vectors ``[N, outputs, D]`` of states ``[N, T, width]``; ``tokens`` ``[N, outputs, T]`` are not 0 at
        the tokens of each output."""
        scores = self.outer(torch.tanh(self.inner(states))).transpose(1, 2)  # [N, hops, T]
        masked = scores[:, None].float().masked_fill(tokens[:, :, None] == 0, -1e9)  # [N, outputs, hops, T]
        attention = masked.softmax(-1).to(states.dtype)
        hops = (attention.flatten(1, 2) @ states).unflatten(1, attention.shape[1:3])
        return hops.flatten(2) if self.joining == "concatenated" else hops.mean(2)

    def forward(self, features: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Add the texts' vectors to ``features``, as called by sentence-transformers."""
        states, mask = features["token_embeddings"], features["attention_mask"]
        return {**features, "sentence_embedding": self.pool(states, mask[:, None])[:, 0]}

    def save(self, output_path: str, *_: Any, safe_serialization: bool = True, **__: Any) -> None:
        """Write the module's folder."""
        self.save_config(output_path)
        self.save_torch_weights(output_path, safe_serialization=safe_serialization)

    @classmethod
    def load(cls, model_name_or_path: str, subfolder: str = "", *_: Any, **__: Any) -> AttentionPooling:
        """Read the module's folder."""
        module = cls(**cls.load_config(model_name_or_path, subfolder))
        cls.load_torch_weights(model_name_or_path, subfolder, model=module)
        return module


def load_pooling(attention: Attention) -> AttentionPooling:
    """Load the attention of a model's folder. Raises ModelError if its weights are missing or have other shapes."""
    inner, outer = map(torch.from_numpy, load_attention(attention))
    module = AttentionPooling(attention.width, len(inner), attention.hops, attention.joining)
    module.load_state_dict({"inner.weight": inner, "outer.weight": outer})
    return module


def load_tokens(
    folder: EncoderFolder, config: PreTrainedConfig | None = None, dtype: torch.dtype = torch.float32
) -> PreTrainedModel:
    """Load the token encoder in a model's folder, with its settings or others.

    Raises ModelError if weights are missing or do not fit.
    """
    backbone = new_backbone(config or model_config(folder.config))
    prefix = encoder_prefix(folder.config)
    tensors = {name.removeprefix(prefix): torch.from_numpy(value) for name, value in folder.load().items()}
    try:
        missing = backbone.load_state_dict(tensors, strict=False).missing_keys
    except RuntimeError as error:
        raise ModelError(f"{folder.settings}: its tensors do not fit its config.json ({describe(error)})") from error
    if missing:
        raise ModelError(f"{folder.settings}: the model's weights lack {min(missing)}")
    return backbone.to(dtype)


class Tower(nn.Module):  # type: ignore[misc]
    """One encoder: ``backbone`` computes token states; ``attention``, or the inputs' weights, pool them.

    ``projection`` is a linear layer on top.
    """

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__()
        settings = config.oreqa
        hops, width = settings.get("hops"), config.hidden_size
        self.backbone = new_backbone(config)
        self.attention = AttentionPooling(width, width, hops, settings["joining"]) if hops else None
        pooled = self.attention.get_embedding_dimension() if self.attention else width
        self.projection = nn.Linear(pooled, settings["projection"]) if settings.get("projection") else None
        self.width = int(settings.get("projection") or pooled)

    def states(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor) -> Tensor:
        """Return the token states ``[N, T, H]`` of inputs ``[N, T]``."""
        states: Tensor = encode_tokens(self.backbone, input_ids, attention_mask, token_type_ids).last_hidden_state
        return states

    def pooled(self, states: Tensor, pool: Tensor) -> Tensor:
        """Return vectors ``[N, outputs, D]`` of states ``[N, T, H]``.

        ``pool`` are pooling weights ``[N, outputs, T]``, of which attention uses only where they are 0.
        """
        weights = pool.to(states.dtype)
        vectors = torch.bmm(weights, states) if self.attention is None else self.attention.pool(states, weights)
        return vectors if self.projection is None else self.projection(vectors)


class DualEncoder(nn.Module):  # type: ignore[misc]
    """Encodes questions and answers.

    ``config.oreqa`` has the context and the projection's width. It also has ``towers`` = "separate" for one encoder each
    (Xiong et al. 2021, section 2.1), which have one shape but share nothing; ``similarity`` = "dot" for vectors of any
    length; ``hops`` and ``joining`` for multi-hop attention.
    """

    def __init__(self, config: PreTrainedConfig) -> None:
        super().__init__()
        self.config = config
        self.passages = Tower(config)
        self.questions = Tower(config) if config.oreqa.get("towers") == "separate" else None
        self.normalise = config.oreqa.get("similarity") != "dot"
        for tower in self.towers:
            for layer in (tower.projection, *(tower.attention.children() if tower.attention else ())):
                if isinstance(layer, nn.Linear):
                    nn.init.normal_(layer.weight, std=config.initializer_range)
                    if layer.bias is not None:
                        nn.init.zeros_(layer.bias)

    @property
    def width(self) -> int:
        """The dimensions of the vectors."""
        return self.passages.width

    @property
    def towers(self) -> list[Tower]:
        """The encoder of passages, and that of questions if separate."""
        return [self.passages, *([] if self.questions is None else [self.questions])]

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, pool: Tensor, questions: bool = False
    ) -> Tensor:
        """Return vectors ``[N, outputs, D]`` of inputs ``[N, T]``; ``pool`` are pooling weights ``[N, outputs, T]``.

        ``questions`` says that the inputs are questions, which may have a separate encoder.
        """
        tower = self.questions if questions and self.questions is not None else self.passages
        vectors = tower.pooled(tower.states(input_ids, attention_mask, token_type_ids), pool)
        return nn.functional.normalize(vectors.float(), dim=-1) if self.normalise else vectors.float()


def open_session(folder: EncoderFolder, precision: str | None, device: str = "cuda") -> TorchSession:
    """Return a session with the same outputs as OpenVINO's, on ``device`` (always in f32 if that is the CPU).

    Raises ModelError if weights are missing, or for a model that OpenVINO's session refuses.
    """
    from oreqa.models.graph.architectures import check_architecture  # which imports OpenVINO, not needed for training

    check_architecture(folder.transformer, folder.config)
    backbone = load_tokens(folder, dtype=torch_precision(device, precision)).eval().to(device)
    attention = None if folder.attention is None else load_pooling(folder.attention).eval().to(device)
    dense = [(layer, *_dense_tensors(layer, device)) for layer in folder.dense]

    def vectors(ids: Tensor, mask: Tensor, types: Tensor, pool: Tensor) -> Tensor:
        states = encode_tokens(backbone, ids, mask, types).last_hidden_state.float()
        if folder.pooling == "max":
            x = states[:, None].masked_fill(pool[..., None] == 0, -1e9).amax(2)
        else:
            x = torch.bmm(pool, states) if attention is None else attention.pool(states, pool)
        for layer, weight, bias in dense:
            x = nn.functional.normalize(x, dim=-1) if layer.unit_input else x
            x = _ACTIVATIONS[layer.activation](nn.functional.linear(x, weight, bias))
        return nn.functional.normalize(x, dim=-1) if folder.normalise else x

    return TorchSession(vectors, device)


def _dense_tensors(layer: Layer, device: str) -> tuple[Tensor, Tensor | None]:
    weight, bias = load_dense(layer)
    return torch.from_numpy(weight).to(device), None if bias is None else torch.from_numpy(bias).to(device)


class QuestionTransformer(Transformer):
    """A sentence-transformers Transformer that gives questions (``encode_query``) the token type QUERY_TOKEN_TYPE."""

    def preprocess(self, inputs: Sequence[Any], *arguments: Any, **kwargs: Any) -> dict[str, Any]:
        """Tokenise texts; with ``task`` "query", as questions."""
        features: dict[str, Any] = super().preprocess(inputs, *arguments, **kwargs)
        if kwargs.get("task") == "query":
            features["token_type_ids"] = torch.full_like(features["input_ids"], QUERY_TOKEN_TYPE)
        return features


class RecurrentTransformer(Transformer):
    """sentence-transformers' module for a recurrent encoder: importing this file registers the class that it loads."""


AutoConfig.register(RECURRENT, RecurrentConfig)
AutoModel.register(RecurrentConfig, RecurrentModel)
AutoTokenizer.register(RecurrentConfig, fast_tokenizer_class=BertTokenizerFast)
