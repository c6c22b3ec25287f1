"""Where an expected answer stands among the passages of a search."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from oreqa.core import Passage
from oreqa.text.answers import occurrences


@dataclass(frozen=True, slots=True)
class ExpectedPlace:
    """One occurrence of an expected answer. It may stand there by chance, in a sentence that does not answer.

    Attributes:
        rank: The rank of its passage in the search, from 1.
        passage: Its passage.
        start: Its start in the document.
        end: Its end there, exclusive.
        sentence: The sentence that it begins in.
        other_ranks: The ranks of the other passages that contain it.
    """

    rank: int
    passage: Passage
    start: int
    end: int
    sentence: str
    other_ranks: tuple[int, ...]


def expected_place(
    expected: str | None, passages: Sequence[Passage], preferred: Sequence[Passage] = ()
) -> ExpectedPlace | None:
    """Return where the ``expected`` answer stands in the ranked ``passages``: in a ``preferred`` one, if any contains it.

    Titles and headings do not count. None if no passage contains it, or none is expected.
    """
    spans = {rank: occurrences(passage.text, expected or "") for rank, passage in enumerate(passages, 1)}
    ranges = {rank: places[0] for rank, places in spans.items() if places}
    if not ranges:
        return None
    ranks = (rank for wanted in preferred for rank in ranges if passages[rank - 1] == wanted)
    rank = next(ranks, min(ranges))
    passage, (start, end) = passages[rank - 1], ranges[rank]
    start, end = passage.start + start, passage.start + end
    sentence = next((each.text for each in passage.sentences if each.start <= start < each.end), passage.text)
    return ExpectedPlace(rank, passage, start, end, sentence, tuple(other for other in ranges if other != rank))
