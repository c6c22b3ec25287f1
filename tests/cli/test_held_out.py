from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.cli.held_out import say_held_out
from oreqa.datasets.paragraphs import Gold, Paragraph, Question, is_held_out, save_squad


@pytest.mark.parametrize(("held_out", "unanswered"), [(None, 0), (False, 4), (True, 2)])
def test_questions_without_an_answer_are_counted_in_the_part_that_is_used(
    held_out: bool | None, unanswered: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    numbered = [Paragraph(f"Fox {n}", "A fox runs.", ()) for n in range(100)]
    kept, held = ([p for p in numbered if is_held_out(p) == which] for which in (False, True))
    gold = (Gold("fox", 2),)
    paragraphs = [
        Paragraph(p.title, p.text, (Question(f"a{p.title}", "who", gold), Question(f"b{p.title}", "why", ())))
        for p in (*kept[:4], *held[:2])
    ]
    save_squad(tmp_path / "two.json", paragraphs, "2.0")
    say_held_out(tmp_path / "two.json", held_out)
    first, *others = capsys.readouterr().out.splitlines()
    assert first == "  held out by title: 2 of 6 articles, 2 questions"
    assert others == ([f"  never used: {unanswered} questions without an answer"] if unanswered else [])


def test_of_other_data_nothing_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "q.jsonl").write_text('{"question": "who", "answers": ["fox"]}\n')
    say_held_out(tmp_path / "q.jsonl", held_out=False)
    assert capsys.readouterr().out == ""
