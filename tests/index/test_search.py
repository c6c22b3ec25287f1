from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from oreqa.arguments import Where, conditions
from oreqa.core import MODES, UNITS, Document, Mode, Passage, Unit
from oreqa.corpus.splitter import paragraph_passage
from oreqa.errors import InputError
from oreqa.index import scoring
from oreqa.index.codes import quantise, vectors_of
from oreqa.index.in_memory import index_documents
from oreqa.index.ingest import index_files
from oreqa.index.lexical import words
from oreqa.index.passages import index_passages
from oreqa.index.scores import SCORES
from oreqa.index.scores.cosine import cosine_score
from oreqa.index.scores.questions import Questions
from oreqa.index.search import Index
from oreqa.index.store import Settings

TEXTS = (
    "The fox ran home. It was late and dark.",
    "A dog slept in the sun. The fox saw it.",
    "Rain fell on the roof all night.",
    "The sun rose. Birds sang. A fox and a dog met.",
    "Rain fell on the roof all night.",
)


def passages() -> list[Passage]:
    return [paragraph_passage(Document(f"d{i}", f"Title {i}", text)) for i, text in enumerate(TEXTS)]


@pytest.fixture(scope="module")
def index(tiny: Path, tmp_path_factory: pytest.TempPathFactory) -> Index:
    return index_passages(tmp_path_factory.mktemp("kb") / "kb", passages(), Settings(str(tiny)))


def slow_scores(index: Index, question: str, mode: Mode, unit: Unit) -> np.ndarray:
    """Scores of all sentences, each part by itself and by its formula."""
    import math

    weights = {"sentence_cosine": 0.0, "passage_cosine": 0.0, "sentence_bm25": 0.0, "passage_bm25": 0.0}
    weights |= index.weights(unit, mode)
    cut = passages()
    parts = [(p.title, p.text, [(s.start, s.end) for s in p.sentences]) for p in cut]
    encoded = [vectors_of(quantise(rows)) for rows in index.encoder.encode_passages(parts)]
    q = index.encoder.encode([question])[0]

    def bm25(texts: list[list[str]], place: int, k1: float, b: float) -> float:
        mean, total = sum(map(len, texts)) / len(texts), 0.0
        for word in words(question, "en"):
            df = sum(word in text for text in texts)
            tf = texts[place].count(word)
            norm = k1 * (1 - b + b * len(texts[place]) / mean)
            total += math.log(1 + (len(texts) - df + 0.5) / (df + 0.5)) * tf / (tf + norm)
        return total

    whole = [words(f"{p.title}\n{p.text}", "en") for p in cut]
    single = [words(s.text, "en") for p in cut for s in p.sentences]
    scores = []
    for number, passage in enumerate(cut):
        for place in range(len(passage.sentences)):
            scores.append(
                weights["sentence_cosine"] * float(encoded[number][1 + place] @ q)
                + weights["passage_cosine"] * float(encoded[number][0] @ q)
                + weights["sentence_bm25"] * bm25(single, len(scores), 0.6, 0.2)
                + weights["passage_bm25"] * bm25(whole, number, 0.9, 0.4)
            )
    return np.array(scores)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
@pytest.mark.parametrize("unit", ["sentence", "passage"])
def test_equals_the_formula(index: Index, mode: Mode, unit: Unit) -> None:
    question = "Where did the fox see the dog?"
    expected = slow_scores(index, question, mode, unit)
    hits = index.search([question], 100, mode=mode, unit=unit)[0]
    owner = [n for n, p in enumerate(passages()) for _ in p.sentences]
    if unit == "passage":
        expected = np.array([max(s for s, o in zip(expected, owner, strict=True) if o == n) for n in range(len(TEXTS))])
        assert {hit.passage.document_key for hit in hits} == {f"d{n}" for n in range(5)}
    assert [hit.score for hit in hits] == pytest.approx(sorted(expected, reverse=True), abs=2e-3)


def test_equal_scores_keep_the_documents_order(index: Index) -> None:
    hits = index.search(["rain roof"], 2, mode="sparse")[0]
    assert [hit.passage.document_key for hit in hits] == ["d2", "d4"]
    assert hits[0].score == hits[1].score


def test_a_sparse_search_leaves_out_what_shares_no_word(index: Index) -> None:
    assert [hit.passage.document_key for hit in index.search("roof", 100, mode="sparse", unit="passage")] == ["d2", "d4"]
    assert index.search("zzz", 100, mode="sparse") == []
    assert len(index.search("zzz", 100, mode="hybrid", unit="passage")) == len(TEXTS)


def test_many_questions_give_what_each_gives(index: Index) -> None:
    questions = ["fox", "Who slept in the sun?", "zzz", "?", "birds " * 30]
    one_by_one = [index.search([question], 3)[0] for question in questions]
    two_at_a_time = {f"{unit}_cosine": cosine_score(unit, block=20) for unit in UNITS}
    together = Index(index.folder, scores={**SCORES, **two_at_a_time}).search(questions, 3)
    for a, b in zip(one_by_one, together, strict=True):
        assert [h.sentence_id for h in a] == [h.sentence_id for h in b]
        assert [h.score for h in a] == pytest.approx([h.score for h in b], abs=2e-3)
    assert index.search([], 3) == []


@pytest.fixture(params=["every sentence", "candidates"])
def searching(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of a search, whatever the size of the index; as many candidates as there are passages."""
    if request.param == "candidates":
        monkeypatch.setattr(scoring, "EXHAUSTIVE", 0)


@pytest.mark.parametrize("mode", ["hybrid", "dense", "sparse"])
@pytest.mark.parametrize("unit", ["sentence", "passage"])
@pytest.mark.parametrize("where", [(), (("title", ("Title 0", "Title 3")),)])
def test_candidates_are_scored_exactly(
    index: Index, mode: Mode, unit: Unit, where: Where, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = ["Did a fox meet a dog?", "rain", "zzz"]
    every = index.search(questions, 9, mode=mode, unit=unit, where=where)
    monkeypatch.setattr(scoring, "EXHAUSTIVE", 0)
    for expected, hits in zip(every, index.search(questions, 9, mode=mode, unit=unit, where=where), strict=True):
        assert [hit.sentence_id for hit in hits] == [hit.sentence_id for hit in expected]
        assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in expected], abs=1e-5)
        for hit, same in zip(hits, expected, strict=True):
            assert hit.scores == pytest.approx(same.scores, abs=1e-5)


def test_candidates_are_the_best_passages_by_vector_and_by_words(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot, question = index.snapshot(), "Did a fox meet a dog?"
    every_passage = snapshot.engine.every().passage_ids
    every = next(iter(index.raw_scores([question])))
    monkeypatch.setattr(scoring, "CANDIDATES", 1)
    for name, mode in (("passage_cosine", "dense"), ("passage_bm25", "sparse")):
        scores = {name: score for name, score in SCORES.items() if score.mode == mode}
        questions = Questions([question], snapshot, index.encoder.encode)
        ((candidates, _),) = scoring.candidate_scores(questions, scores, 1, None)
        assert candidates.passage_ids.tolist() == [every_passage[int(np.argmax(every.scores[name]))]]
    ((both, _),) = scoring.candidate_scores(Questions([question], snapshot, index.encoder.encode), SCORES, 1, None)
    best_passages = {int(every_passage[np.argmax(every.scores[name])]) for name in ("passage_cosine", "passage_bm25")}
    assert set(both.passage_ids.tolist()) == best_passages
    assert len(index.search(question, 4, unit="passage")) == 4  # more hits are asked for than there are candidates


@pytest.mark.parametrize(("share", "most", "expected"), [(5, 9, 1), (2, 9, 2), (1, 9, 5), (1, 3, 3)])
def test_candidates_are_a_share_of_the_passages(
    index: Index, share: int, most: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoring, "PASSAGES_A_CANDIDATE", share)
    monkeypatch.setattr(scoring, "CANDIDATES", most)
    questions = Questions(["fox"], index.snapshot(), index.encoder.encode)
    ((candidates, _),) = scoring.candidate_scores(questions, {"passage_cosine": SCORES["passage_cosine"]}, 1, None)
    assert len(candidates.passage_ids) == expected


def test_vectors_of_passages_stand_in_the_passages_order(tiny: Path, tmp_path: Path) -> None:
    with index_passages(tmp_path / "index", passages(), Settings(model=str(tiny))) as index:
        vectors = index.passage_vectors()
        texts = [(p.title, p.text, [(s.start - p.start, s.end - p.start) for s in p.sentences]) for p in index.passages()]
        expected = np.stack([rows[0] for rows in index.encoder.encode_passages(texts)])
        np.testing.assert_allclose(vectors, vectors_of(quantise(expected)), atol=1e-3)


@pytest.mark.usefixtures("searching")
def test_a_filter_that_no_document_fulfils(tmp_path: Path, library: Path, tiny: Path) -> None:
    index_files(tmp_path / "kb", [library], Settings(str(tiny)))
    index = Index.open(tmp_path / "kb")
    for unit in ("sentence", "passage"):
        assert index.search(["tent"], 9, mode="hybrid", unit=unit, where=[("path", "nowhere")]) == [[]]
        assert index.search(["tent"], 9, mode="hybrid", unit=unit, where=[("kind", "shoe")])[0]


def test_filters(tmp_path: Path, library: Path, tiny: Path) -> None:
    index_files(tmp_path / "kb", [library], Settings(str(tiny)))
    index = Index.open(tmp_path / "kb")
    found = index.search(["waterproof leather"], 9, where=[("kind", "shoe")])[0]
    assert [hit.passage.title for hit in found] == ["Boots"]
    assert found[0].passage.fields == {"kind": "shoe"}
    assert index.search(["tent"], 9, where=[("kind", "shoe"), ("title", "Tents")]) == [[]]
    assert len(index.search(["tent"], 9, where=[("path", "*rows.jsonl")])[0]) == 2
    assert index.search(["tent"], 9, where=[("kind", "x' OR 1=1 --")]) == [[]]
    with pytest.raises(InputError, match="no document has a field 'nothing'; fields are: kind, path, title"):
        index.search(["tent"], 9, where=[("nothing", "x' OR 1=1 --")])
    with pytest.raises(InputError, match="a condition has 60,004 characters; it may have 4,096"):
        index.search(["tent"], 9, where=[("path", "*" * 60_000)])
    with pytest.raises(InputError, match="holds bytes that are no UTF-8"):
        index.search(["tent"], 9, where=[("kind", "sh\udce9")])
    assert index.search(["tent"], 9, where=[("path", "*?" * 2_000)]) == [[]]


PATHS = [
    "[draft]/a",
    "d/a",
    "r/a",
    "x[1].txt",
    "x1.txt",
    "x].txt",
    "q?.txt",
    "qa.txt",
    "s*.txt",
    "sb.txt",
    "b\\c.txt",
    "^.txt",
]


PATTERNS = {
    "*[draft]/*": ["[draft]/a"],
    "x[1].txt": ["x[1].txt"],
    "x].txt": ["x].txt"],
    "x*.txt": ["x[1].txt", "x1.txt", "x].txt"],
    "q?.txt": ["q?.txt", "qa.txt"],
    "q\\?.txt": ["q?.txt"],
    "s*.txt": ["s*.txt", "sb.txt"],
    "s\\*.txt": ["s*.txt"],
    "b\\c.txt": ["b\\c.txt"],
    "b\\\\c.txt": ["b\\c.txt"],
    "[^x].txt": [],
    "^.txt": ["^.txt"],
}


def test_a_path_is_itself_but_for_two_wildcards(tiny: Path, tmp_path: Path) -> None:
    index_documents(tmp_path / "kb", [Document(path, "", "The tent.") for path in PATHS], Settings(str(tiny)))
    index = Index.open(tmp_path / "kb")
    for pattern, expected in PATTERNS.items():
        hits = index.search("tent", 20, where={"path": pattern})
        assert sorted(hit.passage.document_key for hit in hits) == sorted(expected), pattern


NAMES = ["a\\b", "a\tb", "a\nb", "\\u0041", "x\x01y", "a.b", "[0]", "$", 'a"b', '\\"', "a'b", "\x7f", "#-1", "%s", "{0}"]


def test_as_many_paths_as_other_values(index: Index) -> None:
    first = index.search("fox", 1)[0]
    paths = [*(f"none-{number}" for number in range(999)), "*"]
    assert index.search("fox", 1, where={"path": paths, "title": [first.passage.title] * 1000}) == [first]


def test_every_name_of_a_field_can_be_asked_for(tiny: Path, tmp_path: Path) -> None:
    documents = [Document(f"d{i}", "", "The tent.", fields={name: "yes"}) for i, name in enumerate(NAMES)]
    index_documents(tmp_path / "kb", documents, Settings(str(tiny)))
    index = Index.open(tmp_path / "kb")
    for number, name in enumerate(NAMES):
        assert [hit.passage.document_key for hit in index.search("tent", 20, where={name: "yes"})] == [f"d{number}"]
        assert index.search("tent", 20, where={name: "no"}) == []


def test_one_question_gives_one_list(index: Index) -> None:
    (expected,) = index.search(["Did a fox meet a dog?"], 3)
    assert index.search("Did a fox meet a dog?", 3) == expected
    assert index.search(("Did a fox meet a dog?",), np.int64(3)) == [expected]


def test_conditions_as_a_mapping_as_pairs_and_with_several_values(tmp_path: Path, tiny: Path) -> None:
    rows = [{"text": f"tent number {n}", "kind": k, "year": 2020 + n, "new": n == 2} for n, k in enumerate("abb")]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    index_files(tmp_path / "kb", [tmp_path / "rows.jsonl"], Settings(str(tiny)))

    def matching(where: object) -> set[str]:
        return {hit.sentence.text[-1] for hit in index.search("tent", where=where)}  # type: ignore[arg-type]

    with Index.open(tmp_path / "kb") as index:
        assert matching({"kind": "b"}) == matching([("kind", "b")]) == matching((("kind", ["b"]),)) == {"1", "2"}
        assert matching({"year": 2021}) == matching({"year": "2021"}) == {"1"}
        assert matching({"year": [2020, 2022]}) == {"0", "2"}
        assert matching({"new": True}) == {"2"}
        assert matching({"kind": ["a", "b"], "year": (2022, 2023)}) == {"2"}
        assert matching([("kind", "a"), ("kind", "b")]) == set()
        assert matching({"path": ["*nothing", "*rows.jsonl"], "kind": "a"}) == {"0"}
        assert matching({"title": ["nothing", ""]}) == {"0", "1", "2"}


def test_places_point_into_the_file(tmp_path: Path, library: Path, tiny: Path) -> None:
    index_files(tmp_path / "kb", [library], Settings(str(tiny)))
    text = (library / "octopus.md").read_text()
    hits = Index.open(tmp_path / "kb").search(["octopus"], 9, where=[("title", "Octopus")])[0]
    assert len(hits) == 3
    for hit in hits:
        place = hit.passage.place(hit.sentence.start)
        assert place is not None
        assert text[place.source :].startswith(hit.sentence.text)
        assert place.line == text[: place.source].count("\n") + 1
    (hit,) = [hit for hit in hits if "eight" in hit.sentence.text]
    assert hit.passage.heading == "Arms"
    for hit in Index.open(tmp_path / "kb").search(["bees"], 9, where=[("title", "bees")])[0]:
        bees = (library / "bees.txt").read_text()
        assert bees[hit.sentence.start : hit.sentence.end] == hit.sentence.text


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ((None,), "questions are a string or a list of strings, not None"),
        (([1],), "questions are a string or a list of strings: number 1 is an int"),
        (({"a": "b"},), "questions are a string or a list of strings, not a dict"),
        ((["a"], 0), "whole number from 1"),
        ((["a"], 2.5), "whole number from 1"),
        ((["a"], True), "whole number from 1"),
        ((["a"], 1, "fuzzy"), "no mode 'fuzzy': choose hybrid, dense, sparse"),
        ((["a"], 1, "dense", "word"), "no unit 'word'"),
        (("a", 1, "dense", "sentence", "kind=shoe"), "where is a mapping of fields to values, such as .*, not a str"),
        (("a", 1, "dense", "sentence", ["kind=shoe"]), "where is a mapping of fields to values, .* it holds 'kind=shoe'"),
        (("a", 1, "dense", "sentence", {1: "x"}), "it holds "),
        (("a", 1, "dense", "sentence", {"kind": None}), "the value of 'kind' is None; write a string, a number or a list"),
        (("a", 1, "dense", "sentence", {"kind": []}), "the field 'kind' has an empty list of values"),
        (("a", 1, "dense", "sentence", {"kind": ["x"] * 1001}), "'kind' has 1,001 values; it may have 1,000"),
    ],
)
def test_requests_that_make_no_sense(index: Index, arguments: tuple[object, ...], reason: str) -> None:
    with pytest.raises(InputError, match=reason):
        index.search(*arguments[:2], **dict(zip(("mode", "unit", "where"), arguments[2:], strict=False)))  # type: ignore[arg-type]


def test_counts_and_sentences(index: Index) -> None:
    assert index.counts() == {"documents": 5, "passages": 5, "sentences": 9}
    every = [sentence.text for passage in index.passages() for sentence in passage.sentences]
    assert index.sentences(range(9)) == every
    assert index.sentences([8, 0]) == [every[8], every[0]]


def test_numbers_of_numpy_are_conditions() -> None:
    values = {"year": np.int64(2020), "price": np.float32(0.5), "stock": np.bool_(True), "any": np.array([1, 2])}
    wanted = (("year", ("2020",)), ("price", ("0.5",)), ("stock", ("true",)), ("any", ("1", "2")))
    assert conditions(values) == wanted
    with pytest.raises(InputError, match="the value of 'day' is a datetime64"):
        conditions({"day": np.datetime64("2020-01-01")})


def test_a_string_is_scored_as_a_list_of_one(index: Index) -> None:
    for scores in (index.score_all, index.raw_scores):
        string_scores, list_scores = (list(scores(questions)) for questions in ("fox", ["fox"]))
        assert len(string_scores) == len(list_scores) == 1
        with pytest.raises(InputError, match="questions are a string or a list of strings, not None"):
            scores(None)  # type: ignore[arg-type]
    assert np.array_equal(next(index.score_all("fox")), next(index.score_all(["fox"])))


def test_a_search_inside_the_loop_over_scores(index: Index) -> None:
    for scores in index.score_all(["fox", "rain"], "sparse"):
        assert scores.shape == (9,)
        assert index.search(["rain"], 1, mode="sparse")[0][0].passage.document_key == "d2"


def test_an_index_lists_its_documents(index: Index, tmp_path: Path) -> None:
    assert index.documents() == sorted({passage.document_key for passage in index.passages()})
    assert len(index) == len(index.documents()) == index.counts()["documents"] > 0
    index_documents(tmp_path / "other", "Bees dance.", model=index.settings.model)
    index_documents(tmp_path / "other", [], prune=True)
    with Index(tmp_path / "other") as empty:
        assert (len(empty), bool(empty), empty.documents()) == (0, True, [])


@pytest.mark.parametrize("texts", [[], ["A fox without sentences."]])
def test_without_sentences_nothing_is_found(texts: list[str], tiny: Path, tmp_path: Path) -> None:
    cut = [replace(paragraph_passage(Document(text, "", text)), sentences=()) for text in texts]
    with index_passages(tmp_path / "kb", cut, Settings(str(tiny))) as index:
        assert index.counts() == {"documents": len(texts), "passages": len(texts), "sentences": 0}
        for mode in MODES:
            assert [index.search("fox", mode=mode, unit=unit) for unit in UNITS] == [[], []]
            assert [len(scores) for scores in index.score_all(["fox", "dog"], mode)] == [0, 0]
        weights = index.weights()
        assert [len(scores.total(weights)) for scores in index.raw_scores(["fox", "dog"])] == [0, 0]
        assert len(index.passage_vectors()) == len(texts)
    index_passages(tmp_path / "kb", [*cut, *passages()], Settings(str(tiny)))
    with Index.open(tmp_path / "kb") as index:
        assert {hit.passage.document_key for hit in index.search("fox")} == {"d0", "d1", "d2", "d3", "d4"}
        assert len(index.passage_vectors()) == len(texts) + 5


def test_an_empty_question_is_refused(index: Index) -> None:
    with pytest.raises(InputError, match="the question is empty"):
        index.search("")
    with pytest.raises(InputError, match="question 2 is empty"):
        index.search(["fox", " \n"])


def test_a_question_has_a_length(index: Index) -> None:
    long = "a_" * 500_000
    with pytest.raises(InputError, match=r"^the question has 1,000,000 characters, more than 10,000: shorten it$"):
        index.search(long)
    for search in (
        index.search,
        index.score_all,
        index.raw_scores,
    ):
        with pytest.raises(InputError, match=r"^question 2 has 1,000,000 characters"):
            search(["fox", long])
    assert index.search("fox " * 2_500, 1)


def test_what_follows_the_number_of_hits_is_named(index: Index) -> None:
    with pytest.raises(TypeError, match="positional"):
        index.search("fox", 3, "dense")  # type: ignore[misc]
