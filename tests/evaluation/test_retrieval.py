from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from oreqa.datasets.beir import Beir, Entry
from oreqa.datasets.paragraphs import Gold, Paragraph, Question
from oreqa.datasets.reqa import build_reqa
from oreqa.evaluation.ranking import rank_documents, rank_sentences
from oreqa.index.passages import index_corpus, index_passages
from oreqa.index.store import Settings


def test_reqa(tiny: Path, tmp_path: Path) -> None:
    paragraphs = [
        Paragraph("A", "Foxes run. Bears sleep.", (Question("1", "bears sleep", (Gold("sleep", 17),)),)),
        Paragraph("B", "Owls hoot. Bees hum.", (Question("2", "which owls hoot", (Gold("Owls", 0),)),)),
    ]
    task = build_reqa(paragraphs)
    index = index_passages(tmp_path / "kb", task.passages, Settings(str(tiny)))
    done: list[int] = []
    rows = rank_sentences(task, index, "sparse", done.append)
    assert [row.ranks for row in rows] == [[1.0], [1.0]]
    assert [row.top[0][0] for row in rows] == ["1", "2"]
    assert dict(zip([name for name, _ in rows[0].top], rows[0].texts, strict=False))["1"] == "Bears sleep."
    assert sum(done) == 2


def test_reqa_on_a_kept_index_of_changed_data(tiny: Path, tmp_path: Path) -> None:
    """One changed character moves a paragraph to the index's end: the figures are those of a new index all the same."""
    texts = [f"Fox {n} runs in wood {n}. Bear {n} sleeps in cave {n}." for n in range(6)]

    def ranks(texts: list[str], folder: Path) -> list[Sequence[float]]:
        paragraphs = [
            Paragraph(
                f"T{n}", text, (Question(str(n), f"which bear sleeps in cave {n}", (Gold("Bear", text.index("Bear")),)),)
            )
            for n, text in enumerate(texts)
        ]
        task = build_reqa(paragraphs)
        index = index_passages(folder, task.passages, Settings(str(tiny)))
        return [row.ranks for row in rank_sentences(task, index, "sparse")]

    ranks(texts, tmp_path / "kb")
    texts[1] = texts[1].replace("runs", "ran")
    assert ranks(texts, tmp_path / "kb") == ranks(texts, tmp_path / "new") == [[1.0]] * 6


def test_beir_ranks_documents_by_their_best_passage(tiny: Path, tmp_path: Path) -> None:
    long = "Nothing of note is said here. " * 20
    corpus = (Entry("d1", "One", long + "Bees hum."), Entry("d2", "Two", "Owls hoot."), Entry("d3", "", "Rain."))
    task = Beir(corpus, {"q": "bees hum", "r": "owls"}, {"q": {"d1": 2, "d3": 0}, "r": {"d2": 1, "d1": 1}})
    index = index_corpus(tmp_path / "kb", task.corpus, Settings(str(tiny)))
    assert index.counts()["passages"] > 3
    rows = {row.id: row for row in rank_documents(task, index, "sparse")}
    assert rows["q"].metrics["mrr"] == 1
    assert rows["q"].metrics["ndcg@10"] == pytest.approx(1.0)
    assert rows["r"].top[0][0] == "d2"
    assert rows["q"].gold == ["d1"]
