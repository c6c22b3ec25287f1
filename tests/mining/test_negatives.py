from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from interruption import files_of_at_most

from oreqa.core import Passage, Sentence
from oreqa.datasets.load import load_task
from oreqa.datasets.pairs import gold_pairs, task_candidates
from oreqa.datasets.reqa import ReqaTask
from oreqa.errors import InputError
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.mining import negatives
from oreqa.mining.negatives import NEGATIVES_TOP_K, best_candidates, bm25_passages, draw_negatives
from oreqa.text.sentences import split_sentences


@pytest.fixture
def mined_index(squad_file: Path, tiny: Path, tmp_path: Path) -> Index:
    return index_passages(tmp_path / "index", load_task(squad_file).passages, Settings(model=str(tiny)))


def test_negatives_come_from_both_retrievers_and_the_passage_and_are_never_gold(
    squad_file: Path, mined_index: Index
) -> None:
    task = load_task(squad_file)
    candidates = task_candidates(task)
    done: list[int] = []
    pairs = draw_negatives(task, mined_index, 3, done.append)
    assert [(p.question, p.positive) for p in pairs] == [(p.question, p.positive) for p in gold_pairs(task)]
    assert sum(done) == len(task.questions)
    lists = {mode: list(best_candidates(task, mined_index, mode, NEGATIVES_TOP_K)) for mode in ("sparse", "dense")}
    golds: dict[str, set[str]] = {}
    for pair in pairs:
        golds.setdefault(pair.question, set()).add(pair.positive.answer)
    for pair in pairs:
        number = task.questions.index(pair.question)
        near = {candidates[place].answer for own in lists.values() for place in own[number]}
        assert pair.negatives
        assert not {negative.answer for negative in pair.negatives} & golds[pair.question]
        strangers = [n for n in pair.negatives if n.answer not in near]
        assert all(negative.context == pair.positive.context for negative in strangers)
        assert any(negative.context == pair.positive.context for negative in pair.negatives)
    assert pairs == draw_negatives(task, mined_index, 3)
    assert pairs != draw_negatives(task, mined_index, 4)


def test_negatives_of_a_kept_index_of_changed_data(squad_file: Path, mined_index: Index, tiny: Path, tmp_path: Path) -> None:
    squad_file.write_text(squad_file.read_text().replace("then it sleeps in house 3", "then it slept in house 3"))
    task = load_task(squad_file)
    kept = index_passages(mined_index.folder, task.passages, Settings(model=str(tiny)))
    new = index_passages(tmp_path / "new", task.passages, Settings(model=str(tiny)))
    assert [p.text for p in kept.passages()] != [p.text for p in new.passages()]
    for mode in ("sparse", "dense"):
        for a, b in zip(*(best_candidates(task, index, mode, NEGATIVES_TOP_K) for index in (kept, new)), strict=True):
            assert a[:1].tolist() == b[:1].tolist()
    with pytest.raises(InputError, match="was not made from the task's passages"):
        draw_negatives(load_task(squad_file, held_out=True), kept)


def test_each_source_gives_a_negative(monkeypatch: pytest.MonkeyPatch) -> None:
    """BM25's, the nearest vector's, and one of the gold's document, as its passage has no other sentence."""
    titles = {"the gold": "a", "by words": "b", "by vectors": "c", "of the document": "a", "of nobody": "d"}
    passages = tuple(Passage(t, title, "", t, 0, len(t), (Sentence(t, 0, len(t)),)) for t, title in titles.items())
    best = {"sparse": [0, 1], "dense": [0, 2]}
    monkeypatch.setattr(negatives, "best_candidates", lambda _task, _index, mode, _depth: [np.array(best[mode])])
    index: Any = None
    (pair,) = draw_negatives(ReqaTask(passages, ("who",), ((0,),)), index)
    assert [negative.answer for negative in pair.negatives] == ["by words", "by vectors", "of the document"]


def test_an_answer_is_never_its_questions_negative(tiny: Path, tmp_path: Path) -> None:
    """Even where other passages, or other sentences of its own, read like it."""
    gold = "the fox jumps."
    texts = [f"{gold} {gold} it sleeps.", f"then it eats. {gold}", f"{gold} a bone.", gold, "the dog jumps."]
    passages, numbers = [], []
    for number, text in enumerate(texts):
        cut = [Sentence(text[a:b], a, b) for a, b in split_sentences(text)]
        numbers += [number for _ in cut]
        passages.append(Passage(f"d{number}", f"t{number}", "", text, 0, len(text), tuple(cut)))
    task = ReqaTask(tuple(passages), ("fox jumps",), ((0,),))
    index = index_passages(tmp_path / "index", passages, Settings(model=str(tiny)))
    drawn = set()
    for seed in range(20):
        (pair,) = draw_negatives(task, index, seed)
        drawn |= {negative.answer for negative in pair.negatives}
    assert drawn == {"it sleeps.", "then it eats.", "a bone.", "the dog jumps."}


def test_passages_of_equal_scores_come_in_their_order() -> None:
    passages = ["a red fox"] * 200 + ["a red fox and a fox"] + ["blue"]
    shared, lone, none = bm25_passages(["red fox", "blue", "sky"], passages, 7)
    assert sorted(shared.tolist())[:6] == [0, 1, 2, 3, 4, 5]
    assert [place for place in shared.tolist() if place < 200] == sorted(place for place in shared.tolist() if place < 200)
    assert lone.tolist() == [201]
    assert none.tolist() == []


def test_a_full_temporary_folder_is_an_error_whatever_its_room() -> None:
    passages = [f"fox {number} jumps over dog {number}" for number in range(200)]
    whole = [places.tolist() for places in bm25_passages(["fox 3", "dog 9"], passages, 3)]
    for size in range(100, 12_000, 37):
        with files_of_at_most(size):
            try:
                found = [places.tolist() for places in bm25_passages(["fox 3", "dog 9"], passages, 3)]
            except OSError:
                continue
        assert found == whole
