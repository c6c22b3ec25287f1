"""Folders of tiny random models, made without torch."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

from oreqa.models.fitted import fitted_file, write_fitted
from oreqa.models.names import model_fingerprint

WIDTH, LAYERS, HEADS, INNER, POSITIONS = 32, 2, 4, 64, 64


def tokenizer_of(folder: Path) -> Tokenizer:
    """The tokenizer of a model's folder."""
    return Tokenizer.from_file(str(folder / "tokenizer.json"))


def make_model(folder: Path, pooling: str = "mean", dense: bool = False, normalise: bool = True, seed: int = 0) -> Path:
    """A sentence-transformers folder with a random BERT of two layers over single letters."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    letters = "abcdefghijklmnopqrstuvwxyz0123456789"
    vocabulary = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *letters, *("##" + c for c in letters), "the", "##ing",
                  "[unused0]", "[unused1]"]  # fmt: skip
    tokenizer = Tokenizer(models.WordPiece({w: i for i, w in enumerate(vocabulary)}, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {
        "model_type": "bert",
        "architectures": ["BertModel"],
        "hidden_size": WIDTH,
        "num_hidden_layers": LAYERS,
        "num_attention_heads": HEADS,
        "intermediate_size": INNER,
        "max_position_embeddings": POSITIONS,
        "vocab_size": len(vocabulary),
        "type_vocab_size": 2,
        "hidden_act": "gelu",
        "layer_norm_eps": 1e-12,
        "pad_token_id": 0,
    }
    (folder / "config.json").write_text(json.dumps(config))

    def random(*shape: int) -> np.ndarray:
        return rng.normal(0, 0.3, shape).astype(np.float32)

    weights = {
        "embeddings.word_embeddings.weight": random(len(vocabulary), WIDTH),
        "embeddings.position_embeddings.weight": random(POSITIONS, WIDTH),
        "embeddings.token_type_embeddings.weight": random(2, WIDTH),
    }
    norms = ["embeddings.LayerNorm"]
    for layer in range(LAYERS):
        base = f"encoder.layer.{layer}"
        for name, (out, into) in {
            "attention.self.query": (WIDTH, WIDTH),
            "attention.self.key": (WIDTH, WIDTH),
            "attention.self.value": (WIDTH, WIDTH),
            "attention.output.dense": (WIDTH, WIDTH),
            "intermediate.dense": (INNER, WIDTH),
            "output.dense": (WIDTH, INNER),
        }.items():
            weights[f"{base}.{name}.weight"] = random(out, into)
            weights[f"{base}.{name}.bias"] = random(out)
        norms += [f"{base}.attention.output.LayerNorm", f"{base}.output.LayerNorm"]
    for name in norms:
        weights[f"{name}.weight"] = 1 + random(WIDTH)
        weights[f"{name}.bias"] = random(WIDTH)
    save_file(weights, folder / "model.safetensors")
    kinds = ["Transformer", "Pooling"] + ["Dense"] * dense + ["Normalize"] * normalise
    modules = [
        {"idx": i, "name": str(i), "path": "" if i == 0 else f"{i}_{kind}", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "1_Pooling").mkdir()
    modes = {f"pooling_mode_{name}": name.startswith(pooling) for name in ("cls_token", "mean_tokens", "max_tokens")}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps({"word_embedding_dimension": WIDTH, **modes}))
    if dense:
        (folder / "2_Dense").mkdir()
        settings = {
            "in_features": WIDTH,
            "out_features": 8,
            "bias": True,
            "activation_function": "torch.nn.modules.activation.Tanh",
        }
        (folder / "2_Dense" / "config.json").write_text(json.dumps(settings))
        save_file({"linear.weight": random(8, WIDTH), "linear.bias": random(8)}, folder / "2_Dense" / "model.safetensors")
    if normalise:
        (folder / f"{len(kinds) - 1}_Normalize").mkdir()
    else:
        (folder / "config_sentence_transformers.json").write_text(json.dumps({"similarity_fn_name": "dot"}))
    return folder


def make_head(folder: Path, kind: str, seed: int = 0, **own: object) -> Path:
    """The folder of a reader, an extractor, a re-ranker or a classifier on a random BERT, with random heads; ``own`` are more
    of its settings."""
    make_model(folder, seed=seed)
    rng = np.random.default_rng(seed + 100)
    weights = {f"bert.{name}": value for name, value in load_file(folder / "model.safetensors").items()}
    heads = {
        "reader": {"qa_outputs": 2, "qa_classifier": 1},
        "reranker": {"classifier": 1},
        "classifier": {"classifier": 1},
        "extractor": {"qa_start": 65, "qa_end": 65},
    }[kind]
    for name, width in heads.items():
        weights[f"{name}.weight"] = rng.normal(0, 1, (width, WIDTH)).astype(np.float32)
        weights[f"{name}.bias"] = rng.normal(0, 1, width).astype(np.float32)
    if kind == "classifier":
        weights["bert.pooler.dense.weight"] = rng.normal(0, 0.3, (WIDTH, WIDTH)).astype(np.float32)
        weights["bert.pooler.dense.bias"] = rng.normal(0, 0.3, WIDTH).astype(np.float32)
    save_file(weights, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    if kind == "classifier":
        config["id2label"] = {"0": "LABEL_0"}  # one output
    config["oreqa"] = {"kind": kind, "titles": True, "max_tokens": 48, "overlap": 8, "shared": True, **own}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def add_block_head(reader: Path, folder: Path, width: int | None = None) -> Path:
    """A copy of a reader with a random head for blocks."""
    shutil.copytree(reader, folder)
    weights = load_file(folder / "model.safetensors")
    rng = np.random.default_rng(9)
    width = width or weights["qa_classifier.weight"].shape[1]
    heads = {"qa_blocks.weight": rng.normal(0, 1, (1, width)), "qa_blocks.bias": rng.normal(0, 1, 1)}
    save_file(weights | {name: value.astype(np.float32) for name, value in heads.items()}, folder / "model.safetensors")
    return folder


def make_generator(folder: Path, seed: int = 0, styles: Sequence[str] = ("textbook", "search"), **own: object) -> Path:
    """The folder of a question generator on a random BERT, with a random head; ``own`` are more of its settings."""
    make_model(folder, seed=seed)
    rng = np.random.default_rng(seed + 100)
    tokenizer = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = tokenizer["model"]["vocab"]
    for piece in ("?", "'", *(f"[unused{2 + number}]" for number in range(len(styles)))):
        vocabulary[piece] = len(vocabulary)
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer))
    weights = {f"bert.{name}": value for name, value in load_file(folder / "model.safetensors").items()}
    words = "bert.embeddings.word_embeddings.weight"
    more_words = rng.normal(0, 0.3, (len(vocabulary) - len(weights[words]), WIDTH)).astype(np.float32)
    weights[words] = np.concatenate([weights[words], more_words])
    head = {
        "transform.dense.weight": (WIDTH, WIDTH),
        "transform.dense.bias": (WIDTH,),
        "transform.LayerNorm.weight": (WIDTH,),
        "transform.LayerNorm.bias": (WIDTH,),
        "bias": (len(vocabulary),),
    }
    for name, shape in head.items():
        weights[f"cls.predictions.{name}"] = rng.normal(0, 1, shape).astype(np.float32)
    save_file(weights, folder / "model.safetensors")
    config = json.loads((folder / "config.json").read_text())
    settings = {"kind": "generator", "styles": list(styles), "max_tokens": 40, "question_tokens": 12, **own}
    config |= {"vocab_size": len(vocabulary), "is_decoder": True, "oreqa": settings}
    (folder / "config.json").write_text(json.dumps(config))
    return folder


def make_fitted(model: Path, shipped: str, encoder: Path, folder: Path) -> Path:
    """A copy of a model in ``folder`` with what was fitted for a ``shipped`` one, as if it was fitted with this encoder."""
    shutil.copytree(model, folder)
    settings = json.loads(fitted_file(shipped).read_text())
    write_fitted(folder / "fitted.json", **{**settings, "encoder": model_fingerprint(encoder)})
    return folder


def make_seq2seq(folder: Path, kind: str, **own: object) -> Path:
    """The folder of a random BART or T5 (``kind``), over bytes or letters; ``own`` are settings of ours. It needs torch."""
    import torch
    import transformers

    torch.manual_seed(0)
    folder.mkdir(parents=True)
    special = ["<s>", "<pad>", "</s>", "<unk>"]
    if kind == "bart":
        pieces = {piece: number for number, piece in enumerate([*special, *sorted(pre_tokenizers.ByteLevel.alphabet())])}
        tokenizer = Tokenizer(models.BPE(pieces, [], unk_token="<unk>"))
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
        shape = {"d_model": WIDTH, "encoder_ffn_dim": INNER, "decoder_ffn_dim": INNER, "max_position_embeddings": POSITIONS}
        layers = {"encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4, "decoder_attention_heads": 4}
        config = transformers.BartConfig(
            vocab_size=len(pieces), bos_token_id=0, pad_token_id=1, eos_token_id=2, decoder_start_token_id=2,
            forced_bos_token_id=0, **shape, **layers,
        )  # fmt: skip
        model = transformers.BartForConditionalGeneration(config)
    else:
        letters = ["▁", *"abcdefghijklmnopqrstuvwxyz0123456789?'"]
        tokenizer = Tokenizer(models.Unigram([(piece, -float(n)) for n, piece in enumerate([*special, *letters])], 3))
        tokenizer.pre_tokenizer, tokenizer.decoder = pre_tokenizers.Metaspace(), decoders.Metaspace()
        config = transformers.T5Config(
            vocab_size=len(special) + len(letters) + 5, d_model=WIDTH, d_kv=8, d_ff=INNER, num_layers=2, num_heads=4,
            pad_token_id=1, eos_token_id=2, decoder_start_token_id=1,
        )  # fmt: skip
        model = transformers.T5ForConditionalGeneration(config)
    tokenizer.add_special_tokens(special)
    tokenizer.save(str(folder / "tokenizer.json"))
    for weights in model.parameters():
        torch.nn.init.normal_(weights, 0, 0.1)
    model.save_pretrained(folder)
    if own:
        settings = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps({**settings, "oreqa": own}))
    return folder
