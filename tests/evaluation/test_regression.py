from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Self

import pytest
from typer.testing import CliRunner, Result

from oreqa import Answer, Passage, Sentence
from oreqa.answer import AnswerBlock, Piece
from oreqa.answering.answerer import Answerer
from oreqa.answering.reply import Reply
from oreqa.cli import app
from oreqa.errors import InputError
from oreqa.evaluation import regression_test
from oreqa.index.in_memory import index_documents
from oreqa.index.store import Settings


def run(*arguments: object) -> Result:
    return CliRunner().invoke(app, [str(argument) for argument in arguments])


def answer(text: str, confidence: float = 0.9, block: str = "") -> Answer:
    passage = Passage("docs/a.md", "", "", text, 0, len(text), (Sentence(text, 0, len(text)),))
    whole = AnswerBlock((Piece(block, 0, len(block)),), "list", 0.9) if block else None
    form: Any = "block" if block else "text"
    return Answer(text, 0, len(text), confidence, passage.sentences[0], passage, 1.0, {}, block=whole, form=form)


class _Answering:
    """Gives prepared answers, as a loaded answerer would."""

    def __init__(self, prepared: dict[str, Answer | None]) -> None:
        self.prepared = prepared

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        pass

    def reply(self, questions: Iterable[str], *, threshold: float | None) -> Sequence[Reply]:
        limit = 0.5 if threshold is None else threshold
        replies = []
        for question in questions:
            best = self.prepared[question]
            is_given = best is not None and (best.confidence or 0) >= limit
            replies.append(Reply((best,) if best and is_given else (), (), True, best))
        return replies


@pytest.fixture
def prepared(monkeypatch: pytest.MonkeyPatch) -> dict[str, Answer | None]:
    answers: dict[str, Answer | None] = {
        "How long?": answer("two years"),
        "Which colours?": answer("It comes in", block="It comes in\nred\nblue"),
        "Who pays?": None,
        "What weighs it?": answer("2 kg", 0.2),
    }
    monkeypatch.setattr(Answerer, "load", lambda *arguments, **settings: _Answering(answers))
    return answers


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    rows = [
        {"question": "How long?", "answers": ["two years", "2 years"]},
        {"question": "Which colours?", "answers": ["It comes in red blue"]},
        {"question": "Who pays?", "answers": []},
        {"question": "What weighs it?", "answers": ["2 kg"]},
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return tmp_path / "questions.jsonl"


def test_a_question_that_is_no_longer_right_fails_the_test(
    questions: Path, prepared: dict[str, Answer | None], tmp_path: Path
) -> None:
    (tmp_path / "kb").mkdir()
    first = regression_test(questions, tmp_path / "kb")
    assert [question.outcome for question in first.questions] == ["right", "right", "rightly refused", "refused"]
    assert (first.is_first, first.passed, first.passing) == (True, True, 3)
    kept = tmp_path / "questions.baseline.jsonl"
    assert first.baseline == str(kept)
    before = kept.read_text()
    assert [json.loads(line)["outcome"] for line in before.splitlines()] == [q.outcome for q in first.questions]
    assert json.loads(before.splitlines()[3])["answer"] == ""  # a guess is not an answer that was given
    prepared["How long?"], prepared["Who pays?"] = answer("three years"), answer("Ada")
    second = regression_test(questions, tmp_path / "kb")
    assert [question.is_worse for question in second.questions] == [True, False, True, False]
    assert (second.passed, second.questions[0].answer_before, second.questions[0].place) == (False, "two years", "docs/a.md")
    assert regression_test(questions, tmp_path / "kb", minimum=0.25).passed
    assert not regression_test(questions, tmp_path / "kb", minimum=0.5).passed
    assert kept.read_text() == before  # only the first run and --save write it
    assert regression_test(questions, tmp_path / "kb", save=True).passed
    assert regression_test(questions, tmp_path / "kb").passed


def test_a_threshold_is_that_of_ask(questions: Path, prepared: dict[str, Answer | None], tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    report = regression_test(questions, tmp_path / "kb", threshold=0.1)
    assert report.questions[3].outcome == "right"


def test_rows_may_be_moved_and_omitted(questions: Path, prepared: dict[str, Answer | None], tmp_path: Path) -> None:
    (tmp_path / "kb").mkdir()
    regression_test(questions, tmp_path / "kb")
    rows = questions.read_text().splitlines()
    questions.write_text("\n".join([rows[3], rows[0]]))
    prepared["How long?"] = answer("three years")
    report = regression_test(questions, tmp_path / "kb")
    assert [(question.question, question.before) for question in report.questions] == [
        ("What weighs it?", "refused"),
        ("How long?", "right"),
    ]
    assert report.dropped == 2


def test_what_cannot_be_compared_is_refused_before_anything_is_asked(
    questions: Path, prepared: dict[str, Answer | None], tmp_path: Path
) -> None:
    (tmp_path / "kb").mkdir()
    with pytest.raises(InputError, match=r"nowhere\.jsonl: there is no such baseline; write it with --save"):
        regression_test(questions, tmp_path / "kb", baseline=tmp_path / "nowhere.jsonl")
    with pytest.raises(InputError, match=r"questions\.jsonl, line 1: it is no baseline of oreqa test"):
        regression_test(questions, tmp_path / "kb", baseline=questions, save=True)
    with pytest.raises(InputError, match="minimum is 80; it must lie between 0 and 1"):
        regression_test(questions, tmp_path / "kb", minimum=80)
    (tmp_path / "r.xml").write_text("<book/>")
    with pytest.raises(InputError, match="is no JUnit file"):
        regression_test(questions, tmp_path / "kb", junit=tmp_path / "r.xml")
    with pytest.raises(InputError, match=r"new: it is the baseline; name another file for JUnit"):
        regression_test(questions, tmp_path / "kb", baseline=tmp_path / "new", junit=tmp_path / "new", save=True)
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(InputError, match=r"empty\.jsonl: the baseline holds no question; restore the file, or"):
        regression_test(questions, tmp_path / "kb", baseline=tmp_path / "empty.jsonl")
    questions.write_text(questions.read_text() + '{"question": "how long", "answers": ["3"]}\n')
    with pytest.raises(InputError, match=r"'how long' is asked twice \(ids 1 and 5\): keep one of the rows"):
        regression_test(questions, tmp_path / "kb")
    questions.write_text('{"question": "How long?"}\n')
    with pytest.raises(InputError, match="line 1: it has neither answers nor a pattern"):
        regression_test(questions, tmp_path / "kb")
    questions.write_text("\n")
    with pytest.raises(InputError, match="it holds no question"):
        regression_test(questions, tmp_path / "kb")
    assert not (tmp_path / "questions.baseline.jsonl").exists()


def test_an_interrupted_run_writes_nothing(
    questions: Path, prepared: dict[str, Answer | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(*arguments: object, **settings: object) -> None:
        raise KeyboardInterrupt

    (tmp_path / "kb").mkdir()
    monkeypatch.setattr(_Answering, "reply", stop)
    stopped = run("test", questions, "--index", tmp_path / "kb", "--junit", tmp_path / "r.xml")
    assert (stopped.exit_code, stopped.stderr) == (130, "interrupted\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kb", "questions.jsonl"]


def test_the_command_says_what_changed(
    questions: Path, prepared: dict[str, Answer | None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "kb").mkdir()
    first = run("test", "questions.jsonl", "--index", "kb")
    assert first.exit_code == 0, first.stderr
    assert first.stdout.splitlines() == [
        "Not right: 1",
        "  What weighs it?",
        "      expected  2 kg",
        "      given     no answer; best guess: 2 kg",
        "      place     docs/a.md",
        "",
        "questions.jsonl: 4 questions: 2 right, 1 rightly refused, 1 refused; 75.0% are right",
        "no run was kept before; this one is the baseline now: questions.baseline.jsonl",
    ]
    prepared["How long?"] = answer("three years")
    prepared["What weighs it?"] = answer("2 kg")
    second = run("test", "questions.jsonl", "--index", "kb", "--junit", "r.xml")
    assert second.exit_code == 1
    assert second.stdout.splitlines()[:8] == [
        "No longer right: 1",
        "  How long?",
        "      expected  two years | 2 years",
        "      given     three years",
        "      place     docs/a.md",
        "      before    two years (right)",
        "",
        "Now right: 1",
    ]
    assert second.stdout.splitlines()[-2:] == [
        "against questions.baseline.jsonl: 1 no longer right, 1 now right",
        "to keep this run as the baseline: add --save",
    ]
    assert 'failures="1"' in (tmp_path / "r.xml").read_text()
    printed = run("test", "questions.jsonl", "--index", "kb", "--minimum", "0.9", "--json")
    assert printed.exit_code == 1
    row = json.loads(printed.stdout)
    assert (row["passed"], row["passing"], row["outcomes"]["wrong"]) == (False, 3, 1)
    assert row["questions"][0]["is_worse"]
    shown = run("test", "questions.jsonl", "--index", "kb", "--minimum", "0.75")
    assert (shown.exit_code, shown.stdout.splitlines()[-1]) == (0, "reached: at least 75% right")
    saved = run("test", "questions.jsonl", "--index", "kb", "--save")
    assert (saved.exit_code, saved.stdout.splitlines()[-1]) == (0, "this run is the baseline now")


def test_an_index_is_asked(tmp_path: Path, fitted: Path, fitted_reader: Path) -> None:
    texts = [f"Fox {n} eats hay {n}. It sleeps in house {n}." for n in range(6)]
    documents = [{"id": f"d{n}", "title": "", "text": text} for n, text in enumerate(texts)]
    index_documents(tmp_path / "kb", documents, settings=Settings(str(fitted)))
    question = "Where does fox 3 sleep?"
    with Answerer.load(tmp_path / "kb", reader=fitted_reader) as answerer:
        first = answerer.ask(question, threshold=0)[0]
    (tmp_path / "q.jsonl").write_text(json.dumps({"question": question, "answers": [first.text]}))
    report = regression_test(tmp_path / "q.jsonl", tmp_path / "kb", reader=fitted_reader, threshold=0)
    [outcome] = report.questions
    assert (outcome.outcome, outcome.answer, outcome.place) == ("right", first.text, first.passage.address(first.start))
    assert outcome.confidence == first.confidence
