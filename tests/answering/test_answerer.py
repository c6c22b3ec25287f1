from __future__ import annotations

import math
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tiny_models import make_head

from oreqa import Answerer
from oreqa.answering.combining import MAX_LOG, SCORE_MEANINGS, Combination, ScoredSpan, sentence_features, span_features
from oreqa.answering.reading import read_answers, span_answers
from oreqa.answering.reranking import reranked_hits
from oreqa.core import UNITS, Document, Span
from oreqa.errors import IndexStateError, InputError, ModelError
from oreqa.index.change_encoder import publish_fitted
from oreqa.index.fitted import IndexFitted
from oreqa.index.in_memory import index_documents
from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.fitted import Calibration, Fitted, read_fitted, write_fitted
from oreqa.models.names import model_fingerprint
from oreqa.models.reader.reader import Reader


@pytest.fixture
def answerer(tmp_path: Path, library: Path, fitted: Path) -> Answerer:
    index_files(tmp_path / "kb", [library], Settings(str(fitted)))
    return Answerer.load(tmp_path / "kb", reader=None)


def test_answers_and_their_evidence(answerer: Answerer, library: Path) -> None:
    answers = answerer.ask("What color is the blood of an octopus?", k=3, threshold=0)
    assert len(answers) == 3
    assert answers[0].score >= answers[1].score
    for answer in answers:
        assert answer.confidence is not None
        assert 0 <= answer.confidence <= 1
        assert answer.text == answer.sentence.text
        assert answer.sentence in answer.passage.sentences


def test_confidence_is_computed_from_the_parts(answerer: Answerer) -> None:
    hits = answerer.index.search(["leather boots"], 10)[0]
    first, second = answerer.ask("leather boots", k=2, threshold=0)
    features = sentence_features(hits[0], hits[1].score)
    calibration = answerer.index.fitted.calibration
    assert calibration is not None
    assert features["margin"] == pytest.approx(hits[0].score - hits[1].score)
    assert first.confidence == pytest.approx(calibration.probability(features))
    assert second.confidence == pytest.approx(calibration.probability(sentence_features(hits[1], hits[0].score)))


def test_coverage_of_a_sentence_that_holds_every_word(answerer: Answerer) -> None:
    hit = answerer.index.search(["leather boots"], 1)[0][0]
    assert 0 < sentence_features(hit, hit.score)["sentence_coverage"] <= 1
    unknown = answerer.index.search(["leather boots xylophone"], 1)[0][0]
    assert sentence_features(unknown, 0)["sentence_coverage"] < sentence_features(hit, 0)["sentence_coverage"]


def test_abstains_below_the_threshold(answerer: Answerer) -> None:
    assert answerer.ask("boots", threshold=1) == []
    assert answerer.ask(["boots", "tents"], threshold=1) == [[], []]
    assert answerer.ask("boots", where=[("kind", "none")], threshold=0) == []


def test_only_passages_that_hold_an_identifier_answer(
    tmp_path: Path, fitted: Path, tiny_reader: Path, tiny_classifier: Path
) -> None:
    documents = [Document(str(n), "", f"The limit of max_part_{n} is {n + 7}.") for n in range(9)]
    documents.append(Document("titled", "max-part-77", "Its limit is 84."))
    index_documents(tmp_path / "kb", documents, model=fitted)
    re_ranked = {"reader": tiny_reader, "hit_reranker": tiny_classifier, "rerank_hits": 5}
    for models in ({"reader": None}, {"reader": tiny_reader}, re_ranked):
        with Answerer.load(tmp_path / "kb", **models) as answerer:  # type: ignore[arg-type]
            reply = answerer.reply("What is the limit of max_part_5?", threshold=0)
            assert reply.answers
            assert {answer.passage.document_key for answer in reply.answers} == {"5"}
            titled = answerer.reply("What is the limit of max_part_77?", threshold=0)
            assert {answer.passage.document_key for answer in titled.answers} == {"titled"}
            unknown = answerer.reply("What is the limit of max_part_99?", threshold=0)
            assert unknown.answers == ()
            assert unknown.nearest


@pytest.mark.parametrize(("respelt", "computed"), [({}, 1), ({"carnivores": "Carnivora"}, 0)])
def test_only_the_words_that_were_typed_are_counted(
    answerer: Answerer, monkeypatch: pytest.MonkeyPatch, respelt: dict[str, str], computed: int
) -> None:
    counted: list[str] = []
    monkeypatch.setattr("oreqa.answering.answerer.misspelt", lambda *_: respelt)
    monkeypatch.setattr("oreqa.answering.answerer.computed_answers", lambda question, *_: counted.append(question) or ())
    answerer.reply("How many carnivores are there?")
    assert len(counted) == computed


def test_a_list_of_questions_gives_what_each_gives(answerer: Answerer) -> None:
    questions = ["leather boots", "How many hearts has an octopus?", "eight arms"]
    together = answerer.ask(questions, k=2, threshold=0)
    for question, answers in zip(questions, together, strict=True):
        alone = answerer.ask(question, k=2, threshold=0)
        assert [answer.text for answer in alone] == [answer.text for answer in answers]
        assert [answer.score for answer in alone] == pytest.approx([answer.score for answer in answers], abs=1e-3)
        assert list(answerer.reply(question, k=2, threshold=0).answers) == alone
    assert [list(reply.answers) for reply in answerer.reply(questions, k=2, threshold=0)] == together
    assert answerer.ask([]) == answerer.reply([]) == []
    boots = answerer.ask("boots", where={"kind": ["shoe", "none"]}, threshold=0)
    assert {answer.passage.title for answer in boots} == {"Boots"}


def test_only_what_load_has_opened_is_closed(answerer: Answerer, tiny_reader: Path) -> None:
    with Answerer(answerer.index, Reader(tiny_reader)) as other:
        assert repr(other) == f"Answerer({answerer.index!r}, Reader('reader', max_tokens=48))"
    assert other.ask("boots", threshold=0)
    with answerer:
        assert answerer.ask("boots", threshold=0)
    with pytest.raises(IndexStateError, match="this index was closed"):
        answerer.ask("boots")


def test_a_model_that_cannot_be_loaded_leaves_no_index_open(answerer: Answerer, monkeypatch: pytest.MonkeyPatch) -> None:
    closed = []
    monkeypatch.setattr(Index, "close", lambda self: closed.append(self.folder))
    with pytest.raises(ModelError):
        Answerer.load(answerer.index.folder, reader="nonexistent")
    assert closed == [answerer.index.folder]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"reader": None, "span_reranker": "other"}, "a re-ranker needs a reader"),
        ({"hit_reranker": "minilm-classifier", "rerank_hits": 0}, "minilm-classifier would re-rank no hits"),
        ({"hit_reranker": "minilm-classifier", "rerank_hits": -1}, "rerank_hits is -1; it must be a whole number from 0"),
        ({"device": "gpu"}, "there is no device 'gpu': choose cpu, cuda"),
    ],
)
def test_what_no_stage_would_use_is_refused(answerer: Answerer, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Answerer.load(answerer.index.folder, **arguments)


@pytest.mark.slow
def test_what_only_a_reader_uses_is_refused_without_one(answerer: Answerer) -> None:
    for arguments in ({"passages": 3}, {"combination": Combination()}):
        with pytest.raises(InputError, match="without one, answers are sentences"):
            Answerer(answerer.index, **arguments)  # type: ignore[arg-type]
    with pytest.raises(ModelError, match="a model is named by a string or a path, not by a Reader"):
        Answerer.load(answerer.index.folder, reader=Reader("minilm-reader"))  # type: ignore[arg-type]


@pytest.mark.slow
def test_a_folder_alone_is_loaded(answerer: Answerer, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = answerer.index.folder
    question = "How many hearts has an octopus?"
    with Answerer(str(folder)) as opened, Answerer.load(folder) as loaded:
        assert repr(opened) == repr(loaded)
        assert [str(answer) for answer in opened.ask(question)] == [str(answer) for answer in loaded.ask(question)]
    with pytest.raises(IndexStateError, match="this index was closed"):
        opened.ask(question)
    for arguments in ({"passages": 3}, {"marks": True}, {"rerank_hits": 3}):
        with pytest.raises(InputError, match=r"with a folder, use Answerer.load\(folder, ...\)"):
            Answerer(folder, **arguments)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="takes an opened Index or its folder, not a list"):
        Answerer([folder])  # type: ignore[arg-type]


def test_bad_questions(answerer: Answerer) -> None:
    for question in ("", "  \n"):
        with pytest.raises(InputError, match="the question is empty"):
            answerer.ask(question)
    with pytest.raises(InputError, match="whole number from 1"):
        answerer.ask("x", k=0)
    for threshold in (2, "0.5", True, math.nan):
        with pytest.raises(InputError, match=f"threshold is {threshold!r}"):
            answerer.ask("x", threshold=threshold)  # type: ignore[call-overload]
    with pytest.raises(InputError, match="question 2 is empty"):
        answerer.ask(["x", " "])
    with pytest.raises(InputError, match="questions are a string or a list of strings, not None"):
        answerer.ask(None)  # type: ignore[call-overload]


def test_the_confidence_of_a_span_is_computed_from_every_stage(answerer: Answerer, fitted_reader: Path) -> None:
    hits = answerer.index.search(["leather boots"], 2, unit="passage")[0]

    def features(passage: int, **scores: float) -> dict[str, float]:
        whole = {"span": -1.0, "passage_logit": 2.0, "agreement": 0.5, "reranking": -0.7, **scores}
        return span_features(ScoredSpan(Span("x", 0, 1, passage, 0.0, {}), 3.0, whole), hits)

    first = features(1)
    search_features = sentence_features(hits[1], hits[1].score)
    search_features.pop("margin")
    assert first == {**search_features, "passage_rank": 1.0, "span": -1.0, "passage_logit": 2.0, "agreement": 0.5,
                     "reranking": -0.7, "reranking_logit": 0.0}  # fmt: skip
    second = features(0, span=-40.0, reranking=-40.0, reranking_logit=40.0)
    assert (second["passage_rank"], second["span"]) == (0.0, -MAX_LOG)
    assert (second["reranking"], second["reranking_logit"]) == (-MAX_LOG, MAX_LOG)
    spans = read_fitted(fitted_reader).calibration
    assert spans is not None
    assert spans.probability(first) > spans.probability(first | {"passage_rank": 2.0})
    hits.reverse()  # as where the second hit has the entry that is asked for
    assert [features(passage)["passage_rank"] for passage in (0, 1)] == [0.0, 0.0]


def test_spans_that_overlap_are_one_answer(answerer: Answerer) -> None:
    hits = answerer.index.search(["octopus hearts"], 10, unit="passage")[0]
    octopus = next(place for place, hit in enumerate(hits) if "hearts" in hit.passage.text)
    other = (octopus + 1) % len(hits)
    text = hits[octopus].passage.text
    ranked = []
    for rank, words in enumerate(("three hearts", "hearts", "An octopus has three", "blood", "octopus has three hearts")):
        start = text.index(words)
        span = Span(words, start, start + len(words), octopus, 0.0, {})
        ranked.append(ScoredSpan(span, -float(rank), {"span": 0.0, "passage_logit": 0.0, "agreement": 0.0}))
    elsewhere = Span(hits[other].passage.text[:3], 0, 3, other, 0.0, {})
    ranked.append(ScoredSpan(elsewhere, -9.0, ranked[0].scores))
    assert [answer.text for answer in span_answers(ranked, hits, 9, None)] == ["three hearts", "blood", elsewhere.text]
    assert [answer.text for answer in span_answers(ranked, hits, 1, None)] == ["three hearts"]


@pytest.mark.parametrize("read", [False, True])
def test_re_ranked_answers_have_no_confidence_and_the_others_decide_whether_there_are_any(
    answerer: Answerer, fitted_reader: Path, tiny_classifier: Path, read: bool
) -> None:
    reader = Reader(fitted_reader) if read else None
    classifier = CrossEncoder(tiny_classifier)
    passages = 2 if read else None
    plain = Answerer(answerer.index, reader, passages=passages)
    again = Answerer(answerer.index, reader, passages=passages, hit_reranker=classifier, rerank_hits=6)
    questions = ["leather boots", "where are flowers", "eight arms"]
    best = [answers[0].confidence or 0.0 for answers in plain.ask(questions, threshold=0)]
    middle = sorted(best)[1]
    answers = again.ask(questions, 3, threshold=middle)
    assert [bool(found) for found in answers] == [confidence >= middle for confidence in best]
    assert sum(bool(found) for found in answers) == 2
    assert all(answer.confidence is None for found in answers for answer in found)
    unit = "passage" if read else "sentence"
    for question, found in zip(questions, answers, strict=True):
        hits = reranked_hits(classifier, [question], again.index.search([question], 10, unit=unit), 6)[0]
        if found and reader is None:
            assert [answer.text for answer in found] == [hit.sentence.text for hit in hits[:3]]
        elif found:
            texts, scores = [hit.passage for hit in hits[:2]], [hit.score for hit in hits[:2]]
            (ranked,) = read_answers(reader, None, [question], [texts], [scores])
            assert found[0].text == ranked[0].span.text


@pytest.mark.slow
@pytest.mark.parametrize("reader", [None, "minilm-reader"])
def test_re_ranking_does_not_answer_what_the_documents_do_not_say(tmp_path: Path, reader: str | None) -> None:
    folder = Path(__file__).parents[2] / "demo" / "library"
    index_files(tmp_path / "kb", [folder])
    answerer = Answerer.load(tmp_path / "kb", reader=reader, hit_reranker="minilm-classifier", rerank_hits=20)
    assert answerer.ask("Who won the football world cup in 1974?") == []
    (answer, *_) = answerer.ask("Who built the first pianos?")
    assert "Cristofori" in answer.text
    assert answer.confidence is None


def test_the_real_model_answers_and_abstains(tmp_path: Path) -> None:
    folder = Path(__file__).parents[2] / "demo" / "library"
    index_files(tmp_path / "kb", [folder / "octopus.md", folder / "piano.md", folder / "mars.md"])
    answerer = Answerer.load(tmp_path / "kb", reader=None)
    answers = answerer.ask("Who built the first pianos?")
    assert answers[0].text == "Bartolomeo Cristofori built the first pianos in Florence around 1700."
    assert answers[0].confidence is not None
    assert answerer.calibration is not None
    assert answers[0].confidence > 2 * answerer.calibration.threshold
    assert answerer.ask("Who won the football world cup in 1974?") == []


@pytest.mark.slow
def test_models_that_were_not_fitted_together_are_not_calibrated(
    answerer: Answerer, tmp_path: Path, library: Path, tiny: Path, tiny_reader: Path, fitted_reader: Path,
    tiny_reranker: Path, fitted_reranker: Path
) -> None:  # fmt: skip
    index = answerer.index
    index_files(tmp_path / "plain", [library], Settings(str(tiny)))
    plain = Index.open(tmp_path / "plain")
    reader, reranker = Reader(fitted_reader), CrossEncoder(fitted_reranker)
    unfitted, other = Reader(tiny_reader), CrossEncoder(tiny_reranker)
    weighted = Index(index.folder, weights={"passage": {"passage_cosine": 1.0}, "sentence": {"sentence_cosine": 1.0}})
    for calibrated, models in (
        (True, (index,)), (True, (index, reader)), (True, (index, reader, reranker)),
        (False, (plain,)), (False, (plain, reader)), (False, (index, unfitted)), (False, (index, reader, other)),
        (False, (weighted,)), (False, (weighted, reader)), (False, (index, unfitted, reranker)),
    ):  # fmt: skip
        some = Answerer(*models)
        assert (some.calibration is not None) == calibrated
        (reply,) = some.reply(["leather boots"], threshold=0)
        assert reply.calibrated == calibrated
        assert [answer.confidence is not None for answer in reply.answers] == [calibrated] * 3
    elsewhere = shutil.copytree(fitted_reader, tmp_path / "elsewhere")
    write_fitted(elsewhere / "fitted.json", encoder="another one")
    assert Answerer(index, Reader(elsewhere)).calibration is None


def test_what_was_fitted_for_an_index_wins_with_exactly_these_models(
    tmp_path: Path, library: Path, fitted: Path, tiny_reader: Path, fitted_reader: Path, fitted_reranker: Path
) -> None:
    index_files(tmp_path / "kb", [library], Settings(str(fitted)))
    reader, reranker = Reader(fitted_reader), CrossEncoder(fitted_reranker)
    other = Reader(make_head(tmp_path / "other", "reader", seed=9))
    calibration = Calibration({"span": 0.5}, 0.25, 0.125)
    pipelines = {(reader.fingerprint, ""): Fitted(combination={"retrieval": 2.5}, calibration=calibration)}
    encoder = model_fingerprint(fitted)
    with Index.open(tmp_path / "kb") as index:
        shipped = Answerer(index, reader, reranker).calibration
        publish_fitted(index.folder, lambda _: IndexFitted(encoder, {}, pipelines))
        assert (Answerer(index, reader).calibration, Answerer(index, reader).combination.retrieval) == (calibration, 2.5)
        assert Answerer(index, Reader(tiny_reader)).calibration == calibration  # the same model, whatever came with it
        assert Answerer(index, reader, reranker).calibration == shipped is not None
        assert (Answerer(index, other).calibration, Answerer(index, other).combination) == (None, Combination())
        answers = Answerer(index, reader).ask("leather boots", threshold=0)
        again = replace(Answerer(index, reader).combination, retrieval=8.0)
        assert Answerer(index, reader, combination=again).ask("leather boots", threshold=0) != answers
        fusion = {"sentence": {"sentence_cosine": 1.0}, "passage": dict(index.weights("passage"))}
        publish_fitted(index.folder, lambda before: replace(before, fusion=fusion))
        assert Answerer(index, reader).calibration == calibration
        assert (
            Answerer(index, reader, reranker).calibration is None
        )  # it was fitted with the encoder's weights of the search
    weighted = Index(tmp_path / "kb", weights={unit: {"sentence_cosine": 1.0} for unit in UNITS})
    assert Answerer(weighted, reader).calibration is None


def test_without_a_calibration_nothing_is_refused(tmp_path: Path, library: Path, tiny: Path) -> None:
    index_files(tmp_path / "kb", [library], Settings(str(tiny)))
    answerer = Answerer.load(tmp_path / "kb", reader=None)
    assert len(answerer.ask("zzz qqq", k=2)) == 2
    assert answerer.ask("zzz qqq") == answerer.ask("zzz qqq", threshold=0)
    with pytest.raises(InputError, match=r"the threshold is 0\.5, but these models are not calibrated"):
        answerer.ask("boots", threshold=0.5)
    with pytest.raises(InputError, match="it must lie between 0 and 1"):
        answerer.ask("boots", threshold=1.5)


def test_a_confidence_needs_every_score_of_its_calibration(answerer: Answerer) -> None:
    index = Index(answerer.index.folder, weights={unit: {"sentence_cosine": 1.0} for unit in UNITS})
    calibration = Calibration({"margin": 1.0}, 0.0, 0.5)
    with pytest.raises(InputError, match="the confidence needs the retrieval score passage_cosine"):
        Answerer(index, calibration=calibration).ask("leather boots")


def test_the_hits_of_a_reply_are_those_that_it_was_answered_from(
    answerer: Answerer, tiny_reader: Path, tiny_classifier: Path
) -> None:
    again = Answerer(
        answerer.index, Reader(tiny_reader), passages=1, hit_reranker=CrossEncoder(tiny_classifier), rerank_hits=6
    )
    for reply in again.reply(["leather boots", "where are flowers", "eight arms", "how long do bees live"], k=9):
        read = {hit.passage_id for hit in reply.hits}
        numbers = {hit.passage.text: hit.passage_id for hit in reply.hits}
        assert {numbers.get(answer.passage.text) for answer in reply.answers} <= read


@pytest.mark.parametrize("kind", ["classifier", "reranker"])
def test_every_score_of_an_answer_is_explained(
    answerer: Answerer, tiny_reader: Path, tiny_classifier: Path, tiny_reranker: Path, kind: str
) -> None:
    classifier = CrossEncoder(tiny_classifier)
    span_reranker = classifier if kind == "classifier" else CrossEncoder(tiny_reranker)
    again = Answerer(answerer.index, Reader(tiny_reader), span_reranker, hit_reranker=classifier, rerank_hits=6)
    names = {name for answer in again.ask("Which beetle has horns?", 5) for name in answer.scores}
    assert names == SCORE_MEANINGS.keys() - {"structure"} - ({"reranking_logit"} if kind == "reranker" else set())


def test_a_guess_is_a_refused_answer_that_is_not_too_unlikely(answerer: Answerer) -> None:
    (best, *_) = answerer.ask("leather boots", threshold=0)
    refused = answerer.reply("leather boots", threshold=1)
    assert (refused.answers, refused.best) == ((), best)
    for confidence, shown in ((0.05, True), (0.049, False), (None, False)):
        guess = replace(refused, best=replace(best, confidence=confidence)).guess
        assert (guess is not None) is shown
    assert replace(refused, best=None).guess is None
    assert answerer.reply("leather boots", threshold=0).guess is None
