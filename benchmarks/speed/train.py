"""Pairs a second that a dual encoder learns from, against sentence-transformers' MultipleNegativesRankingLoss, in one run.

Run:  python benchmarks/speed/train.py --data ../shared/data      (needs the train extra, and datasets)

Same pairs, batch, model, precision and number of steps. "passages": both are given (question, passage), each passage
once. "sentences": several questions a passage, as in SQuAD; ours reads the sentences inside their passage, every passage
of a batch once, what it does by default; theirs is given (question, passage), which costs it the same and teaches it
less.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from datasets import Dataset
from sentence_transformers import (
    SentenceTransformer,
    SentenceTransformerTrainer,
    SentenceTransformerTrainingArguments,
)
from sentence_transformers.losses import MultipleNegativesRankingLoss

from oreqa.datasets.load import load_training_pairs
from oreqa.datasets.pairs import Candidate, Pair, pair_row
from oreqa.defaults import BASE_ENCODER
from oreqa.files import write_jsonl
from oreqa.models.folders import find_model
from oreqa.training.retriever.recipe import RetrieverRecipe
from oreqa.training.retriever.train import train_retriever
from oreqa.training.train import keep_freed_memory
from oreqa.training.trainer import uses_bf16

sys.path.append(str(Path(__file__).parents[1]))
from common import paired, report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--steps", type=int, default=12)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    keep_freed_memory()  # as the command does, for both
    count = options.steps * options.batch
    gold = load_training_pairs(options.data / "extractive" / "squad-train-pieces.json.gz")
    one_each = {p.positive.context: p.question for p in gold}
    whole = [Pair(question, Candidate(context, context)) for context, question in one_each.items()][:count]
    gold = gold[:count]
    work = Path(tempfile.mkdtemp())
    result = {}
    for name, pairs in (("passages", whole), ("sentences", gold)):
        file = work / f"{name}.jsonl"
        write_jsonl(file, map(pair_row, pairs))
        settings = {"kind": "retriever", "data": [str(file)], "freeze_embeddings": False, "max_tokens": 256, "dropout": 0.1,
                    "optimiser": {"learning_rate": 5e-5, "batch": options.batch, "checkpoint_steps": 10**6}}  # fmt: skip
        recipe = RetrieverRecipe.model_validate(settings)

        def run_ours(recipe: RetrieverRecipe = recipe) -> float:
            return float(train_retriever(recipe, Path(tempfile.mkdtemp(dir=work)))["seconds"])

        def run_theirs(pairs: list[Pair] = pairs) -> float:
            return train_theirs(pairs, options.batch)

        run_theirs()
        figures = paired(run_ours, run_theirs, options.rounds)
        result[name] = {
            **figures, "pairs": count,
            "ours_per_second": round(count / figures["ours_median"], 2),
            "theirs_per_second": round(count / figures["theirs_median"], 2),
        }  # fmt: skip
    report("speed/train", result)


def train_theirs(pairs: list[Pair], batch: int) -> float:
    """Seconds of their training loop."""
    model = SentenceTransformer(str(find_model(BASE_ENCODER)), device="cpu")
    model.max_seq_length = 256
    rows = Dataset.from_list([{"anchor": p.question, "positive": p.positive.context} for p in pairs])
    arguments = SentenceTransformerTrainingArguments(
        output_dir=tempfile.mkdtemp(), num_train_epochs=1, per_device_train_batch_size=batch, learning_rate=5e-5,
        use_cpu=True, bf16=uses_bf16("auto"), save_strategy="no", report_to=[], disable_tqdm=True,
    )  # fmt: skip
    loss = MultipleNegativesRankingLoss(model, scale=100)
    trainer = SentenceTransformerTrainer(model=model, args=arguments, train_dataset=rows, loss=loss)
    begun = time.perf_counter()
    trainer.train()
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
