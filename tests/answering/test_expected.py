"""Where an expected answer stands."""

from __future__ import annotations

from oreqa.answering.expected import expected_place
from oreqa.core import Document
from oreqa.corpus.splitter import paragraph_passage

PASSAGES = [
    paragraph_passage(Document(key, "", text))
    for key, text in (("a", "Bees dance."), ("b", "It is five. Rain fell for five days."), ("c", "Five boats."))
]


def test_the_first_passage_or_a_preferred_one() -> None:
    first = expected_place("five", PASSAGES)
    assert first is not None
    assert (first.rank, first.start, first.end, first.sentence, first.other_ranks) == (2, 6, 10, "It is five.", (3,))
    preferred = expected_place("five", PASSAGES, [PASSAGES[0], PASSAGES[2]])
    assert preferred is not None
    assert (preferred.rank, preferred.sentence, preferred.other_ranks) == (3, "Five boats.", (2,))
    assert expected_place("six", PASSAGES) is None
