"""`make demo` shows these answers and refusals, and the README's picture shows what the demo prints."""

from __future__ import annotations

import importlib.util
import io
import re
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest
import rich.console

if TYPE_CHECKING:
    from oreqa.answering.reply import Reply

ROOT = Path(__file__).parent.parent
ANSWERS = {
    "Who was the first person treated with insulin?": ("Leonard Thompson", "demo/library/insulin.md"),
    "Which eruption caused the year without a summer?": ("Tambora", "demo/library/volcanoes.md"),
    "Why must dogs not eat chocolate?": ("they break down its theobromine very slowly", "demo/library/chocolate.md"),
    "How much does the Eiffel Tower weigh?": ("7,300 tonnes", "demo/library/eiffel-tower.md"),
    "How much does a ticket to the Eiffel Tower cost?": None,
    "Who decoded the dance of the bees?": ("Karl von Frisch", "demo/library/honey-bee.md"),
    "How old was Louis Braille when he devised his alphabet?": ("fifteen", "demo/library/braille.md"),
    "Who invented the telephone?": None,
    "Which licence covers the code of oreqa?": ("Apache-2.0", "README.md"),
    "Which option removes deleted files from an index?": ("--prune", "docs/how-to.md"),
}


def load_demo() -> ModuleType:
    spec = importlib.util.spec_from_file_location("demo_ask", ROOT / "demo" / "ask.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def indexed_paths() -> list[Path]:
    """What the Makefile indexes for the demo."""
    line = re.search(r"^DEMO := (.+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert line is not None
    return [ROOT / name for name in line[1].split()]


@pytest.fixture(scope="module")
def replies(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, Reply]]:
    from oreqa import Answerer, index_files

    folder = tmp_path_factory.mktemp("demo") / "index"
    index_files(folder, indexed_paths())
    questions = load_demo().QUESTIONS
    return list(zip(questions, Answerer.load(folder).reply(questions, k=1), strict=True))


def printed(replies: list[tuple[str, Reply]], width: int) -> str:
    console = rich.console.Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    with console.capture() as capture:
        load_demo().show(console, replies)
    return capture.get()


def test_no_indexed_page_quotes_a_question() -> None:
    pages = [page for path in indexed_paths() for page in (path.rglob("*") if path.is_dir() else [path]) if page.is_file()]
    assert len(pages) > 40
    for page in pages:
        text = " ".join(page.read_text().split()).lower()
        assert not [question for question in ANSWERS if question.lower() in text], page


@pytest.mark.slow
def test_answers_and_refusals(replies: list[tuple[str, Reply]]) -> None:
    assert [question for question, _ in replies] == list(ANSWERS)
    for question, reply in replies:
        expected = ANSWERS[question]
        if expected is None:
            assert not reply.answers, question
            assert reply.nearest, question
        else:
            answer = reply.answers[0]
            assert answer.text == expected[0], question
            assert answer.passage.document_key == str(ROOT / expected[1]), question
            assert answer.confidence is not None
            assert answer.confidence >= 0.4, question


@pytest.mark.slow
@pytest.mark.parametrize("width", [80, 120])
def test_print(replies: list[tuple[str, Reply]], width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    lines = [line.rstrip() for line in printed(replies, width).splitlines()]
    assert max(map(len, lines)) <= width
    blocks = "\n".join(lines).strip().split("\n\n")
    assert len(blocks) == len(ANSWERS)
    for (question, expected), block in zip(ANSWERS.items(), blocks, strict=True):
        first, second, *rest = block.splitlines()
        assert first == f"? {question}"
        if expected is None:
            assert second == "     no answer found"
            assert rest[0].startswith("     nearest: demo/library/")
        else:
            text, document = expected
            shown = "" if dict(replies)[question].answers[0].form == "block" else f" {re.escape(text)}"
            assert re.fullmatch(rf"(sure|likely) \d+%{shown}", second)
            assert text in " ".join(" ".join(rest).split())
            assert re.match(rf"     {re.escape(document)}:\d+  ", rest[-1])


@pytest.mark.slow
def test_the_picture_shows_what_is_printed(replies: list[tuple[str, Reply]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    demo = load_demo()
    pictured = [(question, reply) for question, reply in replies if question in demo.PICTURED]
    drawn = demo.draw(pictured)
    assert drawn == demo.draw(pictured)
    assert "url(http" not in drawn  # no web font
    kept = (ROOT / "docs" / "images" / "demo.svg").read_text()
    # Percentages differ a little between the precisions of processors.
    assert re.sub(r"\d+%", "%", drawn) == re.sub(r"\d+%", "%", kept), "make picture"
