"""Words of pages: kept with the index, reported, warned of where too few came through."""

from __future__ import annotations

import csv
import json
import os
from pathlib import Path

import pytest
from index_content import old

from oreqa.core import MISSING, Document, PageWords
from oreqa.index import ingest
from oreqa.index.coverage import PageRow, coverage_warnings, read_coverage, share_read, write_coverage
from oreqa.index.ingest import index_files
from oreqa.index.store import Settings


def lines(*pages: PageWords) -> list[str]:
    return coverage_warnings(Document("d", "t", "x", pages=pages))


def test_share_of_a_page() -> None:
    assert share_read(PageWords("", 100, 40)) == 0.4
    assert share_read(PageWords("", 100, 40, {"navigation": 50, "code": 10})) == 1.0
    assert share_read(PageWords("", 10, 12)) == 1.0
    assert share_read(PageWords("", 10, 0, {"navigation": 12})) == 1.0
    assert share_read(PageWords("", 0, 0)) == 1.0


def test_warnings(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines() == []
    assert lines(PageWords("", 100, 80), PageWords("", 19, 0)) == []
    assert lines(PageWords("", 100, 45)) == ["only 45% of the words came through (45 of 100)"]
    assert lines(PageWords("", 100, 20, {"navigation": 50})) == ["only 40% of the words came through (20 of 50)"]
    good = PageWords("page 1", 50, 50)
    assert lines(good, PageWords("page 2", 50, 10)) == ["page 2: only 20% of the words came through (10 of 50)"]
    low = [PageWords(f"page {number}", 50, 10) for number in (2, 3, 4, 9)]
    assert lines(good, *low) == ["pages 2 to 4, 9: only 20% of the words came through (40 of 200)"]
    empty = [PageWords(f"page {number}", 0, 0) for number in (3, 4)]
    monkeypatch.setattr("oreqa.index.coverage.is_installed", lambda: True)
    assert lines(good, *empty) == ["pages 3 to 4: no text: scans?"]
    monkeypatch.setattr("oreqa.index.coverage.is_installed", lambda: False)
    assert lines(good, empty[1]) == ["page 4: no text: a scan? (scans need the ocr extra: pip install 'oreqa[ocr]')"]
    assert lines(PageWords("slide 1", 0, 0)) == []
    sheets = [PageWords(f"sheet {name}", 50, 0) for name in "ABCDEF"]
    assert lines(*sheets)[0].startswith("sheet A, sheet B, sheet C, sheet D, sheet E, ...: only 0%")


def test_what_cannot_be_read_is_warned_of() -> None:
    missing = [PageWords(name, 0, 0, {MISSING: 0}) for name in ("two.xhtml", "map.svg")]
    assert lines(PageWords("one.xhtml", 50, 50), *missing) == ["two.xhtml, map.svg: cannot be read, or only in part"]
    low = PageWords("sheet Prices", 50, 10, {MISSING: 0})
    assert lines(low) == [
        "sheet Prices: only 20% of the words came through (10 of 50)",
        "sheet Prices: cannot be read, or only in part",
    ]


def test_an_index_keeps_the_words_of_its_pages(tmp_path: Path, library: Path, tiny: Path) -> None:
    (library / "tagged.md").write_text("# Wasps\n\nWasps [sting](http://wasps.org/stings).\n")
    old(library)  # files written this moment are read once more
    report = index_files(tmp_path / "kb", [library], Settings(model=str(tiny), passage_tokens=40))
    rows = read_coverage(tmp_path / "kb")
    (row,) = [row for row in rows if row.document.endswith("tagged.md")]
    assert row.page == PageWords("", 7, 3, {"link targets": 4})
    assert report.words.source == sum(row.page.source for row in rows)
    assert report.words.left_out == {"link targets": 4}
    assert index_files(tmp_path / "kb", [library]).words.source == 0
    assert read_coverage(tmp_path / "kb") == rows
    write_coverage(tmp_path / "out" / "report.csv", rows)
    with (tmp_path / "out" / "report.csv").open() as file:
        table = list(csv.reader(file))
    assert table[0] == ["document", "page", "words", "read", "left out", "share read", "reasons"]
    assert [row.document, "", "7", "3", "4", "1.000", "link targets: 4"] in table
    assert len(table) == len(rows) + 1


def test_files_of_which_too_little_comes_through_are_named(
    tmp_path: Path, library: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(path: Path, fields: object, on_unread: object) -> list[Document]:
        return [Document(str(path), "t", "Some text.", pages=(PageWords("", 200, 10),))]

    monkeypatch.setattr(ingest, "read_documents", read)
    warnings: list[str] = []
    seen: list[tuple[str, int, int]] = []
    settings = Settings(model=str(tiny), passage_tokens=40)
    files = sorted(library.glob("*.txt"))
    report = index_files(
        tmp_path / "kb", files, settings,
        on_warning=warnings.append, on_file=lambda path, done, total: seen.append((path.name, done, total)),
    )  # fmt: skip
    assert warnings == report.warnings == [f"{file}: only 5% of the words came through (10 of 200)" for file in files]
    whole = sum(file.stat().st_size for file in files)
    assert seen[: len(files)] == [(file.name, 0, whole) for file in files]  # nothing is encoded before a batch is full
    assert seen[-1] == (files[-1].name, whole, whole)


@pytest.mark.parametrize("name", ["one.json", "one.txt", "rows.csv"])
def test_how_much_of_a_large_file_is_done(tmp_path: Path, tiny: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr("oreqa.index.writer.BATCH_PASSAGES", 40)
    lines = [f"The fox number {number} ran over a hill and slept in a house." for number in range(200)]
    text = {"one.json": json.dumps([{"text": line} for line in lines]), "rows.csv": "\n".join(["text", *lines])}
    (tmp_path / name).write_text(text.get(name, "\n\n".join(lines)))
    (tmp_path / "small.md").write_text("A bee hums.")
    os.utime(tmp_path / name, (1, 1))  # a file that has just changed is read again
    seen: list[tuple[str, int, int]] = []
    index_files(
        tmp_path / "kb", [tmp_path / name, tmp_path / "small.md"], Settings(model=str(tiny), passage_tokens=40),
        on_file=lambda path, done, total: seen.append((path.name, done, total)),
    )  # fmt: skip
    size, whole = (tmp_path / name).stat().st_size, sum((tmp_path / each).stat().st_size for each in (name, "small.md"))
    steps = [done for file, done, total in seen if file == name]
    assert steps[0] == 0
    assert 0 < steps[1] < size
    assert steps == sorted(steps)
    assert 0.6 * size < steps[-1] <= size  # some rows of a table wait for the last batch
    last = [(done, total) for file, done, total in seen if file == "small.md"]
    assert steps[-1] <= last[0][0] < last[-1][0] == last[-1][1] == whole
    seen.clear()
    (tmp_path / "small.md").write_text("A bee hums loudly.")
    index_files(
        tmp_path / "kb", [tmp_path / name, tmp_path / "small.md"], Settings(model=str(tiny), passage_tokens=40),
        on_file=lambda path, done, total: seen.append((path.name, done, total)),
    )  # fmt: skip
    assert (seen[-1], {total for file, _, total in seen if file == "small.md"}) == (("small.md", 18, 18), {18})


def test_rows_without_reasons(tmp_path: Path) -> None:
    write_coverage(tmp_path / "r.csv", [PageRow('a,"b".pdf', PageWords("page 1", 5, 5))], ["c.pdf: it is encrypted: no"])
    assert (tmp_path / "r.csv").read_text().splitlines()[2] == "c.pdf,,,,,,skipped: it is encrypted: no"
    assert (tmp_path / "r.csv").read_text().splitlines()[1] == '"a,""b"".pdf",page 1,5,5,0,1.000,'


def test_a_reason_without_words(tmp_path: Path) -> None:
    write_coverage(tmp_path / "r.csv", [PageRow("a.epub", PageWords("two.xhtml", 0, 0, {MISSING: 0}))])
    assert (tmp_path / "r.csv").read_text().splitlines()[1] == "a.epub,two.xhtml,0,0,0,1.000,missing"
