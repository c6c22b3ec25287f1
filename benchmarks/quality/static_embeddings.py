"""What static embeddings cost: a table of one vector per token, distilled from an encoder, compared with that encoder.

Run:  python benchmarks/quality/static_embeddings.py ../shared/data WORK [MODEL ...]

The method is model2vec's (Tulkens and van Dongen 2024): every token of the vocabulary is encoded alone, the vectors
are reduced to 256 principal components and weighted by smooth inverse frequency (SIF), with frequencies estimated from the
token's rank in the vocabulary by Zipf's law. Nothing is trained.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

from oreqa.arrays import Floats
from oreqa.evaluation import evaluate_reqa
from oreqa.files import read_json
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import read_encoder_folder
from oreqa.models.encoder.inputs import EncoderInput, input_batches
from oreqa.models.model import load_session
from oreqa.models.names import find_model
from oreqa.text.sentences import split_sentences

sys.path.append(str(Path(__file__).parents[1]))
from common import Timed, paired, report, squad

DIMENSIONS, SIF = 256, 1e-4
LEFT_OUT = re.compile(r"\[(unused\d+|PAD|CLS|SEP|MASK)\]|<(pad|s|/s|mask)>")
"""Tokens that occur in no text."""

PASSAGES, ROUNDS = 100, 3
"""Passages that are encoded to time both, and how often."""


def distil(model: str, out: Path) -> None:
    """Write the static embeddings of an encoder as model2vec does."""
    folder = replace(read_encoder_folder(find_model(model)), normalise=False)
    encoder = Encoder.of(folder, load_session("encoder", folder, f"raw-{Encoder(model).fingerprint}", "cpu", None))
    tokens = sorted(encoder.inputs.tokenizer.get_vocab().items(), key=lambda item: item[1])
    template = encoder.inputs.questions(["a"])[0].ids
    kept = [number for token, number in tokens if not LEFT_OUT.fullmatch(token)]
    inputs = [EncoderInput([template[0], number, template[-1]], [0] * 3, [(0, 3)]) for number in kept]
    vectors = np.zeros((len(inputs), folder.width), np.float32)
    for batch, (states,) in encoder.session.run(input_batches(inputs)):
        vectors[batch.numbers] = states[:, 0]
    table = np.zeros((len(tokens), DIMENSIONS), np.float32)
    table[kept] = principal_components(vectors) * sif_weights(len(kept))[:, None]
    out.mkdir(parents=True, exist_ok=True)
    save_file({"embeddings": table.astype(np.float16)}, out / "model.safetensors")
    shutil.copyfile(folder.tokenizer, out / "tokenizer.json")
    config = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True, "hidden_dim": DIMENSIONS}
    (out / "config.json").write_text(json.dumps(config))


def principal_components(vectors: Floats) -> Floats:
    """Return the vectors' coordinates ``[N, DIMENSIONS]`` along the axes of largest variance."""
    centred = vectors - vectors.mean(0)
    _values, axes = np.linalg.eigh(centred.T @ centred)
    return np.asarray(centred @ axes[:, ::-1][:, :DIMENSIONS], np.float32)


def sif_weights(count: int) -> Floats:
    """Return ``SIF / (SIF + p)`` of tokens ordered by frequency p, which falls as 1 / rank."""
    frequency = 1 / np.arange(2, count + 2)
    return np.asarray(SIF / (SIF + frequency / frequency.sum()), np.float32)


def encoding_times(data: Path, model: str, static: Path) -> dict[str, object]:
    """Return the seconds to encode passages with their sentences and as many questions, by both encoders."""
    paragraphs = squad(data)[:: len(squad(data)) // PASSAGES][:PASSAGES]
    passages = [(paragraph.title, paragraph.text, split_sentences(paragraph.text)) for paragraph in paragraphs]
    questions = [paragraph.questions[0].text for paragraph in paragraphs]
    ours, theirs = Encoder(static), Encoder(model)
    calls: dict[str, Callable[[Encoder], object]] = {
        "encode_passages": lambda encoder: encoder.encode_passages(passages),
        "encode": lambda encoder: encoder.encode(questions),
    }
    timed: dict[str, object] = {}
    for name, call in calls.items():
        first, second = (Timed(partial(call, encoder)) for encoder in (ours, theirs))
        first(), second()  # the first calls compile the model
        timed[name] = paired(first, second, ROUNDS)
    return timed


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("models", nargs="*", default=["all-minilm-l6-v2", "all-mpnet-base-v2"])
    options = parser.parse_args(arguments)
    sets = {
        "squad": ("squad/squad-v1.1-dev.json.gz", "squad/reqa-squad-dev-sentences.jsonl.gz"),
        "nq": ("extractive/qed-nq-train.json.gz", None),
    }
    for model in options.models:
        static = options.work / f"static-{Path(model).name}"
        if not (static / "config.json").is_file():
            distil(model, static)
        result: dict[str, object] = {"megabytes": round((static / "model.safetensors").stat().st_size / 1e6, 1)}
        result["times"] = encoding_times(options.data, model, static)
        for name, (file, boundaries) in sets.items():
            for mode in ("dense", "hybrid"):
                out = options.work / f"{name}-{static.name}-{mode}"
                if not (out / "metrics.json").is_file():
                    evaluate_reqa(
                        options.data / file,
                        out,
                        sentences=boundaries and options.data / boundaries,
                        mode=mode,
                        model=static,
                        index=options.work / f"index-{name}-{static.name}",
                    )
                metrics = read_json(out / "metrics.json")
                result[f"{name}-{mode}"] = {key: metrics[key] for key in ("mrr", "p@1", "questions", "candidates")}
        report(f"models/{static.name}", result)


if __name__ == "__main__":
    main()
