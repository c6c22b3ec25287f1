"""The fields that a text begins with."""

from __future__ import annotations

import pytest

from oreqa.corpus.formats.front_matter import front_fields, front_matter


@pytest.mark.parametrize(
    ("lines", "fields"),
    [
        ("a: yes\nb: 010\nc: 1:30\nd: ~\n", {"a": "yes", "b": "010", "c": "1:30", "d": "~"}),
        ("a: >\n  one\n  two\nb: ''\n", {"a": "one two"}),
        ("title: 'T'\nbad: [\n", {"title": "T"}),
        ("title: T\na: &x [1]\nb: *x\n", {"title": "T"}),
        ("bad: [\n", {}),
        ("title: T\nx: " + "[" * 900 + "\n", {"title": "T"}),
        ("x: " + "[" * 900 + "]" * 900, {}),
        ("a: !!python/object:os.system 1\n", {"a": "1"}),
    ],
)
def test_values_are_as_they_are_written(lines: str, fields: dict[str, str]) -> None:
    assert front_fields(f"---\n{lines}---\n") == fields


def test_the_text_begins_behind_it() -> None:
    assert front_matter("---\na: b\n---\nText") == "---\na: b\n---\n"
    assert front_matter("---\na: b\nText") == ""
    assert front_matter("Text\n---\na: b\n---\n") == ""
