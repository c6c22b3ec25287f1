from __future__ import annotations

import pytest

from oreqa.answering.follow_up import completed_question, subject

WARRANTY = "How long is the warranty of the TX-5?"


@pytest.mark.parametrize(
    ("question", "about"),
    [
        (WARRANTY, "the warranty of the TX-5"),
        ("What does the main view show?", "the main view"),
        ("What is the stash view of Tig for?", "the stash view of Tig"),
        ("What does state_file_interval do?", "state_file_interval"),
        ("How often is the state file saved?", "the state file"),
        ("Where does MPD look for its configuration file?", "the configuration file of MPD"),
        ("Which quality of the encoder is the lowest?", "the encoder"),
        ("How is volume normalization enabled?", "volume normalization"),
        ("Why?", ""),
        ("?", ""),
    ],
)
def test_the_subject_of_a_question(question: str, about: str) -> None:
    assert subject(question) == about


@pytest.mark.parametrize(
    ("before", "question", "completed"),
    [
        (WARRANTY, "And what does it cover?", "what does the warranty of the TX-5 cover?"),
        (WARRANTY, "What about it?", WARRANTY),
        (WARRANTY, "What about the TX-7?", "How long is the warranty of the TX-7?"),
        (WARRANTY, "how about the TX-7", "How long is the warranty of the TX-7?"),
        (WARRANTY, "Who signs it?", "Who signs the warranty of the TX-5?"),
        (WARRANTY, "And its price?", "What is the price of the warranty of the TX-5?"),
        (WARRANTY, "What is the default?", "What is the default of the warranty of the TX-5?"),
        ("Which key opens the log view?", "And the blame view?", "Which key opens the blame view?"),
        ("What is the RIP update timer?", "And the timeout timer?", "What is the RIP timeout timer?"),
        ("What is the timer?", "And the timeout timer?", "What is the timeout timer?"),
        (
            "What is the default of the babel hello-interval?",
            "And the update-interval?",
            "What is the default of the babel update-interval?",
        ),
        ("Which key opens the log view?", "Which one closes it?", "Which key closes the log view?"),
        ("What does the tree view list?", "How do I get to the root there?", "How do I get to the root in the tree view?"),
        (
            "How often is the file saved?",
            "Where can I change that interval?",
            "Where can I change the interval of the file?",
        ),
        ("Which quality is the lowest?", "And the highest?", "Which quality is the highest?"),
        ("Where is the map of Rome?", "And the guide of Paris?", "Where is the guide of Paris?"),
    ],
)
def test_a_follow_up_is_completed(before: str, question: str, completed: str) -> None:
    assert completed_question(question, before) == completed


@pytest.mark.parametrize(
    "question",
    [
        "How heavy is the TX-7?",
        "How do I stop a job when it hangs?",
        "Is it safe to open the pump?",
        "How long does it take to clean the pump?",
        "Which option prints files that changed?",
        "Is there an option for colours?",
        "How many modes are there?",
        "What is a valve?",
        "What good does it do to oil the valve?",
        "Make fetchmail read its password",
        "Wie schwer ist die Pumpe?",
        "?",
        "",
    ],
)
def test_a_question_that_stands_alone_stays(question: str) -> None:
    assert completed_question(question, WARRANTY) is None


@pytest.mark.parametrize("before", ["", "?", "Why?", "the", "What about it?", "How long is the warranty?"])
@pytest.mark.parametrize("question", ["And?", "What about it?", "and ...", "its", "That?", "or", "or :", "!", "Which one?"])
def test_odd_lines_are_no_errors(before: str, question: str) -> None:
    completed = completed_question(question, before)
    assert completed is None or any(map(str.isalnum, completed))


def test_he_and_she_are_the_answer_to_who() -> None:
    before, answer = "Who built the first pianos?", "Bartolomeo Cristofori"
    for question, completed in (
        ("Where did he work?", "Where did Bartolomeo Cristofori work?"),
        ("When was his first piano built?", "When was the first piano built of Bartolomeo Cristofori?"),
        ("How many did he build?", "How many did Bartolomeo Cristofori build?"),
    ):
        assert completed_question(question, before, answer) == completed
    assert completed_question("How heavy are they?", before, answer) == "How heavy are the first pianos?"
    assert completed_question("Where did he work?", "What weighs a ton?", "a piano") != "Where did a piano work?"
