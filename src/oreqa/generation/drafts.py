"""Generated questions before they are written: each with its answer, and the reason why it is dropped."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

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
