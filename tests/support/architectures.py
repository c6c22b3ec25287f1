"""Folders of tiny random models of every architecture, made by transformers. It needs torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

WIDTH, LAYERS, HEADS, INNER, TOKENS = 32, 3, 4, 64, 80
"""The shape of every model; ``TOKENS`` is the longest input that its positions allow."""

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"

_SHAPE = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER}
_AFTER_PADDING = {"max_position_embeddings": TOKENS + 2, "pad_token_id": 1, "bos_token_id": 0, "eos_token_id": 2}

CONFIGS: dict[str, dict[str, Any]] = {
    "bert": {**_SHAPE, "max_position_embeddings": TOKENS, "type_vocab_size": 2},
    "roberta": {**_SHAPE, **_AFTER_PADDING, "type_vocab_size": 1},
    "xlm-roberta": {**_SHAPE, **_AFTER_PADDING, "type_vocab_size": 1},
    "camembert": {**_SHAPE, **_AFTER_PADDING, "type_vocab_size": 1},
    "distilbert": {"dim": WIDTH, "n_layers": LAYERS, "n_heads": HEADS, "hidden_dim": INNER, "max_position_embeddings": TOKENS},
    "mpnet": {**_SHAPE, **_AFTER_PADDING},
    "electra": {**_SHAPE, "embedding_size": 16, "max_position_embeddings": TOKENS, "type_vocab_size": 2},
    "modernbert": {
        **_SHAPE, "max_position_embeddings": TOKENS, "local_attention": 8, "global_attn_every_n_layers": 2,
        "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "cls_token_id": 2, "sep_token_id": 3,
    },
}  # fmt: skip
"""The settings of each architecture that oreqa builds, by model type."""

FOREIGN: dict[str, dict[str, Any]] = {
    "deberta-v2": {
        **_SHAPE, "max_position_embeddings": TOKENS, "position_buckets": 16, "relative_attention": True, "type_vocab_size": 0,
        "pos_att_type": ["p2c", "c2p"], "norm_rel_ebd": "layer_norm", "share_att_key": True, "position_biased_input": False,
    },
    "deberta": {
        **_SHAPE, "max_position_embeddings": TOKENS, "relative_attention": True, "pos_att_type": ["c2p", "p2c"],
        "position_biased_input": False, "type_vocab_size": 0,
    },
    "albert": {**_SHAPE, "max_position_embeddings": TOKENS, "embedding_size": 16, "type_vocab_size": 2},
}  # fmt: skip
"""The settings of architectures that oreqa does not build."""

SEGMENTED = ("bert", "electra")
"""The architectures whose pairs have two segments."""

PREFIXED = ("roberta", "xlm-roberta", "camembert", "mpnet")
"""The architectures whose tokenizers have <s>, </s> and <pad> = 1, and whose pairs have two </s> between the texts."""


def make_transformer(folder: Path, model_type: str, head: str = "", seed: int = 0, **settings: Any) -> Any:
    """Save a random model with its tokenizer, and return it; ``head`` is transformers' name, as ``QuestionAnswering``."""
    torch.manual_seed(seed)
    tokenizer = make_tokenizer(model_type)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    configuration = {**(CONFIGS | FOREIGN)[model_type], "vocab_size": tokenizer.get_vocab_size(), **settings}
    config = transformers.AutoConfig.for_model(model_type, **configuration)
    kind = getattr(transformers, f"AutoModelFor{head}" if head else "AutoModel")
    model = kind.from_config(config).eval()
    for name, parameter in model.named_parameters():  # transformers' own are so small that nothing could differ
        centre = 1.0 if name.endswith("orm.weight") else 0.0
        torch.nn.init.normal_(parameter, centre, 0.2)
    model.save_pretrained(folder)
    return model


def make_prompted_encoder(folder: Path, model_type: str) -> Path:
    """A random encoder as people find them: with prompts, and with transformers' files of the tokenizer."""
    make_transformer(folder, model_type)
    roles = ("cls", "sep", "pad", "unk")
    tokens = ("<s>", "</s>", "<pad>", "<unk>") if model_type in PREFIXED else ("[CLS]", "[SEP]", "[PAD]", "[UNK]")
    special = {f"{role}_token": token for role, token in zip(roles, tokens, strict=True)}
    names = ["input_ids", "token_type_ids", "attention_mask"] if model_type in SEGMENTED else ["input_ids", "attention_mask"]
    settings = {"tokenizer_class": "PreTrainedTokenizerFast", "model_input_names": names, "model_max_length": 80, **special}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    rows = [{"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
            for i, (path, kind) in enumerate(kinds.items())]  # fmt: skip
    (folder / "modules.json").write_text(json.dumps(rows))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 32, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    prompts = {"prompts": {"query": "q: ", "document": "d: "}, "similarity_fn_name": "cosine"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    return folder


def make_tokenizer(model_type: str) -> Tokenizer:
    """A tokenizer of single letters with the architecture's special tokens and template."""
    cls, sep = ("<s>", "</s>") if model_type in PREFIXED else ("[CLS]", "[SEP]")
    special = ["<s>", "<pad>", "</s>", "<unk>"] if model_type in PREFIXED else ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    vocabulary = [*special, *LETTERS, *("##" + letter for letter in LETTERS)]
    unknown = next(token for token in special if "unk" in token.lower())
    tokenizer = Tokenizer(models.WordPiece({word: i for i, word in enumerate(vocabulary)}, unk_token=unknown))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.add_special_tokens(special)
    ids = [(token, special.index(token)) for token in (cls, sep)]
    between = f"{sep} {sep}" if model_type in PREFIXED else sep
    second = 1 if model_type in SEGMENTED else 0
    pair = f"{cls}:0 $A:0 {between.replace(sep, sep + ':0')} $B:{second} {sep}:{second}"
    tokenizer.post_processor = processors.TemplateProcessing(f"{cls} $A {sep}", pair, ids)
    return tokenizer
