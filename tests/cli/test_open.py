from __future__ import annotations

import json
import shlex
import sys
import zipfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from oreqa.cli import app
from oreqa.cli.open import opening_command
from oreqa.cli.sources import Source
from oreqa.errors import InputError
from oreqa.index.in_memory import index_documents

TEXT = Source("/docs/-x y.md", 12)
PDF = Source("/docs/x.pdf", page=3)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


@pytest.mark.parametrize(("source", "editor", "platform", "command"), [
    (TEXT, "vi", "linux", ["vi", "+12", "/docs/-x y.md"]),
    (TEXT, "/usr/bin/nvim -R", "linux", ["/usr/bin/nvim", "-R", "+12", "/docs/-x y.md"]),
    (TEXT, "'/opt/my editors/nano'", "darwin", ["/opt/my editors/nano", "+12", "/docs/-x y.md"]),
    (TEXT, "emacsclient -t", "linux", ["emacsclient", "-t", "+12", "/docs/-x y.md"]),
    (TEXT, "code --wait", "linux", ["code", "--wait", "-g", "/docs/-x y.md:12"]),
    (TEXT, "codium", "linux", ["codium", "-g", "/docs/-x y.md:12"]),
    (TEXT, "subl", "linux", ["subl", "/docs/-x y.md:12"]),
    (TEXT, "unknown; rm", "linux", ["unknown;", "rm", "/docs/-x y.md"]),
    (TEXT, "", "linux", ["xdg-open", "/docs/-x y.md"]),
    (TEXT, " ", "darwin", ["open", "-t", "/docs/-x y.md"]),
    (TEXT, "", "win32", ["notepad", "/docs/-x y.md"]),
    (TEXT, r'"C:\Program Files\Code.exe" --wait', "win32",
     [r"C:\Program Files\Code.exe", "--wait", "-g", "/docs/-x y.md:12"]),
    (PDF, "vi", "linux", ["xdg-open", "file:///docs/x.pdf#page=3"]),
    (PDF, "vi", "win32", ["start", "file:///docs/x.pdf#page=3"]),
    (Source("/docs/x.html", anchor="#install"), "vi", "linux", ["xdg-open", "file:///docs/x.html#install"]),
    (Source("/docs/x.docx"), "vi", "linux", ["xdg-open", "/docs/x.docx"]),
])  # fmt: skip
def test_the_command_for_each_editor(source: Source, editor: str, platform: str, command: list[str]) -> None:
    assert opening_command(source, Path(source.document), editor, platform) == command


def test_a_quote_that_is_not_closed_is_named() -> None:
    with pytest.raises(InputError, match="a quote is not closed"):
        opening_command(TEXT, Path(TEXT.document), "vi 'x", "linux")


@pytest.fixture
def kb(tmp_path: Path, library: Path, fitted: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(library)
    with zipfile.ZipFile(library / "more.zip", "w") as archive:
        archive.writestr("whales.txt", "Whales sing.")
    assert run("index", ".", "--index", tmp_path / "kb", "--model", fitted).exit_code == 0
    return tmp_path / "kb"


def test_the_last_answer_and_documents_are_opened(
    kb: Path, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ("ask", "drones sting", "--index", kb, "--reader", "none", "--threshold", 0, "-k", 9)
    assert run("open").stderr.startswith("error: there is no answer to open: ")
    answers = json.loads(run(*command, "--json").stdout)["answers"]
    assert run("open").exit_code == 2  # a program has asked
    assert run(*command).exit_code == 0
    kept = "".join(file.read_text() for file in (tmp_path / "cache").glob("last-answers-*"))
    assert "sting" not in kept
    for number, answer in enumerate(answers, 1):
        if ".zip#" in answer["document"]:
            continue
        place = json.loads(run("open", number, "--json").stdout)
        assert (place["document"], place["line"]) == (answer["document"], answer["place"]["line"])
    assert run("open", len(answers) + 1).stderr.startswith(f"error: there is no answer {len(answers) + 1}: ")
    place = json.loads(run("open", "--json").stdout)
    line = "" if place["line"] is None else f":{place['line']}"
    assert run("open", "--print").stdout == f"{place['file']}{line}\n"
    note = tmp_path / "opened"
    editor = f"{shlex.quote(sys.executable)} -c 'import sys; open(sys.argv[1], chr(119)).write(repr(sys.argv[2:]))' {note}"
    monkeypatch.setenv("EDITOR", editor)
    monkeypatch.delenv("VISUAL", raising=False)
    assert run("open", "bees.txt:3", "--index", kb).exit_code == 0
    assert note.read_text() == repr([str(library / "bees.txt")])
    assert run("open", "bees.txt:3", "--index", kb, "--print").stdout == f"{library / 'bees.txt'}:3\n"
    assert run("open", "bees.txt", "--index", kb, "--print").stdout == f"{library / 'bees.txt'}:1\n"


def test_what_cannot_be_opened_is_said_in_one_line(
    kb: Path, library: Path, fitted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusal(*arguments: object) -> str:
        done = run("open", *arguments)
        assert done.exit_code in (1, 2)
        assert done.stderr.count("\n") == 1
        return done.stderr

    assert "whales.txt: it lies inside a file; unpack that, or read it with: oreqa show " in refusal(
        "whales.txt", "--index", kb
    )
    index_documents(kb, ["Bees sing."])
    key = json.loads(run("search", "Bees sing", "--index", kb, "--mode", "sparse", "-k", 1, "--json").stdout)["hits"][0][
        "document"
    ]
    assert refusal(key, "--index", kb) == f"error: {key}: it comes from no file; read it with: oreqa show {key}\n"
    assert "the index has no document with this name" in refusal("./2", "--index", kb)
    assert "no index is named" in refusal("bees.txt")
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", "no-such-editor -x")
    ways = "it cannot be started (No such file or directory); set EDITOR, or see the path with --print"
    assert refusal("bees.txt", "--index", kb) == f"error: no-such-editor: {ways}\n"
    monkeypatch.setenv("EDITOR", "start")  # which Windows opens files with
    assert refusal("bees.txt", "--index", kb) == f"error: start: {ways}\n"
    monkeypatch.setenv("VISUAL", f"{shlex.quote(sys.executable)} -c 'raise SystemExit(3)'")
    assert f"ended with status 3; the source is: {library / 'bees.txt'}" in refusal("bees.txt", "--index", kb)
    (library / "bees.txt").unlink()
    assert "bees.txt: the file is gone; the index still has its text: oreqa show " in refusal("bees.txt", "--index", kb)
