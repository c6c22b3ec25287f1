from __future__ import annotations

import pytest

from oreqa.text.several import asks_for_several, listed_items, requested_number


@pytest.mark.parametrize(
    ("question", "number"),
    [
        ("Which three protocols are supported?", 3),
        ("which 3 new protocols are supported", 3),
        ("What are the two main parts of it?", 2),
        ("What are the names of the two hills?", 2),
        ("Who are the four founders?", 4),
        ("Name ten people.", 10),
        ("Which protocols are supported?", None),
        ("Which of the two brothers won?", None),
        ("Which of the three methods is faster?", None),
        ("What happened in which two years or months?", None),
        ("How many of which two parts?", None),
        ("What is the name that the two commanders share?", None),
    ],
)
def test_how_many_things_a_question_asks_for(question: str, number: int | None) -> None:
    assert requested_number(question) == number


@pytest.mark.parametrize(
    "question",
    [
        "Which command options are there?",
        "Which key bindings can be changed?",
        "Which ports does it use?",
        "who were the founders of the company",
        "What are its parts?",
        "In which languages was it written?",
        "What are the names of the women?",
        "List the supported formats.",
        "Which of the engines are supported?",
        "Which two options control how often it runs?",
        "Name the largest rivers of France.",
        "Which versions of gnutls does it need?",
        "What kind of files does it read?",
        "Please name all its ports",
        "List everything that it needs",
    ],
)
def test_a_plural_or_a_number_asks_for_several(question: str) -> None:
    assert asks_for_several(question)


@pytest.mark.parametrize(
    "question",
    [
        "Which port does it use?",
        "What makes it slow?",
        "What is the class of this bus?",
        "How many ports does it use?",
        "What are young cats called?",
        "Which ports are faster, those of TLS or SSH?",
        "Who founded the company?",
        "Where are the Olympics held?",
        "Name the capital.",
        "Name the capital of the Netherlands",
        "Name the man who wrote the books",
        "Which version of gnutls does it need?",
        "Which option removes deleted files from an index?",
        "Which environment variable sets the heap size?",
        "What percentage of people is poor?",
    ],
)
def test_other_questions_ask_for_one(question: str) -> None:
    assert not asks_for_several(question)


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("TLS, SSH and QUIC", ["TLS", "SSH", "QUIC"]),
        ("the Allegheny; the Ohio, or the Rhine", ["the Allegheny", "the Ohio", "the Rhine"]),
        ("A, B, as well as C & D", ["A", "B", "C", "D"]),
        ("gmp.c’ and ‘gmp.h’", ["gmp.c", "gmp.h"]),
        ("RIP (v1, v2) and BGP", ["RIP (v1, v2)", "BGP"]),
        ("May 5, 2018 and 1,200", ["May 5, 2018", "1,200"]),
        ("Bonn, Germany and Nice, France", ["Bonn, Germany", "Nice, France"]),
        ("Bonn, Germany, Nice, France, and Rome, Italy", ["Bonn, Germany", "Nice, France", "Rome, Italy"]),
        ("Solaris 10 and older", ["Solaris 10 and older"]),
        ("Solaris 10 and older, Windows", ["Solaris 10 and older", "Windows"]),
        ("Ada and later Grace", ["Ada", "later Grace"]),
        ("Ada, Alan and Grace, in 1950", ["Ada", "Alan", "Grace"]),
        ("TLS, SSH and QUIC, which are new, or old", ["TLS", "SSH", "QUIC", "which are new", "old"]),
        ("Ada, in 1950, and Alan, in 1951", ["Ada, in 1950", "Alan, in 1951"]),
        ("Bonn, in Germany", ["Bonn", "in Germany"]),
        ("--at-least, --threshold and -k", ["--at-least", "--threshold", "-k"]),
        ("A, b; C, d; E, f", ["A, b", "C, d", "E, f"]),
        ("A, B, C and D, E", ["A", "B", "C", "D", "E"]),
        ("A, B", ["A", "B"]),
        ("sandy land", ["sandy land"]),
        ("“TLS”", ["“TLS”"]),
        (" and ", [" and "]),
    ],
)
def test_the_items_of_a_list_in_a_sentence(text: str, items: list[str]) -> None:
    assert [text[start:end] for start, end in listed_items(text)] == items


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("- QIF (.qif)", ["QIF (.qif)"]),
        ("- OFX, - QIF and • CSV", ["OFX", "QIF", "CSV"]),
        ("--force, --quiet and -v", ["--force", "--quiet", "-v"]),
        ("-", ["-"]),
        ("- ", ["- "]),
    ],
)
def test_items_have_no_list_mark(text: str, items: list[str]) -> None:
    assert [text[start:end] for start, end in listed_items(text)] == items
