"""Turns the word pieces of a generated question into text spelled like the passage.

The model is uncased, and its tokenizer splits punctuation and drops accents. The passage and its title show the spelling
of their words; rules of English determine the rest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from oreqa.models.graph.windows import Tokens

_ENDS_SENTENCE = frozenset(".!?:;•")
_ATTACHED_LEFT = frozenset(".,;:!?)]}%”’…°")
_ATTACHED_RIGHT = frozenset("([{$£€#“‘")
_ATTACHED_BOTH = frozenset("-/‑")
_QUOTES = frozenset("\"'")
_AFTER_APOSTROPHE = frozenset(("s", "t", "re", "ve", "ll", "d", "m"))

_NAMES = """
i january february april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
"""
_ALWAYS_CAPITAL = frozenset(_NAMES.split())

_WORDS = """
a about after all also although an and another any are as at be because been before being between both but by can could did
do does during each even every few first for from had has have he her here his how however if in into is it its just later
like many may more most much must my no not now of on once one only or other our over she should since so some such than that
the their them then there these they this those though through thus to two under until up upon us was we were what when where
whether which while who whom whose why will with within without would you your
"""
_FUNCTION_WORDS = frozenset(_WORDS.split())


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a passage, or a punctuation mark: ``key`` as in the tokenizer, ``written`` as in the passage.

    ``spaced`` says whether there is a space before it, ``first`` whether it begins a sentence.
    """

    key: str
    written: str
    spaced: bool
    first: bool


@dataclass(slots=True)
class Writing:
    """How a passage and its title spell words."""

    words: list[Word] = field(default_factory=list)
    pairs: dict[tuple[str, str], int] = field(default_factory=dict)
    """Maps two adjacent words to the first occurrence of the first one."""
    inside: dict[str, Counter[str]] = field(default_factory=dict)
    """The spellings of a word inside sentences, with counts."""
    beginning: dict[str, Counter[str]] = field(default_factory=dict)
    """The spellings at the beginning of sentences, which say less."""

    def add(self, text: str, tokens: Tokens, pieces: Sequence[str]) -> None:
        """Learn from a text; ``pieces`` are the word pieces of its tokens."""
        words = list(_words(text, tokens, pieces))
        shouted = text.upper() == text  # its case says nothing
        for word in words:
            if word.key != word.written and shouted:
                continue
            (self.beginning if word.first else self.inside).setdefault(word.key, Counter())[word.written] += 1
        for place, (word, following) in enumerate(pairwise(words), len(self.words)):
            self.pairs.setdefault((word.key, following.key), place)
        # The empty word separates texts: no pair spans it.
        self.words += [*words, Word("", "", True, True)]


def _words(text: str, tokens: Tokens, pieces: Sequence[str]) -> Iterable[Word]:
    key, begin, end, first = "", 0, 0, True
    numbers = tokens.words.tolist()
    for place, (piece, (start, stop)) in enumerate(zip(pieces, tokens.offsets.tolist(), strict=True)):
        if key:
            key += piece.removeprefix("##")
        else:
            key, begin = piece, start
        if place + 1 < len(pieces) and numbers[place + 1] == numbers[place]:
            continue
        gap = text[end:begin]
        first = first or "\n" in gap
        yield Word(key, text[begin:stop], bool(gap) or not begin, first)
        if key[0].isalnum():
            first = False
        elif key in _ENDS_SENTENCE:
            first = True
        key, end = "", stop


def readable(pieces: Sequence[str], writing: Writing) -> str:
    """Return a question as text, cased and spaced; if it ends with a question mark, it begins with a capital letter."""
    keys = join_pieces(pieces)
    places = _aligned(keys, writing)
    text = ""
    spaces = _Spaces(keys, places, writing)
    for number in range(len(keys)):
        written = _written(keys, places, number, writing)
        text += " " + written if spaces.before(number) and number else written
    return text[:1].upper() + text[1:] if text.endswith("?") and text.split()[0].islower() else text


def join_pieces(pieces: Iterable[str]) -> list[str]:
    """Join the pieces of each word: ``fox ##es`` to ``foxes``."""
    words: list[str] = []
    for piece in pieces:
        if piece.startswith("##") and words:
            words[-1] += piece[2:]
        else:
            words.append(piece)
    return words


def _aligned(keys: Sequence[str], writing: Writing) -> list[int | None]:
    """Align each word with a place in the passage with the same neighbour, in as few runs as possible; None without one."""
    places: list[int | None] = []
    before: int | None = None
    for number, key in enumerate(keys):
        if before is not None and writing.words[before + 1].key == key:
            before += 1
        else:
            before = writing.pairs.get((key, keys[number + 1])) if number + 1 < len(keys) else None
        places.append(before)
    return places


def _written(keys: Sequence[str], places: Sequence[int | None], number: int, writing: Writing) -> str:
    """Return a word's spelling: as in its place, else as inside the source's sentences, else as at their beginnings.

    A word that is not in the source is spelled like its plural or singular there.
    """
    key, place = keys[number], places[number]
    if place is not None:
        word = writing.words[place]
        continues = number > 0 and places[number - 1] == place - 1
        if not word.first or continues:
            return word.written
    if key in _ALWAYS_CAPITAL:
        return key.capitalize()
    if number and keys[number - 1] == "'" and key in _AFTER_APOSTROPHE:
        return key
    if inside := writing.inside.get(key):
        return inside.most_common(1)[0][0]
    if key in _FUNCTION_WORDS:
        return key
    if beginning := writing.beginning.get(key):
        return beginning.most_common(1)[0][0]
    other = key[:-1] if key.endswith("s") else key + "s"
    if (inside := writing.inside.get(other)) and all(written.istitle() for written in inside):
        return key.capitalize()
    return key


@dataclass(slots=True)
class _Spaces:
    """Decides where spaces go between the words of a question."""

    keys: Sequence[str]
    places: Sequence[int | None]
    writing: Writing
    open_quotes: set[str] = field(default_factory=set)
    after_opening: bool = False

    def before(self, number: int) -> bool:
        """Return whether a space precedes a word; call it for each word, in order."""
        left, right = self.keys[number - 1] if number else "", self.keys[number]
        space = self._by_rule(number, left, right)
        place = self.places[number]
        if number and place is not None and self.places[number - 1] == place - 1:
            return self.writing.words[place].spaced
        return space

    def _by_rule(self, number: int, left: str, right: str) -> bool:
        following = self.keys[number + 1] if number + 1 < len(self.keys) else ""
        before = self.keys[number - 2] if number > 1 else ""
        opened, self.after_opening = self.after_opening, False
        if right in _QUOTES:
            if right == "'" and (following in _AFTER_APOSTROPHE or (left.endswith("s") and right not in self.open_quotes)):
                return False
            if right in self.open_quotes:
                self.open_quotes.remove(right)
                return False
            self.open_quotes.add(right)
            self.after_opening = True
            return not opened and left not in _ATTACHED_RIGHT
        if opened or left in _ATTACHED_RIGHT or right in _ATTACHED_LEFT:
            return False
        if left in _ATTACHED_BOTH or right in _ATTACHED_BOTH:
            return False
        if left == "'":
            return right not in _AFTER_APOSTROPHE or not before
        if before and left in ".,:":
            digits = before[-1].isdigit() and right[0].isdigit() and (left != "," or len(right) == 3)
            initials = left == "." and len(before) == 1 and len(right) == 1
            return not digits and not initials
        return True
