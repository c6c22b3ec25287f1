"""The inverse cloze task: pairs of a sentence and its passage, from documents alone."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from oreqa.cli import app
from oreqa.core import Document
from oreqa.corpus.splitter import paragraph_passage
from oreqa.datasets.beir import Beir, Entry, save_beir
from oreqa.datasets.pairs import load_pairs
from oreqa.errors import InputError
from oreqa.index import Index
from oreqa.index.ingest import index_files
from oreqa.index.store import Settings
from oreqa.mining import mine_cloze
from oreqa.mining.cloze import cloze_pairs

TEXT = "An octopus has three hearts.  Its blood is blue. It lives alone."
PASSAGE = paragraph_passage(Document("octopus", "Octopus", TEXT))


def test_a_passage_stands_without_the_sentence_that_asks_for_it() -> None:
    pairs = {pair.question: pair for pair in cloze_pairs(PASSAGE, 5, 0.0, random.Random(0))}
    assert {question: pair.positive.context for question, pair in pairs.items()} == {
        "An octopus has three hearts.": "Its blood is blue. It lives alone.",
        "Its blood is blue.": "An octopus has three hearts. It lives alone.",
        "It lives alone.": "An octopus has three hearts.  Its blood is blue.",
    }
    for pair in pairs.values():
        assert pair.positive.answer == pair.positive.context
        assert (pair.positive.head, pair.source, pair.passage) == ("Octopus", "gold", "octopus:0")


def test_a_share_of_passages_keeps_its_sentence() -> None:
    rng = random.Random(0)
    pairs = [pair for _ in range(500) for pair in cloze_pairs(PASSAGE, 1, 0.1, rng)]
    assert len(pairs) == 500
    kept = sum(pair.question in pair.positive.context for pair in pairs)
    assert 25 < kept < 80
    assert all((pair.positive.context == TEXT) == (pair.question in pair.positive.context) for pair in pairs)
    assert len({pair.question for pair in pairs}) == 3


@pytest.mark.parametrize("text", ["", "One sentence.", "One sentence. ...", "?! -- ..."])
def test_a_passage_of_one_sentence_has_no_pair(text: str) -> None:
    assert cloze_pairs(paragraph_passage(Document("x", "", text)), 3, 0.1, random.Random(0)) == []


def test_pairs_of_a_file_a_folder_and_an_index(squad_file: Path, tiny: Path, library: Path, tmp_path: Path) -> None:
    texts = {p["context"] for a in json.loads(squad_file.read_text())["data"] for p in a["paragraphs"]}
    assert mine_cloze(tmp_path / "file.jsonl", data=squad_file, kept=1.0) == len(texts)
    with pytest.raises(InputError, match="it exists already; name another file, or delete this one to draw anew"):
        mine_cloze(tmp_path / "file.jsonl", data=squad_file)
    assert {pair.positive.context for pair in load_pairs(tmp_path / "file.jsonl")} == texts

    entries = (Entry("1", "T", TEXT), Entry("2", "", "One sentence."), Entry("3", "", ""))
    save_beir(tmp_path / "beir", Beir(entries, {"q": "which"}, {"q": {"1": 1}}), "train")
    assert mine_cloze(tmp_path / "beir.jsonl", data=str(tmp_path / "beir"), per_passage=2) == 2
    assert {pair.passage for pair in load_pairs(tmp_path / "beir.jsonl")} == {"1:0"}

    index_files(tmp_path / "kb", library, settings=Settings(model=str(tiny)))
    count = mine_cloze(tmp_path / "index.jsonl", index=tmp_path / "kb", per_passage=9, kept=0.0)
    pairs = list(load_pairs(tmp_path / "index.jsonl"))
    assert count == len(pairs) > 0
    with Index.open(tmp_path / "kb") as index:
        passages = {f"{p.document_key}:{p.start}": p for p in index.passages()}
    for pair in pairs:
        passage = passages[pair.passage]
        assert pair.question in [sentence.text for sentence in passage.sentences]
        assert passage.text.replace(pair.question, "", 1).split() == pair.positive.context.split()


def test_pairs_follow_the_seed(squad_file: Path, tmp_path: Path) -> None:
    files = []
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        mine_cloze(tmp_path / name, data=squad_file, seed=seed)
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1] != files[2]


def test_the_command(squad_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    result = CliRunner().invoke(app, ["mine", "cloze", "--data", str(squad_file), "--out", str(out), "--json"])
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout) == {"pairs": len(list(load_pairs(out))), "out": str(out)}
    result = CliRunner().invoke(app, ["mine", "cloze", "--out", str(out)])
    assert result.exit_code == 2
    assert "name either data or an index" in result.stderr


def test_what_cannot_be_mined_is_said_and_leaves_no_file(squad_file: Path, tmp_path: Path) -> None:
    out = tmp_path / "pairs.jsonl"
    with pytest.raises(InputError, match="name either data or an index to draw sentences from"):
        mine_cloze(out, data=squad_file, index=tmp_path)
    for per_passage in (0, 1.5, "2"):
        with pytest.raises(InputError, match=r"per_passage is .*; it must be a whole number from 1"):
            mine_cloze(out, data=squad_file, per_passage=per_passage)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="the share kept is 2; it must lie between 0 and 1"):
        mine_cloze(out, data=squad_file, kept=2)
    save_beir(tmp_path / "b", Beir((Entry("1", "", "One."),), {"q": "which"}, {"q": {"1": 1}}), "train")
    with pytest.raises(InputError, match="no passage of two sentences"):
        mine_cloze(out, data=tmp_path / "b")
    assert not out.exists()
