"""Source code: comments and docstrings with the lines that they explain."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.corpus.formats.source_code import CODE_SUFFIXES, read_source_code

PYTHON = '''#!/usr/bin/env python
"""A module."""
import os

MAX_RETRIES = 5  # tries of a download


# Waits between
# tries.
def wait(seconds: int) -> None:
    r"""Wait.

    Args:
        seconds: how long
    """
    time.sleep(seconds)
    total = 1


class Loader:
    pass
'''


def test_python() -> None:
    document = read_source_code(PYTHON.encode(), Path("wait.py"))
    assert document.title == "wait.py"
    assert document.text.split("\n\n") == [
        "A module.",
        "MAX_RETRIES = 5  # tries of a download",
        "Waits between\ntries.\ndef wait(seconds: int) -> None:\nWait.",
        "Args:\nseconds: how long",
        "class Loader:",
    ]
    for place in document.places:
        assert place.source is not None
        word = document.text[place.start :].split()[0]
        assert PYTHON[place.source :].startswith(word)
        assert place.line == PYTHON[: place.source].count("\n") + 1
    (page,) = document.pages
    assert page.source == page.read + page.left_out["code"]


@pytest.mark.parametrize(
    ("name", "source", "text"),
    [
        ("a.c", "#include <x.h>\n/**\n * Opens it.\n *\n * More.\n */\nint open_it(void)\n{\n\treturn 1; // done\n}\n", "Opens it.\n\nMore.\nint open_it(void)\n\nreturn 1; // done"),
        ("a.js", "// One\n// two\nfunction go(a) { return a }\n", "One\ntwo\nfunction go(a) { return a }"),
        ("a.java", "/* A. */ class B {\n  int c;\n}", "/* A. */ class B {"),
        ("a.sh", "# Says.\nx=1\necho hello # loud\n", "Says.\n\necho hello # loud"),
        ("a.rs", "/// Adds.\npub fn add() {}\n", "Adds.\npub fn add() {}"),
        ("a.sql", "-- Users.\nSELECT 1;\n", "Users."),
        ("a.pl", "#!/usr/bin/perl\n# Says.\nsub hello {\n  print 1;\n}\n", "Says.\nsub hello {"),
        ("A.pm", "package A;\n\n=head2 hello\n\nSays.\n\n=cut\n\nsub hello { 1 }\n", "=head2 hello\n\nSays.\n\nsub hello { 1 }"),
        ("TOOL.PY", "# Says.\nx = 1\n", "Says."),
        ("a.py", "", ""),
        ("a.py", "x = 1\n", ""),
        ("a.py", 'def broken(:\n    """never closed', 'def broken(:'),
    ],
)  # fmt: skip
def test_languages(name: str, source: str, text: str) -> None:
    assert read_source_code(source.encode(), Path(name)).text == text


def test_every_extension_has_a_language() -> None:
    for suffix in CODE_SUFFIXES:
        read_source_code(b"x", Path(f"a{suffix}"))
        read_source_code(b"x", Path(f"A{suffix.upper()}"))
