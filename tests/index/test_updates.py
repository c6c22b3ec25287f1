"""What an update removes, has read and knows is published or dropped as one, whatever came before it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from index_content import assert_same, content, old

from oreqa.core import Document, Passage
from oreqa.corpus.splitter import paragraph_passage
from oreqa.errors import DocumentError, IndexStateError, InputError
from oreqa.index import ingest, publish, replacing, writer
from oreqa.index.encodings import Encodings
from oreqa.index.generations import DRAFT
from oreqa.index.ingest import index_files
from oreqa.index.journal import JOURNAL
from oreqa.index.passages import index_passages
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.index.writer import IndexWriter, open_writer


@pytest.fixture
def settings(tiny: Path) -> Settings:
    return Settings(model=str(tiny), passage_tokens=40)


def keys(folder: Path) -> set[str]:
    return {Path(passage.document_key).name for passage in Index.open(folder).passages()}


def test_what_was_excluded_and_pruned_comes_back(tmp_path: Path, library: Path, settings: Settings) -> None:
    (library / "drafts").mkdir()
    (library / "drafts" / "plan.txt").write_text("The plan is secret.")
    old(library)
    index_files(tmp_path / "kb", [library], settings)
    assert index_files(tmp_path / "kb", [library], exclude=["drafts/"], prune=True).removed == 1
    assert "plan.txt" not in keys(tmp_path / "kb")
    assert index_files(tmp_path / "kb", [library]).added == 1
    assert "plan.txt" in keys(tmp_path / "kb")


def test_a_place_that_is_gone_can_be_pruned_by_its_name(tmp_path: Path, library: Path, settings: Settings) -> None:
    index_files(tmp_path / "kb", [library], settings)
    before = keys(tmp_path / "kb")
    library.rename(tmp_path / "moved")
    with pytest.raises(InputError, match=r"library: there is no such file or folder, but .* --prune removes them$"):
        index_files(tmp_path / "kb", [library])
    with pytest.raises(InputError, match=r"nowhere: there is no such file or folder$"):
        index_files(tmp_path / "kb", [library, tmp_path / "nowhere"], prune=True)
    assert keys(tmp_path / "kb") == before
    report = index_files(tmp_path / "kb", [library, tmp_path / "moved"], prune=True)
    assert report.added == report.removed == len(before)
    assert index_files(tmp_path / "kb", [tmp_path / "moved"]).gone == 0
    with pytest.raises(InputError, match="there is no such file or folder"):
        index_files(tmp_path / "new", [library], settings, prune=True)
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize("again", ["the same times", "later"])
def test_deleted_rows_can_be_pruned_later(tmp_path: Path, library: Path, settings: Settings, again: str) -> None:
    rows = library / "rows.jsonl"
    before = rows.read_text()
    old(library)
    index_files(tmp_path / "kb", [library], settings)
    rows.write_text(before.splitlines()[1] + "\n")
    old(library)
    for _ in range(2):  # at the second time the file is not read again
        report = index_files(tmp_path / "kb", [library])
        assert (report.gone, report.removed) == (1, 0)
        assert "rows.jsonl#a" in keys(tmp_path / "kb")
    report = index_files(tmp_path / "kb", [library], prune=True)
    assert (report.removed, report.gone) == (1, 0)
    assert "rows.jsonl#a" not in keys(tmp_path / "kb")
    assert index_files(tmp_path / "kb", [library], prune=True).removed == 0


def test_a_deleted_row_that_comes_back_is_not_gone(tmp_path: Path, library: Path, settings: Settings) -> None:
    rows = library / "rows.jsonl"
    before = rows.read_text()
    old(library)
    index_files(tmp_path / "kb", [library], settings)
    rows.write_text(before.splitlines()[1] + "\n")
    old(library)
    assert index_files(tmp_path / "kb", [library]).gone == 1
    rows.write_text(before)
    old(library)
    report = index_files(tmp_path / "kb", [library], prune=True)
    assert (report.removed, report.unchanged) == (0, 4)
    assert index_files(tmp_path / "kb", [library], prune=True).removed == 0
    assert {"rows.jsonl#a", "rows.jsonl#b"} <= keys(tmp_path / "kb")


def test_a_prune_that_did_not_finish_removes_nothing(
    tmp_path: Path, library: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    old(library)
    index_files(tmp_path / "kb", [library], settings)
    expected = content(tmp_path / "kb")
    library.rename(tmp_path / "away")
    library.mkdir()

    def stop(self: IndexWriter, advance: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(IndexWriter, "publish", stop)
        with pytest.raises(KeyboardInterrupt):
            index_files(tmp_path / "kb", [library], prune=True)
    assert not (tmp_path / "kb" / DRAFT).exists()
    library.rmdir()
    (tmp_path / "away").rename(library)
    report = index_files(tmp_path / "kb", [library])
    assert (report.unchanged, report.removed, report.gone) == (4, 0, 0)
    assert content(tmp_path / "kb") == expected


def test_an_interrupted_first_run_publishes_nothing_of_its_own(
    tmp_path: Path, library: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "other.txt").write_text("Owls hoot.")
    monkeypatch.setattr(writer, "BATCH_PASSAGES", 1)
    with monkeypatch.context() as patch:
        patch.setattr(IndexWriter, "publish", lambda self, advance: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            index_files(tmp_path / "kb", [library], settings)
    (library / "bees.txt").unlink()
    index_files(tmp_path / "kb", [tmp_path / "other"], settings)
    assert keys(tmp_path / "kb") == {"other.txt"}
    report = index_files(tmp_path / "kb", [library])
    assert (report.added, report.encoded) == (3, 0)  # the other update has left the journal


def test_files_put_back_after_an_interruption_are_those_that_are_found(
    tmp_path: Path, library: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    old(library)
    index_files(tmp_path / "kb", [library], settings)
    expected = content(tmp_path / "kb")
    bees = library / "bees.txt"
    before, times = bees.read_text(), bees.stat()
    bees.write_text("Wasps build nests of paper.")
    with monkeypatch.context() as patch:
        patch.setattr(IndexWriter, "publish", lambda self, advance: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            index_files(tmp_path / "kb", [library])
    bees.write_text(before)
    os.utime(bees, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert index_files(tmp_path / "kb", [library]).unchanged == 4
    assert content(tmp_path / "kb") == expected


@pytest.mark.slow
def test_a_document_changed_again_before_the_run_goes_on(
    tmp_path: Path, library: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_files(tmp_path / "kb", [library], settings)
    for text in ("Wasps build nests.", "Hornets build nests."):
        (library / "bees.txt").write_text(text)
        with monkeypatch.context() as patch:
            patch.setattr(publish, "build_search_files", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
            with pytest.raises(KeyboardInterrupt):
                index_files(tmp_path / "kb", [library])
    (library / "bees.txt").write_text("Ants carry leaves.")
    index_files(tmp_path / "kb", [library])
    index_files(tmp_path / "new", [library], settings)
    assert_same(tmp_path / "kb", tmp_path / "new")


def test_a_changed_document_keeps_the_vectors_of_its_unchanged_passages(
    tmp_path: Path, library: Path, settings: Settings
) -> None:
    """Wherever they stand now: in another place, another document or twice."""
    text = (library / "octopus.md").read_text()
    index_files(tmp_path / "kb", [library], settings)
    (library / "octopus.md").write_text(f"{text}\n\n# Squid\n\nA squid has ten arms.\n")
    (library / "copy.md").write_text(text)
    report = index_files(tmp_path / "kb", [library])
    assert (report.added, report.changed, report.encoded) == (1, 1, 1)
    (library / "octopus.md").unlink()
    assert index_files(tmp_path / "kb", [library], prune=True).encoded == 0
    (library / "back.md").write_text(f"{text}\n\n# Squid\n\nA squid has ten arms.\n")
    assert index_files(tmp_path / "kb", [library]).encoded == 1  # of the squid nothing was left
    index_files(tmp_path / "new", [library], settings)
    assert_same(tmp_path / "kb", tmp_path / "new")


def test_a_file_that_vanishes_while_the_run_goes_on_is_a_line(
    tmp_path: Path, library: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_files(tmp_path / "kb", [library], settings)
    expected = content(tmp_path / "kb")
    find = ingest.find_files

    def find_and_lose(*arguments: Any, **options: Any) -> object:
        files = find(*arguments, **options)
        (library / "bees.txt").unlink()
        return files

    monkeypatch.setattr(ingest, "find_files", find_and_lose)
    report = index_files(tmp_path / "kb", [library], prune=True)
    assert len(report.problems) == 1
    assert report.problems[0].startswith(f"{library / 'bees.txt'}: it cannot be read (No such file")
    assert content(tmp_path / "kb") == expected


def test_two_documents_of_one_name_are_a_line(tmp_path: Path, library: Path, settings: Settings) -> None:
    (library / "a.jsonl").write_text('{"id": "b.txt", "text": "A row."}\n{"id": "c", "text": "Another."}\n')
    (library / "a.jsonl#b.txt").write_text("A file.")
    report = index_files(tmp_path / "kb", [library], settings)
    assert [line.partition(": ")[2] for line in report.problems] == [
        f"two documents have the key {library / 'a.jsonl#b.txt'}: rename one of them"
    ]
    assert {"a.jsonl#b.txt", "a.jsonl#c", "bees.txt"} <= keys(tmp_path / "kb")
    assert (report.added, len(report.problems)) == (6, 1)


def test_a_source_that_fails_at_its_end_keeps_what_the_index_had(
    tmp_path: Path, library: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "BATCH_PASSAGES", 1)  # its first rows are in the draft when the last one fails
    index_files(tmp_path / "kb", [library], settings)
    expected = content(tmp_path / "kb")
    rows = library / "rows.jsonl"
    rows.write_text(
        '{"id": "a", "text": "Changed."}\n{"id": "n", "text": "New."}\n{"id": "b", "text": "Changed."}\nno row\n'
    )
    (library / "new.jsonl").write_text('{"id": "a", "text": "New."}\nno row\n')
    report = index_files(tmp_path / "kb", [library], prune=True)
    assert (report.added, report.changed, report.unchanged, report.removed) == (0, 0, 2, 0)
    assert len(report.problems) == 2
    assert content(tmp_path / "kb") == expected


def test_a_file_that_changes_while_it_is_read_is_read_again(
    tmp_path: Path, library: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    old(library)
    read = ingest.read_documents

    def read_and_change(path: Path, *more: object) -> object:
        yield from read(path, *more)  # type: ignore[arg-type]
        if path.name == "bees.txt":
            path.write_text("Wasps.")
            os.utime(path, (time.time() - 50, time.time() - 50))

    with monkeypatch.context() as patch:
        patch.setattr(ingest, "read_documents", read_and_change)
        index_files(tmp_path / "kb", [library], settings)
    assert index_files(tmp_path / "kb", [library]).changed == 1
    assert Index.open(tmp_path / "kb").search(["wasps"], 1, mode="sparse")[0][0].sentence.text == "Wasps."


def test_strict_names_the_file(tmp_path: Path, library: Path, settings: Settings) -> None:
    (library / "z.jsonl").write_text("no row\n")
    with pytest.raises(DocumentError, match=r"z\.jsonl: .*\(--strict: nothing was published\)"):
        index_files(tmp_path / "kb", [library], settings, strict=True)


def test_what_cannot_be_seen_is_named_and_never_pruned(tmp_path: Path, library: Path, settings: Settings) -> None:
    (library / "more").mkdir()
    (library / "more" / "owls.txt").write_text("Owls hoot.")
    index_files(tmp_path / "kb", [library], settings)
    expected = content(tmp_path / "kb")
    (library / "more" / "owls.txt").unlink()
    (library / "more").rmdir()
    os.mkfifo(library / "more")
    (library / "bees.txt").rename(tmp_path / "bees.txt")
    (library / "bees.txt").symlink_to(tmp_path / "bees.txt")
    report = index_files(tmp_path / "kb", [library], prune=True)
    assert [line.partition(": ")[0] for line in report.problems] == [str(library / "bees.txt"), str(library / "more")]
    assert (report.removed, report.gone) == (0, 0)
    assert content(tmp_path / "kb") == expected


def test_paths_with_dots_are_pruned(
    tmp_path: Path, library: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    index_files(Path("../kb"), [Path("../library")], settings)
    (library / "bees.txt").unlink()
    assert index_files(Path("../kb"), [Path("../library")]).gone == 1
    assert index_files(Path("../kb"), [Path("..")], prune=True).removed == 1
    assert "bees.txt" not in keys(tmp_path / "kb")
    assert not any("kb" in Path(p.document_key).parts for p in Index.open(tmp_path / "kb").passages())


def test_one_update_is_published_once(tmp_path: Path, library: Path, settings: Settings) -> None:
    with open_writer(tmp_path / "kb", settings) as opened:
        opened.add(Document("a", "", "Bees hum."), "a")
        opened.publish()
        opened.add(Document("b", "", "Owls hoot."), "b")
        with pytest.raises(IndexStateError, match="this update was published; open another writer"):
            opened.publish()
    assert keys(tmp_path / "kb") == {"a"}


def test_a_users_index_is_never_replaced_by_a_task(tmp_path: Path, library: Path, settings: Settings) -> None:
    passages = [paragraph_passage(Document("d", "", "Bees hum."))]
    index_files(tmp_path / "kb", [library], settings)
    expected = content(tmp_path / "kb")
    refused = (
        "this index holds documents, not a task's passages; the data's passages need an index of their own; name another"
    )
    with pytest.raises(IndexStateError, match=refused):
        index_passages(tmp_path / "kb", passages, settings)
    assert content(tmp_path / "kb") == expected
    index_passages(tmp_path / "task", passages, settings)
    with pytest.raises(IndexStateError, match="holds a task's passages, not documents"):
        index_files(tmp_path / "task", [library])


def test_a_long_document_is_encoded_in_parts(
    tmp_path: Path, library: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    (library / "long.txt").write_text("\n\n".join(f"Paragraph {n} tells of bee {n}. " * 6 for n in range(40)))
    monkeypatch.setattr(writer, "BATCH_PASSAGES", 8)
    encode = Encodings.encode
    sizes: list[int] = []

    def count(self: Encodings, passages: dict[bytes, Passage], *arguments: Any) -> None:
        sizes.append(len(passages))
        if len(sizes) == 3:
            raise KeyboardInterrupt
        encode(self, passages, *arguments)

    with monkeypatch.context() as patch:
        patch.setattr(Encodings, "encode", count)
        with pytest.raises(KeyboardInterrupt):
            index_files(tmp_path / "kb", [library / "long.txt"], settings)
    assert max(sizes) == 8
    report = index_files(tmp_path / "kb", [library / "long.txt"], settings)
    distinct = {passage.text for passage in Index.open(tmp_path / "kb").passages()}
    assert report.encoded == len(distinct) - 16


def test_words_of_what_is_gone_are_in_no_file(
    tmp_path: Path, library: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replacing, "_KEPT_SECONDS", 0.0)
    folder, bees = tmp_path / "kb", library / "bees.txt"
    (library / "plan.txt").write_text("The password is swordfish.")
    index_files(folder, [library], settings)
    assert _held(folder, "swordfish")
    (library / "plan.txt").write_text("The password is barracuda.")
    with monkeypatch.context() as patch:
        patch.setattr(writer, "publish_draft", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            index_files(folder, [library])
    assert (folder / JOURNAL).is_file()
    (library / "plan.txt").unlink()
    index_files(folder, [library], prune=True)
    bees.write_text("Bees dance.")
    index_files(folder, [library])  # the generation before the newest is kept
    for word in ("swordfish", "barracuda", "password"):
        assert not _held(folder, word)
    assert _held(folder, "octopus")


def _held(folder: Path, word: str) -> list[Path]:
    """The files that hold a word."""
    return [path for path in folder.rglob("*") if path.is_file() and word.encode() in path.read_bytes()]


def test_paths_as_strings_one_or_many(tmp_path: Path, library: Path, tiny: Path) -> None:
    assert index_files(str(tmp_path / "kb"), str(library / "bees.txt"), model=str(tiny)).added == 1
    report = index_files(tmp_path / "kb", (str(library / "bees.txt"), library / "octopus.md"))
    assert (report.added, report.unchanged) == (1, 1)
    assert index_files(tmp_path / "kb", library, include="*.jsonl", exclude="bees.txt").added == 2
    for paths, message in (
        ([], "paths are an empty list; name a file or a folder"),
        ([library, None], "a file or a folder is a path, as a string or a Path, not None"),
    ):
        with pytest.raises(InputError, match=message):
            index_files(tmp_path / "kb", paths)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"fields are Fields\(text=..., title=..., id=...\), not a dict"):
        index_files(tmp_path / "kb", library, fields={"text": "body"})  # type: ignore[arg-type]
