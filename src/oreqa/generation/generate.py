"""Generates questions from documents: answer candidates, a question for each, filters, and files for training."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from oreqa.arguments import as_path, choice, count, share, text_list
from oreqa.core import Passage
from oreqa.corpus.splitter import passage_head
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_GENERATOR, DEFAULT_READER
from oreqa.errors import InputError
from oreqa.generation.candidates import MIN_WORDS, Entities, answer_candidates, is_askable, prose_ranges, sentence_ranges
from oreqa.generation.drafts import Draft, check_out, drop_repeated, write_questions
from oreqa.generation.filters import REASONS, Filters
from oreqa.generation.sources import PassageSource, open_source
from oreqa.index.clusters import draw_across_clusters
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.extractor.extractor import Extractor
from oreqa.models.generator.decoding import Decoding, as_decoding
from oreqa.models.generator.generator import QuestionGenerator
from oreqa.models.generator.inputs import mark_answer
from oreqa.models.graph.precision import used_precision
from oreqa.models.names import CLASSIFIER
from oreqa.models.reader.reader import Reader
from oreqa.parts import WorkPart, as_part, drop_unfinished, shared_rows
from oreqa.progress import Progress, no_progress, show
from oreqa.provenance import fingerprint

BLOCK = 8
"""Passages processed and saved together: a few seconds' work, and as fast as larger blocks."""

SPARE = 4
"""How many answer candidates are considered per question asked, as those outside of prose are skipped."""

EXAMPLES = 3
"""Questions shown in a report."""


@dataclass(frozen=True, slots=True)
class GenerationReport:
    """A run that wrote to ``out`` the ``questions`` it kept, of one asked about each of ``candidates`` in ``passages``.

    No file is written if none is kept. ``asked_passages`` counts passages with a question, ``dropped`` the other
    questions by reason (``filters.REASONS``), ``passed_over`` the passages that are too short or have no prose.
    ``seconds`` are those of the last run, if it resumed another one; ``passages_per_second`` and
    ``candidates_per_second`` are the rates of its own work, with models loaded. ``examples`` are a few of the questions
    with their answers.
    """

    out: Path
    passages: int
    passed_over: int
    candidates: int
    questions: int
    asked_passages: int
    dropped: Mapping[str, int]
    seconds: float
    passages_per_second: float
    candidates_per_second: float
    examples: Sequence[tuple[str, str]]


def generate_questions(
    out: str | Path,
    *,
    index: str | Path | None = None,
    data: str | Path | None = None,
    generator: str | Path = DEFAULT_GENERATOR,
    extractor: str | Path | None = None,
    entities: str | None = None,
    answers: int = 5,
    styles: str | Iterable[str] | None = None,
    decoding: Decoding | str = "beam",
    round_trip: float = 0.8,
    reader: str | Path | None = None,
    min_probability: float = 0.0,
    classifier: str | Path | None = None,
    draw: int | None = None,
    seed: int = 0,
    model: str | Path | None = None,
    device: str = "cpu",
    part: str | None = None,
    progress: Progress = no_progress,
) -> GenerationReport:
    """Write questions about documents to ``out``, each with its answer, as pairs (.jsonl) or in the SQuAD format (.json).

    The passages are those of an ``index``, or of ``data`` (a SQuAD or MRQA file, whose questions are ignored, or a BEIR
    folder), which is indexed in ``index`` by the encoder ``model``, or the default encoder. ``draw`` picks some of them
    evenly from all clusters of similar passages (``index.clusters``), or at random if nothing is indexed. In each
    passage of at least ``MIN_WORDS`` words, up to ``answers`` spans in sentences of prose are marked: those of the
    ``extractor`` and of rules (``answer_candidates``), or spaCy's ``entities`` (the name of a pipeline), or those of
    rules alone. The ``generator`` asks about each in one of the ``styles`` in turn, by default all that it learned, by
    ``decoding``.

    Questions are dropped if they ask for nothing in particular, contain their answer, or are repeated; if the ``reader``
    does not find the answer again, with an F1 of at least ``round_trip``, among the passages retrieved for the question;
    or if the ``classifier`` gives its sentence less than ``min_probability``. At 0, these two models are not loaded.

    An interrupted run resumes when it is started again. Several processes can share the work: each makes a ``part`` of
    it, e.g. ``3/8``, without writing ``out``; a run without one collects their questions and asks the missing ones. The
    file equals that of a single run. Raises InputError for an existing ``out``, for conflicting arguments and for data
    that cannot be read, ModelError for a model that cannot be loaded.
    """
    out = check_out(as_path(out, "out"))
    begin, answers = perf_counter(), count(answers, "the number of answers")
    chosen = as_part(part)
    draw, seed = None if draw is None else count(draw, "the number of passages"), count(seed, "seed", 0)
    round_trip, min_probability = share(round_trip, "round_trip"), share(min_probability, "min_probability")
    decoding = as_decoding(decoding, seed)
    _check_used(reader, round_trip, classifier, min_probability, entities, extractor)
    question_generator = QuestionGenerator(generator, device=device)
    styles = _styles(styles, question_generator)
    span_models = (
        None if extractor is None else Extractor(extractor, device=device),
        None if entities is None else Entities.load(entities),
    )
    judges = (
        Reader(reader or DEFAULT_READER, device=device) if round_trip else None,
        CrossEncoder(classifier or DEFAULT_CLASSIFIER, device=device, kind=CLASSIFIER) if min_probability else None,
    )
    with open_source(out, index, data, model, round_trip > 0, device, progress) as source:
        askable = [passage for passage in source.passages if is_askable(passage)]
        if not askable:
            raise InputError(f"{index or data}: it holds no passage of at least {MIN_WORDS} words with a sentence of prose")
        passages = askable if draw is None or draw >= len(askable) else _draw(source, askable, draw, seed)
        filters = Filters(source.index, judges[0], round_trip, judges[1], min_probability)
        settings = [
            source.fingerprint,
            question_generator.fingerprint,
            *(model.fingerprint if model else None for model in span_models),
            filters.fingerprint,
            answers,
            styles,
            repr(decoding),
            draw,
            seed,
            used_precision(device, "encoder", "reader"),
        ]
        asker = _Asker(passages, question_generator, decoding, styles, answers, *span_models, filters)
        asking = perf_counter()
        first, last = (chosen or WorkPart(1, 1)).span(len(passages), BLOCK)
        with show(progress, "asking about passages", last - first) as advance:
            rows = shared_rows(out, chosen, fingerprint(settings), len(passages), BLOCK, asker.rows, advance)
        asking_seconds = perf_counter() - asking
    drafts = drop_repeated([Draft(place, **fields) for place, row in enumerate(rows, first) for fields in row["questions"]])
    kept = [draft for draft in drafts if draft.dropped is None]
    if chosen is None:
        _finish(out, passages, kept)
    dropped = Counter(draft.dropped for draft in drafts)
    return GenerationReport(
        out,
        passages=len(rows),
        passed_over=len(source.passages) - len(askable),
        candidates=len(drafts),
        questions=len(kept),
        asked_passages=len({draft.passage for draft in kept}),
        dropped={reason: dropped[reason] for reason in REASONS if dropped[reason]},
        seconds=round(perf_counter() - begin, 3),
        passages_per_second=round(asker.passage_count / asking_seconds, 2),
        candidates_per_second=round(asker.candidate_count / asking_seconds, 2),
        examples=[(draft.question, draft.answer) for draft in kept[:: -(-len(kept) // EXAMPLES) or 1]],
    )


def _finish(out: Path, passages: Sequence[Passage], kept: Sequence[Draft]) -> None:
    """Write the questions, and remove leftovers of unfinished runs."""
    if kept:  # an empty file would only block the next run
        write_questions(out, passages, kept)
    drop_unfinished(out)


def _check_used(
    reader: str | Path | None,
    round_trip: float,
    classifier: str | Path | None,
    min_probability: float,
    entities: str | None,
    extractor: str | Path | None,
) -> None:
    """Raise InputError for a model that would not be used."""
    if reader is not None and not round_trip:
        raise InputError(f"reader = {reader} would be ignored: round_trip is 0, and nothing is read")
    if classifier is not None and not min_probability:
        raise InputError(f"classifier = {classifier} would be ignored: set min_probability above 0")
    if entities is not None and extractor is not None:
        raise InputError("name an extractor or entities: an extractor leaves no places for entities")


@dataclass(slots=True)
class _Asker:
    """Asks about ``passages``, counting those it asked about itself and their candidates."""

    passages: Sequence[Passage]
    generator: QuestionGenerator
    decoding: Decoding
    styles: Sequence[str]
    answers: int
    extractor: Extractor | None
    entities: Entities | None
    filters: Filters
    passage_count: int = 0
    candidate_count: int = 0

    def rows(self, first: int, last: int) -> list[dict[str, Any]]:
        """Return the drafts of the passages ``first:last`` as rows of the unfinished file."""
        drafts = self._mark(first, last)
        rows: list[list[dict[str, Any]]] = [[] for _ in range(first, last)]
        for draft in self.filters(self._ask(drafts), self.passages):
            rows[draft.passage - first].append(draft.row())
        self.passage_count += last - first
        self.candidate_count += len(drafts)
        return [{"questions": questions} for questions in rows]

    def _mark(self, first: int, last: int) -> list[Draft]:
        """Return drafts without questions."""
        passages = self.passages[first:last]
        texts = [(passage_head(passage.title, passage.heading), passage.text) for passage in passages]
        candidates = answer_candidates(
            texts, SPARE * self.answers, extractor=self.extractor, entities=self.entities, rules=self.entities is None
        )
        drafts = []
        for number, (passage, passage_candidates) in enumerate(zip(passages, candidates, strict=True), first):
            prose = prose_ranges(passage)
            usable = [c for c in passage_candidates if any(start <= c.start and c.end <= end for start, end in prose)]
            for place, candidate in enumerate(usable[: self.answers]):
                style = self.styles[(number + place) % len(self.styles)]
                drafts.append(Draft(number, candidate.text, candidate.start, style))
        return drafts

    def _ask(self, drafts: Sequence[Draft]) -> list[Draft]:
        """Return the drafts with their questions."""
        answers = []
        for draft in drafts:
            passage = self.passages[draft.passage]
            title, end = passage_head(passage.title, passage.heading), draft.start + len(draft.answer)
            sentences = [] if self.generator.reads_passages else sentence_ranges(passage)
            answers.append(mark_answer(title, passage.text, draft.start, end, sentences))
        questions = self.generator.generate(answers, [draft.style for draft in drafts], self.decoding)
        return [replace(draft, question=best[0].text if best else "") for draft, best in zip(drafts, questions, strict=True)]


def _draw(source: PassageSource, passages: Sequence[Passage], draw: int, seed: int) -> list[Passage]:
    """Return ``draw`` of a source's ``passages``: across clusters of similar ones, or at random if it has no vectors."""
    if source.index is None:
        return [passages[i] for i in sorted(random.Random(seed).sample(range(len(passages)), draw))]
    kept = {id(passage) for passage in passages}
    rows = [row for row, passage in enumerate(source.passages) if id(passage) in kept]
    vectors = source.index.passage_vectors()[rows]
    return [passages[i] for i in draw_across_clusters(vectors, draw, seed)]


def _styles(styles: str | Iterable[str] | None, generator: QuestionGenerator) -> list[str]:
    """Return the styles to ask in. Raises InputError, listing those that the generator learned, for others."""
    if styles is None:
        return list(generator.styles)
    names = text_list(styles, "styles")
    for style in names:
        choice(style, generator.styles, "style")
    if not names:
        raise InputError("styles is an empty list: leave it out for all that the generator learned")
    return names
