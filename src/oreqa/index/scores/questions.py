"""The questions of a search, and what a retrieval score is: a name, and an array for each of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from oreqa.arrays import Floats, Ints, Rows
from oreqa.core import Mode, Unit
from oreqa.index.compounds import COMPOUNDING, forms_to_count, split_compound
from oreqa.index.lexical import words
from oreqa.index.snapshot import Snapshot


class Questions:
    """Questions asked of a snapshot. What several scores need of them is computed once, when the first score uses it."""

    def __init__(self, texts: Sequence[str], snapshot: Snapshot, encode: Callable[[Sequence[str]], Floats]) -> None:
        self.texts = texts
        self.snapshot = snapshot
        self._encode = encode

    @cached_property
    def vectors(self) -> Floats:
        """The encoder's vectors, ``[questions, dim]``."""
        return self._encode(self.texts)

    @cached_property
    def words(self) -> list[tuple[Ints, int]]:
        """Of each question the numbers of its words, and how many of its words no text of the index holds.

        Of a compound that no text holds there are the numbers of its parts.
        """
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
        passages = self.snapshot.bm25["passage"]
        numbers = {
            form: n for form, n in self.snapshot.word_numbers(forms_to_count(stems, language)).items() if n is not None
        }
        passages_with = {form: passages.texts_with(number) for form, number in numbers.items()}
        compounds = {stem: parts for stem in stems if (parts := split_compound(stem, passages_with, language))}
        return {stem: [numbers[part] for part in parts] for stem, parts in compounds.items()}


@dataclass(frozen=True, slots=True)
class RetrievalScore:
    """One way to score the sentences, or the passages, of an index.

    ``score`` gives for each question in turn an array over every unit, in the order of the snapshot's rows. ``score_rows``,
    of scores that have it, gives those of some rows alone for the question of that number; a large index asks for the
    sentences of candidates: the passages that are best by ``finder``, or else by the score itself. The mode hybrid uses
    every score, and ``mode`` names the other mode that uses this one. ``plain_weight`` is the weight where none was fitted
    for the index's encoder, divided by the score's ``scale`` on that index, if it has one. ``bound`` is a name and a
    function that gives, for each question, the highest score possible; a hit's ``scores`` hold it under that name.
    ``limits`` gives the least and the most that sound files can give the question of that number, with room for rounding.
    """

    unit: Unit
    mode: Mode
    plain_weight: float
    score: Callable[[Questions], Iterator[Floats]]
    score_rows: Callable[[Questions, int, Rows], Floats] | None = None
    finder: RetrievalScore | None = None
    bound: tuple[str, Callable[[Questions], Iterator[float]]] | None = None
    scale: Callable[[Snapshot], float] | None = None
    limits: Callable[[Questions, int], tuple[float, float]] | None = None
