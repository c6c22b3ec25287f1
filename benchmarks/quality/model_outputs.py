"""The largest difference from transformers' output, for every architecture, family and precision.

Compared are random models of six layers and width 384, seeded, and the real ones available: hidden states (vectors
for real encoders), start and end logits, scores. Inputs have 1 to 200 tokens, followed by padding.

Run:  python benchmarks/quality/model_outputs.py [--models all-mpnet-base-v2 ...]
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers

from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.graph.precision import offered_precisions
from oreqa.models.graph.session import Batch
from oreqa.models.names import find_model, read_config
from oreqa.models.reader.reader import Reader
from oreqa.models.settings import encoder_prefix
from oreqa.models.weights import load_weights

sys.path.append(str(Path(__file__).parents[1]))
from common import report

from architectures import CONFIGS, FOREIGN, make_tokenizer  # isort: skip

SHAPE = {"hidden_size": 384, "num_hidden_layers": 6, "num_attention_heads": 12, "intermediate_size": 1536}
DISTILBERT = {"dim": 384, "n_layers": 6, "n_heads": 12, "hidden_dim": 1536}
LENGTHS = (200, 120, 61, 17, 2, 1)
FAMILIES: dict[str, Any] = {"": Encoder, "QuestionAnswering": Reader, "SequenceClassification": CrossEncoder}
NAMES = {"": "encoder", "QuestionAnswering": "reader", "SequenceClassification": "cross-encoder"}
REAL = {
    "all-minilm-l6-v2": "",
    "minilm-retriever": "",
    "minilm-reader": "QuestionAnswering",
    "minilm-classifier": "SequenceClassification",
}


def random_model(folder: Path, model_type: str, head: str) -> Any:
    """Return a random model whose layers keep the variance of their inputs."""
    torch.manual_seed(0)
    tokenizer = make_tokenizer(model_type)
    folder.mkdir(parents=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    shape = DISTILBERT if model_type == "distilbert" else SHAPE
    settings = {**(CONFIGS | FOREIGN)[model_type], **shape, "vocab_size": 1000, "initializer_range": 0.05}
    settings |= {
        "max_position_embeddings": 258,
        "local_attention": 64,
        "num_labels": 1 if head == "SequenceClassification" else 2,
    }
    config = transformers.AutoConfig.for_model(model_type, **settings)
    kind = getattr(transformers, f"AutoModelFor{head}" if head else "AutoModel")
    model = kind.from_config(config).eval()
    model.save_pretrained(folder)
    return model


def real_model(folder: Path, head: str) -> Any:
    """Return a real model in transformers' class, with differences added."""
    settings = read_config(folder)
    config = transformers.AutoConfig.for_model(
        **{**settings, "num_labels": 1} if head == "SequenceClassification" else settings
    )
    kind = getattr(transformers, f"AutoModelFor{head}" if head else "AutoModel")
    prefix = "" if head else encoder_prefix(settings)
    tensors = {name.removeprefix(prefix): torch.from_numpy(value) for name, value in load_weights(folder).items()}
    model = kind.from_config(config).eval()
    model.load_state_dict(tensors, strict=False)
    return model


def difference(folder: Path, model: Any, head: str, precision: str, pooled: bool) -> float:
    """Return the largest difference over all tokens of all inputs."""
    mask = (np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]).astype(np.int64)
    ids = np.random.default_rng(0).integers(5, model.config.vocab_size - 5, mask.shape)
    ids[mask == 0] = model.config.pad_token_id or 0
    inputs = {"input_ids": ids, "attention_mask": mask}
    if getattr(model.config, "type_vocab_size", 0) > 1:
        inputs["token_type_ids"] = (np.arange(mask.shape[1]) > 12) * mask
    with torch.no_grad():
        expected = {
            name: value.numpy() for name, value in model(**{n: torch.from_numpy(v) for n, v in inputs.items()}).items()
        }
    arrays = [ids, mask, inputs.get("token_type_ids", np.zeros_like(ids))]
    if not head:
        weights = mask[:, None] / mask.sum(1)[:, None, None] if pooled else np.tile(np.eye(mask.shape[1]), (len(mask), 1, 1))
        arrays.append(weights.astype(np.float32))
    session = FAMILIES[head](folder, precision=precision).session
    ((_, computed),) = session.run(iter([Batch(tuple(arrays), np.arange(len(mask)))]))
    if head == "QuestionAnswering":
        pairs = [
            (computed[place][mask == 1], expected[name][mask == 1])
            for place, name in enumerate(("start_logits", "end_logits"))
        ]
    elif head:
        pairs = [(computed[0], expected["logits"][:, 0])]
    elif pooled:
        vectors = (weights @ expected["last_hidden_state"])[:, 0]
        pairs = [(computed[0][:, 0], vectors / np.linalg.norm(vectors, axis=1, keepdims=True))]
    else:
        pairs = [(computed[0][mask == 1], expected["last_hidden_state"][mask == 1])]
    return float(max(np.abs(a - b).max() for a, b in pairs))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", nargs="*", default=[], help="more encoders")
    options = parser.parse_args()
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as work:
        os.environ["OREQA_CACHE"] = work
        rows: list[tuple[str, str, Path | None]] = [
            (model_type, head, None) for model_type in (*CONFIGS, "deberta-v2") for head in FAMILIES
        ]
        rows += [(name, head, find_model(name)) for name, head in (REAL | dict.fromkeys(options.models, "")).items()]
        for name, head, place in rows:
            folder = place or Path(work) / name / (head or "bare")
            model = real_model(folder, head) if place else random_model(folder, name, head)
            for precision in offered_precisions() if head else [p for p in offered_precisions() if p != "i8"]:
                key = f"{Path(name).name}, {NAMES[head]}, {precision}"
                figures[key] = difference(folder, model, head, precision, pooled=place is not None)
                print(key, figures[key], flush=True)
    report("models/architectures", figures)


if __name__ == "__main__":
    main()
