"""Nothing leaves the machine, and nothing is written outside the index, --out and the cache."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from commands import COMMANDS
from cut_off import can_cut_off, cut_off

import oreqa
from oreqa.datasets.beir import Beir, Entry, save_beir
from oreqa.datasets.marks import Mark, question_id, set_mark

SOURCE = Path(oreqa.__file__).parent
CAN_CUT_OFF = can_cut_off()

# Runs commands in a process that records what Python asks of the system: connections, look-ups, other programs, writes.
RECORDER = """
import json, os, sys

out = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)  # which processes that this one forks write to, too

def note(kind, what):
    os.write(out, json.dumps([kind, what]).encode() + b"\\n")

def watch(event, arguments):
    if event == "open":
        path, mode, flags = arguments
        if not isinstance(path, int) and flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT):
            note("write", os.path.abspath(os.fsdecode(path)))
    elif event in ("os.mkdir", "os.rename", "os.link", "os.symlink"):
        for path in arguments[:2]:
            if isinstance(path, (str, bytes)):
                note("write", os.path.abspath(os.fsdecode(path)))
    elif event.startswith(("socket.connect", "socket.getaddrinfo", "socket.gethostby", "socket.send", "urllib.", "http.")):
        note("connection", f"{event} {arguments}")
    elif event in ("subprocess.Popen", "os.exec", "os.posix_spawn", "os.system"):
        note("program", str(arguments[0]))
    elif event in ("os.fork", "os.forkpty"):
        note("program", event)

sys.addaudithook(watch)
from oreqa.cli import app
for words in json.loads(sys.argv[2]):
    try:
        app(words)
    except SystemExit as end:
        if end.code:
            sys.exit(f"{words}: {end.code}")
"""


@pytest.fixture
def stranger(tmp_path: Path) -> dict[str, Path]:
    """Folders of somebody who has never run anything here."""
    names = ("home", "temporary", "working", "config", "data", "state", "cache", "out")
    folders = {name: tmp_path / name for name in names}
    for folder in folders.values():
        folder.mkdir()
    return folders


def environment_of(folders: dict[str, Path]) -> dict[str, str]:
    passed = {name: os.environ[name] for name in ("PATH", "PYTHONPATH", "LD_LIBRARY_PATH") if name in os.environ}
    return {
        **passed,
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(folders["home"]),
        "TMPDIR": str(folders["temporary"]),
        "XDG_CONFIG_HOME": str(folders["config"]),
        "XDG_DATA_HOME": str(folders["data"]),
        "XDG_STATE_HOME": str(folders["state"]),
        "XDG_CACHE_HOME": str(folders["cache"]),
    }


def run(folders: dict[str, Path], *commands: tuple[object, ...]) -> list[list[str]]:
    """What commands do, which must end well.

    Python tells what it is asked for. The kernel counts what native code and children send, where it can be asked to.
    """
    out, sent = (folders["out"].parent / name for name in ("record.jsonl", "sent"))
    words = json.dumps([list(map(str, command)) for command in commands])
    command = [*(cut_off(sent) if CAN_CUT_OFF else ()), sys.executable, "-c", RECORDER, str(out), words]
    environment = environment_of(folders)
    done = subprocess.run(
        command, cwd=folders["working"], env=environment, capture_output=True, text=True, input="Who lays eggs?\n"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    packets = sum(map(int, sent.read_text().split())) if CAN_CUT_OFF else 0
    record = [json.loads(line) for line in out.read_text().splitlines()]
    return [*record, ["connection", f"{packets} packets"]] if packets else record


def check_record(folders: dict[str, Path], record: list[list[str]], written_by_them: set[str]) -> None:
    """Commands sent nothing, and wrote to --out, an index and the cache."""
    assert not [what for kind, what in record if kind == "connection"]
    # Web pages are read in a process of their own; matplotlib asks fontconfig for the machine's fonts, where there is one; Python
    # asks uname for the system's name; git says the commit of code that is run from a checkout.
    assert {what for kind, what in record if kind == "program"} <= {sys.executable, "fc-list", "git", "uname"}
    # What is temporary is gone again: see below.
    allowed = (folders["out"], folders["cache"] / "oreqa", folders["temporary"], Path("/dev/null"))
    written = {Path(what) for kind, what in record if kind == "write"}
    assert folders["out"] / "kb" / "lock" in written  # the recorder sees what there is to see
    assert not [path for path in written if not any(path.is_relative_to(place) for place in allowed)]
    # What native code writes goes by no hook of Python's: so the folders themselves, as well.
    for name in ("home", "temporary", "working", "config", "data", "state"):
        assert not list(folders[name].rglob("*")), name
    assert [path.name for path in folders["cache"].iterdir()] == ["oreqa"]
    assert {path.name for path in folders["out"].iterdir()} == written_by_them


@pytest.mark.slow
def test_commands_send_nothing_and_write_where_they_should(
    stranger: dict[str, Path], library: Path, squad_file: Path, tiny: Path, tiny_reader: Path, tiny_reranker: Path
) -> None:
    index, out = stranger["out"] / "kb", stranger["out"] / "run"
    model, readers = ("--model", tiny), ("--reader", tiny_reader, "--reranker", tiny_reranker)
    paragraphs = "".join(f"<p>Paragraph {n} of this page tells what happened in the year {1900 + n}.</p>" for n in range(9))
    (library / "page.html").write_text(f"<html><body><article><h1>Page</h1>{paragraphs}</article></body></html>")
    record = run(
        stranger,
        ("index", library, "--index", index, *model),
        ("search", "hearts", "--index", index),
        ("ask", "How many hearts?", "--index", index, "--threshold", 0, *readers),
        ("eval", "reqa", "--data", squad_file, "--out", out, *model),
    )
    assert (out / "report.html").is_file()
    check_record(stranger, record, {"kb", "run"})


@pytest.mark.system
def test_every_command_without_training_sends_nothing(
    stranger: dict[str, Path], library: Path, squad_file: Path, tmp_path: Path, fitted: Path, fitted_reader: Path,
    fitted_reranker: Path, tiny_classifier: Path, tiny_generator: Path,
) -> None:  # fmt: skip
    kb, out, beir, questions_text = stranger["out"] / "kb", stranger["out"], tmp_path / "beir", tmp_path / "asked.txt"
    save_beir(beir, Beir((Entry("1", "T", "An octopus has three hearts."),), {"q": "hearts"}, {"q": {"1": 1}}), "test")
    questions_text.write_text("Who lays eggs?\n")
    question_file = tmp_path / "again.jsonl"
    question_file.write_text('{"question": "Who lays eggs?", "answers": ["The queen"]}\n')
    text = "The fox jumped over the lazy dog in the garden and ate the bone that the dog had found there in the morning."
    prose = tmp_path / "prose.json"
    prose.write_text(json.dumps({"data": [{"title": "Fox", "paragraphs": [{"context": text, "qas": []}]}]}))
    readers, data = ("--reader", fitted_reader, "--reranker", fitted_reranker), ("--data", squad_file)
    model, classifier = ("--model", fitted), ("--classifier", tiny_classifier)
    written = (
        ("eval", "reqa", *data, *model),
        ("eval", "openqa", *data, *model, *readers, "--draw", 5),
        ("eval", "beir", "--data", beir, *model),
        ("eval", "generator", *data, "--generator", tiny_generator, "--draw", 5),
        ("mine", "negatives", *data, *model, "--draw", 20),
        ("mine", "silver", "--questions", questions_text, "--index", kb, *classifier, "--min-probability", 0),
        ("mine", "predictions", *data, "--reader", fitted_reader, "--draw", 5),
        ("mine", "cloze", "--index", kb),
        ("mine", "passages", "--data", question_file, "--index", kb),
        ("generate", "--data", prose, "--generator", tiny_generator, "--round-trip", 0),
    )
    place = {
        words: out / f"{words[0]}-{str(words[1]).strip('-')}{'' if words[0] == 'eval' else '.jsonl'}" for words in written
    }
    read = (
        ("ask", "Who lays eggs?", "--index", kb, "--threshold", 0, *readers),
        ("explain", "Who lays eggs?", "--index", kb, *readers),
        ("search", "hearts", "--index", kb),
        ("show", "octopus.md", "--index", kb),
        (
            "eval",
            "classifier",
            "--data",
            out / "mine-negatives.jsonl",
            *classifier,
            *model,
            "--out",
            out / "eval-classifier",
        ),
        ("eval", "answers", "--predictions", out / "eval-openqa" / "predictions.json", "--gold", squad_file),
        ("compare", out / "eval-reqa", out / "eval-reqa"),
        ("data", squad_file),
        ("check", "--index", kb),
        ("marks", "--index", kb, *readers),
        ("models", "show", "minilm-reader"),
        ("chat", "--index", kb, "--reader", fitted_reader),
        ("test", question_file, "--index", kb, "--baseline", out / "baseline.jsonl", "--save", "--reader", fitted_reader),
        ("open", "octopus.md", "--index", kb, "--print"),
        ("doctor", "--index", kb),
        ("remove", "octopus.md", "--index", kb),
        ("merge", kb, "--index", out / "merged"),
        ("copy", kb, out / "copied"),
        ("plan", "--passages", "1e6"),
    )
    writing = [(*words, "--out", place[words]) for words in written]
    record = run(stranger, ("index", library, "--index", kb, *model))
    set_mark(kb, Mark(question_id("Who flies?"), "Who flies?", (), "none", "2026-01-01T00:00:00Z"))
    record += run(stranger, *writing, *read)
    outputs = {
        "kb",
        "merged",
        "copied",
        "baseline.jsonl",
        "eval-classifier",
        "mine-negatives.jsonl.index",
        *(path.name for path in place.values()),
    }
    check_record(stranger, record, outputs)
    ran = {" ".join(map(str, words[:2])) for words in (*written, *read)} | {str(words[0]) for words in read}
    missing = {" ".join(names) for names in COMMANDS if names[0] not in ("train", "adapt", "fit")} - ran
    # Index and generate ran; what is got comes from elsewhere, and servers go on.
    assert missing == {"index", "generate", "models get", "serve", "mcp"}


TRAININGS = """
import sys
from pathlib import Path
from forks import command, run
from support.small_jobs import PATIENCE, prepare_jobs
from oreqa.adaptation import adapt
from oreqa.generation import candidates
candidates.MIN_WORDS, candidates.is_prose, adapt.FEWEST_QUESTIONS = 5, bool, 1
work = Path(sys.argv[1])
for name, job in prepare_jobs(work).items():
    if name.startswith(("train", "adapt", "fit")):
        job.prepare(work / name)
        assert (ended := job.finish(work / name)).code == 0, f"{name}: {ended.err}"
"""


@pytest.mark.system
@pytest.mark.train
@pytest.mark.skipif(not CAN_CUT_OFF, reason="this machine gives its users no networks of their own")
def test_training_and_fitting_send_nothing(stranger: dict[str, Path]) -> None:
    pytest.importorskip("torch")
    sent, places = stranger["out"] / "sent", ("tests/support", "benchmarks", "src")
    path = os.pathsep.join(str(Path(__file__).parents[1] / place) for place in places)
    environment = environment_of(stranger) | {"PYTHONPATH": path, "OREQA_PRECISION": "f32", "OMP_NUM_THREADS": "1"}
    command = [*cut_off(sent), sys.executable, "-c", TRAININGS, str(stranger["out"] / "work")]
    (stranger["out"] / "work").mkdir()
    done = subprocess.run(command, cwd=stranger["working"], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert sent.read_text() == "0\n"


@pytest.mark.skipif(not CAN_CUT_OFF, reason="this machine gives its users no networks of their own")
@pytest.mark.parametrize(
    ("code", "counted"),
    [
        ("socket.create_connection(('127.0.0.1', 9))", False),
        ("socket.create_connection(('192.0.2.1', 80))", True),
        ("socket.create_connection(('2001:db8::1', 80))", True),
        ("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 53))", True),
        ("ctypes.CDLL(None).getaddrinfo(b'host.invalid', b'80', None, ctypes.byref(ctypes.c_void_p()))", True),
    ],
    ids=["loopback", "IPv4", "IPv6", "a look-up on this machine", "native code"],
)
def test_the_kernel_counts_what_native_code_and_isolated_children_send(code: str, counted: bool, tmp_path: Path) -> None:
    child = f"import contextlib, ctypes, socket\nwith contextlib.suppress(OSError): {code}"
    subprocess.run([*cut_off(tmp_path / "sent"), sys.executable, "-I", "-c", child], check=True)
    assert (int((tmp_path / "sent").read_text()) > 0) is counted


def test_importing_openvino_imports_no_telemetry() -> None:
    code = (
        "import sys; from oreqa.models.graph.quiet_openvino import ov; "
        "assert not [m for m in sys.modules if m.startswith('openvino_telemetry')]; "
        "assert ov.convert_model"  # the stand-in serves a program that uses OpenVINO itself
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_recorder_sees_connections(tmp_path: Path) -> None:
    app = "import socket\ndef app(_):\n    if os.fork(): os.wait()\n    else: socket.getaddrinfo('localhost', 80)"
    code = RECORDER.replace("from oreqa.cli import app", app)
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "record"), "[[]]"], check=True)
    kinds = [json.loads(line)[0] for line in (tmp_path / "record").read_text().splitlines()]
    assert kinds == ["program", "connection"]


def test_every_process_of_the_tests_is_watched(tmp_path: Path) -> None:
    """conftest.py fails the run if one of them leaves the machine."""
    noted = tmp_path / "noted"
    reach = (
        "import socket\ntry: socket.getaddrinfo('host.invalid', 80)\nexcept OSError: pass\n"
        "socket.getaddrinfo('localhost', 80)\nimport os\n"
        "if not os.fork(): __import__('openvino_telemetry'); os._exit(0)\nos.wait()"
    )
    code = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {reach!r}], check=True)"
    environment = {**os.environ, "OREQA_CONNECTIONS": str(noted), "HOME": str(tmp_path)}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
    assert list(dict.fromkeys(line.split()[0] for line in noted.read_text().splitlines())) == [
        "socket.getaddrinfo",
        "import",
    ]


def test_openvino_is_imported_in_one_place() -> None:
    importers = set()
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) and node.level == 0 else []
            if any(name.partition(".")[0] == "openvino" for name in names):
                importers.add(file.relative_to(SOURCE).as_posix())
    assert importers == {"models/graph/quiet_openvino.py"}
