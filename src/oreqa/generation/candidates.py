"""Passages and sentences to ask about, and answer candidates: their spans that people are likely to ask about."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from oreqa.arguments import count, passage_list
from oreqa.core import Passage
from oreqa.errors import InputError, ModelError
from oreqa.generation.rules import rule_spans
from oreqa.models.extractor.extractor import Extractor
from oreqa.models.graph.windows import Text
from oreqa.text.answers import normalize_answer
from oreqa.text.sentences import is_prose

MIN_WORDS = 20
"""Passages of fewer words are skipped (ProQA's released code)."""

DEFAULT_PIPELINE = "en_core_web_sm"

LONGEST_TEXT = 100_000
"""Characters of a passage that are searched: spaCy takes about 100 kB of memory per 1,000 characters."""

AGREEMENT = 0.6
"""Added to the log-probability of an extractor's span that a rule also finds: chosen on held-out articles."""

POOL = 8
"""Spans of the extractor, including overlapping ones, from which each candidate is chosen."""


@dataclass(frozen=True, slots=True)
class AnswerCandidate:
    """A span ``passage_text[start:end] == text`` that people may ask about.

    ``source`` names the finder: ``extractor``, ``entity``, or the kind of a rule's span (``date``, ``number``, ``quantity``,
    ``name``, ``quoted``, ``phrase``). Scores of the extractor are comparable with one another, and so are those of rules; an
    entity's is 0.
    """

    text: str
    start: int
    end: int
    source: str
    score: float


class Entities:
    """A loaded spaCy pipeline that finds named entities, dates and numbers."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline

    @property
    def fingerprint(self) -> str:
        """The pipeline's name and version."""
        return " ".join(str(self._pipeline.meta.get(key, "")) for key in ("lang", "name", "version", "spacy_version"))

    @classmethod
    def load(cls, name: str = DEFAULT_PIPELINE) -> Entities:
        """Load a spaCy pipeline by name or folder.

        Raises ModelError if spaCy or the pipeline is not installed, InputError for a pipeline without entities.
        """
        try:
            import spacy
        except ImportError:
            raise ModelError("entities need spaCy: pip install spacy, and a pipeline such as en_core_web_sm") from None
        try:
            pipeline = spacy.load(name, exclude=["tagger", "parser", "lemmatizer", "attribute_ruler", "senter"])
        except (OSError, ValueError) as error:
            raise ModelError(f"spaCy has no pipeline {name!r}: python -m spacy download {name}") from error
        if "ner" not in pipeline.pipe_names:
            raise InputError(f"the spaCy pipeline {name!r} finds no entities; use one such as {DEFAULT_PIPELINE}")
        return cls(pipeline)

    def find(self, texts: Iterable[str]) -> Iterator[list[tuple[int, int]]]:
        """Yield the character ranges of each text's entities, in text order."""
        for document in self._pipeline.pipe((text[:LONGEST_TEXT] for text in texts), batch_size=64):
            yield [(entity.start_char, entity.end_char) for entity in document.ents]


def sentence_ranges(passage: Passage) -> list[tuple[int, int]]:
    """Return the sentences of a passage, as character ranges of its text."""
    return [(sentence.start - passage.start, sentence.end - passage.start) for sentence in passage.sentences]


def prose_ranges(passage: Passage) -> list[tuple[int, int]]:
    """Return the sentences of prose in a passage, as character ranges of its text."""
    return [(start, end) for start, end in sentence_ranges(passage) if is_prose(passage.text[start:end])]


def is_askable(passage: Passage) -> bool:
    """Return whether questions are made from a passage: it has MIN_WORDS words and a sentence of prose."""
    return len(passage.text.split()) >= MIN_WORDS and bool(prose_ranges(passage))


def answer_candidates(
    passages: str | Iterable[str | Text],
    k: int = 10,
    *,
    extractor: Extractor | None = None,
    entities: Entities | None = None,
    rules: bool = True,
) -> list[list[AnswerCandidate]]:
    """Return up to ``k`` spans of each passage that people are likely to ask about, likeliest first.

    A passage is its text, or its ``(title, text)``. First come the extractor's spans by log-probability, plus AGREEMENT
    for a span that ``rules`` also find (except phrases), or spaCy's ``entities`` in text order; then the rules' spans. A
    span is dropped if it overlaps an earlier one, or equals one after SQuAD's normalisation. Raises InputError for both
    an extractor and entities, without anything to find spans with, and for invalid passages.
    """
    k, texts = count(k, "k"), passage_list(passages)
    if extractor is not None and entities is not None:
        raise InputError("name an extractor or entities: an extractor leaves no places for entities")
    if extractor is None and entities is None and not rules:
        raise InputError("answer candidates need an extractor, entities or rules")
    extracted = [] if extractor is None else extractor.extract(texts, k=POOL * k, overlapping=True)
    named = [] if entities is None else list(entities.find(text for _, text in texts))
    candidates = []
    for number, (_, text) in enumerate(texts):
        by_rule = [(span.start, span.end, span.kind, span.score) for span in rule_spans(text)] if rules else []
        proposed: list[_Proposal] = []
        if extracted:
            certain = {(start, end) for start, end, kind, _ in by_rule if kind != "phrase"}
            spans = [(s.start, s.end, s.score + AGREEMENT * ((s.start, s.end) in certain)) for s in extracted[number]]
            proposed += [(start, end, "extractor", score) for start, end, score in sorted(spans, key=lambda s: -s[2])]
        elif named:
            proposed += [(start, end, "entity", 0.0) for start, end in named[number]]
        candidates.append(_choose(text, [*proposed, *by_rule], k))
    return candidates


_Proposal = tuple[int, int, str, float]
"""Start, end, source and score of a span."""


def _choose(text: str, spans: Iterable[_Proposal], k: int) -> list[AnswerCandidate]:
    """Return the first ``k`` spans that neither overlap nor equal an earlier one."""
    candidates: list[AnswerCandidate] = []
    answers = {""}
    for start, end, source, score in spans:
        if len(candidates) == k:
            break
        if any(start < candidate.end and candidate.start < end for candidate in candidates):
            continue
        answer = normalize_answer(text[start:end])
        if answer not in answers:
            answers.add(answer)
            candidates.append(AnswerCandidate(text[start:end], start, end, source, score))
    return candidates
