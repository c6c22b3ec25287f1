"""Questions from documents: answer candidates, a question for each, filters, and the files that training reads."""

from __future__ import annotations

import hashlib
import json
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
from oreqa.defaults import DEFAULT_CLASSIFIER, DEFAULT_READER
from oreqa.errors import InputError
from oreqa.files import resume_rows
from oreqa.generation.candidates import answer_candidates
from oreqa.generation.drafts import Draft, drop_repeated
from oreqa.generation.entities import Entities
from oreqa.generation.filters import MIN_WORDS, REASONS, Filters
from oreqa.generation.output import check_out, sentence_ranges, write_questions
from oreqa.generation.sources import open_source
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.extractor.extractor import Extractor
from oreqa.models.folders import CLASSIFIER
from oreqa.models.generator.decoding import Decoding, as_decoding
from oreqa.models.generator.generator import QuestionGenerator
from oreqa.models.generator.inputs import mark_answer
from oreqa.models.graph.precision import used_precision
from oreqa.models.reader.reader import Reader
from oreqa.progress import Progress, no_progress

BLOCK = 32
"""Passages that are worked on together, and saved together."""


@dataclass(frozen=True, slots=True)
class GenerationReport:
    """What was written to ``out``: the ``questions`` kept, of one asked about each of ``candidates`` in ``passages``.

    ``dropped`` counts the others by reason (``filters.REASONS``), ``short_passages`` what was passed over; ``seconds`` are
    those of the last run, if it resumed another.
    """

    out: Path
    passages: int
    short_passages: int
    candidates: int
    questions: int
    dropped: Mapping[str, int]
    seconds: float


def generate_questions(
    out: str | Path,
    *,
    index: str | Path | None = None,
    data: str | Path | None = None,
    generator: str | Path,
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
    work: str | Path | None = None,
    model: str | Path | None = None,
    device: str = "cpu",
    progress: Progress = no_progress,
) -> GenerationReport:
    """Write questions about documents to ``out``, each with its answer, as pairs (.jsonl) or in the SQuAD format (.json).

    The passages are those of an ``index``, or of ``data`` (a SQuAD or MRQA file, whose questions are not looked at, or a
    BEIR folder), which is indexed in ``work`` by the encoder ``model``, by default all-MiniLM-L6-v2; ``draw`` picks some of
    them at random. In each passage of at least ``filters.MIN_WORDS`` words up to ``answers`` spans are marked: those of the
    ``extractor``, then spaCy's ``entities`` (the name of a pipeline), then those of rules (``answer_candidates``). The
    ``generator`` asks for each in one of the ``styles`` in turn, by default all that it learned, by ``decoding``.

    Questions of fewer than three words, with their answer inside, or asked twice are dropped; and those for which the
    ``reader`` does not find the answer again, with an F1 of at least ``round_trip``, among the passages retrieved for the
    question; and those to whose sentence the ``classifier`` gives less than ``min_probability``. At 0 these two models are
    not loaded.

    An interrupted run resumes when it is started again. Raises InputError for arguments that do not fit together and for
    data that cannot be read, ModelError for a model that cannot be loaded.
    """
    out = check_out(as_path(out, "out"))
    per_passage, begin = count(answers, "the number of answers"), perf_counter()
    reads, judges = share(round_trip, "round_trip") > 0, share(min_probability, "min_probability") > 0
    if reader is not None and not reads:
        raise InputError(f"reader = {reader} would be ignored: round_trip is 0, and nothing is read")
    if classifier is not None and not judges:
        raise InputError(f"classifier = {classifier} would be ignored: set min_probability above 0")
    asker = QuestionGenerator.load(generator, device)
    chosen, method = _styles(styles, asker), as_decoding(decoding, seed)
    finder = None if extractor is None else Extractor.load(extractor, device)
    pipeline = None if entities is None else Entities.load(entities)
    opened = open_source(out, index, data, work, model, device, progress)
    filters = Filters(
        opened,
        Reader.load(reader or DEFAULT_READER, device) if reads else None,
        round_trip,
        CrossEncoder.load(classifier or DEFAULT_CLASSIFIER, device, kind=CLASSIFIER) if judges else None,
        min_probability,
    )
    indexed = list(opened.passages())
    passages = [passage for passage in indexed if len(passage.text.split()) >= MIN_WORDS]
    short = len(indexed) - len(passages)
    if draw is not None and count(draw, "the number of passages") < len(passages):
        passages = [passages[i] for i in sorted(random.Random(seed).sample(range(len(passages)), draw))]

    def make(first: int, last: int) -> list[dict[str, Any]]:
        texts = [(passage_head(passage.title, passage.heading), passage.text) for passage in passages[first:last]]
        candidates = answer_candidates(texts, per_passage, extractor=finder, entities=pipeline)
        drafts = [
            Draft(number, candidate.text, candidate.start, chosen[(number + place) % len(chosen)])
            for number, of_passage in enumerate(candidates, first)
            for place, candidate in enumerate(of_passage)
        ]
        asked = _ask(drafts, passages, asker, method)
        rows: list[list[dict[str, Any]]] = [[] for _ in range(first, last)]
        for draft in filters(asked, passages):
            rows[draft.passage - first].append(draft.row())
        return [{"questions": of_passage} for of_passage in rows]

    decisive: list[Any] = [
        opened.content_stamp,
        opened.encoder.fingerprint,
        asker.stamp,
        finder.stamp if finder else None,
        entities,
    ]
    decisive += [filters.stamp, per_passage, chosen, repr(method), draw, seed]
    decisive += [used_precision(device, "encoder", "reader")]
    stamp = hashlib.sha256(json.dumps(decisive).encode()).hexdigest()[:16]
    partial = out.with_name(f".{out.name}.partial")
    with progress("asking about passages", len(passages)) as advance:
        rows = resume_rows(partial, stamp, len(passages), BLOCK, make, advance)
    drafts = drop_repeated([Draft(number, **fields) for number, row in enumerate(rows) for fields in row["questions"]])
    kept = [draft for draft in drafts if draft.dropped is None]
    write_questions(out, passages, kept)
    partial.unlink(missing_ok=True)
    dropped = Counter(draft.dropped for draft in drafts)
    reasons = {reason: dropped[reason] for reason in REASONS if dropped[reason]}
    return GenerationReport(out, len(passages), short, len(drafts), len(kept), reasons, perf_counter() - begin)


def _ask(
    drafts: Sequence[Draft], passages: Sequence[Passage], generator: QuestionGenerator, decoding: Decoding
) -> list[Draft]:
    """The drafts with their questions."""
    answers = []
    for draft in drafts:
        passage = passages[draft.passage]
        title, end = passage_head(passage.title, passage.heading), draft.start + len(draft.answer)
        sentences = [] if generator.reads_passages else sentence_ranges(passage)
        answers.append(mark_answer(title, passage.text, draft.start, end, sentences))
    questions = generator.generate(answers, [draft.style for draft in drafts], decoding)
    return [replace(draft, question=best[0].text if best else "") for draft, best in zip(drafts, questions, strict=True)]


def _styles(styles: str | Iterable[str] | None, generator: QuestionGenerator) -> list[str]:
    """The styles to ask in. Raises InputError, with those that the generator learned, for another."""
    chosen = list(generator.styles) if styles is None else text_list(styles, "styles")
    for style in chosen:
        choice(style, generator.styles, "style")
    if not chosen:
        raise InputError("styles is an empty list: leave it out for all that the generator learned")
    return chosen
