from __future__ import annotations

import gzip
import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oreqa.cli import app
from oreqa.cli.hits import shown_path
from oreqa.cli.output import counted


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.fixture
def kb(tmp_path: Path, library: Path, fitted: Path) -> Path:
    assert run("index", library, "--index", tmp_path / "kb", "--model", fitted).exit_code == 0
    return tmp_path / "kb"


def test_index(kb: Path, library: Path, fitted: Path) -> None:
    assert run("index", library, "--index", kb).stdout.splitlines()[0] == f"{kb}: 4 unchanged, in 3 files; 6 passages in all"
    (library / "bad.pdf").write_bytes(b"no")
    (library / "code.Xyz").write_text("x")
    found = run("index", library, "--index", kb, "--json")
    assert found.exit_code == 1
    report = json.loads(found.stdout)
    assert (report["unchanged"], report["unknown"], len(report["problems"])) == (4, {".xyz": 1}, 1)
    assert found.stderr.startswith(f"skipped: {library / 'bad.pdf'}: ")
    assert run("index", library, "--index", kb, "--strict").exit_code == 2
    (library / "makefile").write_text("x")
    (library / "notes.md").write_text("Six words [of](text) stand here.")
    result = run("index", library, "--index", kb, "--report", library / "words.csv")
    assert "words read; left out 1 link targets" in result.stdout
    examples = (
        f"1 .xyz ({shown_path(str(library / 'code.Xyz'))}), 1 without a suffix ({shown_path(str(library / 'makefile'))})"
    )
    way = "; to add those that are text: --include '*.Xyz' --include makefile"
    assert f"2 files of other kinds not read: {examples}{way}" in result.stdout
    assert "notes.md,,6,5,1,1.000,link targets: 1" in (library / "words.csv").read_text()
    (library / "words.csv").unlink()
    for place in (library, library / "notes.md" / "words.csv"):
        refused = run("index", library, "--index", kb, "--report", place)
        assert (refused.exit_code, refused.stdout) == (2, "")
        assert "it cannot be written there; name another file" in refused.stderr
    for place in (kb / "draft", kb / "reports" / "words.csv"):
        refused = run("index", library, "--index", kb, "--report", place)
        assert (refused.exit_code, place.exists()) == (2, False)
        assert f"--report {place}: it lies in the index's folder; name a file elsewhere" in refused.stderr
    before = (library / "notes.md").read_text()
    refused = run("index", library, "--index", kb, "--report", library / "notes.md")
    assert (refused.exit_code, (library / "notes.md").read_text()) == (2, before)
    assert "notes.md: it exists and is no report of oreqa index; name another file" in refused.stderr
    assert [run("index", library, "--index", kb, "--report", kb.parent / "r.csv").exit_code for _ in range(2)] == [1, 1]
    (library / "notes.md").write_text("Six other words [of](text) stand here.")
    words = json.loads(run("index", library, "--index", kb, "--json").stdout)["words"]
    assert words["left_out"] == {"link targets": 1}
    (library / "bees.txt").unlink()
    assert "1 document gone from these paths, or left out: --prune removes it" in run("index", library, "--index", kb).stdout
    (library / "octopus.md").unlink()
    assert "--prune removes them" in run("index", library, "--index", kb).stdout
    one = run("index", library / "notes.md", "--index", kb.parent / "small", "--model", fitted)
    assert one.stdout.splitlines()[0].endswith("; 1 passage in all")


def test_every_kind_of_text_that_was_not_read_is_reported(kb: Path, library: Path) -> None:
    for name in ("a.conf", "b.conf", "b.conf2", "c.rules", "d.tmpl", "e.png"):
        (library / name).write_text("x")
    for name in ("f.pack", "g.bin", "run"):
        (library / name).write_bytes(b"#!/bin/sh" if name == "run" else b"x\0\x01")
    (library / "h.cfg.gz").write_bytes(gzip.compress(b"x"))
    patterns = ("*.conf", "*.cfg.gz", "*.conf2", "*.rules", "*.tmpl", "AUTHORS", "copyright")
    for name in ("AUTHORS", "copyright"):
        (library / name).write_text("x")
    result = run("index", library, "--index", kb)
    options = " ".join(f"--include {shlex.quote(pattern)}" for pattern in patterns)
    assert sorted(result.stdout.partition("to add those that are text: ")[2].split()) == sorted(options.split())
    assert json.loads(run("index", library, "--index", kb, "--json").stdout)["include"][0] == "*.conf"
    added = run("index", library, "--index", kb, *(f"--include={pattern}" for pattern in patterns))
    assert added.stdout.startswith(f"{kb}: 8 added; ")
    assert "to add those" not in run("index", library, "--index", kb).stdout


@pytest.mark.parametrize("arguments", [(), ("--include", "*.pdf")])
def test_no_index_is_made_of_no_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    if arguments:
        Path("docs", "notes.md").write_text("x")
    found = run("index", "docs", "--index", "kb", *arguments)
    assert (found.exit_code, found.stdout) == (1, "")
    assert found.stderr.startswith("error: docs: no documents found, so no index was made; ")
    assert found.stderr.count("\n") == 1
    assert not Path("kb").exists()
    for name in ("a.xyz", "b.xyz", "makefile"):
        Path("docs", name).write_text("x")
    if not arguments:
        way = "to add those that are text: --include '*.xyz' --include makefile\n"
        others = "among files of other kinds (2 .xyz, 1 without a suffix), so no index was made; "
        assert others + way in run("index", "docs", "--index", "kb").stderr


def test_what_is_skipped_is_named_by_its_shortest_path(kb: Path, library: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(library.parent)
    (library / "bad.pdf").write_bytes(b"no")
    assert run("index", library, "--index", kb).stderr.startswith("skipped: library/bad.pdf: it is not a readable PDF; ")


def test_ask(kb: Path, fitted_reader: Path, fitted_reranker: Path) -> None:
    models = ("--reader", fitted_reader, "--reranker", fitted_reranker)
    command = ("ask", "How many hearts has an octopus?", "--index", kb, "--threshold", 0, *models)
    found = run(*command)
    assert found.exit_code == 0
    assert "/library/" in found.stdout
    report = json.loads(run(*command, "-k", 1, "--json").stdout)
    assert report["found"] is True
    (answer,) = report["answers"]
    passage, sentence = answer["passage"], answer["sentence"]
    assert 0 <= answer["confidence"] <= 1
    assert passage["text"][answer["start"] - passage["start"] : answer["end"] - passage["start"]] == answer["text"]
    assert passage["text"][sentence["start"] - passage["start"] : sentence["end"] - passage["start"]] == sentence["text"]
    plain = run("ask", "hearts", "--index", kb, "--threshold", 0, "-k", 1, "--reader", "none", "--json")
    (answer,) = json.loads(plain.stdout)["answers"]
    assert answer["text"] == answer["sentence"]["text"]
    nothing = run("ask", "zzz qqq", "--index", kb, "--threshold", 1, *models)
    assert nothing.stdout.startswith("The documents may not answer this. Best guess:\nweak ")
    assert json.loads(run("ask", "zzz", "--index", kb, "--threshold", 1, "--json", *models).stdout)["found"] is False


@pytest.mark.parametrize("unit", ["sentence", "passage"])
def test_search(kb: Path, unit: str) -> None:
    report = json.loads(run("search", "waterproof tent", "--index", kb, "--unit", unit, "--mode", "sparse", "--json").stdout)
    assert report["hits"][0]["title"] == "Tents"
    assert report["hits"][0]["fields"] == {"kind": "tent"}
    assert "waterproof" in run("search", "waterproof tent", "--index", kb, "--unit", unit).stdout
    only = run("search", "tent", "--index", kb, "--where", "kind=shoe", "--json")
    assert {hit["title"] for hit in json.loads(only.stdout)["hits"]} == {"Boots"}
    nothing = run("search", "x", "--index", kb, "--where", "kind=none")
    near = "error: no document matches --where kind=none; the nearest are: kind=shoe, kind=tent\n"
    assert (nothing.exit_code, nothing.stdout, nothing.stderr) == (2, "", near)
    conditions = ("--where", "kind=shoe", "--where", "title=Tents")
    together = "--where kind=shoe --where title=Tents; each condition has documents, but no document meets all\n"
    assert run("search", "x", "--index", kb, *conditions).stderr == f"error: no document matches {together}"
    assert run("search", "x", "--index", kb, "--where", "kind=none", *conditions[2:]).stderr.endswith(near.partition(";")[2])


def test_search_of_a_file_of_questions(kb: Path, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text("tent\n\nboots\n")
    several = ("--questions", tmp_path / "q.txt", "--index", kb, "--mode", "sparse", "-k", 1)
    report = json.loads(run("search", *several, "--json").stdout)
    assert [row["question"] for row in report] == ["tent", "boots"]
    assert [row["hits"][0]["title"] for row in report] == ["Tents", "Boots"]
    assert re.match(r"tent\n  1 [^#]*rows\.jsonl#a\b.*\n +Tents\n\nboots\n  1 ", run("search", *several).stdout)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["ask", "x", "--index", "nowhere"], "there is no index here; create one with"),
        (["ask", "x", "--index", "KB", "--classifier", "mine"], "there is no model 'mine'"),
        (["ask", "x", "--index", "KB", "--classifier", "mine", "--rerank", "0"], "mine would re-rank no hits: leave it"),
        (["search", "x", "--index", "KB", "--classifier", "minilm-classifier", "--rerank", "0"], "would re-rank no hits"),
        (["ask", " ", "--index", "KB"], "the question is empty"),
        (["search", "", "--index", "KB"], "the question is empty"),
        (["ask", "x" * 10_001, "--index", "KB"], "the question has 10,001 characters, more than 10,000: shorten it"),
        (["search", "x" * 10_001, "--index", "KB"], "the question has 10,001 characters"),
        (["ask", "x", "--index", "KB", "--where", "oops"], "write it as field=value"),
        (
            ["ask", "x", "--index", "KB", "--where", "colour=x"],
            "no document has a field 'colour'; fields are: kind, path, title",
        ),
        (["index", "nowhere", "--index", "KB"], "nowhere: there is no such file"),
        (["index", "docs", "--index", "new", "--model", "nope"], "there is no model 'nope'"),
        (["index", "KB", "--index", "KB", "--language", "de"], "built with --language en, not de"),
        (["eval", "reqa", "--data", "none.json", "--out", "o"], "none.json: there is no such file"),
        (["eval", "beir", "--data", "none", "--out", "o"], "there is no such folder"),
        (["compare", "KB"], "name at least two runs"),
        (["compare", "KB", "KB"], "it is not a finished run"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(
    kb: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], reason: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "notes.md").write_text("x")
    found = run(*(str(kb) if argument == "KB" else argument for argument in arguments))
    assert found.exit_code == 2
    assert found.stderr.startswith("error: ")
    assert reason in found.stderr
    assert found.stderr.count("\n") == 1
    assert found.stdout == ""


def test_usage_errors() -> None:
    assert run("ask", "x").exit_code == 2
    assert run("search", "x", "--index", "y", "--mode", "fuzzy").exit_code == 2
    assert run("--version").stdout.startswith("oreqa ")


@pytest.mark.slow
def test_eval_and_compare(tmp_path: Path, tiny: Path) -> None:
    qas = [{"id": "1", "question": "bears sleep", "answers": [{"text": "Bears", "answer_start": 11}]}]
    data = {"data": [{"title": "A", "paragraphs": [{"context": "Foxes run. Bears sleep.", "qas": qas}]}]}
    (tmp_path / "d.json").write_text(json.dumps(data))
    for mode in ("sparse", "hybrid"):
        found = run("eval", "reqa", "--data", tmp_path / "d.json", "--mode", mode, "--model", tiny, "--out", tmp_path / mode)
        assert found.exit_code == 0, found.stderr
        assert "report.html" in found.stdout
    metrics = json.loads((tmp_path / "sparse" / "metrics.json").read_text())
    assert metrics["mrr"] == 100
    assert {"task", "questions", "candidates", "data_sha256", "model", "settings", "seconds", "versions"} <= set(metrics)
    found = run("compare", tmp_path / "sparse", tmp_path / "hybrid", "--json")
    compared = json.loads(found.stdout)
    assert compared[0]["errors"]["neither"] == 1
    assert compared[0]["error_shares"] == {"both": 0, "only_a": 0, "only_b": 0, "neither": 100}
    found = run("compare", tmp_path / "sparse", tmp_path / "hybrid", "--out", tmp_path / "difference")
    assert "first answers: both wrong 0 (0.0%), sparse alone wrong 0 (0.0%), " in " ".join(found.stdout.split())
    assert "written to" in found.stdout
    assert json.loads((tmp_path / "difference" / "comparison.json").read_text()) == compared
    assert "no errors" in (tmp_path / "difference" / "report.html").read_text()


def test_held_out_articles_alone(tmp_path: Path, tiny: Path, squad_file: Path) -> None:
    both = [("eval", "reqa", "--mode", "sparse", "--model", tiny), ("mine", "negatives", "--model", tiny)]
    measured = {}
    for name, more in (("all", ()), ("held", ("--held-out",))):
        found = run(*both[0], "--data", squad_file, *more, "--out", tmp_path / name, "--json")
        assert found.exit_code == 0, found.stderr
        measured[name] = json.loads(found.stdout)
    assert 0 < measured["held"]["questions"] < measured["all"]["questions"]
    assert measured["held"]["candidates"] < measured["all"]["candidates"]
    left = measured["held"]["questions"]
    for command, more in (("reqa", ("--held-out",)), ("negatives", ())):
        said = run(*next(each for each in both if command in each), "--data", squad_file, *more, "--out", tmp_path / command)
        assert re.search(rf"  held out by title: \d+ of \d+ articles, {left} questions\n", said.stdout), said
    qas = [{"id": "1", "question": "q", "answers": [{"text": "Foxes", "answer_start": 0}]}]
    one = {"data": [{"title": "A", "paragraphs": [{"context": "Foxes run.", "qas": qas}]}]}
    (tmp_path / "one.json").write_text(json.dumps(one))
    for command in both:
        found = run(*command, "--data", tmp_path / "one.json", "--held-out", "--out", tmp_path / "none")
        assert found.exit_code == 2
        assert f"{tmp_path / 'one.json'}: none is held out of 1 article; one in ten is, by its title" in found.stderr
        assert not (tmp_path / "none").exists()


def test_eval_beir(tmp_path: Path, tiny: Path) -> None:
    folder = tmp_path / "b"
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text('{"_id": "1", "text": "Bees hum."}\n{"_id": "2", "text": "Owls hoot."}\n')
    (folder / "queries.jsonl").write_text('{"_id": "q", "text": "owls hoot"}\n')
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\t2\t1\n")
    found = run("eval", "beir", "--data", folder, "--model", tiny, "--mode", "sparse", "--out", tmp_path / "o", "--json")
    assert json.loads(found.stdout)["ndcg@10"] == 100


@pytest.mark.slow
def test_mining_judging_and_re_ranking(
    squad_file: Path, tiny: Path, tiny_classifier: Path, tmp_path: Path, kb: Path
) -> None:
    work, pairs = tmp_path / "work", tmp_path / "pairs.jsonl"
    common = ("--data", squad_file, "--index", work, "--model", tiny)
    found = run("mine", "negatives", *common, "--draw", 20, "--out", pairs)
    assert found.stdout.startswith("20 pairs with ")
    out = tmp_path / "judged"
    found = run("eval", "classifier", "--data", pairs, "--classifier", tiny_classifier, "--model", tiny, "--out", out)
    assert found.exit_code == 0, found.output
    metrics = json.loads((out / "metrics.json").read_text())
    assert {"acc", "auc_pr", "majority_acc", "cosine_acc", "cosine_auc_pr", "ece"} <= set(metrics)
    assert "Calibration" in (out / "report.html").read_text()
    found = run(
        "mine",
        "silver",
        *common,
        "--classifier",
        tiny_classifier,
        "--min-probability",
        0,
        "--out",
        tmp_path / "silver.jsonl",
    )
    rows = [json.loads(line) for line in (tmp_path / "silver.jsonl").read_text().splitlines()]
    likely = sum(row["source"] == "silver" and row["score"] >= 0.5 for row in rows)
    with_one = len({row["question"] for row in rows if row["source"] == "silver" and row["score"] >= 0.5})
    assert found.stdout.startswith(f"{counted(likely, 'silver pair')} of p >= 0.5 for {with_one:,} of ")
    assert f" {len(rows):,} rows in " in " ".join(found.stdout.split())
    (tmp_path / "asked.txt").write_text("who dances\n\nhow many hearts\n")
    report = json.loads(
        run("mine", "silver", "--questions", tmp_path / "asked.txt", "--index", kb, "--classifier", tiny_classifier,
            "--min-probability", 0, "-k", 3, "--out", tmp_path / "s.jsonl", "--json").stdout
    )  # fmt: skip
    assert (report["questions"], report["gold"], report["silver"]) == (2, 0, 6)
    (tmp_path / "asked.txt").write_text("How many hearts does an octopus have?\n")
    found = run(
        "mine",
        "silver",
        "--questions",
        tmp_path / "asked.txt",
        "--index",
        kb,
        "--min-probability",
        0,
        "--out",
        tmp_path / "t.jsonl",
    )
    scores = [json.loads(line)["score"] for line in (tmp_path / "t.jsonl").read_text().splitlines()]
    shown = [float(p) for p in re.findall(r"^ *([01]\.\d\d) ", found.stdout, re.MULTILINE)]
    assert 0 < len(shown) == sum(score >= 0.5 for score in scores) < len(scores)
    assert "give either data, or questions and index together" in run("mine", "silver", "--out", tmp_path / "s.jsonl").stderr
    for command, rows in (("search", "hits"), ("ask", "answers")):
        chosen = ("--classifier", tiny_classifier, *(("--threshold", 0) if command == "ask" else ()))
        found = run(command, "hearts", "--index", kb, *chosen, "--json")
        assert found.exit_code == 0, found.output
        assert found.stdout == run(command, "hearts", "--index", kb, "--rerank", 20, *chosen, "--json").stdout
        assert all("hit_probability" in row["scores"] for row in json.loads(found.stdout)[rows])
    reranked = ("ask", "hearts", "--index", kb, "--rerank", 4, "--classifier", tiny_classifier, "--threshold", 0)
    answers = json.loads(run(*reranked, "--json").stdout)["answers"]
    assert [answer["confidence"] for answer in answers] == [None] * 3
    assert "%" not in (shown := run(*reranked).stdout)
    assert shown.startswith("not calibrated ")
    hits = json.loads(
        run("search", "hearts", "--index", kb, "--rerank", 4, "--classifier", tiny_classifier, "--json").stdout
    )
    assert ["hit_probability" in hit["scores"] for hit in hits["hits"]][:5] == [True] * 4 + [False]
    rerank = ("--rerank", 5, "--classifier", tiny_classifier)
    for task in ("reqa", "openqa"):
        found = run("eval", task, "--data", squad_file, "--model", tiny, "--out", tmp_path / task, *rerank, "--draw", 10)
        assert found.exit_code == 0, found.output
        assert json.loads((tmp_path / task / "metrics.json").read_text())["settings"]["rerank"] == 5


def test_everything_imported_for_help_and_ask_is_light(kb: Path) -> None:
    code = "import sys; from oreqa.cli import app\ntry: app(sys.argv[1:])\nexcept SystemExit: pass\nprint(*sys.modules)"
    heavy = {"torch", "transformers", "sentence_transformers", "pandas", "numba", "matplotlib", "lxml", "sklearn"}
    others = {
        f"oreqa.models.graph.{name}" for name in ("foreign", "roberta", "distilbert", "electra", "mpnet", "modernbert")
    }
    for arguments, more in (
        (["--help"], {"numpy", "openvino", "faiss", "scipy"}),
        (["ask", "x", "--index", str(kb)], {"pathspec", "pypdfium2", "oreqa.corpus.readers", *others}),
        (["adapt", "--help"], set()),
        (["eval", "openqa", "--help"], set()),
        (["show", "octopus.md", "--index", str(kb)], {"openvino", "faiss", "scipy", "bm25s"}),
    ):
        out = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True).stdout
        loaded = set(out.splitlines()[-1].split())
        assert not loaded & (heavy | more)


@pytest.mark.train
@pytest.mark.parametrize(("steps", "warned"), [(7, True), (300, False)])
@pytest.mark.usefixtures("new_command_line")
def test_trainings_of_few_steps_say_so(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, steps: int, warned: bool) -> None:
    pytest.importorskip("torch")
    record = {"seconds": 1.0, "steps": steps, "losses": [[steps, 0.5]]}
    monkeypatch.setattr("oreqa.training.train_model", lambda *_, **__: record)
    output = run("train", "reader", "--recipe", "recipe.toml", "--out", tmp_path / "reader").stdout
    assert output.startswith(f"trained in 1 s; {steps} steps, last loss 0.5: ")
    assert ("so few steps teach a model little" in output) is warned
