"""Passages for questions whose answers are known, found by answer match: pairs for a question generator (Xiong et al. 2021,
section 3, whose weakly supervised generator learns from such)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from oreqa.arguments import as_index_folder, as_path, choice, count
from oreqa.core import MODES, Mode
from oreqa.datasets.load import answered_questions
from oreqa.datasets.pairs import Candidate, Pair, pair_row
from oreqa.datasets.questions import OpenQuestion, answer_ranges
from oreqa.errors import InputError
from oreqa.files import write_jsonl
from oreqa.index.search import Index
from oreqa.mining.predictions import search_texts
from oreqa.models.graph.windows import Text
from oreqa.progress import Progress, no_progress, show


def mine_passages(
    data: str | Path,
    out: str | Path,
    *,
    index: str | Path,
    passages: int = 20,
    mode: Mode = "hybrid",
    device: str = "cpu",
    progress: Progress = no_progress,
) -> int:
    """Write to ``out`` each question of ``data`` with the first passage of ``index`` in which one of its answers stands.

    ``data`` is a list of questions with answers or patterns, or a SQuAD or MRQA file, of whose training articles the
    questions are taken without their paragraphs. Of each question the ``passages`` best are looked through; one that none
    of them answers is left out. The answer need not be what the passage says about the question: the supervision is weak.
    Returns the number of pairs. Raises InputError for data that cannot be read, and if no question has such a passage.
    """
    data, out = as_path(data, "data"), as_path(out, "out")
    passages = count(passages, "passages")
    choice(mode, MODES, "mode")
    questions, pairs = answered_questions(data), []
    with Index.open(as_index_folder(index), device) as opened, show(progress, "searching", len(questions)) as advance:
        retrieved = search_texts(opened, [question.text for question in questions], passages, mode)
        for question, texts in zip(questions, retrieved, strict=True):
            if (pair := first_match(question, texts)) is not None:
                pairs.append(pair)
            advance(1)
    if not pairs:
        raise InputError(f"{data}: no passage of {index} holds an answer to one of its {len(questions)} questions")
    write_jsonl(out, map(pair_row, pairs))
    return len(pairs)


def first_match(question: OpenQuestion, texts: Iterable[Text]) -> Pair | None:
    """The question with its answer at its first place in the first of the passages, ``(title, text)``, that holds one."""
    for title, text in texts:
        if ranges := answer_ranges(text, question):
            start, end = ranges[0]
            return Pair(question.text, Candidate(text[start:end], text, title, start))
    return None
