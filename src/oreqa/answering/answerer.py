"""Answers with their evidence and confidence: search, read, re-rank."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import overload

import oreqa.answering.choices as choices
from oreqa.answer import Answer
from oreqa.answering.combining import Combination
from oreqa.answering.computing import computed_answers
from oreqa.answering.explanation import EXPLAINED_ANSWERS, EXPLAINED_HITS, Explanation, explained
from oreqa.answering.guarantee import Guarantee, guarantee
from oreqa.answering.marked import CorrectedAnswers
from oreqa.answering.reading import best_answers, fitted_pipeline
from oreqa.answering.reading_list import hits_to_read, searched_hits
from oreqa.answering.reply import Reply
from oreqa.answering.reranking import reranked_hits
from oreqa.answering.versions import likely_answers
from oreqa.arguments import Where, conditions, count, kind_of, question_list
from oreqa.core import Hit, Unit
from oreqa.defaults import Quality
from oreqa.errors import InputError
from oreqa.index.generations import generation_number
from oreqa.index.search import Index
from oreqa.index.snapshot import Snapshot
from oreqa.index.spelling import misspelt, with_words
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.fitted import Calibration
from oreqa.models.names import CLASSIFIER, shown_name
from oreqa.models.reader.reader import Reader
from oreqa.processes import OfOneProcess

SENTENCES_TOP_K, PASSAGES_TOP_K = 10, 5
"""Sentences retrieved for a question without a reader (the best ``k`` are the answers), and passages read for a question
with one."""


class Answerer(OfOneProcess):
    """Answers questions from one index: with spans of the best ``passages`` if it has a ``reader``, else with sentences.

    Threads may share an Answerer, processes may not. ``load`` opens the index and the models; ``close`` it afterwards, or
    use ``with``. ``reader_name`` is the name that its reader can be loaded by again.

    Examples:
        >>> with Answerer.load("kb") as answerer:
        ...     answers = answerer.ask("How many hearts does an octopus have?")
        >>> print(answers[0].text)
        three
    """

    def __init__(
        self,
        index: Index | str | Path,
        reader: Reader | None = None,
        span_reranker: CrossEncoder | None = None,
        *,
        passage_reranker: Reader | None = None,
        hit_reranker: CrossEncoder | None = None,
        rerank_hits: int | None = None,
        combination: Combination | None = None,
        calibration: Calibration | None = None,
        passages: int | None = None,
        marks: bool = False,
    ) -> None:
        """Take an open index and loaded models, or just an index's folder, as ``load(folder)`` does.

        A ``passage_reranker`` chooses what the ``reader`` reads. Raises InputError for models that no stage would use, and
        for a folder together with models (use ``load``).
        """
        if isinstance(index, str | Path):
            models = reader, span_reranker, passage_reranker, hit_reranker
            choices.check_folder_alone((*models, rerank_hits, combination, calibration, passages, marks or None))
            vars(self).update(vars(type(self).load(index)))
            return
        if not isinstance(index, Index):
            raise InputError(f"Answerer takes an opened Index or its folder, not {kind_of(index)}")
        choices.check_stages(reader, span_reranker, combination, passages, passage_reranker)
        self.index = index
        chosen, self.rerank_hits = choices.chosen_reranking(hit_reranker, rerank_hits)
        self.hit_reranker = CrossEncoder(chosen, kind=CLASSIFIER) if isinstance(chosen, str) else chosen
        self.reader, self.span_reranker, self.passage_reranker = reader, span_reranker, passage_reranker
        self.reader_name = None if reader is None else shown_name(reader.folder.path)
        self.passages = PASSAGES_TOP_K if passages is None else count(passages, "the number of passages to read")
        self._combination, self._calibration, self._opened_index = combination, calibration, False
        self._corrected = CorrectedAnswers(index.folder) if marks else None

    def __enter__(self) -> Answerer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def combination(self) -> Combination:
        """The weights of the answer scores: those passed in, else those fitted for this index, else those of the models."""
        return self._fitted_of(self.index.snapshot())[0]

    @property
    def calibration(self) -> Calibration | None:
        """The calibration, chosen likewise. It changes with the index's encoder and when ``oreqa fit`` fits a new one."""
        return self._fitted_of(self.index.snapshot())[1]

    def _fitted_of(self, snapshot: Snapshot) -> tuple[Combination, Calibration | None]:
        fitted = *self.index.fitted_of(snapshot), snapshot.fingerprint
        combination, calibration = fitted_pipeline(*fitted, self.reader, self.span_reranker)
        return self._combination or combination, self._calibration or calibration

    def __repr__(self) -> str:
        models = self.reader, self.span_reranker, self.passage_reranker, self.hit_reranker
        return f"Answerer({', '.join(repr(each) for each in (self.index, *models) if each is not None)})"

    def close(self) -> None:
        """Close the index if ``load`` opened it. Questions asked afterwards raise IndexStateError."""
        if self._opened_index:
            self.index.close()

    @classmethod
    def load(
        cls,
        folder: str | Path,
        device: str = "cpu",
        *,
        quality: Quality | None = None,
        reader: str | Path | None = "auto",
        span_reranker: str | Path | None = None,
        hit_reranker: str | Path | None = None,
        rerank_hits: int | None = None,
        marks: bool = True,
    ) -> Answerer:
        """Open an index for questions, with models by name or folder. Without a reader (None), the answers are sentences.

        ``quality`` chooses the reader. ``best`` takes several times as long as ``fast``, gets more answers right, and
        needs all-mpnet-base-v2 (``oreqa models get``): its reader reads what that of ``fast`` ranks first of ten passages.
        The default is $OREQA_QUALITY, else the index's quality, else ``fast``. A named ``reader`` overrides it.

        ``span_reranker`` rescores the reader's best spans; it is a span re-ranker, or a classifier of their sentences.
        ``hit_reranker``, a classifier, re-ranks the ``rerank_hits`` best hits of questions that already have an answer,
        which are read again; such answers have no confidence. Either of the two is enough: the defaults are the packaged
        classifier and 20 hits. Answers corrected in the index's ``marks`` come first for the same question.

        Raises IndexStateError if the index cannot be searched, ModelError if a model cannot be loaded, and InputError for a
        model, a quality or a number that no stage would use, and for damaged marks.
        """
        choices.check_stages(reader, span_reranker)
        hit_reranker, rerank_hits = choices.chosen_reranking(hit_reranker, rerank_hits)
        index = Index.open(folder, device)
        try:
            reader = choices.chosen_reader(reader, quality, index.snapshot().settings.quality)
            models = choices.load_stages(index, reader, span_reranker, hit_reranker, device)
            answerer = cls(index, **models, rerank_hits=rerank_hits, marks=marks)
        except BaseException:
            index.close()
            raise
        answerer._opened_index, answerer.reader_name = True, None if reader is None else str(reader)
        return answerer

    @overload
    def ask(  # type: ignore[overload-overlap]  # a string is an iterable of strings, too
        self, questions: str, k: int = 3, *, where: Where = (), threshold: float | None = None
    ) -> list[Answer]: ...

    @overload
    def ask(
        self, questions: Iterable[str], k: int = 3, *, where: Where = (), threshold: float | None = None
    ) -> list[list[Answer]]: ...

    def ask(
        self, questions: str | Iterable[str], k: int = 3, *, where: Where = (), threshold: float | None = None
    ) -> list[Answer] | list[list[Answer]]:
        """Return up to ``k`` answers to a question, best first; none if the documents do not seem to contain one.

        A list of questions is searched and read as one batch and returns a list of lists. ``where`` holds conditions on
        the documents, as for ``Index.search``. The default ``threshold`` (None) is the calibrated one; 0 returns the
        best answers however unlikely, as uncalibrated models always do. A question that names an identifier, such as
        ``max_connections``, is answered only from passages that contain it. Raises InputError for an empty question, an
        invalid number or condition, and a threshold other than 0 with uncalibrated models.

        Examples:
            >>> answerer = Answerer.load("kb")
            >>> [len(answers) for answers in answerer.ask(["How many hearts has an octopus?", "Who won in 1974?"], k=1)]
            [1, 0]
        """
        if isinstance(questions, str):
            return list(self.reply(questions, k, where=where, threshold=threshold).answers)
        return [list(reply.answers) for reply in self.reply(questions, k, where=where, threshold=threshold)]

    @overload
    def reply(  # type: ignore[overload-overlap]  # a string is an iterable of strings, too
        self, questions: str, k: int = 3, *, where: Where = (), threshold: float | None = None
    ) -> Reply: ...

    @overload
    def reply(
        self, questions: Iterable[str], k: int = 3, *, where: Where = (), threshold: float | None = None
    ) -> list[Reply]: ...

    def reply(
        self, questions: str | Iterable[str], k: int = 3, *, where: Where = (), threshold: float | None = None
    ) -> Reply | list[Reply]:
        """Return the answers with the passages or sentences that they come from; otherwise like ``ask``.

        Examples:
            >>> reply = Answerer.load("kb").reply("Who won in 1974?")
            >>> reply.answers, len(reply.nearest)
            ((), 3)
        """
        texts, k = question_list(questions), count(k, "the number of answers")
        snapshot = self.index.snapshot()  # hits, weights and calibration of a reply come from one state of the index
        with snapshot.reading():
            replies = self._replies(texts, k, where, threshold, snapshot)
        if self._corrected is not None:
            replies = self._corrected.put_first(texts, replies, k, snapshot, conditions(where))
        return replies[0] if isinstance(questions, str) else replies

    def _replies(self, texts: Sequence[str], k: int, where: Where, lowest: float | None, snapshot: Snapshot) -> list[Reply]:
        """Return the replies of the models and of computation, from one state of the index."""
        fitted = self._fitted_of(snapshot)
        threshold = choices.checked_threshold(lowest, fitted[1])
        respelt = [misspelt(text, snapshot, self.index.encoder.knows_word) for text in texts]
        texts = [with_words(*question) for question in zip(texts, respelt, strict=True)]
        unit: Unit = "sentence" if self.reader is None else "passage"
        depth = max(k, SENTENCES_TOP_K) if self.reader is None else self.passages
        searched = max(searched_hits(texts, depth, self.passage_reranker is not None), self.rerank_hits)
        hits = self.index.search(texts, searched, mode="hybrid", unit=unit, where=where, snapshot=snapshot)
        replies = self._read(texts, hits, k, depth, snapshot, fitted, threshold)
        matching, encoder, number = conditions(where), self.index.encoder, generation_number(snapshot.generation)
        for place, (text, reply) in enumerate(zip(texts, replies, strict=True)):
            counted = () if respelt[place] else computed_answers(text, reply.hits, snapshot, matching, encoder)
            answers = (*counted, *reply.answers)[:k]
            replies[place] = replace(reply, answers=answers, respelt=respelt[place], generation=number, threshold=threshold)
        return replies

    def guarantee(self, share: float) -> Guarantee:
        """Return the lowest threshold at which at least a ``share`` of the first answers is right, with 95% certainty.

        It is computed from the questions that ``oreqa fit --index DIR --data FILE`` held out, and holds for questions like
        these. Raises InputError if there are fewer than 100 of them, and if no threshold reaches the share.
        """
        calibration = self.calibration
        return guarantee(share, calibration.held_out if calibration else ())

    def explain(
        self, question: str, expected: str | None = None, *, where: Where = (), threshold: float | None = None
    ) -> Explanation:
        """Explain which stage decided the answers: what search ranked, what was read, how likely each answer is.

        An ``expected`` answer, spelled as in the documents, is traced to the stage that lost it. Raises InputError like
        ``ask``, and if the Answerer re-ranks hits.

        Examples:
            >>> Answerer.load("kb").explain("How many hearts has an octopus?", expected="nine").stage
            'search'
        """
        if self.hit_reranker is not None:
            raise InputError("what a classifier re-ranked is not explained: load the answerer without hit_reranker")
        calibration = self._fitted_of(snapshot := self.index.snapshot())[1]
        threshold = choices.checked_threshold(threshold, calibration)
        with snapshot.reading():
            (reply,) = self._replies(question_list(question), EXPLAINED_ANSWERS, where, 0, snapshot)
        unit: Unit = "sentence" if self.reader is None else "passage"
        respelt_question = with_words(question, reply.respelt)
        hits = self.index.search(respelt_question, EXPLAINED_HITS, mode="hybrid", unit=unit, where=where, snapshot=snapshot)
        depth = None if self.reader is None else self.passages
        return explained(question, reply, hits, snapshot, calibration, depth=depth, threshold=threshold, expected=expected)

    def _read(
        self,
        questions: Sequence[str],
        hits: Sequence[Sequence[Hit]],
        k: int,
        depth: int,
        snapshot: Snapshot,
        fitted: tuple[Combination, Calibration | None],
        threshold: float,
    ) -> list[Reply]:
        """Return the answers with a probability of at least ``threshold`` from the ``depth`` best hits, re-ranked if asked.

        Only hits that contain the identifiers named in a question can answer it.
        """
        models = self.reader, self.span_reranker
        read = hits_to_read(questions, hits, depth, self.passage_reranker)
        best_of = best_answers(*models, questions, read, k, snapshot, self.index.encoder, *fitted)
        replies = []
        for ranking, chosen, answers in zip(hits, read, best_of, strict=True):
            likely, best = likely_answers(answers, threshold), answers[0] if answers else None
            replies.append(Reply(likely, tuple(chosen or ranking[:depth]), fitted[1] is not None, best))
        if self.hit_reranker is None or not self.rerank_hits:
            return replies
        # The classifier does not change the probabilities: they say whether there is an answer at all.
        answered = [place for place, reply in enumerate(replies) if reply.answers]
        texts = [questions[place] for place in answered]
        rankings = reranked_hits(self.hit_reranker, texts, [hits[place] for place in answered], self.rerank_hits)
        read = hits_to_read(texts, rankings, depth)
        best_of = best_answers(*models, texts, read, k, snapshot, self.index.encoder, fitted[0], None)
        for place, ranking, answers in zip(answered, read, best_of, strict=True):
            replies[place] = replace(replies[place], answers=tuple(answers), hits=tuple(ranking))
        return replies
