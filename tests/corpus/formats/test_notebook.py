"""Notebooks: text, code and what it printed, in order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from oreqa.core import Document
from oreqa.corpus.formats.notebook import read_notebook
from oreqa.errors import DocumentError


def read(*cells: dict[str, Any], **more: Any) -> Document:
    return read_notebook(json.dumps({"cells": cells, **more}, indent=1).encode(), Path("some_name.ipynb"))


def test_cells() -> None:
    outputs = [
        {"output_type": "stream", "text": ["7\n"]},
        {"output_type": "execute_result", "data": {"text/plain": "<b>", "text/html": "no", "image/png": "no"}},
        {"output_type": "error", "traceback": ["no"]},
    ]
    document = read(
        {"cell_type": "markdown", "source": ["# Bees\n", "\n", "They *dance*."]},
        {"cell_type": "markdown", "source": "## How many"},
        {"cell_type": "code", "source": "print(7)\nx < 1", "outputs": outputs},
        {"cell_type": "raw", "source": "a < b"},
    )
    assert document.title == "Bees"
    parts = [(section.heading, document.text[section.start : section.end]) for section in document.sections]
    assert parts == [("", "They dance."), ("How many", "print(7)\nx < 1\n7\n<b>\n\na < b")]
    lines = [place.line for place in document.places]
    assert lines == sorted(lines)


def test_older_notebooks() -> None:
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Part"]},
        {"cell_type": "code", "input": ["x = 1"], "outputs": []},
    ]
    data = json.dumps({"worksheets": [{"cells": cells}]}).encode()
    document = read_notebook(data, Path("a.ipynb"))
    assert [(section.heading, document.text) for section in document.sections] == [("Part", "x = 1")]


@pytest.mark.parametrize("data", [b"", b"[]", b"{", b'{"cells": [7]}', b"[" * 100_000, b'{"a": 1}'])
def test_what_is_no_notebook(data: bytes) -> None:
    with pytest.raises(DocumentError, match="it is not a notebook"):
        read_notebook(data, Path("a.ipynb"))
    assert read().text == ""


def test_numbers_longer_than_python_reads_and_levels_that_are_none() -> None:
    data = json.dumps(
        {"cells": [{"cell_type": "heading", "level": [], "source": "One"}, {"cell_type": "raw", "source": "x"}]}
    )
    long = data.replace("[]", "1" * 5000)
    for text in (data, long):
        assert read_notebook(text.encode(), Path("a.ipynb")).title == "One"
