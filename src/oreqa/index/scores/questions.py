"""The questions of a search, and the retrieval score type: a name, and an array for each question."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oreqa.arrays import Floats, Ints
from oreqa.core import Mode, Unit
from oreqa.index.compounds import COMPOUNDING, forms_to_count, split_compound
from oreqa.index.engines.engine import Scorable
from oreqa.index.lexical import words
from oreqa.index.snapshot import Snapshot


class Questions:
    """Questions asked of a snapshot, to score its ``passages``: all, or the candidates for them.

    What several scores need is computed once, on first use.
    """

    def __init__(
        self,
        texts: Sequence[str],
        snapshot: Snapshot,
        encode: Callable[[Sequence[str]], Floats],
        passages: Scorable | None = None,
        words: Callable[[], list[tuple[Ints, int]]] | None = None,
    ) -> None:
        self.texts = texts
        self.snapshot = snapshot
        self._encode, self._words = encode, words
        if passages is not None:
            self.passages = passages

    @cached_property
    def passages(self) -> Scorable:
        """The passages to score."""
        return self.snapshot.engine.every()

    def one(self, number: int, passages: Scorable) -> Questions:
        """Return question ``number`` alone, for scoring ``passages``."""
        text, place = [self.texts[number]], slice(number, number + 1)
        return Questions(text, self.snapshot, lambda _: self.vectors[place], passages, lambda: self.words[place])

    @cached_property
    def vectors(self) -> Floats:
        """The encoder's vectors, ``[questions, dim]``."""
        return self._encode(self.texts)

    @cached_property
    def words(self) -> list[tuple[Ints, int]]:
        """For each question, the numbers of its words and how many of its words no text of the index contains.

        A compound that no text contains is replaced by its parts.
        """
        if self._words is not None:
            return self._words()
        stems = [words(text, self.snapshot.settings.language) for text in self.texts]
        numbers = self.snapshot.word_numbers({stem for question_stems in stems for stem in question_stems})
        parts = self._parts([stem for stem, number in numbers.items() if number is None])
        split = []
        for question_stems in stems:
            present = [number for stem in question_stems if (number := numbers[stem]) is not None]
            part_numbers = [number for stem in question_stems for number in parts.get(stem, ())]
            split.append((np.array([*present, *part_numbers], np.int32), len(question_stems) - len(present)))
        return split

    def _parts(self, stems: Sequence[str]) -> dict[str, list[int]]:
        """Return the numbers of the parts of those words that are compounds."""
        language = self.snapshot.settings.language
        if not stems or language not in COMPOUNDING or self.snapshot.empty:
            return {}
        passages = self.snapshot.engine.words["passage"]
        numbers = {
            form: n for form, n in self.snapshot.word_numbers(forms_to_count(stems, language)).items() if n is not None
        }
        passages_with = {form: passages.texts_with(number) for form, number in numbers.items()}
        compounds = {stem: parts for stem in stems if (parts := split_compound(stem, passages_with, language))}
        return {stem: [numbers[part] for part in parts] for stem, parts in compounds.items()}


@dataclass(frozen=True, slots=True)
class RetrievalScore:
    """One way to score the sentences, or the passages, of an index.

    ``score`` yields, for each question, an array over every unit, in the order of ``questions.passages``: all passages
    of a small index, the engine's candidates in a large one. The mode hybrid uses every score; ``mode`` names the other mode
    that uses this one. ``plain_weight`` is the weight if none was fitted for the index's encoder, divided by the score's
    ``scale`` on that index, if it has one. ``bound`` is a name and a function that returns, for each question, the highest
    score possible; a hit's ``scores`` contain it under that name. ``limits`` returns the lowest and the highest score that
    undamaged files can give a question, by its number, with room for rounding.
    """

    unit: Unit
    mode: Mode
    plain_weight: float
    score: Callable[[Questions], Iterator[Floats]]
    bound: tuple[str, Callable[[Questions], Iterator[float]]] | None = None
    scale: Callable[[Snapshot], float] | None = None
    limits: Callable[[Questions, int], tuple[float, float]] | None = None
