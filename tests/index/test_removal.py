"""Documents are taken out of an index, together, as if they had never been in it."""

from __future__ import annotations

import random
import sqlite3
import zipfile
from contextlib import closing
from pathlib import Path

import pytest
from index_content import assert_same, old

from oreqa.core import Document
from oreqa.errors import IndexStateError, InputError
from oreqa.index import drafts, publish
from oreqa.index.generations import DOCUMENTS, newest_generation, require_generation
from oreqa.index.in_memory import index_documents
from oreqa.index.ingest import index_files
from oreqa.index.integrity import check_index
from oreqa.index.removal import remove_documents
from oreqa.index.search import Index
from oreqa.index.store import Settings, open_documents, read_setting
from oreqa.index.writer import IndexWriter


@pytest.fixture
def settings(tiny: Path) -> Settings:
    return Settings(str(tiny))


def keys(folder: Path) -> list[str]:
    with Index.open(folder) as index:
        return [key.rpartition("/")[2] for key in index.documents()]


def test_what_is_left_is_as_a_clean_build(tmp_path: Path, library: Path, settings: Settings) -> None:
    old(library)
    index_files(tmp_path / "kb", library, settings)
    removed = remove_documents(tmp_path / "kb", ["octopus.md", "Tents"])
    assert removed == [str(library / "octopus.md"), f"{library / 'rows.jsonl'}#a"]
    assert keys(tmp_path / "kb") == ["bees.txt", "rows.jsonl#b"]
    newest = newest_generation(tmp_path / "kb")
    assert newest is not None
    assert newest.name == "search-000002"
    rows = (library / "rows.jsonl").read_text().splitlines(keepends=True)
    (library / "rows.jsonl").write_text(rows[1])
    index_files(tmp_path / "clean", library, settings, exclude="octopus.md")
    assert_same(tmp_path / "kb", tmp_path / "clean")


def test_what_is_removed_leaves_no_copy_behind(tmp_path: Path, settings: Settings) -> None:
    keys_of_all = [f"key{7 * number % 100}" * 9 for number in range(100)]
    index_documents(tmp_path / "kb", [Document(key, f"Title {key}", f"Word {key}.") for key in keys_of_all], settings)
    remove_documents(tmp_path / "kb", keys_of_all[::3])
    generation = newest_generation(tmp_path / "kb")
    assert generation is not None
    data = (generation / DOCUMENTS).read_bytes()
    assert not [key for key in keys_of_all[::3] if key.encode() in data]
    assert [path.name for path in (tmp_path / "kb").glob("search-*")] == [generation.name]


@pytest.mark.parametrize("share", [0, 8, 10**9], ids=["in a copy", "as usual", "row by row"])
def test_no_document_that_stays_is_hashed_again(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, share: int
) -> None:
    index_documents(tmp_path / "kb", [Document(f"{n}", "", f"Owl {n} hoots.") for n in range(30)], settings)
    monkeypatch.setattr(drafts, "_SHARE", share)
    hashed: list[int] = []

    def counted(database: sqlite3.Connection, table: str) -> int:
        hashed.extend(number for (number,) in database.execute(f"SELECT id FROM {table}"))
        return sum_of(database, table)

    sum_of = publish._sum
    monkeypatch.setattr(publish, "_sum", counted)
    remove_documents(tmp_path / "kb", ["3", "5"])
    assert sorted(hashed) == [4, 6]
    with closing(open_documents(require_generation(tmp_path / "kb"))) as database:
        assert int(read_setting(database, "sum"), 16) == sum_of(database, "main.documents") % publish._MODULUS
        assert read_setting(database, "documents") == "28"


@pytest.mark.parametrize("seed", range(3))
def test_whatever_came_before_what_is_removed_leaves_no_copy(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Documents of all lengths are added, changed and removed, in a copy of those that are written whole."""
    monkeypatch.setattr(drafts, "_SHARE", 0)
    written: list[str] = []
    change = drafts._change_copy
    monkeypatch.setattr(drafts, "_change_copy", lambda *folders: (written.append("copy"), change(*folders)))
    rng, texts, folder = random.Random(seed), dict[str, str](), tmp_path / "kb"

    def document(number: int) -> Document:
        mark = f"q{number}x{rng.randrange(10**9)}q"
        body = " ".join(f"Owl {rng.randrange(99)} hoots at {mark}." for _ in range(rng.choice([1, 5, 60, 400])))
        texts[f"key{mark}"] = mark
        return Document(f"key{mark}", f"Title {mark}", body)

    index_documents(folder, [document(number) for number in range(60)], settings)
    removed: list[str] = []
    for step in range(6):
        index_documents(folder, [document(100 * step + number) for number in range(60, 60 + rng.randrange(1, 9))])
        keys_now = rng.sample(sorted(texts), rng.randrange(1, 9))
        removed += [texts.pop(key) for key in keys_now]
        remove_documents(folder, keys_now)
        data = b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())
        assert [mark for mark in removed if mark.encode() in data] == []
        assert sorted(keys(folder)) == sorted(texts)
        assert all(mark.encode() in data for mark in texts.values())
        assert check_index(folder) == []
    assert len(written) == 6
    with closing(open_documents(require_generation(folder))) as database:
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert database.execute("PRAGMA foreign_key_check").fetchall() == []


def test_files_that_are_still_there_come_back(tmp_path: Path, library: Path, settings: Settings) -> None:
    old(library)
    index_files(tmp_path / "kb", library, settings)
    remove_documents(tmp_path / "kb", [library / "bees.txt", "rows.jsonl#b"])
    report = index_files(tmp_path / "kb", library)
    assert (report.added, report.unchanged) == (2, 2)
    assert len(keys(tmp_path / "kb")) == 4
    remove_documents(tmp_path / "kb", "bees.txt")
    assert index_files(tmp_path / "kb", library, exclude="bees.txt").added == 0


def test_a_file_of_many_is_removed_whole(tmp_path: Path, library: Path, settings: Settings) -> None:
    with zipfile.ZipFile(library / "more.zip", "w") as archive:
        archive.writestr("a/notes.txt", "Whales sing.")
        archive.writestr("b/notes.txt", "Whales dive.")
    index_files(tmp_path / "kb", library, settings)
    with pytest.raises(InputError, match=r"^notes.txt: 2 documents have this name; choose one: .*more.zip#a/notes.txt, "):
        remove_documents(tmp_path / "kb", ["bees.txt", "notes.txt"])
    assert len(keys(tmp_path / "kb")) == 6
    assert len(remove_documents(tmp_path / "kb", ["rows.jsonl", "more.zip#a/notes.txt"])) == 3
    assert len(remove_documents(tmp_path / "kb", library / "more.zip")) == 1
    assert keys(tmp_path / "kb") == ["bees.txt", "octopus.md"]
    assert len(remove_documents(tmp_path / "kb", ["bees.txt", "octopus.md", "octopus.md:3"])) == 2
    assert keys(tmp_path / "kb") == []


def test_documents_of_memory_can_be_added_again(tmp_path: Path, settings: Settings) -> None:
    tent = Document("tent", "A tent", "The tent is waterproof.")
    index_documents(tmp_path / "kb", [tent, "Bees dance."], settings)
    assert remove_documents(tmp_path / "kb", "A tent") == ["tent"]
    assert index_documents(tmp_path / "kb", tent).added == 1


def test_the_name_of_a_folder_means_all_in_it(tmp_path: Path, library: Path, settings: Settings) -> None:
    (library / "old").mkdir()
    for name in ("wasps.txt", "ants.txt"):
        (library / "old" / name).write_text(f"There are {name}.")
    index_files(tmp_path / "kb", library, settings)
    assert remove_documents(tmp_path / "kb", [f"{library}/old/", library / "bees.txt"]) == [
        str(library / name) for name in ("bees.txt", "old/ants.txt", "old/wasps.txt")
    ]
    with pytest.raises(
        InputError, match=r"^/: all 3 documents of the index lie in it; name folders within it, or, to remove all, delete"
    ):
        remove_documents(tmp_path / "kb", ["octopus.md", "/"])
    (library / "more").mkdir()
    (library / "more" / "owls.txt").write_text("Owls hoot.")
    index_files(tmp_path / "kb", library / "more")
    assert len(remove_documents(tmp_path / "kb", [library / "more", "octopus.md", "rows.jsonl"])) == 4


def test_names_that_no_document_has_remove_nothing(tmp_path: Path, library: Path, settings: Settings) -> None:
    index_files(tmp_path / "kb", library, settings)
    with pytest.raises(InputError, match=r"^octopus: the index has no document with this name; did you mean: .*octopus.md"):
        remove_documents(tmp_path / "kb", ["bees.txt", "octopus"])
    with pytest.raises(InputError, match=r"no document with this name; it has: .*bees.txt"):
        remove_documents(tmp_path / "kb", f"{library}[*/")
    with pytest.raises(InputError, match="name a file or a folder"):
        remove_documents(tmp_path / "kb", [])
    with pytest.raises(IndexStateError, match="there is no index here"):
        remove_documents(tmp_path / "nowhere", "bees.txt")
    assert not (tmp_path / "nowhere").exists()
    assert len(keys(tmp_path / "kb")) == 4


def test_an_interrupted_removal_removes_nothing(
    tmp_path: Path, library: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_files(tmp_path / "kb", library, settings)

    def interrupt(writer: IndexWriter, forget: bool) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(IndexWriter, "publish", interrupt)
        with pytest.raises(KeyboardInterrupt):
            remove_documents(tmp_path / "kb", "bees.txt")
    assert len(keys(tmp_path / "kb")) == 4
    assert len(remove_documents(tmp_path / "kb", "bees.txt")) == 1
