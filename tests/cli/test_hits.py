from __future__ import annotations

from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from oreqa.cli.console import SourceLine
from oreqa.cli.hits import EXTRACT, extract, names_of, place_text, shown_path
from oreqa.core import Hit, Passage, Place, Sentence


def passage(document: str, *places: Place, text: str = "One. Two.\nThree.") -> Passage:
    return Passage(document, "", "", text, 10, 10 + len(text), (Sentence(text, 10, 10 + len(text)),), {}, places)


@pytest.mark.parametrize(
    ("places", "offset", "shown"),
    [
        ((Place(10, "page 3"), Place(15, "page 4")), 14, "/x/a.pdf, page 3"),
        ((Place(10, "page 3"), Place(15, "page 4")), 15, "/x/a.pdf, page 4"),
        ((Place(10, "#install"),), 12, "/x/a.pdf#install"),
        ((Place(10, "", 7, 90),), 10, "/x/a.pdf:7"),
        ((Place(10, "", 7, 90),), 20, "/x/a.pdf:8"),
        ((), 12, "/x/a.pdf"),
        ((Place(10),), 12, "/x/a.pdf"),
    ],
)
def test_a_place_is_one_that_can_be_opened(
    places: tuple[Place, ...], offset: int, shown: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "deep" / "er"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    assert place_text(passage("/x/a.pdf", *places), offset) == shown


def test_paths_are_the_shortest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home"
    (home / "files" / "deep" / "er").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.chdir(home / "files")
    assert shown_path(f"{home}/files/docs/a.md") == "docs/a.md"
    assert shown_path(f"{home}/files/t.jsonl#a/../b") == "t.jsonl#a/../b"
    assert shown_path(f"{home}/b.md") == "~/b.md"
    assert shown_path(f"{tmp_path}/c.md") == "../../c.md"
    assert shown_path("/d.md") == "/d.md"
    assert shown_path("a task's passage") == "a task's passage"
    (home / "files#1").mkdir()
    (home / "files#1" / "e.md").touch()
    assert shown_path(f"{home}/files#1/e.md") == "~/files#1/e.md"
    monkeypatch.chdir(home / "files" / "deep" / "er")
    assert shown_path(f"{home}/files/b.md") == "../../b.md"
    assert shown_path(f"{home}/b.md") == "~/b.md"


@pytest.mark.parametrize("width", [20, 60, 80, 120])
def test_a_place_is_never_broken(width: int) -> None:
    place, names = "some folder/" + "long-" * 20 + "name.md:12", "A title of some words > and a heading"
    for shown in (place, "a.md:3"):
        out = StringIO()
        Console(file=out, width=width).print(SourceLine(shown, names, 5), crop=False)
        lines = out.getvalue().splitlines()
        assert shown in lines[0]
        assert " ".join(out.getvalue().split()).replace(shown, "").strip() == names
        assert all(line.startswith("     ") for line in lines)
        assert all(len(line) <= width for line in lines if shown not in line)
        assert len(lines) == 1 or len(shown) + len(names) + 7 > width


def test_a_title_that_the_heading_repeats_is_named_once() -> None:
    assert names_of(Passage("a.md", "Title", "Part > Section", "x", 0, 1, ())) == "Title > Part > Section"
    assert names_of(Passage("a.md", "Title", "Title page > Section", "x", 0, 1, ())) == "Title page > Section"
    assert names_of(Passage("a.md", "Title", "Title", "x", 0, 1, ())) == "Title"
    assert names_of(Passage("a.md", "Git", "Github tips", "x", 0, 1, ())) == "Git > Github tips"
    assert names_of(Passage("a.md", "", "Section", "x", 0, 1, ())) == "Section"
    assert names_of(Passage("a.md", "Title", "", "x", 0, 1, ())) == "Title"
    assert names_of(Passage("a.md", "", "", "x", 0, 1, ())) == ""


def test_extracts_hold_the_best_sentence() -> None:
    text = " ".join(f"word{i}" for i in range(200))
    for begin in (0, text.index("word60"), text.index("word195")):
        end = text.index(" ", begin + 20) if begin + 20 < len(text) else len(text)
        sentence = Sentence(text[begin:end], 10 + begin, 10 + end)
        shown = extract(Hit(1.0, passage("a", text=text), sentence, 1, 1, {}))
        assert sentence.text in shown
        assert EXTRACT - 20 < len(shown) <= EXTRACT + 4
        assert shown.startswith("… ") == (begin > 0)
        assert shown.endswith(" …") == (end < len(text) - 100)
        assert set(shown.replace("…", "").split()) <= set(text.split())
    short = passage("a")
    assert extract(Hit(1.0, short, short.sentences[0], 1, 1, {})) == "One. Two. Three."
    long = Sentence(text, 10, 10 + len(text))
    assert extract(Hit(1.0, passage("a", text=text), long, 1, 1, {})).startswith("word0 word1 ")
