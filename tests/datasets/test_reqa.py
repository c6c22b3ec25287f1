from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.datasets.reqa import build_reqa, load_boundaries, load_paragraphs, readable_title
from oreqa.datasets.squad import Gold, Paragraph, Question
from oreqa.errors import InputError

TEXT = "One is here. Two is there. Three is gone."


def paragraph(title: str, *questions: tuple[str, list[int]]) -> Paragraph:
    asked = tuple(Question(str(i), text, tuple(Gold("x", s) for s in starts)) for i, (text, starts) in enumerate(questions))
    return Paragraph(title, TEXT, asked)


def test_candidates_gold_and_merged_questions() -> None:
    task = build_reqa([paragraph("A", ("q", [0]), ("r", [14, 20, 28])), paragraph("B_b", ("q", [27]), ("none", []))])
    assert task.candidates == 6
    assert dict(zip(task.questions, task.gold, strict=True)) == {"q": (0, 5), "r": (1, 2)}
    assert [p.title for p in task.passages] == ["A", "B b"]
    assert len({p.document_key for p in task.passages}) == 2


def test_boundaries_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "s.jsonl"
    rows = [(0, 12), (13, 41)]
    file.write_text("".join(f'{{"title": "A", "paragraph": 0, "sentence": 0, "start": {a}, "end": {b}}}\n' for a, b in rows))
    task = build_reqa([paragraph("A", ("q", [12]), ("r", [40]))], load_boundaries(file))
    # Offset 12 lies between the two sentences: it counts for the first.
    assert task.gold == ((0,), (1,))
    with pytest.raises(InputError, match="lack paragraph 0 of 'B'"):
        build_reqa([paragraph("B")], load_boundaries(file))
    with pytest.raises(InputError, match="is outside paragraph 0 of 'A'"):
        build_reqa([Paragraph("A", "short", ())], load_boundaries(file))


def test_formats(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="give a SQuAD file"):
        load_paragraphs(tmp_path / "a.csv")
    assert readable_title("Super_Bowl_50") == "Super Bowl 50"


@pytest.mark.slow
@pytest.mark.shared_data
@pytest.mark.parametrize(("name", "candidates"), [("reqa", 10_250), ("multireqa", 10_642)])
def test_counts_of_the_published_tasks(data: Path, name: str, candidates: int) -> None:
    paragraphs = load_paragraphs(data / "squad" / "squad-v1.1-dev.json.gz")
    task = build_reqa(paragraphs, load_boundaries(data / "squad" / f"{name}-squad-dev-sentences.jsonl.gz"))
    assert (task.candidates, len(task.questions)) == (candidates, 10_539)
    # Our own splitter agrees with the published boundaries but for a few sentences in a hundred.
    starts = {(p.document_key, s.start) for p in task.passages for s in p.sentences}
    own = {(p.document_key, s.start) for p in build_reqa(paragraphs).passages for s in p.sentences}
    assert len(starts & own) / len(starts | own) > 0.95
