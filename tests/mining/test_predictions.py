from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from oreqa.core import Span
from oreqa.datasets.load import load_task
from oreqa.errors import InputError
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.mining import predictions as mining
from oreqa.mining.predictions import load_predictions, mine_predictions
from oreqa.models.reader.reader import Reader


@pytest.fixture
def searched(squad_file: Path, tiny: Path, tmp_path: Path) -> Index:
    return index_passages(tmp_path / "index", load_task(squad_file).passages, Settings(model=str(tiny)))


def question_list(path: Path, *questions: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text("".join(json.dumps({"question": question, "pattern": "fox"}) + "\n" for question in questions))
    return path


def test_files_of_one_name_are_all_read_when_a_run_goes_on(searched: Index, tiny_reader: Path, tmp_path: Path) -> None:
    a = question_list(tmp_path / "a" / "q.jsonl", "who jumps", "who eats", "who sleeps")
    b = question_list(tmp_path / "b" / "q.jsonl", "where jumps", "where eats", "where sleeps")
    reader = Reader(tiny_reader)
    assert mine_predictions([a, b], tmp_path / "whole.jsonl", reader=reader, index=searched, passages=1, k=2) == 6
    out = tmp_path / "p.jsonl"
    assert mine_predictions(a, out, reader=reader, index=searched, passages=1, k=2) == 3
    assert mine_predictions([a, b], out, reader=reader, index=searched, passages=1, k=2) == 6
    assert out.read_text() == (tmp_path / "whole.jsonl").read_text()
    assert len({row.question for row in load_predictions(out)}) == 6


def test_the_index_is_searched_as_asked(squad_file: Path, searched: Index, tiny_reader: Path, tmp_path: Path) -> None:
    """Each mode reads the passages that a search of that mode finds, and goes on from rows of no other."""
    file, reader = question_list(tmp_path / "q.jsonl", "who jumps over the dog", "what is red"), Reader(tiny_reader)
    read = {}
    for mode in ("dense", "sparse"):
        out = tmp_path / f"{mode}.jsonl"
        mine_predictions(file, out, reader=reader, index=searched, passages=3, mode=mode, k=2)
        rows = sorted(load_predictions(out), key=lambda row: row.id)
        read[mode] = {row.question: [text for _, text in row.passages] for row in rows}
        for question, texts in read[mode].items():
            (hits,) = searched.search([question], 3, mode=mode, unit="passage")
            assert texts == [hit.passage.text for hit in hits]
    assert read["dense"] != read["sparse"]
    with pytest.raises(InputError, match="with other settings"):
        mine_predictions(file, tmp_path / "dense.jsonl", reader=reader, index=searched, passages=3, mode="sparse", k=2)
    with pytest.raises(InputError, match="BM25 searches its paragraphs; mode = dense is for lists"):
        mine_predictions(squad_file, tmp_path / "c.jsonl", reader=reader, mode="dense")
    with pytest.raises(InputError, match="mode"):
        mine_predictions(file, tmp_path / "d.jsonl", reader=reader, index=searched, mode="deep")  # type: ignore[arg-type]


@pytest.mark.parametrize("changed", ["data", "documents", "weights", "precision"])
def test_a_run_does_not_go_on_from_rows_of_anything_else(
    searched: Index, tiny_reader: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str
) -> None:
    file, out, reader = question_list(tmp_path / "q.jsonl", "who jumps"), tmp_path / "p.jsonl", Reader(tiny_reader)
    mine_predictions(file, out, reader=reader, index=searched, passages=1, k=2)
    if changed == "data":
        question_list(file, "who eats")
    elif changed == "documents":
        monkeypatch.setattr(Index, "content_fingerprint", "changed")
    elif changed == "weights":
        monkeypatch.setattr(Index, "weights", lambda *_: {"dense": 2.0})
    else:
        monkeypatch.setattr(mining, "used_precision", lambda *_: {"reader": "another"})
    with pytest.raises(InputError, match="line 1: made from other data, by another reader or with other settings"):
        mine_predictions(file, out, reader=reader, index=searched, passages=1, k=2)


def test_a_row_without_an_id_is_refused(searched: Index, tiny_reader: Path, tmp_path: Path) -> None:
    file, out, reader = question_list(tmp_path / "q.jsonl", "who jumps"), tmp_path / "p.jsonl", Reader(tiny_reader)
    mine_predictions(file, out, reader=reader, index=searched, passages=1, k=2)
    row = json.loads(out.read_text())
    del row["id"]
    out.write_text(json.dumps(row) + "\n")
    with pytest.raises(InputError, match=r"p\.jsonl, line 1: 'id' is missing"):
        mine_predictions(file, out, reader=reader, index=searched, passages=1, k=2)


def test_a_passage_has_the_logit_of_the_window_that_selects_it_most() -> None:
    logits = ((0, 2.0), (1, 0.5), (0, -1.0))
    spans = [
        Span("x", n, n + 1, passage, -1.0, {"span": -1.0, "passage_logit": logit})
        for n, (passage, logit) in enumerate(logits)
    ]
    total = math.log(math.exp(2.0) + math.exp(0.5))
    scored = {span.start: span.score for span in mining.by_selection(spans)}
    assert scored == pytest.approx({0: -1 + 2.0 - total, 1: -1 + 0.5 - total, 2: -1 + 2.0 - total})
