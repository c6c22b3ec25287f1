"""The child process that parses: whatever happens in it is that file's error, and the next file is read."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from oreqa.corpus import limits, process
from oreqa.corpus.readers import read_documents
from oreqa.errors import DocumentError

PAGE = "<html><body><p>Just this.</p></body></html>"


@pytest.fixture(autouse=True)
def _fresh() -> Iterator[None]:
    process.end_parser()
    yield
    process.end_parser()


@pytest.fixture
def pdf_does(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[str], Path]:
    """A .pdf file for which the child runs the given code."""

    def start(code: str) -> Path:
        run = f"lambda data, path, before_page: exec({code!r}, {{'data': data, 'before_page': before_page}})"
        patch = f"from oreqa.corpus import worker; worker.read_pdf = {run}; serve("
        monkeypatch.setattr(process, "_START", process._START.replace("serve(", patch, 1))
        (tmp_path / "a.pdf").write_bytes(b"%PDF")
        return tmp_path / "a.pdf"

    return start


def good(folder: Path) -> str:
    (folder / "good.html").write_text(PAGE)
    (document,) = read_documents(folder / "good.html")
    return document.text


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("import os; os.abort()", "the parser crashed"),
        ("import os; os._exit(0)", "the parser crashed"),
        ("bytearray(4 << 30)", "takes more than 1024 MB of memory"),
        ("def f(): f()\nf()", "it is damaged .RecursionError"),
        ("raise ValueError('one\\ntwo\\x1b[0m')", r"it is damaged .ValueError: one two\?.0m."),
    ],
)
def test_what_goes_wrong_is_the_files_error(tmp_path: Path, pdf_does: Callable[[str], Path], code: str, reason: str) -> None:
    file = pdf_does(code)
    for _ in range(2):
        with pytest.raises(DocumentError, match=reason):
            list(read_documents(file))
        assert good(tmp_path) == "Just this."


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGXCPU"), reason="no limit of processor time")
def test_a_file_has_its_share_of_the_processor(
    tmp_path: Path, pdf_does: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "PARSE_SECONDS", 1)
    monkeypatch.setattr(process, "CLOCK_FACTOR", 1000)  # the CPU limit ends it, not the timer
    with pytest.raises(DocumentError, match="takes more than 1 seconds"):
        list(read_documents(pdf_does("while True: pass")))
    monkeypatch.undo()
    assert good(tmp_path) == "Just this."


def test_a_file_that_waits_is_given_up(
    tmp_path: Path, pdf_does: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "CLOCK_FACTOR", 0.01)
    with pytest.raises(DocumentError, match="takes more than 60 seconds"):
        list(read_documents(pdf_does("import time; time.sleep(100)")))
    monkeypatch.undo()
    assert good(tmp_path) == "Just this."


@pytest.mark.system
def test_a_scanned_page_gives_more_time(
    tmp_path: Path, pdf_does: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The parent waits longer for each page, and the child may take more memory."""
    imports = "import mmap, time"
    page = "before_page(); x = mmap.mmap(-1, 2 << 30); time.sleep(2)"
    for code, reason in (
        (f"{imports}; {page}; {page}; raise ValueError('it was read')", "it was read"),
        (f"{imports}; {page}; time.sleep(100)", "takes more than 180 seconds"),
    ):
        process.end_parser()
        file = pdf_does(code)
        assert good(tmp_path) == "Just this."  # the child has started
        monkeypatch.setattr(process, "CLOCK_FACTOR", 1 / 20)  # three seconds for the file, six for a page
        with pytest.raises(DocumentError, match=reason):
            list(read_documents(file))
        monkeypatch.setattr(process, "CLOCK_FACTOR", 5)


@pytest.mark.skipif(not hasattr(signal, "SIGXCPU"), reason="no limits of a process")
def test_a_scanned_page_adds_to_the_limits_of_its_file_alone(tmp_path: Path, pdf_does: Callable[[str], Path]) -> None:
    code = """
from resource import RLIMIT_AS, RLIMIT_CPU, getrlimit
before = getrlimit(RLIMIT_CPU)[0]
if data == b"scan":
    before_page()
    before_page()
raise ValueError(getrlimit(RLIMIT_CPU)[0] - before, getrlimit(RLIMIT_AS)[0])
"""
    file = pdf_does(code)
    for content, seconds, memory in (
        (b"scan", 2 * limits.OCR_SECONDS, limits.OCR_BYTES),
        (b"text", 0, limits.PARSE_BYTES),
    ):
        file.write_bytes(content)
        with pytest.raises(DocumentError, match=rf"ValueError: \({seconds}, {memory}\)"):
            list(read_documents(file))


def test_the_limit_of_memory_that_a_scan_exceeds_is_named(tmp_path: Path, pdf_does: Callable[[str], Path]) -> None:
    with pytest.raises(DocumentError, match="takes more than 6144 MB of memory"):
        list(read_documents(pdf_does("before_page(); bytearray(7 << 30)")))


def test_larger_files_may_take_longer() -> None:
    assert limits.parse_seconds(0) == limits.PARSE_SECONDS
    assert limits.parse_seconds(6 << 20) == limits.PARSE_SECONDS + 6 * limits.PARSE_SECONDS_PER_MB


def test_one_child_reads_file_after_file_and_holds_only_the_corpus(tmp_path: Path, pdf_does: Callable[[str], Path]) -> None:
    code = "import os, sys; print('noise'); raise ValueError(os.getpid(), *({'openvino', 'numpy'} & set(sys.modules)))"
    file = pdf_does(code)
    reasons = []
    for _ in range(2):
        with pytest.raises(DocumentError, match=r"ValueError: \d+.$") as caught:
            list(read_documents(file))
        reasons.append(str(caught.value))
        assert good(tmp_path) == "Just this."
    assert reasons[0] == reasons[1]


def test_a_child_that_has_grown_is_replaced(tmp_path: Path, pdf_does: Callable[[str], Path]) -> None:
    file = pdf_does("import os; bytearray(b'x') * (300 << 20); raise ValueError(os.getpid())")
    reasons = set()
    for _ in range(2):
        with pytest.raises(DocumentError) as caught:
            list(read_documents(file))
        reasons.add(str(caught.value))
    assert len(reasons) == 2


def child_processes() -> set[str]:
    lists = Path("/proc/self/task").glob("*/children")
    return {number for file in lists for number in file.read_text().split()}


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no lists of child processes")
def test_what_the_parent_holds_does_not_count(tmp_path: Path) -> None:
    """A parent with models and an index in its memory starts a child that has all of its own."""
    much = bytearray(700 << 20)
    much[:: 4 << 10] = bytes(len(much) // (4 << 10))  # held, not only asked for
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4 broken")
    with pytest.raises(DocumentError, match="PDF"):
        list(read_documents(tmp_path / "a.pdf"))
    children = child_processes()
    assert good(tmp_path) == "Just this."
    assert child_processes() == children != set()
    del much


def test_an_interruption_leaves_no_answer_for_the_next_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(stream: object) -> bytes:
        raise KeyboardInterrupt

    (tmp_path / "a.html").write_text(PAGE.replace("Just this", "Another"))
    monkeypatch.setattr(process, "receive", interrupted)
    with pytest.raises(KeyboardInterrupt):
        list(read_documents(tmp_path / "a.html"))
    monkeypatch.undo()
    assert good(tmp_path) == "Just this."


def test_modules_of_the_current_folder_are_not_imported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "lxml.py").write_text("raise SystemExit('imported')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend("")
    assert good(tmp_path) == "Just this."


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_starts_a_child_of_its_own(tmp_path: Path) -> None:
    assert good(tmp_path) == "Just this."
    forked = os.fork()
    if not forked:
        try:
            os._exit(0 if good(tmp_path) == "Just this." else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(forked, 0)[1]) == 0
    assert good(tmp_path) == "Just this."


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no SIGKILL")
def test_the_child_ends_with_its_parent(tmp_path: Path) -> None:
    beat = tmp_path / "beat"
    code = f"""
import sys
from pathlib import Path
from oreqa.corpus import process
beats = '''
import time
while True:
    with open({str(beat)!r}, 'a') as file:
        file.write('.')
    time.sleep(0.05)
'''
patch = f"from oreqa.corpus import worker; worker.read_pdf = lambda data, path, before_page: exec({{beats!r}}); serve("
process._START = process._START.replace("serve(", patch, 1)
process.parse(Path("a.pdf"), b"%PDF")
"""
    parent = subprocess.Popen([sys.executable, "-c", code])
    while not beat.exists():
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    for _ in range(30):
        before = beat.stat().st_size
        time.sleep(1)
        if beat.stat().st_size == before:
            return
    pytest.fail("the child goes on")
