from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from oreqa.answering import Answerer
from oreqa.answering.reranking import (
    hit_candidate,
    log_probability,
    probability,
    rerank_scores,
    rerank_weight,
    reranked_hits,
)
from oreqa.datasets.pairs import Candidate
from oreqa.errors import InputError, ModelError
from oreqa.index import Index
from oreqa.index.ingest import index_files
from oreqa.models.cross_encoder.cross_encoder import CrossEncoder
from oreqa.models.cross_encoder.inputs import read_cross_encoder_folder
from oreqa.models.fitted import write_fitted
from oreqa.models.names import CLASSIFIER, RERANKER
from oreqa.progress import part_of

TEXT = "the fox jumps. it sleeps in house 3. then it eats a bone"
SENTENCES = ("the fox jumps.", "it sleeps in house 3.", "then it eats a bone")
CANDIDATES = [Candidate(sentence, TEXT, "fox") for sentence in SENTENCES]


def with_settings(folder: Path, out: Path, **settings: object) -> Path:
    shutil.copytree(folder, out)
    config = json.loads((out / "config.json").read_text())
    own = {name: value for name, value in {**config.pop("oreqa"), **settings}.items() if value is not None}
    (out / "config.json").write_text(json.dumps({**config, **({"oreqa": own} if own else {})}))
    return out


def test_scores_of_many_are_those_of_each(tiny_classifier: Path) -> None:
    classifier = CrossEncoder(tiny_classifier, precision="f32")
    questions = [f"where sleeps fox {n}" for n in range(70)] + ["no candidate"]
    lists = [CANDIDATES[: 1 + n % 3] for n in range(70)] + [[]]
    done: list[int] = []
    together = classifier.score(questions, lists, progress=part_of(done.append))
    assert sum(done) == len(questions)
    assert together[-1].shape == (0,)
    for number in (0, 1, 2, 63, 64, 69):
        alone = [classifier.score([questions[number]], [[candidate]])[0][0] for candidate in lists[number]]
        assert np.allclose(together[number], alone, atol=1e-4)
    assert len({round(float(logit), 3) for logit in together[2]}) == 3  # the mark tells sentences of a passage apart


def test_a_sentence_alone_is_read_without_its_passage(tiny_classifier: Path, tmp_path: Path) -> None:
    classifier = CrossEncoder(with_settings(tiny_classifier, tmp_path / "alone", marking="alone"))
    elsewhere = [Candidate(sentence, f"before. {sentence} after", "dog") for sentence in SENTENCES]
    here, there = (classifier.score(["where sleeps it"], [own])[0] for own in (CANDIDATES, elsewhere))
    assert np.array_equal(here, there)


@pytest.mark.parametrize("classes", [1, 2])
def test_a_cross_encoder_of_the_hub_scores_as_in_torch(tiny_classifier: Path, tmp_path: Path, classes: int) -> None:
    torch = pytest.importorskip("torch")
    from transformers import BertForSequenceClassification

    none = dict.fromkeys(("kind", "titles", "max_tokens", "overlap", "shared", "marking"))
    folder = with_settings(tiny_classifier, tmp_path / "hub", **none)
    config = json.loads((folder / "config.json").read_text())
    labels = {str(n): f"LABEL_{n}" for n in range(classes)}
    config |= {"architectures": ["BertForSequenceClassification"], "id2label": labels}
    (folder / "config.json").write_text(json.dumps(config))
    weights = load_file(folder / "model.safetensors")
    if classes == 2:
        weights["classifier.weight"] = np.concatenate([weights["classifier.weight"] * 0.3, weights["classifier.weight"]])
        weights["classifier.bias"] = np.array([0.2, -0.1], np.float32)
    save_file(weights, folder / "model.safetensors")
    classifier = CrossEncoder(folder, precision="f32")
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = classifier.inputs.tokenizer
    for sentence, ours in zip(SENTENCES, classifier.score(["who jumps"], [CANDIDATES])[0], strict=True):
        pair = tokenizer.encode("who jumps", sentence)
        with torch.no_grad():
            logits = model(torch.tensor([pair.ids]), token_type_ids=torch.tensor([pair.type_ids])).logits[0]
        assert ours == pytest.approx(float(logits[0] if classes == 1 else logits[1] - logits[0]), abs=1e-3)


@pytest.mark.parametrize("kind", ["tiny_classifier", "tiny_reranker"])
def test_torch_scores_the_same(request: pytest.FixtureRequest, kind: str) -> None:
    pytest.importorskip("torch")
    from oreqa.models.cross_encoder.module import open_session

    ours = CrossEncoder(request.getfixturevalue(kind), precision="f32")
    theirs = CrossEncoder.of(ours.folder, open_session(ours.folder, "f32", "cpu"))
    scores = [classifier.score(["where sleeps it"], [CANDIDATES])[0] for classifier in (ours, theirs)]
    assert np.allclose(*scores, atol=1e-3)


def test_torch_refuses_what_openvino_refuses(tiny_classifier: Path, tiny_reranker: Path, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    from oreqa.models.cross_encoder.module import open_session

    three = with_settings(tiny_classifier, tmp_path / "three")
    weights = load_file(three / "model.safetensors")
    weights |= {name: np.repeat(weights[name], 3, 0) for name in ("classifier.weight", "classifier.bias")}
    save_file(weights, three / "model.safetensors")
    with pytest.raises(ModelError, match="the classifier has 3 classes; it must have one output, or two"):
        open_session(read_cross_encoder_folder(three), "f32", "cpu")
    for number, (model, lacking) in enumerate(
        ((tiny_reranker, "classifier.weight"), (tiny_classifier, "bert.encoder.layer.1.output.dense.bias"))
    ):
        folder = with_settings(model, tmp_path / str(number))
        weights = load_file(folder / "model.safetensors")
        del weights[lacking]
        save_file(weights, folder / "model.safetensors")
        with pytest.raises(ModelError, match=f"its weights lack {lacking}: they belong to another kind of model"):
            open_session(read_cross_encoder_folder(folder), "f32", "cpu")


def test_the_weight_of_re_ranking_is_the_fitted_one(tiny_classifier: Path, tmp_path: Path) -> None:
    assert rerank_weight(CrossEncoder(tiny_classifier)) == 1
    folder = with_settings(tiny_classifier, tmp_path / "fitted")
    write_fitted(folder / "fitted.json", rerank_weight=0.25)
    assert rerank_weight(CrossEncoder(folder)) == 0.25


def test_one_question_and_sentences_alone(tiny_classifier: Path) -> None:
    classifier = CrossEncoder(tiny_classifier, precision="f32")
    alone = [Candidate(sentence, sentence) for sentence in SENTENCES]
    expected = classifier.score(["who jumps"], [alone])[0]
    assert np.array_equal(classifier.score("who jumps", SENTENCES), expected)
    assert np.array_equal(classifier.score("who jumps", alone), expected)
    assert np.array_equal(classifier.score(["who jumps"], [SENTENCES])[0], expected)
    assert classifier.score("who jumps", SENTENCES[0]).shape == (1,)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((["a", "b"], [["x"]]), "a list of questions takes a list of candidates for each: 2 questions, 1 lists"),
        (("a", [["x"]]), "a candidate is a sentence, or a Candidate in its passage, not a list"),
        (("a", None), "a question's candidates are a list of sentences, not None"),
        ((["a"], 7), "candidates are a list, or a list for each question, not an int"),
        ((None, ["x"]), "questions are a string or a list of strings, not None"),
    ],
)
def test_wrong_arguments(tiny_classifier: Path, arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        CrossEncoder(tiny_classifier).score(*arguments)  # type: ignore[call-overload]


def test_documents_are_ranked_by_their_scores(tiny_classifier: Path) -> None:
    classifier = CrossEncoder(tiny_classifier, precision="f32")
    documents = ["the fox", "seven dogs sleep", Candidate("the fox", "see the fox there"), "it rains"]
    scores = classifier.score("who jumps", documents)
    ranked = classifier.rank("who jumps", documents)
    assert [(row.number, row.score) for row in ranked] == sorted(enumerate(scores), key=lambda row: -row[1])
    assert [row.text for row in ranked] == [
        ("the fox", "seven dogs sleep", "the fox", "it rains")[row.number] for row in ranked
    ]
    assert classifier.rank("who jumps", documents, k=2) == ranked[:2]
    assert classifier.rank("who jumps", []) == []
    with pytest.raises(InputError, match="a query is a string, not a list"):
        classifier.rank(["who jumps"], documents)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="k is 0"):
        classifier.rank("who jumps", documents, k=0)


def test_a_reranker_sees_the_span(tiny_reranker: Path) -> None:
    reranker = CrossEncoder(tiny_reranker, precision="f32")
    spans = [Candidate("the", TEXT, "fox"), Candidate("fox", TEXT, "fox"), Candidate("fox", TEXT, "fox", 4)]
    (scores,) = reranker.score(["what"], [spans])
    assert scores[0] != pytest.approx(scores[1])
    assert scores[1] == pytest.approx(scores[2])
    assert reranker.score([], []) == []
    assert len(reranker.score(["x"], [[]])[0]) == 0


@pytest.mark.parametrize("setting", [{"max_tokens": 0}, {"max_tokens": "x"}, {"marking": "bold"}])
def test_damaged_settings_are_refused(tiny_classifier: Path, tmp_path: Path, setting: dict[str, object]) -> None:
    with pytest.raises(ModelError, match=f"m: its setting {next(iter(setting))} is"):
        CrossEncoder(with_settings(tiny_classifier, tmp_path / "m", **setting))


def test_numbers_that_are_none_are_refused(tiny_classifier: Path, tmp_path: Path) -> None:
    folder = with_settings(tiny_classifier, tmp_path / "m")
    weights = load_file(folder / "model.safetensors")
    weights["classifier.bias"][0] = np.inf
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ModelError, match="m: the model gives NaN or infinite numbers"):
        CrossEncoder(folder).score(["fox"], [CANDIDATES])


def test_reranked_scores_stay_above_the_rest() -> None:
    rng = np.random.default_rng(0)
    for _ in range(100):
        scores = rng.normal(size=12)
        depth = int(rng.integers(0, 13))
        best = np.argsort(-scores)[:depth]
        logits = rng.normal(0, 4, depth).astype(np.float32)
        again = rerank_scores(scores, best, logits, 0.3)
        slow = sorted(range(depth), key=lambda i: -(scores[best[i]] + 0.3 * np.log(1 / (1 + np.exp(-logits[i])))))
        rest = [i for i in np.argsort(-scores) if i not in best]
        assert np.argsort(-again).tolist() == [int(best[i]) for i in slow] + rest


def test_near_scores_do_not_become_ties() -> None:
    scores = np.array([0.9000001, 0.9, 0.8, 0.7], np.float32)
    again = rerank_scores(scores, np.arange(3), np.array([0, 0, -60], np.float32), 1.0)
    assert again[0] > again[1] > again[2] > again[3]
    assert scores.tolist() == pytest.approx([0.9, 0.9, 0.8, 0.7])


def test_probabilities_of_extreme_logits() -> None:
    logits = np.array([-1000, 0, 1000], np.float32)
    assert probability(logits).tolist() == [0.0, 0.5, 1.0]
    assert log_probability(logits).tolist() == pytest.approx([-1000, np.log(0.5), 0])


def test_search_and_ask_are_reranked(tiny: Path, tiny_classifier: Path, library: Path, tmp_path: Path) -> None:
    from oreqa.index.store import Settings

    index_files(tmp_path / "kb", [library], Settings(model=str(tiny)))
    index, classifier = Index.open(tmp_path / "kb"), CrossEncoder(tiny_classifier)
    question = "how many hearts has an octopus"
    (before,) = index.search([question], 6)
    (after,) = reranked_hits(classifier, [question], [before], 4)
    p = probability(classifier.score([question], [[hit_candidate(hit) for hit in before[:4]]])[0])
    assert {hit.sentence_id for hit in after[:4]} == {hit.sentence_id for hit in before[:4]}
    assert [hit.sentence_id for hit in after[4:]] == [hit.sentence_id for hit in before[4:]]
    scores = [hit.score for hit in after]
    assert scores == sorted(scores, reverse=True)
    found = {hit.sentence_id: hit.scores["hit_probability"] for hit in after[:4]}
    assert [found[hit.sentence_id] for hit in before[:4]] == pytest.approx(p.tolist())
    assert all("hit_probability" not in hit.scores for hit in after[4:])
    answerer = Answerer(index, hit_reranker=classifier, rerank_hits=6)
    (first, *_) = answerer.ask(question, 3, threshold=0)
    assert first.scores["hit_probability"] == pytest.approx(
        next(hit.scores["hit_probability"] for hit in reranked_hits(classifier, [question], [index.search([question], 10)[0]], 6)[0]
             if hit.sentence.text == first.text)
    )  # fmt: skip


def test_wrong_models_and_requests_are_refused(tiny_reader: Path, tiny_classifier: Path, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="it is a reader, not a classifier"):
        CrossEncoder(tiny_reader, kind=CLASSIFIER)
    with pytest.raises(ModelError, match="it is a reader, not a classifier or reranker"):
        CrossEncoder(tiny_reader)
    with pytest.raises(ModelError, match="it is a classifier, not a reranker"):
        CrossEncoder(tiny_classifier, kind=RERANKER)
    folder = with_settings(tiny_classifier, tmp_path / "three")
    weights = load_file(folder / "model.safetensors")
    weights |= {name: np.repeat(weights[name], 3, 0) for name in ("classifier.weight", "classifier.bias")}
    save_file(weights, folder / "model.safetensors")
    with pytest.raises(ModelError, match="3 classes"):
        CrossEncoder(folder)
    with pytest.raises(InputError, match="no device"):
        CrossEncoder(tiny_classifier, device="tpu")
    with pytest.raises(InputError, match="no kind of cross-encoder 'reader': choose classifier, reranker"):
        CrossEncoder(tiny_classifier, kind="reader")
    assert read_cross_encoder_folder(tiny_classifier, CLASSIFIER).marking == "marked"
