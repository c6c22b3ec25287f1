from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oreqa.text.labels import asks_the_same, labels, other_fields, repeats_question, ruled_out, similar_lines


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("When is Anniversary Day in Otago?", {"anniversary", "day", "otago"}),
        ("Monday is when?", set()),
        ("what runs on 873/tcp", {"873"}),
        ("Which state is MN?", {"mn"}),
        ("Which ellipsoid has the code HE?", {"he"}),
        ("Where does He live?", set()),
        ("What does a large parcel to zone 3 cost in plan B?", set()),
        ("which day is it", set()),
        ("Which tram stops in Łódź, Österreich or Москва?", {"łódź", "österreich", "москва"}),
        ("What does the iPhone of a McDonald cost?", {"iphone", "mcdonald"}),
        ("?", set()),
    ],
)
def test_names_and_numbers_are_labels(question: str, named: set[str]) -> None:
    assert labels(question, []) == named


def test_what_titles_say_is_no_label() -> None:
    assert labels("Which key starts Visual mode in Vim?", ["The Vim reference: Keys"]) == {"visual"}


def test_similar_lines_are_those_of_lists_and_rows() -> None:
    text = "The hours of the shop\nare these.\n\n- Monday 9 to 17\n- Friday 9 to 20\n\ncode: NU; country: Niue\n\nSee you."
    lines = [text[slice(*line)].strip() for line, _ in similar_lines(text)]
    assert lines == ["- Monday 9 to 17", "- Friday 9 to 20", "code: NU; country: Niue"]
    assert similar_lines("Prose that goes on\nand on.\n\nTwo paragraphs.") == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("Knot DNS needs libraries:\n- libedit\n- gnutls >= 3.3", {"- libedit": "Knot DNS needs libraries:"}),
        ("Knot DNS needs these.\n1. libedit\n2. gnutls", {"1. libedit": "Knot DNS needs these."}),
        ("Knot DNS needs:\n\n* libedit\n* gnutls\n\nEnd.\n\n* other", {"* gnutls": "Knot DNS needs:", "* other": ""}),
        ("Open:\nMonday 9\nTuesday 10\nFriday 8", {"Monday 9": "Open:", "Friday 8": "Open:"}),
        ("Monday 9\nTuesday 10\nFriday 8", {"Monday 9": "", "Friday 8": ""}),
        (
            "Ports:\n- Alpha:\n  - tcp 80\n  - udp 81\n- Beta: 90\n- Gamma 5",
            {
                "- Alpha:": "Ports:",
                "- tcp 80": "- Alpha:",
                "- udp 81": "- Alpha:",
                "- Beta: 90": "Ports:",
                "- Gamma 5": "Ports:",
            },
        ),
    ],
)
def test_the_lead_in_of_a_list_belongs_to_its_items(text: str, lines: dict[str, str]) -> None:
    lead_ins = {text[slice(*line)].strip(): text[slice(*lead_in)].strip() for line, lead_in in similar_lines(text)}
    assert lead_ins.items() >= lines.items()
    assert not lead_ins.keys() & {lead_in for lead_in in lead_ins.values() if not lead_in.startswith("-")}


def test_a_line_that_alone_holds_a_label_rules_out_the_others() -> None:
    lines = ["Mar 11 Anniversary Day (Taranaki)", "Mar 25 Anniversary Day (Otago)", "Jun 03 Queen's Birthday"]
    assert ruled_out({"anniversary", "day", "otago"}, lines) == [True, False, True]
    assert ruled_out({"anniversary", "day"}, lines) == [False, False, True]
    assert ruled_out({"wellington"}, lines) == [False, False, False]
    assert ruled_out({"mar"}, lines[:2]) == [False, False]
    assert ruled_out({"otago"}, []) == []


@given(st.sets(st.sampled_from("abc")), st.lists(st.text("abc ", max_size=8), max_size=6))
def test_never_all_lines_are_ruled_out(named: set[str], lines: list[str]) -> None:
    assert not lines or not all(ruled_out(named, lines))


@pytest.mark.parametrize(
    ("question", "answer", "repeats"),
    [
        ("What is the capital of Botswana?", "Botswana", True),
        ("What is the capital of Botswana?", "the Capital", True),
        ("What is the capital of Botswana?", "Gaborone, Botswana", False),
        ("Is it red or blue?", "blue", False),
        ("Which mark ends a line?", ";", False),
        ("Which sign has the euro?", "€", False),
        ("Which dash is long?", "—", False),
    ],
)
def test_an_answer_repeats_its_question(question: str, answer: str, repeats: bool) -> None:
    assert repeats_question(question, answer) is repeats


@pytest.mark.parametrize(
    ("sentence", "same"),
    [
        ("4.4. With what key can I paste text from the clipboard into nano?", True),
        ("Q: How do I paste the text into nano?", True),
        ("How do I paste the text into nano?)", True),
        ("You paste text into nano with Shift+Insert.", False),
        ("Can nano read the text of a mail?", True),
        ("Can nano read mail?", False),
        ("- 5.3 Can nano read mail?", True),
        ("Q: Can it?", True),
        ("2 of them can, can they?", False),
        ("Key: paste; Does: paste text into nano; Since: 2.0?", False),
    ],
)
def test_a_sentence_asks_the_same(sentence: str, same: bool) -> None:
    assert asks_the_same("How do I paste text into nano?", sentence) is same


VARIABLE = "3.163. mail_check\nType: number\nDefault: 5\n\nHow often to look for new mail. Note: 0 means never.\n"


@pytest.mark.parametrize(
    ("question", "text", "out"),
    [
        ("What is the default of mail_check?", VARIABLE, ["Type: number", "Default: "]),
        ("Of which type is mail_check?", VARIABLE, ["Type: ", "Default: 5"]),
        ("What are the types and defaults?", VARIABLE, ["Type: ", "Default: "]),
        ("How often is new mail looked for?", VARIABLE, []),
        ("What is the default?", "Default: 5\n\nProse between.\n\nType: number", []),
        ("What is the default?", "", []),
        ("What is the unit price?", "Price: 5\nUnit price: 7\nWeight: 9", ["Price: ", "Unit price: ", "Weight: 9"]),
    ],
)
def test_fields_that_a_question_does_not_ask_for(question: str, text: str, out: list[str]) -> None:
    assert [text[start:end] for start, end in other_fields(question, text)] == out
