from __future__ import annotations

import pytest

from oreqa.text.sentences import split_sentences
from oreqa.text.structures import Structure, TextLine, find_structures


def lines_of(text: str) -> list[TextLine]:
    lines, end = [], 0
    for start, stop in split_sentences(text):
        lines.append(TextLine(text[start:stop], text[end:start] if end else "\n\n"))
        end = stop
    return lines


def shown(text: str) -> list[tuple[str, str, list[str]]]:
    """Each structure's kind, what introduces it, and its parts."""
    lines = lines_of(text)

    def joined(start: int, end: int) -> str:
        return " / ".join(line.text for line in lines[start:end])

    return [(s.kind, joined(s.start, s.parts[0][0]), [joined(*part) for part in s.parts]) for s in find_structures(lines)]


STEPS = "To install it, follow these steps:\n1. Unpack it. Wait.\n2. Start it:\n$ run --all\n3. Ready\n\nIt prints a line."


def test_items_with_what_introduces_them() -> None:
    (steps,) = shown(STEPS)
    assert steps[:2] == ("list", "To install it, follow these steps:")
    assert steps[2] == ["1. Unpack it. / Wait.", "2. Start it: / $ run --all", "3. Ready"]
    assert find_structures(lines_of(STEPS))[0].ordered
    assert not find_structures(lines_of("It has:\n- legs\n- arms"))[0].ordered


def test_items_with_blank_lines_between_them() -> None:
    text = "Do the following\nsteps in this order:\n\n  1. Unpack the archive.\n\n  2. Type make. This takes\n     a while.\n\nThen run it."
    ((kind, lead, items),) = shown(text)
    assert (kind, lead) == ("list", "Do the following\nsteps in this order:")
    assert items == ["1. Unpack the archive.", "2. Type make. / This takes\n     a while."]


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("1. Go in.\n\nIt is dark there.\n\n2. Look.\n\nThat is all.", ["1. Go in. / It is dark there.", "2. Look."]),
        ("- Go in.\n\nIt is dark there.\n\nThat is all.", ["- Go in."]),
        ("- Go in.\n\n  It is dark there.\n\nThat is all.", ["- Go in. / It is dark there."]),
        ("• one\n• two", ["• one", "• two"]),
        ("a) one\nb) two", ["a) one", "b) two"]),
    ],
)
def test_where_an_item_ends(text: str, items: list[str]) -> None:
    ((kind, _, parts),) = shown(text)
    assert (kind, parts) == ("list", items)


def test_code_with_the_sentence_before_it() -> None:
    text = "You may stop it.\n\nShow the newest with this command:\n$ git log -1\n$ git show\n\nThat prints a commit."
    assert shown(text) == [("code", "Show the newest with this command:", ["$ git log -1", "$ git show"])]
    code = "You can stop it.\n$ kill %1\n$ jobs --list\n\nThat prints a list."
    assert shown(code) == [("code", "You can stop it.", ["$ kill %1", "$ jobs --list"])]
    apart = "Use this:\n\nx = f(1)\n\ny = f(2)\n\nThen it works well."
    assert shown(apart) == [("code", "Use this:", ["x = f(1)", "y = f(2)"])]


def test_prose_is_no_code() -> None:
    assert shown("The option --all of the command takes a <path>.\n\nA value of 3 = x; else 4 is used there.") == []


def test_rows_of_tables() -> None:
    assert shown("name | age\nAnn | 3\nBob | 4") == [("table", "name | age", ["Ann | 3", "Bob | 4"])]
    assert shown("Name: Ann; Age: 3") == [("table", "", ["Name: Ann; Age: 3"])]
    assert shown("See it with this:\nls | wc -l") == [("code", "See it with this:", ["ls | wc -l"])]
    assert shown("$ cat x | wc -l") == [("code", "", ["$ cat x | wc -l"])]


def test_terms_with_their_definitions() -> None:
    silent, verbose = (
        f"{first}\n{second}\nIt prints {text} at all, which may be what is wanted there.\nErrors go to the log of the day."
        for first, second, text in (("-s", "--silent", "nothing"), ("-v", "--verbose", "all that there is"))
    )
    definitions = shown(f"These are options.\n\n{silent}\n\n{verbose}")
    assert [(kind, term, len(parts)) for kind, term, parts in definitions] == [
        ("definition", "-s / --silent", 2),
        ("definition", "-v / --verbose", 2),
    ]


def test_a_definition_may_hold_a_list() -> None:
    text = "It can do more.\n\nUndo a merge\n$ git pull\n$ git reset\n1. This merges what others did.\n2. This undoes it."
    assert [kind for kind, _, _ in shown(text)] == ["definition", "list"]


def test_definitions_may_be_the_items_of_a_list() -> None:
    terms = "\n\n".join(
        f"{name}\nIt is a list for those who like to read about {name} at any time of the day.\nAsk to be let in, please."
        for name in ("bees", "birds")
    )
    structures = shown(f"There are two of them:\n\n{terms}\n\nThat is all.")
    assert [kind for kind, _, _ in structures] == ["definition", "definition", "list"]
    assert structures[-1][1] == "There are two of them:"
    assert [item.split(" / ")[0] for item in structures[-1][2]] == ["bees", "birds"]
    assert [kind for kind, _, _ in shown(f"There are two of them.\n\n{terms}")] == ["definition", "definition"]


def test_nothing() -> None:
    assert find_structures([]) == []
    assert find_structures(lines_of("Bees dance. They sting.")) == []
    assert Structure("list", 0, 1, ((0, 1),)) == find_structures(lines_of("- one"))[0]


def test_terms_with_what_they_mean_in_one_sentence_are_a_list() -> None:
    text = "There are several lists:\n\nbee-news\nInformation about\nnew bees.\n\nbee-users\nTopics for users. They post.\n\nIt is free."
    assert [structure for structure in shown(text) if structure[0] == "list"] == [
        (
            "list",
            "There are several lists:",
            ["bee-news\nInformation about\nnew bees.", "bee-users\nTopics for users. / They post."],
        )
    ]
