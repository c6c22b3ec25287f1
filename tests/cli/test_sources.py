"""Places of answers: links in terminals that can, and the last ones, kept for oreqa open."""

from __future__ import annotations

import io
import os
from pathlib import Path

import pytest
import rich.console

from oreqa.cli.console import Console, SourceLine
from oreqa.cli.sources import Source, remember_sources, remembered_source, source_at
from oreqa.core import Passage, Place
from oreqa.errors import InputError
from oreqa.paths import cache_folder


def test_a_source_is_the_file_with_the_line_the_page_or_the_anchor(tmp_path: Path) -> None:
    def at(key: str, *places: Place) -> Source:
        return source_at(Passage(key, "", "", "Bees dance.\nThey do.", 0, 20, (), places=places), 13)

    assert at("/docs/a b.md", Place(0, line=4)) == Source("/docs/a b.md", 5)
    assert at("/docs/a b.md", Place(0, line=4)).url == "file:///docs/a%20b.md"
    pdf = at("/docs/x.pdf", Place(0, "page 3"))
    assert (pdf, pdf.url) == (Source("/docs/x.pdf", page=3), "file:///docs/x.pdf#page=3")
    page = at("/docs/x.html", Place(0, "#top", 4))
    assert (page, page.url) == (Source("/docs/x.html", anchor="#top"), "file:///docs/x.html#top")
    for name in ("rows.csv", "rows.tsv", "rows.jsonl.gz", "rows.ndjson"):
        assert at(f"/docs/{name}#7").file == Path("/docs", name)
    for key in ("/docs/x.zip#a/notes.md", "/docs/list.mbox#17", "tent"):
        assert (at(key).file, at(key).url) == (None, "")
    odd = tmp_path / "a#b\x1b.md"
    odd.write_text("Bees dance.")
    assert at(str(odd)).url.endswith("a%23b%1B.md")


def printed(is_terminal: bool, colours: str | None, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("TERM", colours or "dumb")
    console = Console()
    console.file = io.StringIO()
    console._force_terminal = is_terminal
    console._color_system = console._detect_color_system() if is_terminal else None
    console.print(SourceLine("docs/a.md:5", "A", 5, link="file:///docs/a.md"), crop=False)
    return console.file.getvalue()


def test_links_are_for_terminals_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    shown = printed(True, "xterm-256color", monkeypatch)
    assert ";file:///docs/a.md\x1b\\" in shown
    assert "\x1b]8;;\x1b\\" in shown
    assert "docs/a.md:5" in shown
    assert printed(False, "xterm-256color", monkeypatch) == "     docs/a.md:5  A\n"
    assert "file://" not in printed(True, None, monkeypatch)


def test_places_are_kept_for_this_user_alone() -> None:
    remember_sources([Source("/docs/a.md", 5), Source("/docs/x.pdf", page=3)])
    (file,) = cache_folder().glob("last-answers-*.json")
    if os.name == "posix":
        assert file.stat().st_mode & 0o777 == 0o600
    assert [remembered_source(number) for number in (1, 2)] == [Source("/docs/a.md", 5), Source("/docs/x.pdf", page=3)]
    for number in (0, 3):
        with pytest.raises(
            InputError, match=rf"^there is no answer {number}: the last oreqa ask gave 2; .* oreqa open ./{number}$"
        ):
            remembered_source(number)
    remember_sources([])
    with pytest.raises(InputError, match=r"^there is no answer 1: the last oreqa ask gave none; "):
        remembered_source(1)
    for damaged in ("{", '[{"file": 3}]', "[3]"):
        file.write_text(damaged)
        with pytest.raises(InputError, match="the last answers cannot be read: ask again"):
            remembered_source(1)
    file.unlink()
    with pytest.raises(InputError, match="there is no answer to open: oreqa ask gives one, or name a document"):
        remembered_source(1)


def test_without_a_cache_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("OREQA_CACHE", str(tmp_path / "file" / "cache"))
    remember_sources([Source("/docs/a.md", 5)])


def test_pictures_of_terminals_have_no_links() -> None:
    def picture(link: str) -> str:
        console = rich.console.Console(record=True, file=io.StringIO(), width=60, markup=False, highlight=False)
        console.print(SourceLine("docs/a.md:5", "A", 5, link=link), crop=False)
        return console.export_svg(title="oreqa", unique_id="a")

    assert picture("file:///docs/a.md") == picture("")
