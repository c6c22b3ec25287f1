from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from oreqa.datasets.pairs import load_pairs
from oreqa.datasets.paragraphs import (
    Gold,
    HeldOut,
    Paragraph,
    Question,
    count_held_out,
    held_out_paragraphs,
    is_held_out_name,
    load_mrqa,
    load_squad,
    readable_title,
    save_squad,
    whole_passages,
)
from oreqa.datasets.reqa import build_reqa
from oreqa.errors import InputError

TEXT = "The café is open. 😀 It shuts at six."
PARAGRAPHS = [
    Paragraph("A", TEXT, (Question("1", "When?", (Gold("six", TEXT.index("six")), Gold("at six", TEXT.index("at six")))),)),
    Paragraph("A", "Nothing.", ()),
    Paragraph("B", "Else.", (Question("2", "Who?", ()),)),
]


def test_what_is_held_out_is_counted() -> None:
    """Articles by title, and of their questions those with an answer; data of which nothing is held out is refused."""
    names = [f"article {number}" for number in range(40)]
    held_out = [name for name in names if is_held_out_name(name)]
    question = Question("1", "When?", (Gold("six", 0),))
    paragraphs = [Paragraph(name, "six", (question, Question("2", "Who?", ()))) for name in names for _ in range(2)]
    assert 0 < len(held_out) < len(names)
    assert count_held_out(paragraphs) == HeldOut(len(held_out), 40, 2 * len(held_out))
    assert [paragraph.title for paragraph in held_out_paragraphs(paragraphs, Path("a.json"))[::2]] == held_out
    others = [paragraph for paragraph in paragraphs if paragraph.title not in held_out]
    with pytest.raises(
        InputError, match=rf"^a\.json: none is held out of {40 - len(held_out)} articles; one in ten is, by its title"
    ):
        held_out_paragraphs(others, Path("a.json"))


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


def test_mrqa_with_every_detected_span(tmp_path: Path) -> None:
    spans = [[TEXT.index(text), TEXT.index(text) + len(text) - 1] for text in ("six", "at six")]  # MRQA's ends are inclusive
    question = {"qid": "1", "question": "When?", "answers": ["six"], "detected_answers": [{"char_spans": spans}]}
    rows = [
        {"header": {"dataset": "Made", "split": ""}},
        {"title": "A", "context": TEXT, "qas": [question]},
        {"title": "A", "context": "Nothing.", "qas": []},
        {"title": "B", "context": "Else.", "qas": [{"qid": 2, "question": "Who?", "detected_answers": []}]},
    ]
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode()))
    assert load_mrqa(tmp_path / "a.jsonl.gz") == PARAGRAPHS


@pytest.mark.parametrize(
    ("name", "context", "answer", "sentences"),
    [
        (
            "NewsQA",
            "NEW DELHI, India (CNN) -- A court found him guilty. He was sentenced to death on Monday.",
            "death",
            ["NEW DELHI, India (CNN) -- A court found him guilty.", "He was sentenced to death on Monday."],
        ),
        (
            "HotpotQA",
            "[PAR] [TLE] Ada Lovelace [SEP] She wrote a program. She was a countess. [PAR] [TLE] Paris [SEP] It is a city.",
            "countess",
            ["Ada Lovelace", "She wrote a program.", "She was a countess.", "Paris", "It is a city."],
        ),
        (
            "TriviaQA-web",
            "[DOC] [TLE] England - Wikitravel [PAR] England is green. [DOC] [TLE] Wales [PAR] Wales is wet.",
            "wet",
            ["England - Wikitravel", "England is green.", "Wales", "Wales is wet."],
        ),
    ],
)
def test_the_published_forms_of_mrqa(tmp_path: Path, name: str, context: str, answer: str, sentences: list[str]) -> None:
    """The marks between paragraphs are no words of a sentence, and offsets stay."""
    start = context.index(answer)
    span = {"text": answer, "char_spans": [[start, start + len(answer) - 1]], "token_spans": [[0, 0]]}
    question = {"qid": "q", "question": "what", "question_tokens": [], "answers": [answer], "detected_answers": [span]}
    rows = [{"header": {"dataset": name, "split": "dev"}}, {"context": context, "context_tokens": [], "qas": [question]}]
    (tmp_path / "dev.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (paragraph,) = load_mrqa(tmp_path / "dev.jsonl")
    assert len(paragraph.text) == len(context)
    assert paragraph.questions[0].answers == (Gold(answer, start),)
    (passage,) = whole_passages([paragraph])
    assert [sentence.text.strip() for sentence in passage.sentences] == sentences
    task = build_reqa([paragraph])
    (gold,) = task.gold[0]
    assert answer in sentences[gold]


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


def test_readable_titles() -> None:
    assert [readable_title(title) for title in ("Super_Bowl_50", " Untitled ")] == ["Super Bowl 50", ""]
