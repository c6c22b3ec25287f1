"""Weakly supervised pairs for a question generator: questions with passages found by answer match (Xiong et al. 2021,
section 3)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from oreqa.arguments import as_index_folder, as_path, choice, count
from oreqa.core import MODES, Mode
from oreqa.datasets.load import answered_questions
from oreqa.datasets.pairs import Candidate, Pair, pair_row
from oreqa.datasets.questions import OpenQuestion, answer_ranges
from oreqa.errors import InputError
from oreqa.files import need_new, write_jsonl
from oreqa.index.search import Index
from oreqa.mining.predictions import search_texts
from oreqa.models.graph.windows import Text
from oreqa.progress import Progress, no_progress, show
from oreqa.visible import counted


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
    """Pair each question of ``data`` with the first passage of ``index`` that contains one of its answers.

    ``data`` is a list of questions with answers or patterns, or a SQuAD or MRQA file, whose training articles' questions
    are used without their paragraphs. The ``passages`` best passages of each question are searched for an answer; a
    question without a match is left out. The supervision is weak: a passage may contain the answer and not say what is
    asked. Writes a pair file to ``out`` and returns the number of pairs.

    Raises InputError if ``data`` cannot be read or holds no question with an answer, if no question has a match, or if
    ``out`` exists.
    """
    data, out = as_path(data, "data"), as_path(out, "out")
    passages = count(passages, "passages")
    choice(mode, MODES, "mode")
    need_new(out, "search anew")
    questions, pairs = answered_questions(data), []
    if not questions:
        raise InputError(f"{data}: it holds no question with an answer")
    with Index.open(as_index_folder(index), device) as opened, show(progress, "searching", len(questions)) as advance:
        retrieved = search_texts(opened, [question.text for question in questions], passages, mode)
        for question, texts in zip(questions, retrieved, strict=True):
            if (pair := first_match(question, texts)) is not None:
                pairs.append(pair)
            advance(1)
    if not pairs:
        reason = f"none of its {counted(len(questions), 'question')} has an answer in the passages retrieved from {index}"
        raise InputError(f"{data}: {reason}; name the index of its documents, or more passages")
    write_jsonl(out, map(pair_row, pairs))
    return len(pairs)


def first_match(question: OpenQuestion, texts: Iterable[Text]) -> Pair | None:
    """Pair a question with the first passage, ``(title, text)``, that contains an answer, at its first place there."""
    for title, text in texts:
        if ranges := answer_ranges(text, question):
            start, end = ranges[0]
            return Pair(question.text, Candidate(text[start:end], text, title, start))
    return None
