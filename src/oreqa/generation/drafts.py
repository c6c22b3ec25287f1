"""Generated questions: each with its answer and the reason why it is dropped, and the files that they are written to.

Pairs of question and sentence (.jsonl), or SQuAD with the answer's characters (.json).
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
from oreqa.files import need_writable, write_jsonl
from oreqa.parts import drop_unfinished
from oreqa.text.answers import normalize_answer


@dataclass(frozen=True, slots=True)
class Draft:
    """A question about the answer that stands at character ``start`` of passage number ``passage``.

    ``probability`` is the classifier's, where there is one; ``dropped`` a key of ``filters.REASONS``, or None.
    """

    passage: int
    answer: str
    start: int
    style: str
    question: str = ""
    probability: float | None = None
    dropped: str | None = None

    def row(self) -> dict[str, Any]:
        """Its fields that are set, for a file; the passage's number left out."""
        return {name: value for name, value in asdict(self).items() if value is not None and name != "passage"}


def drop_repeated(drafts: Iterable[Draft]) -> list[Draft]:
    """Drop a question that was kept before with the same words, of whatever passage: only one answer can be meant."""
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
    """Return the path. Raises InputError if its name says neither pairs nor SQuAD, or if it cannot be written.

    What exists is not overwritten, since people edit it.
    """
    if out.suffix not in (".jsonl", ".json"):
        raise InputError(f"{out}: name a file ending in .jsonl for pairs, or in .json for the SQuAD format")
    if out.exists():
        drop_unfinished(out)  # of a run that was killed when all but this was done
        raise InputError(f"{out}: it exists already; name another file, or delete this one to generate anew")
    need_writable(out, str(out))
    return out


def answer_sentence(passage: Passage, draft: Draft) -> Candidate:
    """The sentence in which the answer begins; the whole passage if it has no sentences."""
    if passage.sentences:
        return sentence_candidate(passage, passage.sentences[sentence_at(passage, draft.start)])
    return Candidate(passage.text, passage.text, passage_head(passage.title, passage.heading))


def write_questions(out: Path, passages: Sequence[Passage], drafts: Sequence[Draft]) -> None:
    """Write questions, in the order of their passages, in the format that the path's ending names.

    A pair is silver, since no person wrote it; its weight is the classifier's probability, or 1. It also has the answer's
    ``span`` with its first character in the context, ``span_start``, and the question's ``style``, which training passes
    over.
    """
    if out.suffix == ".jsonl":
        write_jsonl(out, (_pair(passages[draft.passage], draft) for draft in drafts))
        return
    paragraphs = []
    for number, of_passage in groupby(drafts, key=lambda draft: draft.passage):
        passage = passages[number]
        questions = tuple(Question(_identifier(passage, d), d.question, (Gold(d.answer, d.start),)) for d in of_passage)
        paragraphs.append(Paragraph(passage_head(passage.title, passage.heading), passage.text, questions))
    save_squad(out, paragraphs)


def _pair(passage: Passage, draft: Draft) -> dict[str, object]:
    weight = 1.0 if draft.probability is None else draft.probability
    pair = Pair(draft.question, answer_sentence(passage, draft), weight, SILVER, draft.probability)
    return {**pair_row(pair), "span": draft.answer, "span_start": draft.start, "style": draft.style}


def _identifier(passage: Passage, draft: Draft) -> str:
    """A question's id: the same for the same question about the same text."""
    return hashlib.sha256(f"{passage.text}\0{draft.start}\0{draft.question}".encode()).hexdigest()[:16]
