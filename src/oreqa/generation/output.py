"""Generated questions as files: pairs of question and sentence (.jsonl), or SQuAD with the answer's characters (.json)."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from oreqa.core import Passage
from oreqa.corpus.splitter import passage_head, sentence_at
from oreqa.datasets.pairs import SILVER, Candidate, Pair, pair_row, sentence_candidate
from oreqa.datasets.paragraphs import Gold, Paragraph, Question, save_squad
from oreqa.errors import InputError
from oreqa.files import need_writable, write_jsonl
from oreqa.generation.drafts import Draft


def check_out(out: Path) -> Path:
    """Return the path. Raises InputError if its name says neither pairs nor SQuAD, or if it cannot be written.

    What exists is not overwritten, since people edit it.
    """
    if out.suffix not in (".jsonl", ".json"):
        raise InputError(f"{out}: name a file ending in .jsonl for pairs, or in .json for the SQuAD format")
    if out.exists():
        partial_file(out).unlink(missing_ok=True)  # of a run that was killed when all but this was done
        raise InputError(f"{out}: it exists already; name another file, or delete this one to generate anew")
    need_writable(out, str(out))
    return out


def partial_file(out: Path) -> Path:
    """The file of an unfinished run, beside the one that it will write."""
    return out.with_name(f".{out.name}.partial")


def sentence_ranges(passage: Passage) -> list[tuple[int, int]]:
    """The sentences of a passage, in characters of its own text."""
    return [(sentence.start - passage.start, sentence.end - passage.start) for sentence in passage.sentences]


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
