"""The questions of a search, and what a retrieval score is: a name, and an array for each of them."""

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
    """Questions asked of a snapshot, to score ``passages`` of it: all, or the candidates for them.

    What several scores need of the questions is computed once, when the first score uses it.
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
        """The question of that number, to score some passages."""
        text, place = [self.texts[number]], slice(number, number + 1)
        return Questions(text, self.snapshot, lambda _: self.vectors[place], passages, lambda: self.words[place])

    @cached_property
    def vectors(self) -> Floats:
        """The encoder's vectors, ``[questions, dim]``."""
        return self._encode(self.texts)

    @cached_property
    def words(self) -> list[tuple[Ints, int]]:
        """Of each question the numbers of its words, and how many of its words no text of the index holds.

        Of a compound that no text holds there are the numbers of its parts.
        """
        if self._words is not None:
            return self._words()
        stems = [words(text, self.snapshot.settings.language) for text in self.texts]
        numbers = self.snapshot.word_numbers({stem for of_question in stems for stem in of_question})
        parts = self._parts([stem for stem, number in numbers.items() if number is None])
        split = []
        for of_question in stems:
            held = [number for stem in of_question if (number := numbers[stem]) is not None]
            of_parts = [number for stem in of_question for number in parts.get(stem, ())]
            split.append((np.array([*held, *of_parts], np.int32), len(of_question) - len(held)))
        return split

    def _parts(self, stems: Sequence[str]) -> dict[str, list[int]]:
        """The numbers of the parts of those words that are compounds."""
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

    ``score`` gives for each question in turn an array over every unit, in the order of ``questions.passages``: all passages
    of a small index, of a large one the candidates that its engine names. The mode hybrid uses every score, and ``mode``
    names the other mode that uses this one. ``plain_weight`` is the weight where none was fitted for the index's encoder,
    divided by the score's ``scale`` on that index, if it has one. ``bound`` is a name and a function that gives, for each
    question, the highest score possible; a hit's ``scores`` hold it under that name. ``limits`` gives the least and the most
    that sound files can give the question of that number, with room for rounding.
    """

    unit: Unit
    mode: Mode
    plain_weight: float
    score: Callable[[Questions], Iterator[Floats]]
    bound: tuple[str, Callable[[Questions], Iterator[float]]] | None = None
    scale: Callable[[Snapshot], float] | None = None
    limits: Callable[[Questions, int], tuple[float, float]] | None = None
