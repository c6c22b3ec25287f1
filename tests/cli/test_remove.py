from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oreqa import Document
from oreqa.cli import app
from oreqa.index.in_memory import index_documents


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def test_documents_are_removed_and_the_way_back_is_reported(
    tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("index", "library", "--index", "kb", "--model", tiny).exit_code == 0
    result = run("remove", "bees.txt", "--index", "kb")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "kb: 1 document removed: library/bees.txt",
        "library/bees.txt is still there: the next oreqa index of its folder adds it again, unless .oreqaignore or --exclude"
        " leaves it out",
    ]
    assert "1 added" in run("index", "library", "--index", "kb").stdout
    report = json.loads(run("remove", "bees.txt", "rows.jsonl", "--index", "kb", "--yes", "--json").stdout)
    bees, rows = str(library / "bees.txt"), str(library / "rows.jsonl")
    assert report == {"index": "kb", "removed": [bees, f"{rows}#a", f"{rows}#b"], "files": [bees, rows]}
    refused = run("remove", "nothing.md", "--index", "kb")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert refused.stderr == f"error: nothing.md: the index has no document with this name; it has: {library}/octopus.md\n"
    (library / "octopus.md").unlink()
    assert run("remove", "octopus.md", "--index", "kb").stdout.endswith(
        "to undo this, bring back library/octopus.md and run oreqa index again\n"
    )
    long = f"/{'a' * 300}.md"  # the system refuses to look for it
    index_documents("kb", [Document(long, "", "Bees hum."), Document("a", "", "Bees dance.")])
    assert run("remove", long, "--index", "kb").stdout.startswith("kb: 1 document removed: ")
    assert run("remove", "text-", "--index", "kb").exit_code == 2
    (key,) = json.loads(run("search", "bees", "--index", "kb", "--json").stdout)["hits"]
    assert run("remove", key["document"], "--index", "kb").stdout == f"kb: 1 document removed: {key['document']}\n"


def test_more_than_half_of_the_documents_go_only_with_yes(
    tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("index", "library", "--index", "kb", "--model", tiny).exit_code == 0
    names = ("remove", "bees.txt", "rows.jsonl", "--index", "kb")
    refused = run(*names)
    message = "error: 3 of the 4 documents would be removed; if you mean it, add --yes\n"
    assert (refused.exit_code, refused.stdout, refused.stderr) == (2, "", message)
    assert run("remove", "rows.jsonl", "--index", "kb", "--json").exit_code == 0
    assert run("remove", "bees.txt", "octopus.md", "--index", "kb").exit_code == 2
    assert run("remove", "bees.txt", "octopus.md", "--index", "kb", "--yes").stdout.startswith("kb: 2 documents removed: ")


def test_who_wants_to_remove_everything_is_told_how(
    tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("index", "library", "--index", "my kb", "--model", tiny).exit_code == 0
    unnamed = run("remove", "my kb", "--yes")
    assert (unnamed.exit_code, unnamed.stdout) == (2, "")
    usage = "root remove DOCUMENT --index 'my kb'; to delete all of it: rm -r 'my kb'"
    assert unnamed.stderr == f"error: my kb is an index; name it with --index: {usage}\n"
    whole = run("remove", "./my kb", "--yes", "--index", "my kb")
    delete = "to remove all, delete its folder: rm -r 'my kb'"
    assert whole.stderr == f"error: my kb is the index; name documents in it, or, {delete}\n"
    folder = run("remove", "library", "--yes", "--index", "my kb")
    reason = "all 4 documents of the index lie in it; name folders within it"
    assert folder.stderr == f"error: library: {reason}, or, {delete}\n"
    served = Path("my kb").glob("search-*")
    state = next(served) / "engine.json"  # as of an index that a Milvus server holds
    state.write_text('{"name": "oreqa_my_kb_1", "uri": "http://m:19530"}')
    drop = ", then drop the collection oreqa_my_kb_1 on http://m:19530, which keeps its vectors and words"
    assert run("remove", "my kb", "--yes").stderr == unnamed.stderr.rstrip("\n") + f"{drop}\n"
    state.unlink()
    index_documents("my kb", [Document("my kb", "", "A document of this name.")])
    assert run("remove", "my kb", "--index", "my kb").exit_code == 0


def test_an_index_that_is_no_argument_is_named_with_its_option(
    tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("index", "library", "--index", "kb", "--model", tiny).exit_code == 0
    for command, usage in (
        ("check", "check"),
        ("chat", "chat"),
        ("fit", "fit"),
        ("serve", "serve"),
        ("ask", "ask QUESTION"),
    ):
        assert run(command, "kb").stderr == f"error: kb is an index; name it with --index: root {usage} --index kb\n"
    assert run("ask", "bees?", "kb").stderr == "error: kb is an index; name it with --index: root ask QUESTION --index kb\n"
    monkeypatch.setenv("OREQA_INDEX", "kb")
    assert run("check", "kb").stderr == "error: kb is an index; name it with --index: root check --index kb\n"
    assert run("check", "library").stderr.startswith("error: Got unexpected extra argument")
    assert run("search", "kb").exit_code == 0
