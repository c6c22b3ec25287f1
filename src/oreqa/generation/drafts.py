"""Generated questions, each with its answer and the reason why it is dropped, and their output files.

The files are pairs of question and sentence (.jsonl), or SQuAD with the answer's offset (.json).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from oreqa.core import Passage
from oreqa.corpus.splitter import passage_head, sentence_at
from oreqa.datasets.pairs import SILVER, Candidate, Pair, pair_row, sentence_candidate
from oreqa.datasets.paragraphs import Gold, Paragraph, Question, save_squad
from oreqa.errors import InputError
from oreqa.files import need_new, write_jsonl
from oreqa.parts import drop_unfinished
from oreqa.text.answers import normalize_answer


@dataclass(frozen=True, slots=True)
class Draft:
    """A question about the answer at character ``start`` of passage number ``passage``.

    ``probability`` is the classifier's, if there is one; ``dropped`` is a key of ``filters.REASONS``, or None.
    """

    passage: int
    answer: str
    start: int
    style: str
    question: str = ""
    probability: float | None = None
    dropped: str | None = None

    def row(self) -> dict[str, Any]:
        """Return the fields that are set, as a row of a file, without the passage's number."""
        return {name: value for name, value in asdict(self).items() if value is not None and name != "passage"}


def drop_repeated(drafts: Iterable[Draft]) -> list[Draft]:
    """Drop a question with the words of one already kept, about any passage: only one answer can be meant."""
    seen: set[str] = set()
    kept = []
    for draft in drafts:
        words = normalize_answer(draft.question)
        repeated = draft.dropped is None and words in seen
        kept.append(replace(draft, dropped="repeated") if repeated else draft)
        if draft.dropped is None:
            seen.add(words)
    return kept


def check_out(out: Path) -> Path:
    """Return the path. Raises InputError if its extension means neither pairs nor SQuAD, or if it cannot be written.

    Existing files are not overwritten, as people edit them.
    """
    if out.suffix not in (".jsonl", ".json"):
        raise InputError(f"{out}: name a file ending in .jsonl for pairs, or in .json for the SQuAD format")
    if out.exists():
        drop_unfinished(out)  # of a run killed just before this
    need_new(out, "generate anew")
    return out


def answer_sentence(passage: Passage, draft: Draft) -> Candidate:
    """Return the sentence in which the answer begins; the whole passage if it has no sentences."""
    if passage.sentences:
        return sentence_candidate(passage, passage.sentences[sentence_at(passage, draft.start)])
    return Candidate(passage.text, passage.text, passage_head(passage.title, passage.heading))


def write_questions(out: Path, passages: Sequence[Passage], drafts: Sequence[Draft]) -> None:
    """Write questions, in the order of their passages, in the format of the path's extension.

    A pair is silver, as no person wrote it; its weight is the classifier's probability, or 1. It also has the answer's
    ``span`` with its offset in the context, ``span_start``, and the question's ``style``, which training ignores.
    """
    if out.suffix == ".jsonl":
        write_jsonl(out, (_pair(passages[draft.passage], draft) for draft in drafts))
        return
    paragraphs = []
    for number, passage_drafts in groupby(drafts, key=lambda draft: draft.passage):
        passage = passages[number]
        questions = tuple(Question(_identifier(passage, d), d.question, (Gold(d.answer, d.start),)) for d in passage_drafts)
        paragraphs.append(Paragraph(passage_head(passage.title, passage.heading), passage.text, questions))
    save_squad(out, paragraphs)


def _pair(passage: Passage, draft: Draft) -> dict[str, object]:
    weight = 1.0 if draft.probability is None else draft.probability
    pair = Pair(draft.question, answer_sentence(passage, draft), weight, SILVER, draft.probability)
    return {**pair_row(pair), "span": draft.answer, "span_start": draft.start, "style": draft.style}


def _identifier(passage: Passage, draft: Draft) -> str:
    """Return a question's id: the same for the same question about the same text."""
    return hashlib.sha256(f"{passage.text}\0{draft.start}\0{draft.question}".encode()).hexdigest()[:16]
