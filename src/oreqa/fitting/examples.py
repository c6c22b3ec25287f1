"""Questions with answers about an index's documents: read from a file, located in the index, and split by document."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from oreqa.core import Hit, Passage
from oreqa.corpus.splitter import sentence_at
from oreqa.datasets.load import data_kind, load_paragraphs
from oreqa.datasets.pairs import load_pairs, read_pair_rows
from oreqa.datasets.paragraphs import whole_passages
from oreqa.datasets.questions import OpenQuestion, answer_ranges, load_question_list
from oreqa.errors import InputError
from oreqa.evaluation.open_scores import is_document
from oreqa.files import optional
from oreqa.index.search import Index

HELD_OUT = 3
"""One document in this many is held out, to measure what was fitted on the others."""

FEW_DOCUMENTS_ASKED = 20
"""If questions are about fewer documents, passages are held out instead."""

FEWEST_ANSWERABLE = 90
"""Required questions with an answer in the index: 60 to fit on, and 30 to measure on."""

GENERATED = "generated questions"
"""The source of questions generated from the index."""

PassageName = tuple[str, int]
"""A passage's document and its start in it."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question of a data file.

    ``sentences`` are those of the data's own paragraph in which its answers begin, or the first if it is unanswerable;
    without any, the answers may be anywhere in its document.
    """

    question: OpenQuestion
    sentences: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlacedExample:
    """An example, the rows of the index's sentences that answer it (``Index.score_all``), and the ``passages`` they are in.

    ``documents`` are those of its passages, if the data names them.
    """

    question: OpenQuestion
    golds: tuple[int, ...] = ()
    passages: frozenset[PassageName] = frozenset()
    documents: frozenset[str] = frozenset()

    def leaves_out(self, hit: Hit, whole_documents: bool) -> bool:
        """Return whether a hit would answer the question: it is from its documents, or else one of its passages."""
        if whole_documents and self.documents:
            return hit.passage.document_key in self.documents
        passage = hit.passage
        return (passage.document_key, passage.start) in self.passages or bool(answer_ranges(passage.text, self.question))


def load_examples(path: Path, language: str) -> list[Example]:
    """Return the questions of a SQuAD or MRQA file, of pairs, or of a list.

    A pair's answer is its ``span``, which generated ones have, or else its whole sentence. Raises InputError for other data,
    and malformed rows.
    """
    kind = data_kind(path)
    if kind == "questions":
        return [Example(question) for question in load_question_list(path)]
    if kind == "pairs":
        rows = zip(load_pairs(path), read_pair_rows(path), strict=True)
        return [
            Example(
                OpenQuestion(str(number), pair.question, (optional(row, "span", str, pair.positive.answer, str(path)),)),
                (pair.positive.answer,),
            )
            for pair, (number, row) in rows
        ]
    if kind in ("beir", "unknown"):
        if not path.exists():
            raise InputError(f"{path}: there is no such file")
        raise InputError(
            f"{path}: give questions with answers: a SQuAD file (.json), an MRQA file (.jsonl), pairs, or a list of "
            "questions: a table (.csv, .tsv, .xlsx) with the columns question and answer, or .jsonl, a row each, as "
            '{"question": "Who?", "answers": ["Ada"]}'
        )
    paragraphs = load_paragraphs(path)
    return [
        Example(OpenQuestion(q.id, q.text, tuple(gold.text for gold in q.answers)), _sentences(passage, starts))
        for paragraph, passage in zip(paragraphs, whole_passages(paragraphs, language), strict=True)
        for q in paragraph.questions
        for starts in [[gold.start for gold in q.answers] or [0]]
    ]


def _sentences(passage: Passage, starts: Iterable[int]) -> tuple[str, ...]:
    numbers = dict.fromkeys(sentence_at(passage, start) for start in starts)
    return tuple(passage.sentences[number].text for number in numbers) if passage.sentences else ()


def place_examples(examples: Sequence[Example], passages: Sequence[Passage]) -> list[PlacedExample]:
    """Return the examples with the places of their answers in the index, whose ``passages`` are passed in its order.

    Examples whose answers, or whose paragraph in the data, are not in the index are dropped.
    """
    by_sentence: dict[str, list[int]] = defaultdict(list)
    for number, example in enumerate(examples):
        for text in example.sentences:
            by_sentence[_plain(text)].append(number)
    listed = [n for n, example in enumerate(examples) if not example.sentences and example.question.is_answerable]
    golds: list[dict[int, PassageName]] = [{} for _ in examples]
    for first, passage in _numbered(passages):
        name = passage.document_key, passage.start
        for place, sentence in enumerate(passage.sentences):
            for number in by_sentence.get(_plain(sentence.text), ()):
                golds[number][first + place] = name
        for number in listed:
            golds[number].update((first + place, name) for place in _answering(passage, examples[number].question))
    cut_otherwise = [n for n, example in enumerate(examples) if example.sentences and not golds[n]]
    for first, passage in _numbered(passages) if cut_otherwise else ():
        text = _plain(passage.text)
        for number in cut_otherwise:
            if any(_plain(sentence) in text for sentence in examples[number].sentences):
                rows = _answering(passage, examples[number].question) or [0]
                golds[number].update((first + place, (passage.document_key, passage.start)) for place in rows)
    placed = []
    for example, places in zip(examples, golds, strict=True):
        question, names = example.question, frozenset(places.values())
        if places or not (example.sentences or question.is_answerable):
            has_source = example.sentences or question.document
            documents = frozenset(document for document, _ in names) if has_source else frozenset()
            answering = tuple(places) if question.is_answerable else ()
            placed.append(PlacedExample(question, answering, names, documents))
    return placed


def _numbered(passages: Iterable[Passage]) -> Iterator[tuple[int, Passage]]:
    """Yield each passage that has sentences, with the row of its first one."""
    row = 0
    for passage in passages:
        if passage.sentences:
            yield row, passage
        row += len(passage.sentences)


def _plain(text: str) -> str:
    return " ".join(text.split())


def _answering(passage: Passage, question: OpenQuestion) -> list[int]:
    """Return the numbers of a passage's sentences in which an accepted answer begins."""
    if question.document is not None and not is_document(passage.document_key, question.document):
        return []
    if question.pattern is None:
        text = passage.text.lower()  # testing the first words is a hundred times faster than all answers
        if not any(words[0].lower() in text for answer in question.answers if (words := answer.split())):
            return []
    return sorted({sentence_at(passage, start) for start, _ in answer_ranges(passage.text, question)})


@dataclass(frozen=True, slots=True)
class Split:
    """Examples to fit on, and examples that measure the fit.

    ``whole_documents`` says whether the latter are about other documents, ``groups`` how many documents, or else
    passages, the questions are about.
    """

    fit: list[PlacedExample]
    measured: list[PlacedExample]
    whole_documents: bool
    groups: int

    def group_of(self, example: PlacedExample) -> object:
        """Return the unit in which an example is held out: its document, or else its passage."""
        return _group(example, self.whole_documents)


def split_examples(examples: Sequence[PlacedExample], count: int, seed: int) -> Split:
    """Draw ``count`` examples, and hold out those about one document in ``HELD_OUT``, also drawn.

    If they are about few documents, those about one passage in ``HELD_OUT`` are held out instead. A question that names no
    document is held out by its passages.
    """
    examples = list(dict.fromkeys(examples))
    drawn = random.Random(seed).sample(examples, min(count, len(examples)))
    whole = len({min(example.documents) for example in drawn if example.documents}) >= FEW_DOCUMENTS_ASKED
    groups: dict[object, list[PlacedExample]] = defaultdict(list)
    for example in drawn:
        groups[_group(example, whole)].append(example)
    names = list(groups)
    random.Random(seed + 1).shuffle(names)
    measured: list[PlacedExample] = []
    fitted: list[PlacedExample] = []
    for name in names:
        (measured if len(measured) * HELD_OUT < len(drawn) else fitted).extend(groups[name])
    return Split(fitted, measured, whole, len(groups))


def _group(example: PlacedExample, whole_documents: bool) -> object:
    if whole_documents and example.documents:
        return min(example.documents)
    return min(example.passages, default=example.question.text)


def draw_examples(index: Index, path: Path, source: str, questions: int, seed: int) -> tuple[Split, int]:
    """Return questions of a file, drawn and split, and how many of them are not in the index.

    Raises InputError for too few to fit on, or to measure on.
    """
    examples = load_examples(path, index.settings.language)
    placed = place_examples(examples, list(index.passages()))
    split, missing = split_examples(placed, questions, seed), len(examples) - len(placed)
    answerable = sum(bool(example.golds) for example in (*split.fit, *split.measured))
    if answerable < FEWEST_ANSWERABLE:
        advice = "set questions (--questions) higher"
        if source != GENERATED and len(placed) <= questions:
            advice = "write more about its documents"
        elsewhere = f"; not in the index: {missing}" if missing else ""
        raise InputError(
            f"{source}: too few questions have an answer in the index ({answerable}{elsewhere}); "
            f"at least {FEWEST_ANSWERABLE} are needed: {advice}"
        )
    return split, missing


def questions_without_answers(examples: Iterable[PlacedExample]) -> list[OpenQuestion]:
    """Return the questions of answerable examples, for asking an index without their answers."""
    return [replace(example.question, answers=(), pattern=None) for example in examples if example.golds]
