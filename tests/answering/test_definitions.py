from __future__ import annotations

import pytest

from oreqa.answer import Answer
from oreqa.answering.definitions import MOST, SHARE_RIGHT, definitions, definitions_first
from oreqa.core import Document, Hit
from oreqa.corpus.splitter import paragraph_passage
from oreqa.models.fitted import Calibration

CALIBRATION = Calibration({}, 0.0, 0.3)


def hits(*texts: str, names: tuple[str, ...] = ()) -> list[Hit]:
    keys = [*names, *(f"man/{number}.1" for number in range(len(names), len(texts)))]
    passages = [paragraph_passage(Document(key, "", text)) for key, text in zip(keys, texts, strict=True)]
    return [Hit(1.0 - n, passage, passage.sentences[0], n, n, {}) for n, passage in enumerate(passages)]


def stated(question: str, *texts: str, names: tuple[str, ...] = ()) -> list[str]:
    return [answer.text for answer, _ in definitions(question, hits(*texts, names=names), CALIBRATION)]


@pytest.mark.parametrize(
    ("question", "text", "statement"),
    [
        ("What does -n do?", "-n, --dry-run\nShow what would be done. Nothing is done.", "Show what would be done."),
        (
            "What does --partial do?",
            "--partial\nBy default, files that are cut are deleted. The --partial option keeps them. It helps.",
            "The --partial option keeps them.",
        ),
        (
            "What is --stats for?",
            "--stats\nWhen used, numbers are shown. This option is new.",
            "When used, numbers are shown.",
        ),
        ("What does swap do?", "swap [-d]\n(alias: s)\nSwap two panes.", "Swap two panes."),
        ("man --quiet", "--quiet\nSay less.\n\n--loud\nSay more.", "Say less."),
        ("What does pid file do?", "motd file\nA message.\n\npid file\nWhere the number is.", "Where the number is."),
        ("What does -c do?", "-c : only check the files.\n-d : debug them.", "only check the files."),
    ],
)
def test_the_statement_of_the_entry_answers(question: str, text: str, statement: str) -> None:
    [(answer, _)] = definitions(question, hits(text), CALIBRATION)
    assert (answer.text, answer.confidence) == (statement, SHARE_RIGHT)
    assert text[answer.start : answer.end] == statement
    assert statement in answer.sentence.text
    assert definitions(question, hits(text), None)[0][0].confidence is None


@pytest.mark.parametrize(
    "question",
    [
        "What is the default of --quiet?",
        "How do I use --quiet?",
        "What does --quiet do with errors?",  # more than the name
        "What does --silent do?",
        "What is shown?",
        "What does swap --quiet do?",  # the option of a command
    ],
)
def test_another_question_is_left_to_the_reader(question: str) -> None:
    assert stated(question, "--quiet\nSay less.") == []


def test_the_program_that_a_question_names_says_what_its_option_does() -> None:
    texts, names = ("--quiet\nSay less.", "--quiet\nSay nothing."), ("man/rsync.1.gz", "man/wget.1.gz")
    assert stated("What does --quiet do in wget?", *texts, names=names) == ["Say nothing."]
    answers = definitions("What does --quiet do?", hits(*texts), CALIBRATION)
    assert [(answer.text, answer.confidence) for answer, _ in answers] == [
        ("Say less.", SHARE_RIGHT / 2), ("Say nothing.", SHARE_RIGHT / 2)
    ]  # fmt: skip


def test_equal_statements_are_one_and_among_many_the_reader_chooses() -> None:
    assert stated("What does --quiet do?", "--quiet\nSay less.", "--quiet\nSay less.") == ["Say less."]
    assert stated("What does --quiet do?", *(f"--quiet\nSay {n} words." for n in range(MOST + 1))) == []


def test_a_list_of_names_says_nothing() -> None:
    assert stated("What does answer-rotation do?", "answer-rotation: BOOL\nautomatic-acl: BOOL\nother: BOOL") == []


def test_what_else_was_read_in_the_entry_is_no_further_answer() -> None:
    read = hits("--quiet\nSay less. To disable it, write --loud.\n\n--loud\nSay more.", "Be quiet.")

    def answer(value: str, hit: Hit) -> Answer:
        start = hit.passage.text.index(value)
        return Answer(value, start, start + len(value), 0.5, hit.sentence, hit.passage, 0.0, {})

    answered = [answer("disable it", read[0]), answer("Say more", read[0]), answer("quiet", read[1])]
    answers = definitions_first("What does --quiet do?", read, CALIBRATION, answered)
    assert [answer.text for answer in answers] == ["Say less.", "Say more", "quiet"]
    assert definitions_first("How is --quiet used?", read, CALIBRATION, answered) == answered
