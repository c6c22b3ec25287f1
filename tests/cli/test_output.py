"""What reaches a terminal or a program: marks in place of control characters, one line for each error, JSON that is JSON."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from parameters import first_and_system
from rich.console import Console as RichConsole
from rich.console import Group
from rich.text import Text
from typer.testing import CliRunner, Result

import oreqa
from oreqa.cli import app, output
from oreqa.cli.console import Indented, unwrapped
from oreqa.cli.output import counted, one_line, print_json, questions_of, visible
from oreqa.errors import InputError
from oreqa.evaluation.report import run_title

# Clipboard, window title, link, clear screen; C1, next line, right-to-left override, line separator, tags of rich.
HOSTILE = (
    "\x1b]52;c;aGk=\x07\x1b]0;own\x07\x1b]8;;http://x\x1b\\\x1b[2J\x9b31m\x85\u202e\u2066\u2028\r\x08\x0b\x7f[red]:smile:[/]"
)
SHORT = "\x1b[2J\x9b\u202e"
CONTROL = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
# What rich itself sends: colours, for a progress bar the cursor off, on, up, and the line emptied, and links to files, whose
# addresses are escaped.
COLOURS = re.compile(
    r"\x1b\[(?:[\d;]*m|\?25[hl])|\r?\x1b\[(?:1A|2K)|\x1b\]8;(?:id=\d+;file:///(?:[\w./#=~-]|%[0-9A-F]{2})+|;)\x1b\\",
    re.ASCII,
)


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def oreqa_process(*arguments: str, **settings: Any) -> subprocess.CompletedProcess[bytes]:
    path = str(Path(oreqa.__file__).parent.parent)
    env = {**os.environ, "PYTHONPATH": path, **settings.pop("env", {})}
    return subprocess.run([sys.executable, "-m", "oreqa", *arguments], env=env, stderr=subprocess.PIPE, **settings)


def test_one_thing_is_no_several() -> None:
    """Messages of commands count by ``counted``, so that none says "1 questions"."""
    assert [counted(number, "step") for number in (0, 1, 2000)] == ["0 steps", "1 step", "2,000 steps"]
    things = "questions|passages|pairs|rows|steps|negatives|documents|files|answers|marks"
    uncounted = re.compile(rf"\{{[^{{}}]*:,\}} ([a-z-]+ )?({things})\b")
    files = (Path(oreqa.__file__).parent / "cli").glob("*.py")
    assert not [(file.name, match[0]) for file in files for match in uncounted.finditer(file.read_text())]
    summary = {"task": "openqa", "mode": "reader", "questions": 1, "candidates": 2}
    assert run_title(summary) == "openqa reader: 1 question, 2 candidates"


def test_every_character_keeps_its_place() -> None:
    text = "".join(map(chr, range(0x3000))) + "\ud800\udfff😀"
    for shown in (visible(text), visible(text, lines=True)):
        assert len(shown) == len(text)
        assert shown[0x20:0x7F] == text[0x20:0x7F]
        assert shown[0xA0:0x2000] == text[0xA0:0x2000]
        shown.encode()
    assert not re.search(f"{CONTROL.pattern}|\n", visible(text))
    assert visible(text, lines=True)[:12] == "␀␁␂␃␄␅␆␇␈\t\n␋"
    assert visible("a\nb\tc\x1b[2J\u2028") == "a␊b␉c␛[2J␤"
    assert one_line(" a\nb \x1b c ", 5) == "a b …"


def test_wrapped_prose_is_joined_and_lists_are_not() -> None:
    prose = "This line is as long as the column that the whole of the text was\nwrapped to, and the next word would not have\nfitted."
    joined = prose.replace("was\nwrapped", "was wrapped")
    assert unwrapped(Text(prose)).plain == joined
    for lines in ("Mon 9 to 17\nTue 8 to 12", "a\n\nb", "", "\n"):
        assert unwrapped(Text(lines)).plain == lines
    for blanks in ("    ", "\t"):  # of all lines; a passage begins behind those of the first
        indented = prose.replace("\n", f"  \n{blanks}")
        text = Text(indented, "dim")
        text.stylize("bold", indented.index("was"), indented.index("wrapped") + len("wrapped"))
        shown = unwrapped(text)
        assert shown.plain == joined.replace("not have\n", f"not have  \n{blanks}")
        assert "".join(shown.plain[span.start : span.end] for span in shown.spans if span.style == "bold") == "was wrapped"
        assert unwrapped(text, indented.index("text"), indented.index("to, and")).plain == "text was wrapped "


def test_lines_of_an_indented_text_have_no_blanks_at_their_ends() -> None:
    out = io.StringIO()
    terminal = RichConsole(file=out, force_terminal=True, width=20, no_color=True)
    text = Text("A line that is wrapped \n\n  and one more")
    text.stylize("bold", 7, 11)
    terminal.print(Group(Indented(text, 3), ""))
    lines = COLOURS.sub("", out.getvalue()).split("\n")
    assert lines == ["   A line that is", "   wrapped", "", "     and one more", "", ""]


def test_json_escapes_what_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    print_json({"text": HOSTILE + "é😀\udcff"})
    out = capsys.readouterr().out
    assert not CONTROL.search(out)
    assert "é😀" in out
    assert json.loads(out)["text"] == HOSTILE + "é😀\udcff"


def test_commands_print_through_one_place_only() -> None:
    """Examples in docstrings, and modules that are run by themselves, are not commands."""
    for file in Path(oreqa.__file__).parent.rglob("*.py"):
        if file.parent.name == "cli" and file.name in ("output.py", "console.py"):
            continue
        text = file.read_text(encoding="utf-8").partition('\nif __name__ == "__main__":')[0]
        assert not re.search(
            r"(?<![\w.])(?<!>>> )print\(|typer\.s?echo|typer\.secho|rich\.console import.*Console|sys\.std\w+\.write", text
        ), file


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A folder named to harm, with documents and names of files that are."""
    folder = tmp_path / f"lib{HOSTILE.replace('/', '')}\nskipped: forged"
    folder.mkdir()
    row = {"id": f"a{HOSTILE}", "title": f"Ti{HOSTILE}tle", "text": f"The {HOSTILE} tent is waterproof. {HOSTILE}\nIt stands.",
           f"kind{HOSTILE}": HOSTILE}  # fmt: skip
    (folder / "rows.jsonl").write_text(json.dumps(row) + "\n")
    (folder / "a.md").write_text(f"# Bees {HOSTILE}\n\n## Queen {HOSTILE}\n\nThe queen {HOSTILE} lays eggs.\n", newline="")
    (folder / f"bad{folder.name}.pdf").write_bytes(b"no")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("mode", first_and_system(["colours", "plain", "--json"]))
def test_no_command_lets_a_text_command_the_terminal(
    hostile: Path, fitted: Path, fitted_reader: Path, fitted_reranker: Path, tiny_classifier: Path,
    monkeypatch: pytest.MonkeyPatch, mode: str,
) -> None:  # fmt: skip
    if mode == "colours":
        monkeypatch.setenv("FORCE_COLOR", "1")
    kb, data, measured = hostile / "kb", hostile / "d.json", hostile / "run"
    qas = [{"id": f"1{HOSTILE}", "question": f"where {SHORT}\nsleep", "answers": [{"text": "Bears", "answer_start": 11}]}]
    text = f"Foxes run. Bears {HOSTILE} sleep."
    data.write_text(json.dumps({"data": [{"title": HOSTILE, "paragraphs": [{"context": text, "qas": qas}]}]}))
    (hostile / "asked.txt").write_text("the queen lays\n")
    models = ("--reader", fitted_reader, "--reranker", fitted_reranker)
    evaluated = ("--data", data, "--model", fitted)
    commands: list[tuple[object, ...]] = [
        ("index", hostile, "--index", kb, "--model", fitted, "--include", "*.md", "--include", "*.jsonl", "--include", "*.pdf"),
        ("ask", f"tent {SHORT}", "--index", kb, "--threshold", 0, *models),
        ("explain", f"tent {SHORT}", "--index", kb, "--expected", f"tent{SHORT}", *models),
        ("ask", f"tent {SHORT}", "--index", kb, "--threshold", 0, "--reader", "none"),
        ("search", f"queen {SHORT}", "--index", kb),
        ("search", "tent", "--index", kb, "--unit", "passage"),
        ("search", "--questions", hostile / "asked.txt", "--index", kb),
        ("ask", f"tent {SHORT}", "--index", kb, "--threshold", 1, "--reader", "none"),
        ("ask", "--questions", hostile / "asked.txt", "--index", kb, "--threshold", 1, *models),
        ("show", "a.md", 0, 9, "--index", kb),
        ("show", f"rows.jsonl#a{HOSTILE}", "--index", kb),
        ("eval", "reqa", *evaluated, "--out", measured),
        ("eval", "openqa", *evaluated, "--out", hostile / "open", *models),
        ("eval", "answers", "--predictions", hostile / "open" / "predictions.json", "--gold", data),
        ("compare", measured, measured),
        ("mine", "negatives", *evaluated, "--out", hostile / "pairs.jsonl"),
        ("mine", "silver", "--questions", hostile / "asked.txt", "--index", kb, "--classifier", tiny_classifier, "--min-probability", 0,
         "--out", hostile / "silver.jsonl"),
        ("mine", "predictions", "--data", data, "--reader", fitted_reader, "--out", hostile / "predictions.jsonl"),
        ("check", "--index", kb),
        ("models", "minilm-reader"),
    ]  # fmt: skip
    wrong: list[tuple[object, ...]] = [
        ("ask", HOSTILE, "--index", hostile / "none"),
        ("search", "x", "--index", kb, "--where", HOSTILE.replace("=", "")),
        ("search", "x", "--index", kb, "--mode", HOSTILE),
        ("search", "x", "--index", kb, f"--{HOSTILE}"),
        ("search", "x", "--index", kb, "--where", f"{SHORT}=x"),
        ("show", HOSTILE, "--index", kb),
        ("show", "rows", "--index", kb),
        (HOSTILE,),
        ("models", HOSTILE),
        ("check", "--index", hostile),
        ("index", hostile / "none", "--index", kb),
        ("eval", "reqa", "--data", hostile / "rows.jsonl", "--out", hostile / "o"),
        ("compare", hostile, hostile),
    ]
    for command in (*commands, *wrong):
        found = run(*command, *(["--json"] if mode == "--json" else []))
        assert found.exit_code == (2 if command in wrong else command[0] == "index"), (command[:2], found.output)
        shown = COLOURS.sub("", found.stdout) + COLOURS.sub("", found.stderr)
        assert not CONTROL.search(shown), (command[:2], shown)
        assert "\nskipped: forged" not in shown
        if mode == "--json":
            json.loads(found.stdout)
        elif command in wrong:
            assert found.stderr.count("\n") == 1
        elif command[0] == "search":
            assert "[red]:smile:[/]" in "".join(shown.split())


def test_a_models_card_is_text(tmp_path: Path, tiny: Path) -> None:
    (tiny / "README.md").write_bytes(
        f"# Card {HOSTILE}\n\n[link](http://x/{HOSTILE}) `{HOSTILE}` \xff".encode("latin-1", "replace")
    )
    found = run("models", tiny)
    (tiny / "README.md").unlink()
    assert "Card" in found.stdout
    assert not CONTROL.search(found.stdout)


LONG = "a" * 300


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["show"], "Missing argument 'DOCUMENT'; "),
        (["ask", "--index", "kb"], "error: give a question, or a file of questions with --questions\n"),
        (["explain", "--index", "kb"], "error: give a question, or pipe one in\n"),
        (["ask", "x", "--questions", "q.txt", "--index", "kb"], "with --questions, not both"),
        (["search", "x", "--questions", "q.txt", "--index", "kb"], "with --questions, not both"),
        (["search", "--questions", "q.txt", "--index", "kb"], "q.txt: it cannot be read"),
        (["show", "a.md", "--index", "nowhere"], "nowhere: there is no index here"),
        (["show", "caf\udce9", "--index", "nowhere"], "the document: it is not UTF-8"),
        (["show", "a.md", "3", "--index", "nowhere"], "give START and END, as in: oreqa show octopus.md 27 32"),
        (["show", "a.md", "5", "2", "--index", "nowhere"], "END must be after START, and 2 is not after 5, as in: oreqa show"),
        (["ask", "What", "is", "it", "--index", "kb"], 'error: put the question in quotes: "What is it"\n'),
        (["ask", "?", "--index", "kb"], "the question is empty"),
        (["search", "What", "is", "--index", "kb"], 'put the question in quotes: "What is"'),
        (["ask", "x", "--index", "kb", "-k", "ten"], "Invalid value for '-k'"),
        (["ask", "x"], "no index is named: set --index, before any --, or OREQA_INDEX, or make one here: oreqa index .\n"),
        (["mine", "negatives"], "Missing option '--data'; "),
        (["ask", "x", "--index", "kb", "-k", "0"], "Invalid value for '-k'"),
        (["search", "x", "--index", "kb", "--mode", "fuzzy"], "'fuzzy' is not one of 'hybrid'"),
        (["search", "x", "--index", "kb", "--frob"], "No such option: --frob"),
        (["frobnicate"], "No such command 'frobnicate'"),
        (["eval", "frobnicate"], "No such command 'frobnicate'"),
        (["search", "x", "--index", "nowhere"], "nowhere: there is no index here"),
        (["search", "caf\udce9", "--index", "nowhere"], "the question: it is not UTF-8"),
        (["ask", "caf\udce9", "--index", "nowhere"], "the question: it is not UTF-8"),
        (["ask", "x", "--index", "nowhere", "--where", "a=\udcff"], "--where: it is not UTF-8"),

        (["index", ".", "--index", "kb\udcff"], "--index: it is not UTF-8"),
        (["index", ".", "--index", "kb", "--id-field", "\udcff"], "--id-field: it is not UTF-8"),
        (["search", "x", "--index", LONG], "File name too long"),
        (["index", LONG, "--index", "kb"], "File name too long"),
        (["index", ".", "--index", LONG], "File name too long"),
        (["eval", "reqa", "--data", f"{LONG}.json", "--out", "o"], "File name too long"),
        (["eval", "beir", "--data", LONG, "--out", "o"], "File name too long"),
        (["mine", "negatives", "--data", "x.json", "--out", "."], "is a directory"),
        (["compare", LONG, LONG], "File name too long"),
        (["compare", "a", "b", "--seed", "-1"], "Invalid value for '--seed'"),
        (["models", LONG], "there is no model"),
        (["models", "\udcff"], "there is no model"),
        (["eval", "openqa", "--data", "x", "--out", "o", "--combine", "rerank_spans=inf"], "write a number"),
        (["eval", "openqa", "--data", "q.txt", "--out", "o", "--index", "kb"], "or a list of questions: a table (.csv, .tsv, .xlsx)"),
        (["eval", "openqa", "--data", "q.txt", "--out", "o"], "or a list of questions: a table (.csv, .tsv, .xlsx)"),
        (["eval", "openqa", "--data", "x", "--out", "o", "--gold-passages", "--null", "nan"], "null is nan; write a number"),
    ],
)  # fmt: skip
def test_errors_are_one_line_and_one_document(
    arguments: list[str], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    plain, as_json = run(*arguments), run(*arguments, "--json")
    assert (plain.exit_code, plain.stdout) == (2, "")
    assert plain.stderr.startswith("error: ")
    assert reason in plain.stderr
    assert plain.stderr.count("\n") == 1
    assert as_json.exit_code == 2
    if "frobnicate" not in arguments:  # commands have --json, groups of them do not
        assert json.loads(as_json.stdout) == {"error": {"message": plain.stderr[7:-1], "exit_code": 2}}


@pytest.mark.parametrize(
    ("failure", "line", "code"),
    [
        (TypeError("boom\n\x1b[2J"), "internal error: TypeError: boom ␛[2J (oreqa --debug COMMAND ... shows where)", 1),
        (RecursionError(), "internal error: RecursionError: ", 1),
        (EOFError("short"), "internal error: EOFError: short", 1),
        (OSError(errno.EACCES, "Permission denied", "kb\n"), "error: kb␊: Permission denied", 1),
        (OSError(errno.ENOSPC, "No space left on device"), "error: No space left on device", 1),
        (UnicodeEncodeError("utf-8", "kb\udcff", 2, 3, "surrogates"), "error: a name is not UTF-8: kb�; rename it", 2),
        (KeyboardInterrupt(), "interrupted; run the same command again to resume from what was saved, if anything", 130),
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), "", 0),
    ],
)
def test_what_nobody_foresaw_is_one_line(
    failure: BaseException, line: str, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*arguments: object) -> None:
        raise failure

    monkeypatch.setattr("oreqa.models.listing.list_models", fail)
    found = run("models")
    assert (found.exit_code, found.stdout) == (code, "")
    assert found.stderr.startswith(line)
    assert found.stderr.count("\n") == bool(line)
    if line:
        error = json.loads(run("models", "--json").stdout)["error"]
        assert error["exit_code"] == code
    debugged = run("--debug", "models")
    assert debugged.exit_code == code
    assert ("Traceback" in debugged.stderr) == bool(line)
    assert line in debugged.stderr
    assert not CONTROL.search(debugged.stderr)


def test_help_shows_defaults_in_paragraphs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert "[default: calibrated]" in run("ask", "--help").stdout
    assert "Files that cannot be read are listed and skipped" in " ".join(run("index", "--help").stdout.split())


@pytest.mark.parametrize(("words", "completions"), [("oreqa sea", ["search"]), ("oreqa eval reqa --dr", ["--draw"])])
def test_shells_complete_commands_and_options(words: str, completions: list[str]) -> None:
    environment = {"_OREQA_COMPLETE": "complete_bash", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert CliRunner().invoke(app, [], prog_name="oreqa", env=environment).stdout.split() == completions


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["--version"], ["models"], ["models", "--json"], ["--help"]])
def test_a_full_disk_is_one_line(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        found = oreqa_process(*arguments, stdout=full)
    assert found.returncode == 1
    assert found.stderr.decode().endswith("No space left on device\n") or b"(No space left on device)\n" in found.stderr
    assert found.stderr.count(b"\n") == 1


def test_a_reader_that_has_left_is_no_error() -> None:
    read, write = os.pipe()
    os.close(read)
    found = oreqa_process("models", stdout=write)
    os.close(write)
    assert (found.returncode, found.stderr) == (0, b"")


def test_every_locale_and_width_shows_something() -> None:
    plain = oreqa_process("models", stdout=subprocess.PIPE, env={"COLUMNS": "0"})
    assert b"minilm-reader" in plain.stdout
    missing = ("search", "é", "--index", "né\u202e", "--json")
    found = oreqa_process(*missing, stdout=subprocess.PIPE, env={"PYTHONIOENCODING": "ascii"})
    assert json.loads(found.stdout.decode("ascii"))["error"]["message"].startswith("né\u202e: there is no index here")
    assert found.stderr.count(b"\n") == 1


def test_a_file_of_questions_must_be_utf8(tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_bytes(b"Who?\nCaf\xe9?\n")
    refused = run("ask", "--questions", tmp_path / "q.txt", "--index", tmp_path / "kb")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "q.txt: line 2 is not UTF-8; save the file as UTF-8" in refused.stderr


def piped(monkeypatch: pytest.MonkeyPatch, data: bytes | None, is_open: bool = False) -> None:
    """Standard input is a pipe with this data, which its writer has closed or keeps open."""
    reading, writing = os.pipe()
    if data:
        os.write(writing, data)
    if not is_open:
        os.close(writing)
    monkeypatch.setattr(sys, "stdin", os.fdopen(reading))


def test_questions_are_read_from_a_pipe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    piped(monkeypatch, b" How long is it?\r\n")
    assert questions_of(None, None) == ["How long is it?"]
    piped(monkeypatch, b"How long is it?\n\nHow wide?")
    assert questions_of(None, None) == ["How long is it?", "How wide?"]
    (tmp_path / "questions.txt").write_text("How long is it?")
    with (tmp_path / "questions.txt").open() as file:
        monkeypatch.setattr(sys, "stdin", file)
        assert questions_of(None, None) == ["How long is it?"]
    for nothing in (b"", b"\n \n"):
        piped(monkeypatch, nothing)
        with pytest.raises(InputError, match=r"^standard input: it holds no question$"):
            questions_of(None, None)
    piped(monkeypatch, b"???")
    with pytest.raises(InputError, match=r"^the question is empty$"):
        questions_of(None, None)


def test_standard_input_is_left_alone_where_nothing_is_piped(monkeypatch: pytest.MonkeyPatch) -> None:
    piped(monkeypatch, None, is_open=True)
    assert questions_of("How long is it?", None) == ["How long is it?"]
    closed = io.StringIO()
    closed.close()
    for stdin in (None, closed, io.StringIO("How long?"), Path(os.devnull).open()):
        monkeypatch.setattr(sys, "stdin", stdin)
        with pytest.raises(InputError, match="give a question, or a file of questions"):
            questions_of(None, None)


@pytest.mark.skipif(os.name != "posix", reason="other systems cannot tell whether a pipe holds something")
def test_a_pipe_that_stays_silent_is_not_awaited_for_ever(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(output, "_QUIET_SECONDS", 0.01)
    monkeypatch.setattr(output, "_LONGEST_WAIT", 0.01)
    piped(monkeypatch, None, is_open=True)
    with pytest.raises(InputError, match=r"no question came from standard input; give one, or wait .* --questions -$"):
        questions_of(None, None)
    assert capsys.readouterr().err == "waiting for a question from standard input; Ctrl-C ends it\n"


@pytest.mark.skipif(os.name != "posix", reason="there is no pty")
def test_a_terminal_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    import pty

    _, terminal = pty.openpty()
    monkeypatch.setattr(sys, "stdin", os.fdopen(terminal))
    with pytest.raises(InputError, match="give a question"):
        questions_of(None, None)


def test_commands_answer_what_is_piped_in(tmp_path: Path, library: Path, fitted: Path) -> None:
    assert run("index", library, "--index", tmp_path / "kb", "--model", fitted).exit_code == 0

    def pipe(text: str, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "oreqa", *words, "--index", str(tmp_path / "kb"), "--json"]
        return subprocess.run(command, input=text, capture_output=True, text=True, check=False)

    assert json.loads(pipe("waterproof tent\n", "search").stdout)["question"] == "waterproof tent"
    rows = json.loads(pipe("tent\nboots\n", "ask", "--reader", "none").stdout)
    assert [row["question"] for row in rows] == ["tent", "boots"]
    refused = pipe("tent\nboots\n", "explain")
    assert refused.stderr == "error: standard input holds 2 questions: explain one; oreqa ask --questions takes many\n"
    assert pipe("", "ask").stderr == "error: standard input: it holds no question\n"
