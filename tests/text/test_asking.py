from __future__ import annotations

import pytest

from oreqa.text.asking import (
    asks_what_it_is,
    asks_yes_or_no,
    beside_names,
    contains_options,
    document_names,
    named_program,
    queried_names,
)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What does reload do?", {"reload"}),
        ("What is the default of title?", {"title"}),
        ("Is usedns on by default?", {"usedns"}),
        ("Is the echo option turned on by default?", {"echo"}),
        ("Is it on by default?", set()),
        ("By default, what is timeout set to?", {"timeout"}),
        ("Which page is about the reload command?", {"reload"}),
        ("Is 'gaps' new?", {"gaps"}),
        ("What do -shortest and -n do?", {"-shortest", "-n"}),
        ("What does --keep-last do?", {"--keeplast"}),
        ("What does dns:order do?", {"dnsorder"}),
        ("What is the default of core.editor?", {"coreeditor"}),
        ("Which argument of read.table keeps empty cells?", set()),
        ("What does it do?", set()),
        ("What is the capital of Chad?", set()),
        ("Which commands reload the pages?", set()),
        ("What are gaps of -5 degrees?", set()),
        ("What does -4 do in rsync?", {"-4"}),
        ("What is the default of max connections in rsyncd.conf?", {"maxconnections"}),
        ("What is the default of the option loop of the gif muxer?", {"loop"}),
        ("What is the default of the loop option of the gif muxer?", {"loop"}),
        ("What does the screen command hardcopy do?", {"hardcopy"}),
        ("What does only do in screen?", {"only"}),
        ("What does status do in fail2ban-client?", {"status"}),
        ("What does kill-session -a do?", {"killsession", "-a"}),
        ('What does "show sess" do on the socket?', {"showsess"}),
    ],
)
def test_names_that_a_question_asks_about(question: str, names: set[str]) -> None:
    assert queried_names(question) == names


def test_other_words_of_a_question_may_name_where_the_entry_stands() -> None:
    question = "What is the default of the option loop of the gif muxer?"
    assert beside_names(question, queried_names(question)) == {"gif", "muxer"}
    assert beside_names("What does -H do?", {"-H"}) == set()


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("What does wget -P do?", {"wget"}),
        ("What does -P do in wget?", {"wget"}),
        ("What does --amend do in git commit?", {"git", "commit"}),
        ("What does -P do?", set()),
        ("Is the -P option new?", set()),
    ],
)
def test_words_that_may_name_a_program(question: str, words: set[str]) -> None:
    assert named_program(question) == words


def test_a_document_has_the_names_of_its_file_and_folders() -> None:
    assert {"rsyncd.conf", "rsyncd", "man"} <= document_names("docs/man/rsyncd.conf.5.gz")
    assert "rsync" not in document_names("docs/rsyncd.conf.5.gz")
    assert {"git", "commit", "git-commit"} <= document_names("git-commit.1.gz")


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("With --delete files go.", True),
        ("With -delete files go.", True),  # some manuals show one dash
        ("With –delete files go.", True),
        ("We delete files.", False),
        ("With --delete-after files go.", False),
        ("With --no-delete files stay.", False),
    ],
)
def test_an_option_that_is_a_word_is_held_with_its_dashes(text: str, holds: bool) -> None:
    assert contains_options("What does --delete do?", text) is holds
    assert contains_options("What do we delete?", text)


@pytest.mark.parametrize(
    ("question", "asks"),
    [
        ("What does --keep do?", True),
        ("rsync --keep", True),
        ("Explain --keep", True),
        ("How is --keep used?", False),
        ("What is the default of --keep?", False),
    ],
)
def test_questions_about_what_something_is(question: str, asks: bool) -> None:
    assert asks_what_it_is(question) is asks


@pytest.mark.parametrize(
    ("question", "yes_or_no"),
    [
        ("Can it be undone?", True),
        (" does it matter in which order?", True),
        ("Is it safe or not?", True),
        ("The lamp is lit. Am I late?", True),
        ("If it burns, is it lit?", True),
        ("Which lamp burns, is not said?", False),
        ("Is it red or blue?", False),
        ("Is there an option to undo it?", False),
        ("Can you name the option?", False),
        ("Will Smith starred in which film?", False),
        ("When can it be undone?", False),
    ],
)
def test_questions_for_yes_or_no(question: str, yes_or_no: bool) -> None:
    assert asks_yes_or_no(question) is yes_or_no
