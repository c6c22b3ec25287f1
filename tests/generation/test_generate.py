from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lives import LIVES
from tiny_models import make_seq2seq
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.core import Document
from oreqa.datasets.load import load_paragraphs
from oreqa.datasets.pairs import load_pairs
from oreqa.datasets.paragraphs import load_squad
from oreqa.errors import InputError, OreqaError
from oreqa.generation import candidates, filters, generate, generate_questions
from oreqa.index.in_memory import index_documents
from oreqa.index.search import Index
from oreqa.models.generator.decoding import BeamSearch, Nucleus
from oreqa.models.generator.generator import QuestionGenerator
from oreqa.models.generator.inputs import MarkedAnswer


@pytest.fixture(autouse=True)
def _few_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tiny encoder reads letters: its passages are of few words, parts of sentences."""
    monkeypatch.setattr(candidates, "MIN_WORDS", 5)
    monkeypatch.setattr(candidates, "is_prose", bool)


@pytest.fixture
def kb(tiny: Path, tmp_path: Path) -> Path:
    """An index of seven long documents and a short one."""
    index_documents(tmp_path / "kb", [*LIVES, Document("short", "", "Bees dance.")], model=tiny)
    return tmp_path / "kb"


def rows_of(out: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_questions_have_their_answers_in_the_documents(kb: Path, tiny_generator: Path, tmp_path: Path) -> None:
    out = tmp_path / "questions.jsonl"
    report = generate_questions(out, index=kb, generator=tiny_generator, answers=3, round_trip=0)
    with Index.open(kb) as index:
        lengths = [len(passage.text.split()) for passage in index.passages()]
    long = sum(length >= 5 for length in lengths)
    assert (report.passages, report.passed_over) == (long, len(lengths) - long)
    assert report.passed_over > 0
    assert report.questions + sum(report.dropped.values()) == report.candidates
    assert long < report.candidates <= 3 * long
    rows = rows_of(out)
    assert len(rows) == len(list(load_pairs(out))) == report.questions > 0
    for row in rows:
        assert row["context"][row["span_start"] :].startswith(row["span"])
        assert row["answer"] in row["context"]
        assert row["style"] in ("textbook", "search")
        assert len(row["context"].split()) >= 5
    assert {row["style"] for row in rows} == {"textbook", "search"}
    assert not list(tmp_path.glob(".*.partial"))
    squad = generate_questions(tmp_path / "q.json", index=kb, generator=tiny_generator, answers=3, round_trip=0)
    questions = [(q.text, q.answers[0].text) for p in load_squad(tmp_path / "q.json") for q in p.questions]
    assert questions == [(row["question"], row["span"]) for row in rows]
    assert (squad.candidates, squad.dropped) == (report.candidates, report.dropped)


def test_a_bart_is_shown_whole_passages(
    squad_file: Path, tiny_generator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("torch")
    bart = make_seq2seq(tmp_path / "bart", "bart", max_tokens=60, question_tokens=12)
    monkeypatch.setattr("oreqa.models.generator.inputs.NEIGHBOURS", 0)
    contexts: list[str] = []
    original = QuestionGenerator.generate

    def recorded(self: QuestionGenerator, answers: list[MarkedAnswer], *rest: Any) -> Any:
        contexts.extend(answer.context for answer in answers)
        return original(self, answers, *rest)

    monkeypatch.setattr(QuestionGenerator, "generate", recorded)
    passages = {paragraph.text for paragraph in load_squad(squad_file)}
    for name, folder in (("bart", bart), ("own", tiny_generator)):
        contexts.clear()
        out = tmp_path / f"{name}.jsonl"
        generate_questions(out, data=squad_file, generator=folder, answers=3, round_trip=0)
        assert contexts
        assert {context in passages for context in contexts} == {name == "bart"}


def test_styles_draws_and_seeds(kb: Path, tiny_generator: Path, tmp_path: Path) -> None:
    def spans(**settings: Any) -> list[tuple[str, str]]:
        out = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
        generate_questions(out, index=kb, generator=tiny_generator, answers=2, round_trip=0, **settings)
        return [(row["question"], row["style"]) for row in rows_of(out)]

    assert {style for _, style in spans(styles="search")} == {"search"}
    drawn = {"decoding": "nucleus"}
    assert spans(**drawn, seed=0) == spans(**drawn, seed=0) != spans(**drawn, seed=1)
    assert spans(decoding="greedy", seed=0) == spans(decoding="greedy", seed=1)
    report = generate_questions(tmp_path / "d.jsonl", index=kb, generator=tiny_generator, round_trip=0, draw=3, seed=5)
    assert report.passages == 3
    assert len({row["context"] for row in rows_of(tmp_path / "d.jsonl")}) <= 3


def test_answers_lie_in_prose(kb: Path, tiny_generator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "is_prose", lambda sentence: "moved" in sentence)
    generate_questions(tmp_path / "q.jsonl", index=kb, generator=tiny_generator, round_trip=0)
    assert {"moved" in row["answer"] for row in rows_of(tmp_path / "q.jsonl")} == {True}
    monkeypatch.setattr(candidates, "is_prose", lambda sentence: False)
    with pytest.raises(InputError, match=r"kb: it holds no passage of at least \d+ words with a sentence of prose"):
        generate_questions(tmp_path / "none.jsonl", index=kb, generator=tiny_generator, round_trip=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_an_interrupted_run_ends_as_an_uninterrupted_one(
    kb: Path, tiny_generator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(generate, "BLOCK", 1)
    settings: dict[str, Any] = {"index": kb, "generator": tiny_generator, "answers": 2, "round_trip": 0}
    generate_questions(tmp_path / "whole.jsonl", **settings)

    class Interrupted(BaseException):
        pass

    stop, blocks = random.Random(seed).randrange(7), []

    @contextmanager
    def progress(name: str, total: int | None) -> Iterator[Callable[[int], None]]:
        def advance(count: int) -> None:
            blocks.append(count)
            if len(blocks) == stop + 2:  # the first call tells what an earlier run left
                raise Interrupted

        yield advance

    with pytest.raises(Interrupted):
        generate_questions(tmp_path / "cut.jsonl", **settings, progress=progress)
    assert not (tmp_path / "cut.jsonl").exists()
    (partial,) = tmp_path.glob(".cut.jsonl.partial")
    assert len(partial.read_text().splitlines()) == stop + 1
    with partial.open("a") as stream:
        stream.write("0123456789abcdef {")  # as a kill in the middle of a write leaves it
    generate_questions(tmp_path / "cut.jsonl", **settings)
    assert (tmp_path / "cut.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not partial.exists()


def test_parts_are_gathered_into_the_file_of_a_single_run(
    kb: Path, tiny_generator: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One part was killed, and never began again: the last run makes what is missing of it."""
    monkeypatch.setattr(generate, "BLOCK", 2)
    settings: dict[str, Any] = {"index": kb, "generator": tiny_generator, "answers": 2, "round_trip": 0}
    passages = generate_questions(tmp_path / "whole.jsonl", **settings).passages
    reports = [generate_questions(tmp_path / "q.jsonl", **settings, part=f"{number}/3") for number in (1, 2, 3)]
    assert sum(report.passages for report in reports) == passages
    assert not (tmp_path / "q.jsonl").exists()
    killed = tmp_path / ".q.jsonl.partial-2-of-3"
    lines = killed.read_bytes().splitlines(keepends=True)
    killed.write_bytes(b"".join(lines[:-1]) + lines[-1][:-5])
    numbers: list[int] = []
    rows = generate._Asker.rows

    def note(self: Any, first: int, last: int) -> list[dict[str, Any]]:
        numbers.extend(range(first, last))
        return rows(self, first, last)

    monkeypatch.setattr(generate._Asker, "rows", note)
    generate_questions(tmp_path / "q.jsonl", **settings)
    assert 0 < len(numbers) <= 2
    assert (tmp_path / "q.jsonl").read_bytes() == (tmp_path / "whole.jsonl").read_bytes()
    assert not list(tmp_path.glob(".q.jsonl*"))


@pytest.mark.parametrize("part", ["0/3", "4/3", "3", "a/b", "1/-1", 2])
def test_what_is_no_part(kb: Path, tiny_generator: Path, tmp_path: Path, part: Any) -> None:
    with pytest.raises(InputError, match=r"^the part is .*; the third of eight is written 3/8$"):
        generate_questions(tmp_path / "q.jsonl", index=kb, generator=tiny_generator, part=part)


def test_the_command_of_a_part(kb: Path, tiny_generator: Path, tmp_path: Path) -> None:
    out = str(tmp_path / "q.jsonl")
    arguments = ["--index", str(kb), "--generator", str(tiny_generator), "--round-trip", "0", "--out", out]
    result = CliRunner().invoke(app, ["generate", *arguments, "--part", "1/1"])
    assert re.search(r"^part 1/1: \d+ passages asked about; when all parts are done, run it without --part$", result.stdout)
    assert CliRunner().invoke(app, ["generate", *arguments]).exit_code == 0
    assert rows_of(tmp_path / "q.jsonl")


@pytest.mark.slow
def test_the_round_trip_and_the_classifier_judge(
    kb: Path, tiny_generator: Path, tiny_reader: Path, tiny_classifier: Path, tmp_path: Path
) -> None:
    settings: dict[str, Any] = {"index": kb, "generator": tiny_generator, "answers": 7}
    report = generate_questions(tmp_path / "read.jsonl", **settings, reader=tiny_reader, round_trip=0.01)
    assert report.dropped["round_trip"] > 0
    settings |= {"round_trip": 0, "classifier": tiny_classifier}
    generate_questions(tmp_path / "judged.jsonl", **settings, min_probability=1e-9)
    scores = sorted(row["score"] for row in rows_of(tmp_path / "judged.jsonl"))
    middle = scores[len(scores) // 2]
    assert scores[0] < middle
    report = generate_questions(tmp_path / "likely.jsonl", **settings, min_probability=middle)
    likely = [row["score"] for row in rows_of(tmp_path / "likely.jsonl")]
    assert likely
    assert min(likely) >= middle
    assert report.dropped["improbable"] > 0
    assert all(row["weight"] == row["score"] for row in rows_of(tmp_path / "likely.jsonl"))


@pytest.mark.slow
def test_a_data_file_is_indexed_without_its_questions(
    squad_file: Path, tiny: Path, tiny_generator: Path, tiny_reader: Path, tmp_path: Path
) -> None:
    out = tmp_path / "q.json"
    report = generate_questions(
        out, data=squad_file, generator=tiny_generator, reader=tiny_reader, model=tiny, round_trip=0.01
    )
    assert report.passages == 24
    assert (tmp_path / "q.json.index").is_dir()
    texts = {paragraph.text for paragraph in load_paragraphs(squad_file)}
    assert {paragraph.text for paragraph in load_squad(out)} <= texts
    folder = tmp_path / "beir"
    folder.mkdir()
    (folder / "corpus.jsonl").write_text('{"_id": "1", "title": "Bees", "text": "Every bee has 5 eyes and 6 legs."}\n')
    report = generate_questions(
        tmp_path / "b.jsonl", data=folder, index=tmp_path / "w", generator=tiny_generator, model=tiny, round_trip=0
    )
    assert report.passages == 1
    assert (tmp_path / "w").is_dir()


def test_a_file_that_nothing_searches_is_not_indexed(squad_file: Path, tiny_generator: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    report = generate_questions(tmp_path / "out" / "q.json", data=squad_file, generator=tiny_generator, round_trip=0)
    assert report.passages == 24
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["q.json"]


def test_a_file_that_people_may_have_edited_is_not_overwritten(kb: Path, tiny_generator: Path, tmp_path: Path) -> None:
    out = tmp_path / "q.jsonl"
    out.write_text("edited")
    with pytest.raises(InputError, match="exists already"):
        generate_questions(out, index=kb, generator=tiny_generator, round_trip=0)
    assert out.read_text() == "edited"


def test_numbers_may_be_of_numpy(kb: Path, tiny_generator: Path, tmp_path: Path) -> None:
    def questions(out: Path, number: Callable[[int], Any], share: Callable[[float], Any]) -> bytes:
        decoding = Nucleus(share(0.5), number(3))
        generate_questions(
            out, index=kb, generator=tiny_generator, answers=number(2), round_trip=share(0), draw=number(3), seed=number(4),
            decoding=decoding,
        )  # fmt: skip
        return out.read_bytes()

    assert questions(tmp_path / "a.jsonl", np.int64, np.float32) == questions(tmp_path / "b.jsonl", int, float)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [
        {"answers": 2},
        {"styles": "search"},
        {"decoding": "greedy"},
        {"seed": 1},
        {"draw": 4},
        {"round_trip": 0.02},
        {"reader": None},
        {"min_probability": 0.2},
        {"extractor": "tiny_extractor"},
        {"generator": "another"},
        {"index": "another"},
        {},
    ],
    ids=str,
)
def test_rows_of_other_settings_are_not_used(
    kb: Path, tiny_generator: Path, tmp_path: Path, request: pytest.FixtureRequest, change: dict[str, Any],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """Each setting that changes the questions is in the fingerprint of the rows that a run resumes from."""
    reader, classifier = request.getfixturevalue("tiny_reader"), request.getfixturevalue("tiny_classifier")
    settings = {
        "index": kb, "generator": tiny_generator, "answers": 3, "decoding": "beam", "seed": 0, "reader": reader,
        "round_trip": 0.01, "classifier": classifier, "min_probability": 0.1,
    }  # fmt: skip
    fingerprints = []

    def resume(path: Path, part: None, fingerprint: str, *rest: Any) -> list[dict[str, Any]]:
        fingerprints.append(fingerprint)
        return []

    monkeypatch.setattr(generate, "shared_rows", resume)
    generate_questions(tmp_path / "a.jsonl", **settings)
    if change.get("generator"):
        change = {"generator": tmp_path / "generator"}
        shutil.copytree(tiny_generator, change["generator"])
        config = change["generator"] / "config.json"
        config.write_text(config.read_text() + " ")
    if change.get("index"):
        change = {"index": tmp_path / "other"}
        shutil.copytree(kb, change["index"])
        index_documents(change["index"], Document("new", "", "Every bee of the hive dances for the queen."))
    if change.get("extractor"):
        change = {"extractor": request.getfixturevalue("tiny_extractor")}
    if "reader" in change:
        change = {"reader": None, "round_trip": 0}
    generate_questions(tmp_path / "b.jsonl", **{**settings, **change})
    assert (fingerprints[0] == fingerprints[1]) == (not change)


def test_wrong_arguments(
    kb: Path, tiny: Path, tiny_generator: Path, tiny_reader: Path, squad_file: Path, tmp_path: Path
) -> None:
    out, settings = tmp_path / "q.jsonl", {"generator": tiny_generator, "round_trip": 0}
    for changes, message in (
        ({}, "name an index or data"),
        ({"index": kb, "data": squad_file}, "would be ignored: round_trip is 0"),
        ({"index": kb, "model": "all-minilm-l6-v2"}, "model = all-minilm-l6-v2 would be ignored"),
        ({"index": kb, "reader": tiny_reader}, "would be ignored: round_trip is 0"),
        ({"index": kb, "classifier": "minilm-classifier"}, "would be ignored: set min_probability above 0"),
        ({"index": kb, "styles": "poem"}, "there is no style 'poem': choose textbook, search"),
        ({"index": kb, "styles": []}, "styles is an empty list"),
        ({"index": kb, "decoding": "random"}, "there is no decoding 'random': choose greedy, beam, nucleus"),
        ({"index": kb, "answers": 0}, "the number of answers is 0"),
        ({"index": kb, "round_trip": 2}, "round_trip is 2"),
        ({"index": kb, "min_probability": "x"}, "min_probability is 'x'"),
        ({"index": kb, "draw": 0}, "the number of passages is 0"),
        ({"index": kb, "decoding": BeamSearch(0)}, "beams is 0"),
        ({"index": kb, "decoding": Nucleus(2.0)}, "top_p is 2.0"),
        ({"index": kb, "decoding": None}, "decoding is Greedy"),
        ({"index": kb, "extractor": "x", "entities": "y"}, "name an extractor or entities"),
        ({"data": squad_file, "index": tmp_path / "w"}, "would be ignored: round_trip is 0"),
        ({"data": squad_file, "model": "all-minilm-l6-v2"}, "would be ignored: round_trip is 0"),
        ({"index": kb, "generator": tiny_reader}, "it is a reader, not a generator"),
        ({"data": tmp_path / "none.json"}, "none.json"),
    ):
        with pytest.raises(OreqaError, match=message):
            generate_questions(out, **{**settings, **changes})
        assert not out.exists()
    with pytest.raises(InputError, match="kb: this index holds documents"):
        generate_questions(out, generator=tiny_generator, index=kb, data=squad_file, model=tiny, reader=tiny_reader)
    with pytest.raises(InputError, match="name a file ending"):
        generate_questions(tmp_path / "q.csv", index=kb, **settings)


def test_the_command_does_what_the_function_does(kb: Path, tiny_generator: Path, tmp_path: Path) -> None:
    generate_questions(tmp_path / "f.jsonl", index=kb, generator=tiny_generator, round_trip=0, styles="search")
    arguments = ["--index", kb, "--generator", tiny_generator, "--round-trip", 0, "--style", "search"]
    result = CliRunner().invoke(app, ["generate", *map(str, arguments), "--out", str(tmp_path / "c.jsonl")])
    assert result.exit_code == 0, result.output
    assert (tmp_path / "c.jsonl").read_bytes() == (tmp_path / "f.jsonl").read_bytes()
    assert re.search(r"^\d+ questions about \d+ of \d+ passages in .*c\.jsonl, \d+ s$", result.stdout, re.MULTILINE)
    assert re.search(r"^  \d+ were asked \([\d.,]+ passages, [\d.,]+ questions a second\)$", result.stdout, re.MULTILINE)
    first = rows_of(tmp_path / "c.jsonl")[0]
    assert f"  {first['question']} – {first['span']}\n" in result.stdout
    assert "too short or without prose" in result.stdout
    result = CliRunner().invoke(app, ["generate", *map(str, arguments), "--out", str(tmp_path / "j.jsonl"), "--json"])
    assert json.loads(result.stdout)["questions"] == len(rows_of(tmp_path / "j.jsonl"))


@pytest.mark.parametrize(
    ("reason", "draw", "message"),
    [
        ("vague", (), "the question asks for nothing in particular; index more documents"),
        (
            "round_trip",
            ("--draw", 3),
            "retrieved for the question; draw more passages than --draw 3, or keep what the reader",
        ),
    ],
)
def test_no_question_leaves_no_file(
    kb: Path,
    tiny_generator: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    reason: str,
    draw: tuple[object, ...],
    message: str,
) -> None:
    monkeypatch.setattr(filters, "text_reason", lambda question, answer: reason)
    arguments = ["--index", kb, "--generator", tiny_generator, "--round-trip", 0, "--out", tmp_path / "q.jsonl", *draw]
    result = CliRunner().invoke(app, ["generate", *map(str, arguments)])
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith(f"error: no question was kept, so {tmp_path}/q.jsonl was not written: ")
    assert message in result.stderr
    assert not list(tmp_path.glob("*q.jsonl*"))
