from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from oreqa.datasets.beir import Beir, Entry, load_beir, save_beir
from oreqa.datasets.mrqa import load_mrqa, save_mrqa
from oreqa.datasets.pairs import load_pairs
from oreqa.datasets.squad import Gold, Paragraph, Question, load_squad, save_squad
from oreqa.errors import InputError

TEXT = "The café is open. 😀 It shuts at six."
PARAGRAPHS = [
    Paragraph("A", TEXT, (Question("1", "When?", (Gold("six", TEXT.index("six")), Gold("at six", TEXT.index("at six")))),)),
    Paragraph("A", "Nothing.", ()),
    Paragraph("B", "Else.", (Question("2", "Who?", ()),)),
]


def test_squad_there_and_back(tmp_path: Path) -> None:
    for name in ("a.json", "a.json.gz"):
        save_squad(tmp_path / name, PARAGRAPHS, "2.0")
        assert load_squad(tmp_path / name) == PARAGRAPHS
    content = json.loads((tmp_path / "a.json").read_text())
    assert content["version"] == "2.0"
    assert content["data"][1]["paragraphs"][0]["qas"][0]["is_impossible"] is True
    save_squad(tmp_path / "b.json", PARAGRAPHS[:2])
    assert load_squad(tmp_path / "b.json") == PARAGRAPHS[:2]
    with pytest.raises(InputError, match="question 2 has no answer"):
        save_squad(tmp_path / "c.json", PARAGRAPHS)
    assert not (tmp_path / "c.json").exists()


def test_plausible_answers_there_and_back(tmp_path: Path) -> None:
    question = Question("1", "Who?", (), (Gold("Else", 0),))
    paragraphs = [Paragraph("B", "Else.", (question, Question("2", "What?", (Gold("Else", 0),))))]
    save_squad(tmp_path / "a.json", paragraphs, "2.0")
    assert load_squad(tmp_path / "a.json") == paragraphs


def test_impossible_questions_have_no_answers(tmp_path: Path) -> None:
    qa = {"id": "1", "question": "?", "is_impossible": True, "answers": [{"text": "x", "answer_start": 0}]}
    (tmp_path / "a.json").write_text(json.dumps({"data": [{"title": "t", "paragraphs": [{"context": "x", "qas": [qa]}]}]}))
    assert load_squad(tmp_path / "a.json")[0].questions[0].answers == ()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "not JSON"),
        ("[]", "'data' is missing"),
        ('{"data": {}}', "'data' is dict, not list"),
        ('{"data": [{"title": "t", "paragraphs": [{"qas": []}]}]}', r"article 0 \(t\), paragraph 0: 'context' is missing"),
        (
            '{"data": [{"paragraphs": [{"context": "c", "qas": [{"id": 1, "question": "q", "answers": [{"text": "a"}]}]}]}]}',
            "question 0: 'answer_start' is missing",
        ),
    ],
)
def test_squad_mistakes_are_located(tmp_path: Path, content: str, reason: str) -> None:
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(InputError, match=reason):
        load_squad(tmp_path / "a.json")


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_squad(tmp_path / "none.json")
    (tmp_path / "bad.json.gz").write_bytes(b"\x1f\x8b garbage")
    with pytest.raises(InputError, match="cannot be read"):
        load_squad(tmp_path / "bad.json.gz")


def test_mrqa_there_and_back(tmp_path: Path) -> None:
    save_mrqa(tmp_path / "a.jsonl.gz", PARAGRAPHS, "Made")
    assert load_mrqa(tmp_path / "a.jsonl.gz") == PARAGRAPHS
    rows = [json.loads(line) for line in gzip.decompress((tmp_path / "a.jsonl.gz").read_bytes()).splitlines()]
    assert rows[0]["header"]["dataset"] == "Made"
    assert rows[1]["qas"][0]["detected_answers"][0]["char_spans"] == [
        [TEXT.index("six"), TEXT.index("six") + 2]
    ]  # inclusive, as in MRQA's own files


def test_lines_that_are_neither_mrqas_nor_questions(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"query": "why?"}\n')
    with pytest.raises(InputError, match=r"a.jsonl, line 1: it has neither 'context', as MRQA's lines, nor 'question'"):
        load_mrqa(tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").write_text('{"question": "why?", "answer": "b", "context": "a b"}\n')
    with pytest.raises(InputError, match=r"a.jsonl, line 1: it is a pair to train on; give a SQuAD file"):
        load_mrqa(tmp_path / "a.jsonl")
    (tmp_path / "a.jsonl").write_text('{"question": "why?", "answers": ["b"]}\n')
    with pytest.raises(InputError, match=r"a.jsonl, line 1: a list of questions has no paragraphs, which this needs"):
        load_mrqa(tmp_path / "a.jsonl")
    (tmp_path / "a.json").write_text('{"data": []}')
    with pytest.raises(InputError, match=r"a.json: it is a SQuAD file; make pairs of it with: oreqa mine negatives"):
        list(load_pairs(tmp_path / "a.json"))


def test_beir_there_and_back(tmp_path: Path) -> None:
    task = Beir((Entry("d1", "T", "x"), Entry("d2", "", "y")), {"q": "why?"}, {"q": {"d1": 1, "d2": 0}})
    save_beir(tmp_path, task, "test")
    assert load_beir(tmp_path, "test") == task
    with pytest.raises(InputError, match=r"dev.tsv: no such file.*the folder holds: test.tsv"):
        load_beir(tmp_path, "dev")
    (tmp_path / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq\td9\t1\n")
    with pytest.raises(InputError, match="line 2: there is no document 'd9'"):
        load_beir(tmp_path, "test")
    (tmp_path / "qrels" / "test.tsv").write_text("q d1 1\n")
    with pytest.raises(InputError, match="line 1: expected 'query-id"):
        load_beir(tmp_path, "test")
    with pytest.raises(InputError, match="no such folder"):
        load_beir(tmp_path / "none", "test")
