from __future__ import annotations

import io
import re
from dataclasses import replace

from rich.console import Console

from oreqa.answer import Answer, AnswerBlock, Computation, Piece
from oreqa.cli.answers import ROWS_SHOWN, render_answer
from oreqa.core import Passage, Sentence


def test_a_block_with_what_it_leaves_out() -> None:
    text = "To stop it:\n1. Save.\n2. Press Q."
    sentences = (Sentence("To stop it:", 0, 11), Sentence("1. Save.", 12, 20), Sentence("2. Press Q.", 21, 32))
    passage = Passage("a.md", "", "", text, 0, 32, sentences)
    pieces = (Piece("To stop it:", 0, 11), Piece("2. Press Q.", 21, 32, cut=True))
    block = AnswerBlock(pieces, "list", 0.61234)
    answer = Answer("Press Q", 24, 31, 0.5, sentences[2], passage, 1.0, {}, block, "block")
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system="standard", width=60)
    console.print(render_answer(answer), crop=False)
    shown = file.getvalue()
    assert re.sub(r"\x1b\[[\d;]*m", "", shown) == (
        "likely 50%\n     To stop it:\n     [...]\n     2. Press Q.\n     a.md\n\n"
    )
    assert re.search(r"2\. \x1b\[1;4mPress Q\x1b\[0m", shown)
    plain = io.StringIO()
    Console(file=plain, width=60).print(render_answer(answer, styled=False), crop=False)
    assert [line.rstrip() for line in plain.getvalue().splitlines()[:2]] == ["likely 50% Press Q", "     To stop it:"]
    report = answer.to_dict()
    assert report["form"] == "block"
    assert report["block"] == {
        "kind": "list",
        "probability": 0.6123,
        "pieces": [
            {"text": "To stop it:", "start": 0, "end": 11, "cut": False},
            {"text": "2. Press Q.", "start": 21, "end": 32, "cut": True},
        ],
    }


def test_a_long_quote_without_styles_marks_the_answer() -> None:
    """An answer that two lines of the source share is marked once; a short quote needs no mark."""
    filler = "Nothing of it matters here, as it only fills. " * 6
    for words, quoted in ((filler, True), ("", False)):
        text = f"{words}The timeout timer is one hundred\nand eighty seconds."
        sentences = tuple(Sentence(text[a:b], a, b) for a, b in ((0, len(words)), (len(words), len(text))) if b > a)
        passage = Passage("a.md", "", "", text, 0, len(text), sentences)
        start = text.index("one")
        answer = Answer(text[start:-1], start, len(text) - 1, 0.5, sentences[-1], passage, 1.0, {})
        piped, terminal = io.StringIO(), io.StringIO()
        Console(file=piped, width=200).print(render_answer(answer, styled=False))
        Console(file=terminal, width=200).print(render_answer(answer))
        shown = " ".join(piped.getvalue().split())
        assert ("The timeout timer is **one hundred and eighty seconds**." in shown) is quoted
        assert "**" not in terminal.getvalue()
        assert piped.getvalue().replace("**", "").split() == terminal.getvalue().split()


def test_all_spans_of_an_answer_are_named_and_marked() -> None:
    text = "It speaks TLS and SSH. So does QUIC."
    sentences = (Sentence("It speaks TLS and SSH.", 5, 27), Sentence("So does QUIC.", 28, 41))
    passage = Passage("a.md", "", "", text, 5, 41, sentences)
    spans = tuple(Piece(name, 5 + text.index(name), 5 + text.index(name) + len(name)) for name in ("TLS", "SSH", "QUIC"))
    answer = Answer("SSH", spans[1].start, spans[1].end, 0.5, sentences[0], passage, 1.0, {}, spans=spans)
    for whole in (True, False):
        file = io.StringIO()
        Console(file=file, force_terminal=True, color_system="standard", width=60).print(render_answer(answer, whole))
        shown = file.getvalue()
        assert "TLS, SSH, QUIC" in shown.splitlines()[0]
        assert len(re.findall(r"\x1b\[1;4m(?:TLS|SSH|QUIC)\x1b\[0m", shown)) == (3 if whole else 2)
    block = AnswerBlock((Piece(sentences[0].text, 5, 27),), "text", 0.6)
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, color_system="standard", width=60)
    console.print(render_answer(replace(answer, block=block, form="block")))
    assert len(re.findall(r"\x1b\[1;4m(?:TLS|SSH)\x1b\[0m", file.getvalue())) == 2
    assert str(answer).startswith("TLS, SSH, QUIC (likely, 50%)")
    assert answer.to_dict()["text"] == "SSH"
    assert answer.to_dict()["spans"] == [{"text": s.text, "start": s.start, "end": s.end} for s in spans]


def test_a_computed_answer_with_the_first_rows_that_prove_it() -> None:
    texts = [f"name: {name}; city: Ulm" for name in ("Anna", "Ben", "Carl", "Dora")]
    rows = tuple(
        (Passage(f"staff.csv#{number}", name, "", text, 0, len(text), ()), Sentence(text, 0, len(text)))
        for number, (text, name) in enumerate(zip(texts, ("Anna", "Ben", "Carl", "Dora"), strict=True), 1)
    )
    passage, first = rows[0]
    computation = Computation("count", "", rows, 9)
    answer = Answer("4", 0, 25, None, first, passage, 0.0, {}, form="computed", computation=computation)
    file = io.StringIO()
    Console(file=file, width=60).print(render_answer(answer), crop=False)
    assert ROWS_SHOWN == 3
    assert [line.rstrip() for line in file.getvalue().splitlines()] == [
        "computed 4",
        "     counted: 4 of 9 rows of a table",
        *(line for number, text in enumerate(texts[:3], 1) for line in (
            f"     {text}", f"     staff.csv#{number}  {('Anna', 'Ben', 'Carl')[number - 1]}")),
        "     ... and 1 more",
        "",
    ]  # fmt: skip
    report = answer.to_dict()
    assert (report["form"], report["certainty"], report["confidence"]) == ("computed", "computed", None)
    assert {**report["computation"], "rows": report["computation"]["rows"][:1]} == {
        "operation": "count",
        "column": None,
        "rows": [{"text": texts[0], "start": 0, "end": len(texts[0]), "document": "staff.csv#1"}],
        "looked_at": 9,
    }
    assert len(report["computation"]["rows"]) == 4


def test_a_computed_answer_says_what_was_compared() -> None:
    text = "name: Carl; age: 52"
    row = (Passage("staff.csv#3", "Carl", "", text, 0, len(text), ()), Sentence(text, 0, len(text)))
    computation = Computation("highest", "age", (row,), 6)
    answer = Answer("Carl", 6, 10, None, row[1], row[0], 0.0, {}, form="computed", computation=computation)
    file = io.StringIO()
    Console(file=file, width=60).print(render_answer(answer), crop=False)
    assert "the highest age of 6 rows of a table" in file.getvalue()


def test_a_latest_release_says_that_headings_were_compared() -> None:
    text = "4.10.1 (2026-05-02)"
    row = (Passage("CHANGELOG.md", "Changes", "", text, 0, len(text), ()), Sentence(text, 0, len(text)))
    computation = Computation("latest", "version", (row,), 6)
    answer = Answer("4.10.1", 0, 6, None, row[1], row[0], 0.0, {}, form="computed", computation=computation)
    file = io.StringIO()
    Console(file=file, width=60).print(render_answer(answer), crop=False)
    assert "the latest version of 6 headings of a change log" in file.getvalue()


def test_an_older_and_a_contradicted_answer_are_marked() -> None:
    text = "It closes at 8."
    sentence = Sentence(text, 0, len(text))
    passage = Passage("a.txt", "", "", text, 0, len(text), (sentence,))
    answer = Answer("8", 13, 14, 0.8, sentence, passage, 0.0, {}, newer="b.txt", contradicted_by="c.txt")
    file = io.StringIO()
    Console(file=file, width=60).print(render_answer(answer), crop=False)
    assert file.getvalue().endswith("     a.txt\n     older: b.txt says otherwise\n     contradicted by c.txt\n\n")
    report = answer.to_dict()
    assert (report["newer"], report["contradicted_by"]) == ("b.txt", "c.txt")
    unmarked = Answer("8", 13, 14, 0.8, sentence, passage, 0.0, {}).to_dict()
    assert (unmarked["newer"], unmarked["contradicted_by"]) == (None, None)
