"""Small dual encoders that experiments train: their pairs, their backbone, and their measures."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from oreqa.datasets.load import load_paragraphs, load_task, load_training_pairs
from oreqa.datasets.pairs import Pair
from oreqa.datasets.reqa import ReqaTask, build_reqa, load_boundaries
from oreqa.evaluation.metrics import gold_ranks, mean_metrics, question_metrics
from oreqa.index.encodings import encoder_input
from oreqa.models.encoder.encoder import Encoder
from oreqa.models.encoder.folder import read_encoder_folder
from oreqa.models.names import find_model

_SQUAD = ("extractive/squad-train-pieces.json.gz", "extractive/squad-train-more.json.gz")
SETS = {"squad": _SQUAD, "nq": ("extractive/qed-nq-train.json.gz",), "medquad": ("retrieval/medquad",)}
METRICS = ("mrr", "r@1", "r@5")


def load_test(data: Path, name: str, dev: bool) -> ReqaTask:
    """Return the task that a set is measured on; with ``dev`` the one that settings are chosen on."""
    if name == "medquad":
        return load_task(data / SETS[name][0], "dev" if dev else "test")
    if name == "nq" or dev:
        return load_task(data / SETS[name][0], held_out=True)
    boundaries = load_boundaries(data / "squad" / "reqa-squad-dev-sentences.jsonl.gz")
    return build_reqa(load_paragraphs(data / "squad" / "squad-v1.1-dev.json.gz"), boundaries)


def draw_pairs(data: Path, name: str, count: int) -> list[Pair]:
    """Draw ``count`` pairs of question and answer, or all if there are fewer."""
    pairs = [pair for part in SETS[name] for pair in load_training_pairs(data / part)]
    return [pairs[number] for number in sorted(random.Random(0).sample(range(len(pairs)), min(count, len(pairs))))]


def ranks_of(task: ReqaTask, encoder: Encoder) -> list[list[float]]:
    """Return the ranks of each question's right sentences."""
    vectors = np.concatenate([rows[1:] for rows in encoder.encode_passages([encoder_input(p) for p in task.passages])])
    questions = encoder.encode(list(task.questions))
    return [gold_ranks(vectors @ question, gold) for question, gold in zip(questions, task.gold, strict=True)]


def figures(ranks: Sequence[Sequence[float]]) -> dict[str, float]:
    """Return the metrics of all questions' ranks."""
    metrics = mean_metrics([question_metrics(question_ranks) for question_ranks in ranks])
    return {name: round(metrics[name], 2) for name in METRICS}


def narrow_backbone(backbone: str, width: int, out: Path) -> Path:
    """Make a backbone for new encoders: another one's token embeddings in their first ``width`` principal components."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertModel

    from oreqa.models.encoder.module import load_tokens

    folder = read_encoder_folder(find_model(backbone))
    words = load_tokens(folder).get_input_embeddings().weight.detach().double()
    centred = words - words.mean(0)
    components = torch.linalg.eigh(centred.T @ centred).eigenvectors[:, -width:].flip(1)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=width,
        num_hidden_layers=1,
        num_attention_heads=12,
        intermediate_size=4 * width,
        pad_token_id=folder.config.get("pad_token_id", 0),
    )
    model = BertModel(config, add_pooling_layer=False)
    with torch.no_grad():
        model.embeddings.word_embeddings.weight.copy_(centred @ components)
    model.save_pretrained(out)
    AutoTokenizer.from_pretrained(folder.path).save_pretrained(out)
    return out
