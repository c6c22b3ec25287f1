from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from oreqa.answer import Answer
from oreqa.answering.versions import HEAD, Origin, current_first, likely_answers
from oreqa.core import Document, Passage
from oreqa.corpus.splitter import paragraph_passage

QUESTION = "How many days of leave do employees have?"


def answer(
    text: str, value: str, key: str, *, title: str = "", fields: Mapping[str, str] | None = None, confidence: float = 0.5
) -> Answer:
    """An answer in the last sentence of a document that is one passage."""
    passage = replace(paragraph_passage(Document(key, title, text)), fields=fields or {})
    sentence = passage.sentences[-1]
    start = sentence.start + sentence.text.index(value)
    return Answer(value, start, start + len(value), confidence, sentence, passage, 0.0, {})


def leave(days: str, key: str, head: str = "", **more: str | float | Mapping[str, str]) -> Answer:
    return answer(f"{head}Employees have {days} days of leave a year.", days, key, **more)  # type: ignore[arg-type]


def origin(passage: Passage) -> Origin:
    """A document that is one passage, or a row of a CSV file."""
    return Origin(passage.document_key.partition(".csv#")[0], passage.text[:HEAD])


def said(question: str, *answers: Answer) -> list[tuple[str, str, str]]:
    return [(a.text, a.newer, a.contradicted_by) for a in current_first(question, answers, origin)]


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        (leave("26", "leave-2019.txt"), leave("30", "leave-2025.txt")),
        (leave("26", "v9/leave.txt"), leave("30", "v10/leave.txt")),
        (leave("26", "2024-05/leave.txt"), leave("30", "2024-11/leave.txt")),
        (leave("26", "leave 31-12-2019.txt"), leave("30", "leave 01-05-2020.txt")),
        (leave("26", "a.md", title="Leave 2019"), leave("30", "b.md", title="Leave 2025")),
        (
            leave("26", "a.md", title="Leave", fields={"date": "2019-05-01"}),
            leave("30", "b.md", title="Leave", fields={"date": "2019-11-01"}),
        ),
        (
            leave("26", "a.txt", title="Leave", head="As of 2019. "),
            leave("30", "b.txt", title="Leave", head="From May 2025. "),
        ),
        (leave("26", "a.txt"), leave("30", "b.txt", head="This replaces a.txt from now on. ")),
        (leave("26", "a.txt", head="See Rules. Superseded by b.txt. "), leave("30", "b.txt")),
        (leave("26", "a.txt", title="Leave of absence"), leave("30", "b.txt", head="Replaces: Leave of Absence. ")),
        (
            leave("26", "a.txt", title="Leave"),
            leave("30", "b.txt", title="Leave", head="This replaces the former policy. "),
        ),
        (leave("26", "policy-11.md"), leave("30", "policy-12.md", head="This supersedes policy-11. ")),
        (leave("26", "leave 01.03.2024.txt"), leave("30", "leave 05.02.2025.txt")),
        (leave("26", "leave 05.02.2024.txt"), leave("30", "leave 01.03.2024.txt")),
        (leave("26", "leave-20240501.txt"), leave("30", "leave-20241101.txt")),
        (leave("26", "rules/leave-version 9.md"), leave("30", "rules/leave-version 10.md")),
        (leave("26", "leave_rev3.md"), leave("30", "leave_rev12.md")),
        (leave("26", "3.9/leave.md"), leave("30", "3.11/leave.md")),
        (
            leave("26", "a-14/leave.md", title="Leave - Rules 14.0.6"),
            leave("30", "a-16/leave.md", title="Leave - Rules 16.0"),
        ),
        (leave("26", "llvm-14-doc/leave.html"), leave("30", "llvm-16-doc/leave.html")),
        (
            leave("26", "a-1/b.html", title="A - LLVM 9 documentation"),
            leave("30", "a-2/b.html", title="A - LLVM 15 documentation"),
        ),
        (leave("26", "a.md", title="Leave, May 2024"), leave("30", "b.md", title="Leave, March 2025")),
        (leave("26", "a.md", title="Rules, 2nd edition"), leave("30", "b.md", title="Rules, 3rd edition")),
        (
            leave("26", "a.md", title="Leave", fields={"version": "1.9"}),
            leave("30", "b.md", title="Leave", fields={"version": "1.10"}),
        ),
    ],
)
def test_the_newer_version_comes_first_and_the_older_is_marked(older: Answer, newer: Answer) -> None:
    marked = [("30", "", ""), ("26", newer.passage.document_key, "")]
    assert said(QUESTION, older, newer) == marked
    assert said(QUESTION, newer, older) == marked


@pytest.mark.parametrize(
    "question",
    ["How many days of leave did employees have in 2019?", "How many days of leave did employees have previously?"],
)
def test_a_question_about_the_past_keeps_the_order(question: str) -> None:
    older, newer = leave("26", "leave-2019.txt"), leave("30", "leave-2025.txt")
    assert said(question, older, newer) == [("26", "leave-2025.txt", ""), ("30", "", "")]


def test_a_question_about_now_prefers_the_newer_version() -> None:
    older, newer = leave("26", "leave-2019.txt"), leave("30", "leave-2025.txt")
    other = answer("The office closes at noon.", "noon", "hours.txt")
    assert [text for text, *_ in said(f"{QUESTION} now", other, older, newer)] == ["noon", "30", "26"]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (leave("26", "/d/web.md"), leave("30", "/d/ssh.md", head="This tool replaces rsh. ")),
        (leave("26", "/d/a.md"), leave("30", "/d/ssh.md", head="This replaces data.md today. ")),
        (leave("26", "/d/web.md", head="Fuses are replaced by experts. "), leave("30", "/d/ssh.md")),
        (leave("26", "chapter-1.md"), leave("30", "chapter-2.md")),
        (leave("26", "chapter-1.2.md"), leave("30", "chapter-1.3.md")),
        (leave("26", "v1/room-1.md"), leave("30", "v2/room-2.md")),
        (leave("26", "a.md", title="Server 1"), leave("30", "b.md", title="Server 2")),
        (leave("26", "invoice-1.md", head="From 2024-05-01. "), leave("30", "invoice-2.md", head="From 2024-06-01. ")),
        (leave("26", "chapter-1.md"), leave("30", "chapter-2.md", head="This replaces the pump. ")),
        (leave("26", "leave-2024.md", head="From 2023. "), leave("30", "leave-2024-05.md", head="From 2023. ")),
    ],
)
def test_other_documents_are_no_versions(first: Answer, second: Answer) -> None:
    keys = first.passage.document_key, second.passage.document_key
    assert said(QUESTION, first, second) == [("26", "", keys[1]), ("30", "", keys[0])]
    assert said(QUESTION, second, first) == [("30", "", keys[0]), ("26", "", keys[1])]


def test_files_of_a_folder_with_a_hash_sign_are_two() -> None:
    older, newer = leave("26", "C#/leave-2019.txt"), leave("30", "C#/leave-2025.txt")
    assert said(QUESTION, older, newer) == [("30", "", ""), ("26", "C#/leave-2025.txt", "")]


def test_the_date_of_a_mail_and_of_a_file_are_compared() -> None:
    older = leave("26", "a.md", title="Leave", fields={"date": "2024-05-01"})
    newer = leave("30", "b.eml", title="Leave", fields={"date": "Thu, 02 May 2024 09:00:00 +0000"})
    assert said(QUESTION, older, newer) == [("30", "", ""), ("26", "b.eml", "")]


def test_answers_that_contradict_each_other_are_side_by_side() -> None:
    other = answer("The office closes at noon.", "noon", "hours.txt")
    assert said(QUESTION, leave("26", "a.txt"), other, leave("30", "b.txt")) == [
        ("26", "", "b.txt"),
        ("30", "", "a.txt"),
        ("noon", "", ""),
    ]


@pytest.mark.parametrize(
    "other",
    [
        leave("26", "a.txt"),  # the same answer
        answer("Managers have 30 days of leave a year.", "30", "b.txt"),
        answer("Employees in Ulm have 30 days of leave a year.", "30", "b.txt"),  # of another thing
        answer("Employees take 30 long days in which they travel a lot.", "30", "b.txt"),
        leave("30", "leave.csv#2"),  # a row of the same table
        answer("Employees have 30 days of leave a year.", "a year", "b.txt"),
    ],
)
def test_other_answers_are_left_alone(other: Answer) -> None:
    first = leave("26", "leave.csv#1")
    assert current_first(QUESTION, [first, other], origin) == [first, other]


def test_an_unlikely_answer_is_shown_beside_the_likely_one_that_it_replaces() -> None:
    older, newer = leave("26", "leave-2019.txt", confidence=0.6), leave("30", "leave-2025.txt", confidence=0.1)
    other = answer("The office closes at noon.", "noon", "hours.txt", confidence=0.1)
    ordered = current_first(QUESTION, [older, newer, other], origin)
    assert [a.text for a in likely_answers(ordered, 0.5)] == ["30", "26"]
    assert likely_answers(ordered, 0.7) == ()
    assert len(likely_answers(ordered, 0.0)) == 3


def test_only_the_answer_that_says_otherwise_is_shown_of_a_newer_document() -> None:
    older, newer = leave("26", "leave-2019.txt", confidence=0.6), leave("30", "leave-2025.txt", confidence=0.1)
    other = answer("Anna wrote this for the office.", "Anna", "leave-2025.txt", confidence=0.001)
    ordered = current_first(QUESTION, [older, newer, other], origin)
    assert [a.text for a in likely_answers(ordered, 0.5)] == ["30", "26"]


def test_an_older_answer_is_not_shown_for_the_newer_ones_sake() -> None:
    older, newer = leave("26", "leave-2019.txt", confidence=0.1), leave("30", "leave-2025.txt", confidence=0.6)
    assert [a.text for a in likely_answers(current_first(QUESTION, [older, newer], origin), 0.5)] == ["30"]


def test_no_answer_is_likelier_than_one_before_it() -> None:
    answers = [leave(str(days), f"{days}.txt", confidence=p) for days, p in ((20, 0.5), (21, 0.7), (22, 0.3), (23, 0.4))]
    assert [a.confidence for a in likely_answers(answers, 0.3)] == [0.5, 0.5, 0.3, 0.3]
    assert [a.confidence for a in likely_answers(answers, 0.4)] == [0.5, 0.5, 0.4]
    assert [a.confidence for a in likely_answers(answers[2:], 0.4)] == [0.4]
    older = replace(answers[1], newer="20.txt")
    assert [a.confidence for a in likely_answers([answers[0], older, *answers[2:]], 0.3)] == [0.5, 0.7, 0.3, 0.3]
    contradicting = [replace(answers[2], contradicted_by="23.txt"), replace(answers[3], contradicted_by="22.txt")]
    assert likely_answers(contradicting, 0.4) == tuple(contradicting)
    uncalibrated = [replace(a, confidence=None) for a in answers]
    assert likely_answers(uncalibrated, 0) == tuple(uncalibrated)


REPLY = """from: a@example.org; date: Wed, 01 Jul 2026 09:00:00 +0200

The meeting is at 11:00, not earlier.

b@example.org wrote:
> The meeting is on Thursday at 9:00.
> Bring the plans."""


def in_mail(value: str, confidence: float = 0.5, text: str = REPLY) -> Answer:
    passage = replace(paragraph_passage(Document("re.eml", "Re: meeting", text)), fields={"from": "a@example.org"})
    start = text.index(value)
    return Answer(value, start, start + len(value), confidence, passage.sentences[0], passage, 0.0, {})


def test_what_a_mail_says_comes_before_what_it_quotes() -> None:
    quoted, written = in_mail("9:00.", 0.9), in_mail("11:00")
    assert said("When is the meeting?", quoted, written) == [("11:00", "", ""), ("9:00.", "re.eml", "")]
    assert said("When is the meeting?", written, quoted) == [("11:00", "", ""), ("9:00.", "", "")]
    assert said("When was the meeting before?", quoted, written) == [("9:00.", "", ""), ("11:00", "", "")]
    other = answer("The office closes at noon.", "noon", "hours.txt")
    assert said("When is the meeting?", quoted, other, written) == [
        ("11:00", "", ""),
        ("9:00.", "re.eml", ""),
        ("noon", "", ""),
    ]


@pytest.mark.parametrize(
    ("quoted", "written"),
    [
        (in_mail("9:00."), in_mail("11:00", 0.2)),  # not likely
        (in_mail("9:00."), in_mail("09:00:00")),  # a field
        (in_mail("9:00."), in_mail("Bring")),  # quoted, too
        (replace(in_mail("9:00."), passage=paragraph_passage(Document("re.txt", "", REPLY))), in_mail("11:00")),  # no mail
    ],
)
def test_other_answers_of_a_mail_keep_their_order(quoted: Answer, written: Answer) -> None:
    assert said("When is the meeting?", quoted, written) == [(quoted.text, "", ""), (written.text, "", "")]


def test_an_unlikely_answer_of_a_mail_is_not_shown_with_what_it_quotes() -> None:
    written, quoted, third = current_first(
        "When is the meeting?", [in_mail("9:00.", 0.9), in_mail("11:00"), in_mail("Bring", 0.1)], origin
    )
    assert likely_answers([written, quoted, third], 0.3) == (written, quoted)


def test_times_of_day_are_compared_in_utc() -> None:
    older = leave("26", "a.eml", title="Leave", fields={"date": "Mon, 29 Jun 2026 10:00:00 +0200"})
    newer = leave("30", "b.md", title="Leave", fields={"date": "2026-06-29T09:00:00+00:00"})
    assert said(QUESTION, older, newer) == [("30", "", ""), ("26", "b.md", "")]


def test_the_dates_of_mails_are_compared_as_dates() -> None:
    older = leave("26", "a.eml", title="Leave", fields={"date": "Mon, 29 Jun 2026 10:00:00 +0000"})
    newer = leave("30", "b.eml", title="Leave", fields={"date": "Wed, 01 Jul 2026 09:00:00 +0200"})
    assert said(QUESTION, older, newer) == [("30", "", ""), ("26", "b.eml", "")]


def test_sentences_that_share_nothing_but_their_answers_do_not_contradict_each_other() -> None:
    whole = (
        answer("Finish encoding early.", "Finish encoding early", "a.txt"),
        answer("Send fewer labels.", "Send fewer labels", "b.txt"),
    )
    assert [contradicted for _, _, contradicted in said("What does it do?", *whole)] == ["", ""]
