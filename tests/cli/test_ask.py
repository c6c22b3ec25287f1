from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from oreqa.answering import Answerer
from oreqa.cli import app
from oreqa.index.in_memory import index_documents


def run(*arguments: object, given: str | None = None) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments], input=given)


@pytest.fixture
def kb(tmp_path: Path, library: Path, fitted: Path) -> Path:
    assert run("index", library, "--index", tmp_path / "kb", "--model", fitted).exit_code == 0
    return tmp_path / "kb"


def test_places_are_those_of_the_file(kb: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(library.parent)
    command = ("ask", "drones sting", "--index", kb, "--reader", "none", "--threshold", 0, "-k", 9)
    assert "library/bees.txt:3" in run(*command).stdout
    answers = json.loads(run(*command, "--json").stdout)["answers"]
    text = (library / "bees.txt").read_text()
    bee_answers = [answer for answer in answers if answer["document"].endswith("bees.txt")]
    assert len(bee_answers) == 3
    for answer in bee_answers:
        place = answer["place"]
        assert text[place["source"]["start"] : place["source"]["end"]] == answer["text"]
        assert text.splitlines()[place["line"] - 1].find(answer["text"]) >= 0


def test_the_words_that_were_asked_for_instead_are_named(kb: Path) -> None:
    command = ("ask", "how many harets does an octopus have", "--index", kb, "--reader", "none", "--threshold", 0)
    assert run(*command).stdout.startswith("“harets” is in no document; asked for “hearts”.\n")
    report = json.loads(run(*command, "--json").stdout)
    right = json.loads(run(*command[:1], command[1].replace("harets", "hearts"), *command[2:], "--json").stdout)
    assert (report["respelt"], right["respelt"]) == ({"harets": "hearts"}, {})
    assert report["answers"] == right["answers"]


@pytest.mark.slow
def test_a_refusal_shows_what_is_near(kb: Path, fitted_reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oreqa.answering.reply.MIN_GUESS", 0.001)
    command = ("ask", "octopus hearts", "--index", kb, "--threshold", 1)
    for more in (("--reader", fitted_reader, "--reranker", "none"), ("--reader", "none")):
        shown = run(*command, *more).stdout
        report = json.loads(run(*command, *more, "--json").stdout)
        assert (report["found"], report["calibrated"], report["answers"]) == (False, True, [])
        guess = report["guess"]
        assert guess == json.loads(run(*command[:-1], 0, *more, "--json").stdout)["answers"][0]
        assert shown.startswith(f"The documents may not answer this. Best guess:\n{guess['certainty']} ")
        assert f"{guess['text']}\n" in shown
        assert shown.index("\nThe nearest passages:\n") > shown.index("octopus.md")
        texts = [hit["passage"]["text"] for hit in report["nearest"]]
        assert len(texts) == len(set(texts)) == 3
        hits = json.loads(run("search", "octopus hearts", "--index", kb, "--json").stdout)["hits"]
        assert report["nearest"][0].keys() == hits[0].keys()
    assert "nearest" not in json.loads(run("ask", "octopus", "--index", kb, "--threshold", 0, "--json").stdout)


@pytest.mark.slow
def test_conditions_that_nothing_fulfils_are_named(kb: Path) -> None:
    command = ("ask", "tent", "--index", kb, "--where")
    nobody = run(*command, "kind=house")
    assert (nobody.exit_code, nobody.stdout) == (2, "")
    assert nobody.stderr == "error: no document matches --where kind=house; the nearest are: kind=shoe\n"
    assert json.loads(run(*command, "kind=house", "--json").stdout)["error"]["exit_code"] == 2
    unknown = run(*command, "kind=tent", "--where", "colour=red")
    assert unknown.exit_code == 2
    assert unknown.stderr == "error: no document has a field 'colour'; fields are: kind, path, title\n"


@pytest.mark.slow
def test_many_questions(kb: Path, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("\ufeffhow many hearts\r\n\n where are flowers \n", encoding="utf-8")
    more = ("--index", kb, "--threshold", 0, "-k", 1)
    report = json.loads(run("ask", "--questions", tmp_path / "q.txt", *more, "--json").stdout)
    alone = [json.loads(run("ask", q, *more, "--json").stdout) for q in ("how many hearts", "where are flowers")]
    assert [row["question"] for row in report] == [row["question"] for row in alone]
    assert [row["answers"][0]["text"] for row in report] == [row["answers"][0]["text"] for row in alone]
    (tmp_path / "q.csv").write_text("question;answer\nhow many hearts;3\nwhere are flowers;\n")
    assert json.loads(run("ask", "--questions", tmp_path / "q.csv", *more, "--json").stdout) == report
    piped = run("ask", "--questions", "-", *more, given="how many hearts\nwhere are flowers\n")
    assert piped.exit_code == 0
    assert piped.stdout.startswith("how many hearts\n")
    assert "\n\nwhere are flowers\n" in piped.stdout
    one = run("ask", "--questions", "-", *more, "--json", given="hearts\n")
    assert len(json.loads(one.stdout)) == 1
    empty = run("ask", "--questions", "-", *more, given="\n")
    assert (empty.exit_code, empty.stderr) == (2, "error: standard input: it holds no question\n")


def test_answers_are_printed_as_they_come_and_stay_when_interrupted(
    kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = ["how many hearts", "where are flowers", "who lays eggs"]
    (tmp_path / "q.txt").write_text("\n".join(questions))
    command = ("ask", "--questions", tmp_path / "q.txt", "--index", kb, "--reader", "none", "--threshold", 0)
    whole, rows = run(*command).stdout, json.loads(run(*command, "--json").stdout)
    reply = Answerer.reply

    def stop_at_second(self: Answerer, texts: list[str], *rest: Any, **options: Any) -> Any:
        if questions[0] not in texts:
            raise KeyboardInterrupt
        return reply(self, texts, *rest, **options)

    monkeypatch.setattr(Answerer, "reply", stop_at_second)
    stopped = run(*command)
    assert (stopped.exit_code, stopped.stderr) == (130, "interrupted; 1 of 3 questions answered\n")
    assert stopped.stdout == whole[: whole.index(questions[1])]
    stopped = run(*command, "--json")
    assert (stopped.exit_code, stopped.stderr) == (130, "interrupted; 1 of 3 questions answered\n")
    assert json.loads(stopped.stdout) == rows[:1]
    alone = run("ask", questions[1], "--index", kb, "--reader", "none")
    assert (alone.exit_code, alone.stdout, alone.stderr) == (130, "", "interrupted\n")


@pytest.mark.slow
def test_models_that_are_not_calibrated_say_so(kb: Path) -> None:
    command = ("ask", "octopus hearts", "--index", kb)  # the default reader was fitted with another encoder
    assert run(*command).stdout.startswith("not calibrated ")
    assert f"oreqa fit --index {kb} --reader minilm-reader" in run(*command).stderr
    assert run(*command, "--json").stderr == ""
    report = json.loads(run(*command, "--json").stdout)
    assert (report["found"], report["calibrated"]) == (True, False)
    assert {answer["confidence"] for answer in report["answers"]} == {None}
    refused = run(*command, "--threshold", 0.5)
    assert refused.exit_code == 2
    assert refused.stderr.startswith("error: the threshold is 0.5, but these models are not calibrated")


@pytest.mark.slow
def test_an_empty_index_is_named(tmp_path: Path) -> None:
    index_documents(tmp_path / "empty", [])
    nothing = run("ask", "Where?", "--index", tmp_path / "empty")
    assert (nothing.stdout, nothing.exit_code) == ("no answer found\n", 0)
    assert (
        nothing.stderr == f"{tmp_path}/empty holds no documents; add some with: oreqa index PATH --index {tmp_path}/empty\n"
    )


def test_other_languages_than_the_models_are_said_once(tmp_path: Path, library: Path) -> None:
    (library / "zelte.txt").write_text(
        "Das Zelt ist wasserdicht und wird für zwei Wochen verliehen. Die Schuhe sind aus Leder und stehen im Keller hinter "
        "der Tür."
    )
    for file in library.iterdir():
        os.utime(file, (10**9, 10**9))  # what was written just now is read once more
    kb = tmp_path / "kb"
    indexed = run("index", library, "--index", kb)
    assert indexed.exit_code == 0, indexed.stderr
    assert "1 document in German: minilm-retriever has learned English; " in " ".join(indexed.stdout.split())
    again = run("index", library, "--index", kb, "--json")
    assert json.loads(again.stdout)["languages"] == {}
    (tmp_path / "asked.txt").write_text("Wie tief tauchen Wale im Winter?\nWelche Farbe haben Wolken?\n")
    for arguments, said in (
        (["Wie tief tauchen Wale im Winter?"], "the question seems to be in German"),
        (["--questions", tmp_path / "asked.txt"], "questions seem to be in German"),
    ):
        replied = run("ask", *arguments, "--index", kb, "--threshold", 1)
        assert replied.stderr.splitlines()[:1] == [
            f"{said}, and minilm-reader has learned English: see --reader and oreqa index --model"
        ]
    assert "English" not in run("ask", "How deep do whales dive?", "--index", kb, "--threshold", 1).stderr


def test_files_that_are_not_as_they_were_indexed_are_named(kb: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(library.parent)
    command = ("ask", "drones sting", "--index", "kb", "--reader", "none", "--threshold", 0, "-k", 9)

    def file_of_bees() -> set[str]:
        answers = json.loads(run(*command, "--json").stdout)["answers"]
        return {answer["file"] for answer in answers if answer["document"].endswith("bees.txt")}

    assert file_of_bees() == {"same"}
    assert "the file" not in run(*command).stdout
    (library / "bees.txt").write_text("Drones have no sting at all.")
    assert file_of_bees() == {"changed"}
    note = "     the file was changed after it was indexed; to read it again: oreqa index library/bees.txt --index kb\n"
    monkeypatch.setenv("COLUMNS", "200")
    assert run(*command).stdout.count(note) == 1
    (library / "bees.txt").unlink()
    assert file_of_bees() == {"gone"}
    note = "the file is gone, or no longer says so; to remove this: oreqa index library/bees.txt --index kb --prune\n"
    assert run(*command).stdout.count(note) == 1
    assert run("index", "library/bees.txt", "--index", "kb", "--prune").exit_code == 0
    assert file_of_bees() == set()
    index_documents("memory", "Drones have no sting.")
    answers = json.loads(
        run("ask", "drones sting", "--index", "memory", "--reader", "none", "--threshold", 0, "--json").stdout
    )
    assert answers["answers"][0]["file"] == "none"
