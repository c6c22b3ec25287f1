"""What a dual encoder and a classifier learn from: pairs out of SQuAD, MRQA, BEIR and pair files."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from oreqa.datasets.beir import load_beir
from oreqa.datasets.files import read_jsonl
from oreqa.datasets.pairs import Candidate, Pair, gold_pairs, load_pairs
from oreqa.datasets.reqa import build_reqa, load_paragraphs
from oreqa.datasets.splits import is_held_out_name, split_articles


def load_gold(path: Path, split: str = "train", held_out: bool = False) -> list[Pair]:
    """The gold pairs of a file or a BEIR folder (``split`` of its questions), whichever it is.

    Questions about held-out articles (a document's title, in BEIR) are left out; with ``held_out`` they are the only ones.
    Pair files are taken as they are. Raises InputError that names what cannot be read.
    """
    if path.is_dir():
        return [pair for pair in _of_beir(path, split) if _is_held_out(pair) == held_out]
    if is_pair_file(path):
        return list(load_pairs(path))
    return gold_pairs(build_reqa(split_articles(load_paragraphs(path))[held_out]))


def is_pair_file(path: Path) -> bool:
    """Whether a file holds rows of question and answer (``datasets.pairs``)."""
    if not path.name.removesuffix(".gz").endswith(".jsonl"):
        return False
    return any("question" in row and "answer" in row for _, row in islice(read_jsonl(path), 1))


def _of_beir(folder: Path, split: str) -> list[Pair]:
    task = load_beir(folder, split)
    entries = {entry.id: Candidate(entry.text, entry.text, entry.title) for entry in task.corpus if entry.text.strip()}
    return [
        Pair(task.queries[query], entries[document])
        for query, grades in task.qrels.items()
        for document, grade in grades.items()
        if grade > 0 and document in entries
    ]


def _is_held_out(pair: Pair) -> bool:
    return is_held_out_name(pair.positive.title or pair.positive.context)
