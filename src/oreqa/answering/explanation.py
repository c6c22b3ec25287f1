"""Explains a reply: what search ranked, what was read, which answers there were, and which stage decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import regex

from oreqa.answer import Answer
from oreqa.answering.combining import ScoredSpan, sentence_features, span_features
from oreqa.answering.expected import ExpectedPlace, expected_place
from oreqa.answering.reading_list import hits_with_names
from oreqa.answering.reply import Reply
from oreqa.answering.versions import likely_answers
from oreqa.core import Hit, Span
from oreqa.corpus.splitter import passage_head
from oreqa.index.lexical import words
from oreqa.index.snapshot import Snapshot
from oreqa.index.spelling import with_words
from oreqa.models.fitted import Calibration
from oreqa.text.answers import f1_score, occurrences
from oreqa.text.names import identifiers
from oreqa.text.stop_words import STOP_WORDS
from oreqa.visible import counted

EXPLAINED_HITS, EXPLAINED_ANSWERS = 100, 10
"""Hits searched for an expected answer, and answers compared."""

RANKED_BY = ("sentence_cosine", "passage_cosine", "sentence_bm25", "passage_bm25")
"""The retrieval scores that hits are also ranked by individually."""

NOTHING_SEARCHED = "No document was searched: the index is empty, or no document meets the conditions."

Stage = Literal["documents", "search", "names", "reader", "order", "probability", "answered"]
"""What decided: no document was searched; no passage with the answer was read, or only ones without an identifier of the
question; the reader did not find it there; another answer ranked first; it was too unlikely; or it was given."""

_NEXT_STEPS: Mapping[Stage, str] = {
    "documents": "Index documents, or ask with fewer conditions.",
    "search": "Ask with the words that the documents use; oreqa adapt tunes the search to them.",
    "names": "Write what the question names as the documents write it, or leave it out.",
    "reader": "Ask for one fact in a short question.",
    "order": "Ask more precisely, or ask the document of the right answer alone.",
    "probability": "If it is right, lower the --threshold; oreqa fit finds the best one with questions of your own.",
    "answered": "If it is wrong, name the right answer to see which stage lost it.",
}
"""What to try, by the stage that decided."""

_WORD = regex.compile(r"[\p{L}\p{N}]+")


@dataclass(frozen=True, slots=True)
class RankedHit:
    """A search hit, and what became of it.

    Attributes:
        hit: The hit.
        rank: Its rank in the search, from 1.
        ranks: Its ranks by each retrieval score among the same hits.
        was_read: It is one of the best hits, from which the answers come.
        lacks_names: It cannot be one, because it does not contain an identifier that the question names.
        holds_expected: It contains the expected answer.
        answer: The best answer found in it.
    """

    hit: Hit
    rank: int
    ranks: Mapping[str, int]
    was_read: bool
    lacks_names: bool
    holds_expected: bool
    answer: Answer | None


@dataclass(frozen=True, slots=True)
class Explanation:
    """Which stage decided the answers to a question, and each stage's output.

    Attributes:
        question: The question.
        stage: The stage that decided.
        reason: Why, in a sentence.
        next_step: What to try; empty if the expected answer was given.
        hits: The best hits of the search.
        expected_place: Where the expected answer stands in these hits; None without one, or if none contains it.
        answers: The best answers found, including those less likely than the threshold.
        threshold: The lowest confidence of an answer that is given; None without a calibration.
        log_odds: What each feature adds to the log-odds of the first answer.
        absent_words: Words of the question that no document contains.
        unread_words: Other words of the question that no passage read contains.
        respelt: Misspelt words of the question with those used in their place.
        generation: The number of the index state explained.
    """

    question: str
    stage: Stage
    reason: str
    next_step: str
    hits: tuple[RankedHit, ...]
    expected_place: ExpectedPlace | None
    answers: tuple[Answer, ...]
    threshold: float | None
    log_odds: Mapping[str, float]
    absent_words: tuple[str, ...]
    unread_words: tuple[str, ...]
    respelt: Mapping[str, str]
    generation: int


def explained(
    question: str,
    reply: Reply,
    hits: Sequence[Hit],
    snapshot: Snapshot,
    calibration: Calibration | None,
    *,
    depth: int | None,
    threshold: float,
    expected: str | None,
) -> Explanation:
    """Return the explanation of an unfiltered ``reply`` and of the best ``hits`` of the same search.

    ``depth`` is the number of passages read; None if the answers are sentences.
    """
    respelt_question = with_words(question, reply.respelt)
    ranked = _ranked_hits(respelt_question, hits, reply, depth, expected)
    read = [hit.hit for hit in ranked if hit.was_read]
    stage, reason = _decided(question, expected, ranked, reply.answers, threshold)
    log_odds = _log_odds(calibration, reply.answers, reply.hits, depth is not None) if calibration else {}
    absent, unread = _unheld_words(question, read, snapshot)
    right = [answer.passage for answer in reply.answers if expected is not None and _says(answer, expected)]
    place = expected_place(expected, [hit.passage for hit in hits], [*right, *(hit.passage for hit in read)])
    return Explanation(
        question,
        stage,
        reason,
        "" if stage == "answered" and expected is not None else _NEXT_STEPS[stage],
        ranked,
        place,
        reply.answers,
        threshold if calibration else None,
        log_odds,
        absent,
        unread,
        reply.respelt,
        reply.generation,
    )


def refusal(question: str, reply: Reply) -> str:
    """Return in a sentence why a reply has no answers."""
    if not reply.hits:
        return NOTHING_SEARCHED
    if not hits_with_names(with_words(question, reply.respelt), reply.hits):
        return f"No passage holds what the question names: {_named(question)}."
    if reply.best is None or reply.best.confidence is None:
        return "There is no answer in the passages that were read."
    return f"The best guess has {reply.best.percent}, and an answer needs {100 * reply.threshold:.0f}%."


def _unheld_words(question: str, read: Sequence[Hit], snapshot: Snapshot) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the content words of a question that no document contains, and those that only unread passages contain."""
    language = snapshot.settings.language
    stems = {
        word: words(word, language) for word in dict.fromkeys(_WORD.findall(question)) if word.lower() not in STOP_WORDS
    }
    in_read = {stem for hit in read for stem in words(_text(hit), language)}
    all_stems = {stem for word_stems in stems.values() for stem in word_stems}
    in_index = {} if snapshot.empty else snapshot.word_numbers(all_stems)
    unread = [word for word, word_stems in stems.items() if not in_read.issuperset(word_stems)]
    absent = [word for word in unread if any(in_index.get(stem) is None for stem in stems[word])]
    return tuple(absent), tuple(word for word in unread if read and word not in absent)


def _ranked_hits(
    question: str, hits: Sequence[Hit], reply: Reply, depth: int | None, expected: str | None
) -> tuple[RankedHit, ...]:
    """Return the ranked ``hits`` of the search. Those of the ``reply`` that contain the question's identifiers were read."""
    with_names = {hit.sentence_id for hit in hits_with_names(question, hits)}
    read = with_names & {hit.sentence_id for hit in reply.hits}
    by_score = {
        name: sorted({hit.scores[name] for hit in hits}, reverse=True)
        for name in RANKED_BY
        if all(name in hit.scores for hit in hits)
    }
    return tuple(
        RankedHit(
            hit,
            rank,
            {name: values.index(hit.scores[name]) + 1 for name, values in by_score.items()},
            hit.sentence_id in read,
            hit.sentence_id not in with_names,
            expected is not None and bool(occurrences(_text(hit), expected)),
            next((a for a in reply.answers if _is_in(a, hit) and (depth or a.start == hit.sentence.start)), None),
        )
        for rank, hit in enumerate(hits, 1)
    )


def _decided(
    question: str, expected: str | None, hits: Sequence[RankedHit], answers: Sequence[Answer], threshold: float
) -> tuple[Stage, str]:
    read = [hit for hit in hits if hit.was_read]
    if not hits:
        return "documents", NOTHING_SEARCHED
    if expected is not None:
        return _decided_about(expected, hits, read, answers, threshold)
    if not read:
        first = next((hit.rank for hit in hits if not hit.lacks_names), None)
        where = f"None of the first {len(hits)} passages" if first is None else f"No passage before {first}"
        return "names", f"{where} holds what the question names: {_named(question)}."
    if not answers:
        return "reader", f"There is no answer in what was read, {counted(len(read), 'passage')}."
    return _given(answers, threshold)


def _decided_about(
    expected: str, hits: Sequence[RankedHit], read: Sequence[RankedHit], answers: Sequence[Answer], threshold: float
) -> tuple[Stage, str]:
    """Return the first stage that lost an ``expected`` answer, and the reason."""
    with_expected = [hit for hit in hits if hit.holds_expected]
    right = [place for place, answer in enumerate(answers) if _says(answer, expected)]
    if not right and not with_expected:
        return "search", f"None of the first {len(hits)} passages of the search holds “{expected}”."
    if not right and not any(hit.was_read for hit in with_expected):
        first = with_expected[0]
        if first.lacks_names:
            return "names", f"Passage {first.rank} holds “{expected}”, but not all that the question names."
        if any(hit.was_read and hit.rank > first.rank for hit in hits):
            where = f"“{expected}” stands in passage {first.rank} of the search"
            return "reader", f"{where}, but the smaller reader ranked {counted(len(read), 'other')} before it, to read."
        return "search", f"“{expected}” first stands in passage {first.rank} of the search; the reader read {len(read)}."
    if not right:
        place = next(hit.rank for hit in with_expected if hit.was_read)
        return (
            "reader",
            f"Passage {place} was read and holds “{expected}”, but it is none of the {len(answers)} best answers.",
        )
    if right[0]:
        why = ", as its document is of a newer version" if answers[right[0]].newer else ""
        return "order", f"“{expected}” is answer {right[0] + 1}; “{answers[0].text}” comes first{why}."
    return _given(answers, threshold)


def _given(answers: Sequence[Answer], threshold: float) -> tuple[Stage, str]:
    """Return the stage and the reason of the first answer: it is likely enough or not, or contradicts one that is."""
    answer = answers[0]
    if answer.computation:
        return "answered", f"“{answer.text}” was computed from {answer.computation.basis}."
    if answer.confidence is None:
        return "answered", f"“{answer.text}” comes first. These models give no probability, and so refuse nothing."
    likely, needed = f"“{answer.text}” comes first, with {answer.percent}", f"{100 * threshold:.0f}%"
    if answer.confidence >= threshold:
        return "answered", f"{likely}; an answer needs {needed}."
    if answer in likely_answers(answers, threshold):
        return "answered", f"{likely}, and says otherwise than an answer with {needed} or more of another document."
    return "probability", f"{likely}, and an answer needs {needed}."


def _log_odds(
    calibration: Calibration, answers: Sequence[Answer], read: Sequence[Hit], has_reader: bool
) -> dict[str, float]:
    """Return what each feature adds to the log-odds of the first answer.

    Empty without an answer, and for one that was computed or is the statement of an entry, as no reader scored it.
    """
    place = next((place for place, hit in enumerate(read) if answers and _is_in(answers[0], hit)), None)
    if place is None or answers[0].computation or (has_reader and "span" not in answers[0].scores):
        return {}
    if has_reader:
        span = Span(answers[0].text, 0, 0, place, answers[0].score, {})
        features = span_features(ScoredSpan(span, answers[0].score, answers[0].scores), read)
    else:
        features = sentence_features(read[0], read[min(1, len(read) - 1)].score)
    return {"constant": calibration.bias} | {name: weight * features[name] for name, weight in calibration.weights.items()}


def _is_in(answer: Answer, hit: Hit) -> bool:
    passage = hit.passage
    return (passage.document_key, passage.start) == (answer.passage.document_key, answer.passage.start)


def _says(answer: Answer, expected: str) -> bool:
    """Return whether an answer contains the expected one, or is part of it and shares half of its words (F1)."""
    texts = [answer.text, *([answer.block.text] if answer.block and answer.form == "block" else [])]
    return any(
        occurrences(text, expected) or (occurrences(expected, text) and f1_score(text, expected) >= 0.5) for text in texts
    )


def _text(hit: Hit) -> str:
    return f"{passage_head(hit.passage.title, hit.passage.heading)}\n{hit.passage.text}"


def _named(question: str) -> str:
    tokens = question.split()
    return ", ".join(token.strip("?.,;:!") for token in tokens if identifiers(token)) or question
