"""Words that ask how many there are, or which has the highest or lowest value."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from oreqa.text.stop_words import STOP_WORDS, WORD

_AGE, _PRICE, _WEIGHT, _HEIGHT = ("age",), ("price", "cost", "fee"), ("weight", "mass"), ("height", "elevation")
_LENGTH, _SPEED = ("length", "duration", "distance"), ("speed", "velocity")
_DATE = ("date", "year", "born", "birth", "birthday", "founded", "built", "opened", "established", "released")

Columns = tuple[tuple[str, ...], tuple[str, ...]]
"""Names of columns whose highest value is meant, and of those whose lowest value is meant."""

HIGHEST: dict[str, Columns] = {
    **dict.fromkeys(("highest", "largest", "biggest", "greatest", "most", "maximum", "maximal", "max"), ((), ())),
    "latest": (_DATE, ()), "newest": (_DATE, _AGE), "youngest": (_DATE, _AGE), "oldest": (_AGE, _DATE),
    "longest": (_LENGTH, ()), "tallest": (_HEIGHT, ()), "heaviest": (_WEIGHT, ()), "fastest": (_SPEED, ()),
}  # fmt: skip
"""Words that ask for the highest value of a named column, and the columns they imply without a name."""

LOWEST: dict[str, Columns] = {
    **dict.fromkeys(("lowest", "smallest", "least", "fewest", "minimum", "minimal", "min"), ((), ())),
    "earliest": ((), _DATE), "shortest": ((), (*_LENGTH, *_HEIGHT)), "lightest": ((), _WEIGHT), "cheapest": ((), _PRICE),
    "slowest": ((), _SPEED),
}  # fmt: skip
"""Words that ask for the lowest value, with the columns they imply."""

TWO_WORDS: dict[tuple[str, str], Columns] = {
    ("most", "expensive"): (_PRICE, ()),
    ("least", "expensive"): ((), _PRICE),
    ("most", "recent"): (_DATE, ()),
}

_HARMLESS_LIST = """\
a an the is are was were be been being am do does did done has have had having in of at on to for from with by as into among
across what which who whom whose when where how many much there here it its they their them this these that those all ever
take takes taken took get gets got gave given make makes made use uses used called"""

_FREE_LIST = """\
work works live lives lie lies locate located situated belong belongs come comes exist exists cost costs weigh weighs list
lists listed table tables file column columns data dataset rate recorded value values total altogether give given show shown
contain contains include included name named tell"""

_RESTRICTING_LIST = """\
first last not no never without except than more less over under above below before after between second third neither
only other others another both each every top average mean median sum difference ratio until since during like almost up
excluding exclude excludes excluded lacking lack missing minus non outside beyond apart aside older younger larger
smaller higher lower bigger earlier later half percent percentage proportion share typical typically t cant dont isnt
arent wasnt werent doesnt didnt hasnt havent"""

ROW_WORDS = frozenset({"row", "rows", "entry", "entries", "record", "records", "line", "lines"})

FREE = ROW_WORDS | frozenset(_FREE_LIST.split()) | frozenset(_HARMLESS_LIST.split())
"""Words that impose no condition."""

RESTRICTING = frozenset(_RESTRICTING_LIST.split()) | (STOP_WORDS - FREE)
"""Words that impose a condition that is not understood, or ask for something else, e.g. the "t" of "don't" and stop
words."""


def asks_to_compute(question: str) -> bool:
    """Return whether a question asks how many there are, or which is the highest or lowest."""
    words = [word.lower() for word in WORD.findall(question)]
    return (count_at(words) is not None) + len(extremes_at(words)) == 1


def count_at(words: Sequence[str]) -> int | None:
    """Return where the counted noun may begin, after "how many", in lower-case words; None if nothing is counted."""
    return next((n for n, pair in enumerate(pairwise(words), 2) if pair == ("how", "many")), None)


def extremes_at(words: Sequence[str]) -> list[int]:
    """Return the positions of the words that ask for the highest or lowest."""
    return [place for place, word in enumerate(words) if word in HIGHEST or word in LOWEST]
