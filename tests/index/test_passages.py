from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oreqa.core import Document, Passage, Section, Sentence
from oreqa.corpus.splitter import paragraph_passage, split_passages
from oreqa.datasets.beir import Beir, Entry, save_beir
from oreqa.datasets.load import load_passages
from oreqa.errors import InputError
from oreqa.index import writer
from oreqa.index.ingest import index_files
from oreqa.index.passages import index_corpus, index_data, index_passages, sentence_rows
from oreqa.index.search import Index
from oreqa.index.store import Settings

TEXTS = ("The fox ran. It was late.", "Rain fell. Birds sang. Owls hoot.", "A dog slept. It was late.", "Bees hum.")


def passages(*texts: str) -> list[Passage]:
    return [paragraph_passage(Document(f"d{n}", f"Title {n}", text)) for n, text in enumerate(texts)]


def texts_of_rows(index: Index) -> list[str]:
    return [sentence.text for passage in index.passages() for sentence in passage.sentences]


def test_rows_follow_an_index_that_was_refreshed(tmp_path: Path, tiny: Path) -> None:
    """A changed passage moves to the index's end: positions are no longer the task's."""
    settings = Settings(str(tiny))
    index_passages(tmp_path / "kb", passages(*TEXTS), settings)
    changed = passages(TEXTS[0], TEXTS[1].replace("Owls", "Two owls"), *TEXTS[2:])
    index = index_passages(tmp_path / "kb", changed, settings)
    sentences = [sentence.text for passage in changed for sentence in passage.sentences]
    assert texts_of_rows(index) != sentences
    rows = sentence_rows(index, changed)
    assert [texts_of_rows(index)[row] for row in rows] == sentences
    (scores,) = index.score_all(["two owls"], "sparse")
    assert sentences[int(np.argmax(scores[rows]))] == "Two owls hoot."


def test_other_boundaries_are_other_passages(tmp_path: Path, tiny: Path) -> None:
    settings = Settings(str(tiny))
    index_passages(tmp_path / "kb", passages(*TEXTS), settings)
    whole = [replace(p, sentences=(Sentence(p.text, 0, len(p.text)),)) for p in passages(*TEXTS)]
    index = index_passages(tmp_path / "kb", whole, settings)
    rows = sentence_rows(index, whole)
    assert [texts_of_rows(index)[row] for row in rows] == list(TEXTS)
    assert len(rows) == index.counts()["sentences"]


def test_passages_of_one_document_with_equal_texts(tmp_path: Path, tiny: Path) -> None:
    cut = [replace(p, document_key="same", title="") for p in passages("Bees hum.", "Owls hoot. Foxes run.", "Bees hum.")]
    index = index_passages(tmp_path / "kb", cut, Settings(str(tiny)))
    assert sentence_rows(index, cut).tolist() == [0, 1, 2, 3]


@pytest.mark.parametrize(
    "others",
    [
        passages(*TEXTS[:3]),
        passages(*TEXTS, "More."),
        passages(*TEXTS[:3], "Bees hum!"),
        [*passages(*TEXTS[:3]), replace(passages(*TEXTS)[3], document_key="x")],
        [*passages(*TEXTS[:3]), replace(passages(*TEXTS)[3], sentences=())],
    ],
)
def test_an_index_of_other_passages_is_refused(tmp_path: Path, tiny: Path, others: list[Passage]) -> None:
    index = index_passages(tmp_path / "kb", passages(*TEXTS), Settings(str(tiny)))
    with pytest.raises(InputError, match="this index was not made from the task's passages"):
        sentence_rows(index, others)


def test_an_index_of_files_is_refused(tmp_path: Path, tiny: Path, library: Path) -> None:
    index_files(tmp_path / "kb", [library], Settings(str(tiny)))
    with pytest.raises(InputError, match="was not made from the task's passages"):
        sentence_rows(Index.open(tmp_path / "kb"), passages(*TEXTS))


def test_a_kept_index_of_a_corpus_cuts_only_what_is_new(tiny: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = [Entry(f"d{i}", "", f"Bee number {i} hums.") for i in range(3)]
    settings = Settings(str(tiny))
    index_corpus(tmp_path / "kb", corpus, settings)
    cut: list[str] = []

    def note(document: Document, *arguments: Any) -> list[Passage]:
        cut.append(document.key)
        return split_passages(document, *arguments)

    monkeypatch.setattr(writer, "split_passages", note)
    index = index_corpus(tmp_path / "kb", [*corpus[1:], Entry("d3", "", "Owls hoot.")], settings)
    assert cut == ["d3"]
    assert index.counts()["documents"] == 3


def test_data_files_are_indexed_whatever_they_ask(squad_file: Path, tiny: Path, tmp_path: Path) -> None:
    with index_data(tmp_path / "kb", squad_file, Settings(str(tiny))) as index:
        assert [passage.text for passage in index.passages()] == [passage.text for passage in load_passages(squad_file)]
    save_beir(tmp_path / "beir", Beir((Entry("a", "Owls", "They hoot. " * 40), Entry("b", "A title", "")), {}, {}), "test")
    with index_data(tmp_path / "kb2", tmp_path / "beir", Settings(str(tiny))) as index:
        assert [passage.document_key for passage in index.passages()][-2:] == ["a", "b"]
        assert [passage.text for passage in index.passages()][-1] == "A title"
    (tmp_path / "e.json").write_text('{"data": [{"paragraphs": [{"context": " "}]}]}')
    with pytest.raises(InputError, match="it holds no paragraph with text"):
        index_data(tmp_path / "kb3", tmp_path / "e.json", Settings(str(tiny)))


def test_neighbours_of_a_section(tmp_path: Path, tiny: Path) -> None:
    document = Document("d", "", "a fox\n\na dog\n\na cat\n\na bee", (Section(0, 19, "pets"), Section(21, 26, "others")))
    cut = split_passages(document, lambda texts: [2 for _ in texts], 4)
    others = [replace(passage, document_key="e") for passage in cut]
    with index_passages(tmp_path / "kb", [*cut, *others], Settings(str(tiny))) as index:
        snapshot = index.snapshot()
        ids = snapshot.ids_after(0, 10_000)
        assert [passage.text for passage in cut] == ["a fox", "a dog", "a cat", "a bee"]
        section = snapshot.section(ids[1], 3, 3)
        assert {number: passage.text for number, passage in section.items()} == dict(
            zip(ids[:3], ["a fox", "a dog", "a cat"], strict=True)
        )
        assert list(snapshot.section(ids[1], 0, 1)) == ids[1:3]
        assert list(snapshot.section(ids[2], 1, 9)) == ids[1:3]
        assert list(snapshot.section(ids[3], 3, 3)) == [ids[3]]
        assert list(snapshot.section(ids[4], 9, 0)) == [ids[4]]
