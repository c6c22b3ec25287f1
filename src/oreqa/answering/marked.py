"""Puts corrected answers first for questions equal to a marked one, while their passage exists."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from oreqa.answer import Answer
from oreqa.answering.reply import Reply
from oreqa.arguments import Conditions
from oreqa.core import Passage, Sentence
from oreqa.datasets.marks import MARKS_FILE, Mark, question_id, read_marks
from oreqa.errors import InputError
from oreqa.index.documents import field_filter
from oreqa.index.snapshot import Snapshot


class CorrectedAnswers:
    """The corrected answers of an index's marks, read again when their file changes.

    Raises InputError for a damaged file; if it is damaged later, it is logged and ignored.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._state = self._file_state()
        self._marks = self._read()

    def put_first(
        self, questions: Sequence[str], replies: Sequence[Reply], k: int, snapshot: Snapshot, where: Conditions
    ) -> list[Reply]:
        """Return the replies with up to ``k`` answers each, the corrected one first.

        Its document must fulfil ``where`` and be in ``snapshot``.
        """
        self._refresh()
        changed = list(replies)
        for place, (question, reply) in enumerate(zip(questions, replies, strict=True)):
            mark = self._marks.get(question_id(question))
            corrected = None if mark is None else _placed_answer(mark, snapshot, where)
            if corrected is not None:
                others = (answer for answer in reply.answers if not _is_same(answer, corrected))
                changed[place] = replace(reply, answers=(corrected, *others)[:k])
        return changed

    def _file_state(self) -> tuple[int, ...]:
        try:
            status = (self._folder / MARKS_FILE).stat()
        except OSError:
            return ()
        return status.st_ino, status.st_size, status.st_mtime_ns

    def _read(self) -> dict[str, Mark]:
        return {mark.id: mark for mark in read_marks(self._folder) if mark.verdict == "corrected" and mark.answers}

    def _refresh(self) -> None:
        state = self._file_state()
        if state == self._state:
            return
        self._state = state
        try:
            self._marks = self._read()
        except InputError as error:
            self._marks = {}
            logging.getLogger(__name__).warning("marks are not used: %s", error)


def _placed_answer(mark: Mark, snapshot: Snapshot, where: Conditions) -> Answer | None:
    """Return a mark's answer in its passage; None if that passage no longer exists."""
    condition, values = field_filter(where)
    query = (
        "SELECT passages.id FROM passages JOIN documents ON documents.id = document "
        f"WHERE key = ? AND text = ? AND {condition} ORDER BY passages.id LIMIT 1"
    )
    with snapshot.reading():
        rows = snapshot.select(query, (mark.document, mark.context, *values))
        stored = snapshot.passages(number for (number,) in rows)
    text = mark.answers[0]
    if not rows or not mark.context.startswith(text, mark.start):
        return None
    passage = stored[rows[0][0]][0]
    start = passage.start + mark.start
    end = start + len(text)
    return Answer(text, start, end, None, touched_sentence(passage, start, end), passage, 0.0, {}, set_by_you=True)


def touched_sentence(passage: Passage, start: int, end: int) -> Sentence:
    """Return the sentences that a range of a passage touches, as one; the range itself if it touches none."""
    touched = [each for each in passage.sentences if each.start < end and start < each.end]
    first, last = (touched[0].start, touched[-1].end) if touched else (start, end)
    return Sentence(passage.text[first - passage.start : last - passage.start], first, last)


def _is_same(answer: Answer, corrected: Answer) -> bool:
    """Return whether an answer of the models equals the corrected one."""
    place = answer.passage.document_key, answer.start, answer.end
    return answer.computation is None and place == (corrected.passage.document_key, corrected.start, corrected.end)
