"""JSON: lists of objects are rows that name their fields, nested objects sections."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from oreqa.core import Document
from oreqa.corpus.formats.json_file import read_json_document
from oreqa.errors import DocumentError
from oreqa.text.rows import row_cells


def read(text: str) -> Document:
    return read_json_document(text.encode(), Path("some_name.json"))


def parts(document: Document) -> list[tuple[str, str]]:
    return [(section.heading, document.text[section.start : section.end]) for section in document.sections]


def test_objects_in_a_list_are_rows_of_a_table() -> None:
    document = read(
        '[{"role": "pilot", "phone": "0471", "on": true, "boats": ["Ida", 2], "fax": null}, {"role": "cook", "age": 4e1}]'
    )
    assert document.title == "some name"
    assert document.text == "role: pilot; phone: 0471; on: true; boats: Ida, 2\n\nrole: cook; age: 4e1"
    assert len(row_cells(document.text, 0)) == 4


def test_keys_of_nested_objects_are_headings() -> None:
    text = (
        '{"title": "Net", "hosts": {"web": {"port": 80}}, "users": [{"name": "Ida", "home": {"city": "Ulm"}}, {"a": [[1]]}]}'
    )
    document = read(text)
    assert document.title == "Net"
    assert parts(document) == [
        ("", "title: Net"),
        ("hosts > web", "port: 80"),
        ("users > Ida", "name: Ida"),
        ("users > Ida > home", "city: Ulm"),
        ("users > 2 > a", "1"),
    ]


def test_a_long_value_has_a_line_of_its_own() -> None:
    long = "word " * 30
    assert read(f'[{{"a": "x", "b": "{long}"}}]').text == f"a: x\nb: {long.strip()}"
    assert read(f'{{"text": "{long}"}}').text == long.strip()


def test_each_value_stands_where_its_place_says() -> None:
    text = '{\n  "name": "B\\u00fccher",\n  "note": "say \\"aye\\" twice"\n}'
    document = read(text)
    assert document.text == 'name: Bücher; note: say "aye" twice'
    for place in document.places:
        assert place.source is not None
        assert place.line == text[: place.source].count("\n") + 1
    starts = {document.text[place.start :].split()[0]: text[place.source or 0 :] for place in document.places}
    assert starts["note:"].startswith("note")
    assert starts["twice"].startswith("twice")
    assert starts["Bücher;"].startswith("B\\u00fccher")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"a": 1,\n"b" 2}', "line 2 is not JSON"),
        ("nothing", "line 1 is not JSON"),
        ("[" * 200 + "]" * 200, "nested more than 100 levels"),
        ("[" * 200_000, "nested more than 100 levels|not JSON"),
    ],
)
def test_a_damaged_file_is_named_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason) as caught:
        read(text)
    assert "\n" not in str(caught.value)


def test_a_number_may_be_longer_than_python_reads() -> None:
    digits = "1" * 5000
    assert read(digits).text == digits
    assert digits in read(f'{{"text": "Of a key.", "n": {digits}}}').text


def test_values_alone() -> None:
    assert read('"A text."').text == "A text."
    assert read('["one", "two"]').text == "one\ntwo"
    assert read("{}").text == read("[null]").text == read('{"a": [], "b": {"c": ""}}').text == ""


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.text('aé "\\/{[:,\n', max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("xyz ", max_size=3), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_no_word_is_lost(value: object) -> None:
    document = read(json.dumps(value))
    (page,) = document.pages
    assert page.read + sum(page.left_out.values()) >= page.source


def test_json_lines_are_rows() -> None:
    document = read('\n{"role": "pilot", "phone": 471}\n\n{"role": "cook", "phone": 472}\n')
    assert document.text == read('[{"role": "pilot", "phone": 471}, {"role": "cook", "phone": 472}]').text
    assert [place.line for place in document.places][-1] == 4
    with pytest.raises(DocumentError, match="line 2 is not JSON: write each row as one object"):
        read('{"role": "pilot"}\n{"role": cook}')
    with pytest.raises(DocumentError, match=r"line 2 is not JSON \(Extra data\)"):
        read("[1]\n[2]")
