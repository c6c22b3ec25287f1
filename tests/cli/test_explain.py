from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oreqa.cli import app


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def kb(tmp_path: Path, library: Path, fitted: Path) -> Path:
    assert run("index", library, "--index", tmp_path / "kb", "--model", fitted).exit_code == 0
    return tmp_path / "kb"


def test_the_stages_as_tables_and_as_json(kb: Path, fitted_reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    command = ("explain", "Where do bees dance with narwhals?", "--index", kb, "--reader", fitted_reader)
    report = json.loads(run(*command, "--expected", "leather", "--json").stdout)
    with_expected = [hit for hit in report["hits"] if hit["holds_expected"]]
    assert [hit["passage"]["text"] for hit in with_expected] == ["The boots are made of leather."]
    assert report["absent_words"] == ["narwhals"]
    assert len(report["answers"]) == 10
    first = report["answers"][0]
    shown = run(*command, "--expected", "leather")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    assert lines[:3] == [report["reason"], report["next_step"], "Of the question's words, no document contains “narwhals”."]
    assert next(line for line in lines if line.startswith("places are below ")).endswith(os.sep)
    place = report["expected_place"]
    (boots,) = with_expected
    assert (place["rank"], place["other_ranks"], place["document"]) == (boots["rank"], [], boots["document"])
    assert place["sentence"] == boots["passage"]["text"]
    assert place["sentence"][place["start"] : place["end"]] == "leather"
    text = " ".join(shown.stdout.split())
    assert f"“leather” stands in passage {boots['rank']}, " in text
    assert ": “The boots are made of leather.” If that sentence does not answer the question, pass --expected" in text
    assert "To read it there: oreqa show " in text
    missing = " ".join(run(*command, "--expected", "wool coat").stdout.split())
    assert "To see whether any passage contains it: oreqa search 'wool coat' --mode sparse" in missing
    heading = next(line for line in lines if line.startswith("#  answer"))
    assert heading.split() == ["#", "answer", "sure", "span", "selection", "retrieval", "agreement", "score"]
    row = lines[lines.index(heading) + 1].split()
    assert row[0] == "1"
    assert row[-1] == f"{first['score']:.2f}"
    assert f"{sum(report['log_odds'].values()):+.2f}" in next(line for line in lines if line.startswith("sum")).split()
    assert any(line.lstrip().startswith(f"{with_expected[0]['rank']} *") for line in lines)


@pytest.mark.parametrize("columns", [44, 72, 160])
def test_places_are_never_broken(
    columns: int, tmp_path: Path, fitted: Path, fitted_reader: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the table has no room for them, they stand below it."""
    documents = tmp_path / "documents"
    documents.mkdir()
    names = [f"administration-of-the-routing-daemons-{name}.txt" for name in ("first", "second")]
    for name in names:
        (documents / name).write_text(f"Bees dance in the {name} hive.\n")
    assert run("index", documents, "--index", tmp_path / "kb", "--model", fitted).exit_code == 0
    monkeypatch.setenv("COLUMNS", str(columns))
    shown = run("explain", "Where do bees dance?", "--index", tmp_path / "kb", "--reader", fitted_reader)
    assert shown.exit_code == 0, shown.stderr
    heading = next(line for line in shown.stdout.splitlines() if line.lstrip().startswith("#"))
    assert ("place" in heading) is (columns > 100)
    assert all(f"{name}:1" in shown.stdout for name in names)
    monkeypatch.setattr("oreqa.cli.explain.questions_of", lambda *_, **__: ["Who dances?", "Where?"])  # as if piped
    two = run("explain", "--index", tmp_path / "kb")
    assert two.stderr == "error: standard input holds 2 questions: explain one; oreqa ask --questions takes many\n"


def test_words_that_no_passage_read_contains(tmp_path: Path, fitted: Path, fitted_reader: Path) -> None:
    words = [f"{name}ish" for name in ("red", "blue", "green", "grey", "brown", "pink", "black", "white")]
    (tmp_path / "words.csv").write_text("\n".join(["word", *(f"It is {word}." for word in words)]) + "\n")
    assert run("index", tmp_path / "words.csv", "--index", tmp_path / "kb", "--model", fitted).exit_code == 0
    command = ("explain", f"What is {' and '.join(words)}?", "--index", tmp_path / "kb", "--reader", fitted_reader)
    report = json.loads(run(*command, "--json").stdout)
    unread = report["unread_words"]
    assert set(unread) < set(words)
    said = f"Of the question's words, no passage that was read contains “{'”, “'.join(unread)}”."
    assert (said in run(*command).stdout.replace("\n", " ")) is (report["stage"] != "answered")


def test_without_an_answer_there_is_no_column_for_it(kb: Path, fitted_reader: Path) -> None:
    shown = run("explain", "What is max_connections of bees?", "--index", kb, "--reader", fitted_reader).stdout
    assert "lacks the identifier" in shown
    assert "best answer in it" not in shown
    nothing = run("explain", "bees", "--index", kb, "--reader", "none", "--where", "title=none")
    assert (nothing.exit_code, nothing.stdout) == (2, "")
    assert nothing.stderr.startswith("error: no document matches --where title=none; the nearest are: title=")


def test_a_computed_answer_has_no_scores(kb: Path, library: Path) -> None:
    (library / "staff.csv").write_text("name,city\nAnna,Berlin\nBen,Bonn\nCarl,Berlin\n")
    assert run("index", library, "--index", kb).exit_code == 0
    shown = run("explain", "How many rows have the city Berlin?", "--index", kb, "--reader", "none")
    assert shown.exit_code == 0, shown.stderr
    lines = shown.stdout.splitlines()
    assert lines[0] == "“2” was computed from 3 rows of a table."
    row = lines[next(n for n, line in enumerate(lines) if line.startswith("#  answer")) + 1]
    assert row.split() == ["1", "2", "computed"]


def test_commands_to_go_on_with_keep_the_conditions(kb: Path, fitted_reader: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("oreqa.answering.choices.best_is_here", lambda: True)
    monkeypatch.setattr("oreqa.answering.choices.QUALITY_READERS", dict.fromkeys(("fast", "best"), str(fitted_reader)))

    def explained(expected: str, *options: str) -> str:
        result = run("explain", "Where do bees dance?", "--index", kb, "--expected", expected, *options)
        assert result.exit_code == 0, result.stderr
        return " ".join(result.stdout.split())

    missing = explained("wool coat", "--where", "title=bees")
    assert f"--mode sparse --index {kb} --where title=bees" in missing
    monkeypatch.setattr("oreqa.answering.explanation._decided", lambda *_: ("reader", "It is lost."))
    lost = explained("dance", "--where", "title=bees")
    assert "Ask for one fact in a short question." in lost
    assert f"oreqa ask 'Where do bees dance?' --quality best --index {kb} --where title=bees" in lost
    assert "--quality best" not in explained("dance", "--quality", "best")


def test_an_expected_answer_that_stands_in_a_heading_alone(kb: Path, library: Path, fitted_reader: Path) -> None:
    (library / "harbour.md").write_text("# Zanzibar\n\nThe harbour has twelve boats.\n")
    assert run("index", library, "--index", kb).exit_code == 0
    command = ("explain", "How many boats has the harbour?", "--index", kb, "--reader", fitted_reader)
    shown = " ".join(run(*command, "--expected", "Zanzibar").stdout.split())
    assert "“Zanzibar” stands in the title or heading of passage " in shown
    assert "whether any passage contains it" not in shown


def test_one_question_and_no_file(kb: Path) -> None:
    assert run("explain", "bees", "dance", "--index", kb).exit_code == 2
    assert run("explain", "--index", kb).exit_code == 2
