"""Questions about an index's passages, for training and measuring."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, repeat

from oreqa.core import Passage
from oreqa.corpus.splitter import passage_head
from oreqa.datasets.mark_examples import PlacedMark, marked_pair
from oreqa.datasets.pairs import SILVER, Candidate, Pair, passage_candidates
from oreqa.datasets.paragraphs import is_held_out_name
from oreqa.datasets.reqa import ReqaTask
from oreqa.index.lexical import words

HELD_OUT_DOCUMENTS = 4
"""One document in this many is held out. With fewer questions, adaptation's usual gain could not be told from chance."""

FEW_DOCUMENTS = 20
"""If questions are about fewer documents, passages are held out instead."""

MARKED_DOCUMENTS = 2
"""One marked document in this many measures what was learned from the marks of the others."""

KEYWORDS = 4
"""The most words in a keyword query."""

KEYWORD_SHARE = 4
"""One sentence in this many of those asked about also gets a keyword query."""


def heading_pairs(passages: Iterable[Passage]) -> Iterator[Pair]:
    """Yield each title with its heading as a query for the first sentence below it: people search with such words."""
    seen: set[str] = set()
    for passage in passages:
        head = " ".join(part for part in (passage.title, passage.heading) if part)
        if len(head.split()) > 1 and head not in seen and passage.sentences:
            yield Pair(head, passage_candidates(passage)[0], source=SILVER)
        seen.add(head)


def keyword_pairs(pairs: Sequence[Pair], passages: Iterable[Passage], language: str) -> Iterator[Pair]:
    """Yield the rarest words of one answer sentence in ``KEYWORD_SHARE``, in text order, as a query for it."""
    frequencies: Counter[str] = Counter()
    for passage in passages:
        frequencies.update(set(words(passage.text, language)))
    for pair in pairs[::KEYWORD_SHARE]:
        by_stem: dict[str, str] = {}
        for word in pair.positive.answer.split():
            bare = word.strip(".,;:!?()[]{}\"'“”‘’")
            if stems := words(bare, language):
                by_stem.setdefault(stems[0], bare)
        rare = sorted(by_stem, key=lambda stem: frequencies[stem])[:KEYWORDS]
        if len(rare) > 1:
            yield Pair(" ".join(word for stem, word in by_stem.items() if stem in rare), pair.positive, source=SILVER)


def split_marks(placed: Sequence[PlacedMark]) -> tuple[list[Pair], list[Pair]]:
    """Return the marks' pairs for training, and those for measuring: half of the documents each.

    If few documents are marked, half of the passages. The documents held out by ``build_tasks`` are among those for
    measuring: one name in four is also one in two.
    """
    pairs = [(mark, pair) for mark, passage in placed if (pair := marked_pair(mark, passage)) is not None]
    few = len({mark.document for mark, _ in pairs}) < FEW_DOCUMENTS
    halves: tuple[list[Pair], list[Pair]] = ([], [])
    for mark, pair in pairs:
        name = _text_name(pair.positive.head, pair.positive.context) if few else str(mark.document)
        halves[is_held_out_name(name, MARKED_DOCUMENTS)].append(pair)
    return halves


def one_task(passages: Sequence[Passage], pairs: Iterable[Pair]) -> ReqaTask:
    """Return the questions of pairs over all ``passages``, each answered by every copy of its passage.

    Pairs that match no passage, e.g. after an edit, are dropped.
    """
    places, _ = _places(passages)
    golds = {pair.question: tuple(places[pair.positive]) for pair in pairs if pair.positive in places}
    return ReqaTask(tuple(passages), tuple(golds), tuple(golds.values()))


def build_tasks(
    passages: Sequence[Passage], generated: Sequence[Pair], by_rule: Iterable[Pair] = ()
) -> tuple[ReqaTask, ReqaTask]:
    """Return the pairs as two tasks over all ``passages``: for training, and, on held-out documents, for measuring.

    Pairs made ``by_rule``, or marked by people, are only used for training: people ask more than words and headings, and
    marks have their own task. A quarter of the documents is held out, or a quarter of the passages if questions were
    generated about few documents. Pairs that match no passage, e.g. after an edit, are dropped. All copies of a passage
    answer a held-out question.
    """
    places, documents = _places(passages)
    if len({documents[place] for pair in generated for place in places.get(pair.positive, ())[:1]}) < FEW_DOCUMENTS:
        heads = [passage_head(passage.title, passage.heading) for passage in passages]
        texts = [_text_name(head, passage.text) for head, passage in zip(heads, passages, strict=True)]
        documents = [text for text, passage in zip(texts, passages, strict=True) for _ in passage.sentences]
    golds: tuple[dict[str, set[int]], dict[str, set[int]]] = (defaultdict(set), defaultdict(set))
    for pair, is_generated in chain(zip(generated, repeat(True)), zip(by_rule, repeat(False))):
        if copies := places.get(pair.positive):
            is_held = is_held_out_name(documents[copies[0]], HELD_OUT_DOCUMENTS)
            if is_generated or not is_held:
                golds[is_held][pair.question].update(copies if is_held else copies[:1])
    train, held_out = (
        ReqaTask(tuple(passages), tuple(split), tuple(tuple(sorted(places)) for places in split.values())) for split in golds
    )
    return train, held_out


def _places(passages: Sequence[Passage]) -> tuple[dict[Candidate, list[int]], list[str]]:
    """Return the numbers of all sentences by candidate, and each one's document."""
    places: dict[Candidate, list[int]] = defaultdict(list)
    documents: list[str] = []
    for passage in passages:
        for candidate in passage_candidates(passage):
            places[candidate].append(len(documents))
            documents.append(passage.document_key)
    return places, documents


def _text_name(head: str, text: str) -> str:
    """Return the name by which a passage is held out if its document does not matter."""
    return f"{head}\n{text}"
