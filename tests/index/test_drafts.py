"""An update shares the documents that are written, and writes what changed beside them: the index is that of a clean build."""

from __future__ import annotations

import json
import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from index_content import assert_same, assert_same_content, content

from oreqa.core import Document
from oreqa.errors import IndexStateError
from oreqa.index import drafts, integrity
from oreqa.index.change_encoder import change_encoder, copy_generation
from oreqa.index.drafts import begin_draft, rewrite
from oreqa.index.generations import CHANGES, DAMAGED, DOCUMENTS, MANIFEST, require_generation
from oreqa.index.in_memory import index_documents
from oreqa.index.ingest import index_files
from oreqa.index.integrity import check_index
from oreqa.index.removal import remove_documents
from oreqa.index.schema import NUMBERED, create_tables
from oreqa.index.search import Index
from oreqa.index.store import Settings, connect_draft, open_documents, transaction


@pytest.fixture
def settings(tiny: Path) -> Settings:
    return Settings(str(tiny), passage_tokens=40)


@pytest.fixture
def shared(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small the documents are, what changes is written beside them."""
    monkeypatch.setattr(drafts, "_SHARE", 0)


def tables(folder: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What the documents of an index say, whatever the ids."""
    queries = {
        "documents": "SELECT key, source, title, fields, hash, gone FROM documents ORDER BY key",
        "sources": "SELECT path, revision FROM sources ORDER BY path",
        "pages": "SELECT key, page, pages.source, read, left_out FROM pages JOIN documents ON documents.id = document "
        "ORDER BY key, page",
        "passages": "SELECT key, heading, text, start, places, encoding, (SELECT COUNT(*) FROM sentences WHERE passage = p.id) "
        "FROM passages AS p JOIN documents ON documents.id = document ORDER BY key, start",
    }
    with closing(open_documents(require_generation(folder))) as database:
        return {name: database.execute(query).fetchall() for name, query in queries.items()}


def check_counts(folder: Path) -> None:
    """What an update noted is what there is, and nobody has to count it."""
    with closing(open_documents(require_generation(folder))) as database:
        noted = dict(database.execute("SELECT key, value FROM settings WHERE key IN ('documents', 'passages')"))
        for table in ("documents", "passages"):
            (count,) = database.execute(f"SELECT COUNT(*) FROM {table}").fetchone()
            assert noted[table] == str(count)
        counts: list[str] = []
        database.set_trace_callback(counts.append)
        drafts.count_documents(database)
        assert not [query for query in counts if "COUNT" in query]


def inode(folder: Path) -> int:
    """Which file holds the documents that are written whole."""
    return (require_generation(folder) / DOCUMENTS).stat().st_ino


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("seed", [1, 2])
def test_an_index_that_shares_its_documents_is_that_of_a_clean_build(
    tmp_path: Path, library: Path, settings: Settings, seed: int
) -> None:
    folder, draw = tmp_path / "kb", random.Random(seed)
    index_files(folder, library, settings)
    first = inode(folder)
    for step in range(8):
        name = draw.choice(["octopus.md", "bees.txt", f"new{step}.txt"])
        if step == 4:
            (library / "rows.jsonl").write_text('{"id": "b", "title": "Boots", "text": "The boots are wet."}\n')
        (library / name).write_text(f"Owls {draw.random()} hoot.\n\nBees dance {step} times.\n")
        report = index_files(folder, library)
        assert report.encoded
        assert (require_generation(folder) / CHANGES).is_file()
        check_counts(folder)
    assert inode(folder) == first
    index_files(tmp_path / "gone", library, settings)
    assert_same(folder, tmp_path / "gone") if report.gone == 0 else None
    index_files(folder, library, prune=True)
    check_counts(folder)
    assert inode(folder) != first
    assert not (require_generation(folder) / CHANGES).exists()
    index_files(tmp_path / "clean", library, settings)
    assert_same(folder, tmp_path / "clean")
    ours, theirs = tables(folder), tables(tmp_path / "clean")
    assert {name: ours[name] for name in ours if name != "sources"} == {n: theirs[n] for n in theirs if n != "sources"}
    assert [path for path, _ in ours["sources"]] == [path for path, _ in theirs["sources"]]
    assert check_index(folder) == []


@pytest.mark.parametrize("seed", range(6))
def test_deleted_words_leave_no_copy_between_others(tmp_path: Path, seed: int) -> None:
    """SQLite alone leaves some for three of the seeds."""
    rng = random.Random(seed)
    words = [f"q{rng.randrange(10**9):09}{'x' * rng.choice([1, 20, 50, 110])}z" for _ in range(1000)]
    database = connect_draft(tmp_path / DOCUMENTS)
    create_tables(database)
    with transaction(database):
        database.executemany("INSERT INTO terms(term) VALUES (?)", [(word,) for word in words])
    rng.shuffle(words)
    with transaction(database):
        database.executemany("DELETE FROM terms WHERE term = ?", [(word,) for word in words[:500]])
    rewrite(database, tmp_path)
    data = (tmp_path / DOCUMENTS).read_bytes()
    assert [word for word in words if word.encode() in data] == words[500:]


@pytest.mark.usefixtures("shared")
def test_changes_are_made_in_a_copy_as_if_all_was_written(tmp_path: Path, library: Path, settings: Settings) -> None:
    """A removal after updates: what is gone stays gone, and ids are given once."""
    states = []
    for share in (0, 10**9):
        folder = tmp_path / str(share)
        vars(drafts)["_SHARE"] = 0
        index_files(folder, library, settings)
        index_documents(folder, [Document(f"owl {n}", "", f"Owl {n} hoots. It sleeps.") for n in range(9)])
        (library / "bees.txt").rename(library / "other.txt")
        index_files(folder, library)
        (library / "other.txt").rename(library / "bees.txt")
        vars(drafts)["_SHARE"] = share
        remove_documents(folder, ["owl 3", "octopus.md"])
        assert not (require_generation(folder) / CHANGES).exists()
        index_documents(folder, Document("owl 3", "", "Owl 3 is back."))
        with closing(open_documents(require_generation(folder))) as database:
            rows = [database.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in NUMBERED]
        states.append((rows, tables(folder)))
        check_counts(folder)
    assert states[0] == states[1]


@pytest.mark.usefixtures("shared")
def test_a_document_that_is_gone_comes_back_beside_what_is_shared(tmp_path: Path, library: Path, settings: Settings) -> None:
    folder, rows = tmp_path / "kb", (library / "rows.jsonl").read_text()
    index_files(folder, library, settings)
    first, before = inode(folder), tables(folder)["documents"]
    (library / "rows.jsonl").write_text(rows.splitlines(keepends=True)[0])
    assert index_files(folder, library).gone == 1
    assert [row[-1] for row in tables(folder)["documents"]] == [0, 0, 0, 1]
    (library / "rows.jsonl").write_text(rows)
    index_files(folder, library)
    assert tables(folder)["documents"] == before
    assert inode(folder) == first


@pytest.mark.usefixtures("shared")
def test_words_of_a_shared_document_that_is_replaced_are_misspelt_as_in_a_clean_build(
    tmp_path: Path, settings: Settings
) -> None:
    from oreqa.index.spelling import misspelt

    folder = tmp_path / "kb"
    index_documents(
        folder, [Document("a", "", "A hovercrift swims here."), Document("b", "", "The hovercraft swims here.")], settings
    )
    with Index.open(folder) as index:
        assert not misspelt("a hovercrift swims", index.snapshot(), lambda _: False)
    index_documents(folder, Document("a", "", "Nothing swims here."))
    with Index.open(folder) as index:
        assert misspelt("a hovercrift swims", index.snapshot(), lambda _: False) == {"hovercrift": "hovercraft"}


@pytest.mark.usefixtures("shared")
def test_ids_are_given_once(tmp_path: Path, settings: Settings) -> None:
    folder, ids = tmp_path / "kb", set()
    index_documents(folder, [Document(key, "", f"Owl {key} hoots.") for key in "abc"], settings)
    for step in range(4):
        index_documents(folder, Document("c", "", f"Owl {step} sleeps."))
        if step == 2:
            remove_documents(folder, "c")  # all is written whole
            index_documents(folder, Document("c", "", "Owls sleep."))
        with closing(open_documents(require_generation(folder))) as database:
            [row] = database.execute(
                "SELECT d.id, p.id, s.id FROM documents AS d JOIN passages AS p ON document = d.id "
                "JOIN sentences AS s ON passage = p.id WHERE key = 'c'"
            )
        assert not ids.intersection(enumerate(row))
        ids.update(enumerate(row))


def test_changes_are_written_into_the_documents_when_they_are_a_share_of_them(tmp_path: Path, settings: Settings) -> None:
    folder, inodes = tmp_path / "kb", []
    documents = [Document(f"{n}", "", f"Owl {n} hoots. " * 60) for n in range(160)]
    index_documents(folder, documents, settings)
    for step in range(20):
        documents.append(Document(f"new{step}", "", f"Larks {step} sing. " * 60))
        index_documents(folder, documents[-1])
        inodes.append(inode(folder))
    assert 1 < len(set(inodes)) < 10
    index_documents(tmp_path / "clean", documents, settings)
    assert_same(folder, tmp_path / "clean")


QUERIES = {
    "a passage": "SELECT text FROM passages JOIN documents ON documents.id = document WHERE passages.id IN (1, 2)",
    "a sentence": "SELECT id, passage, start, end FROM sentences WHERE passage IN (1, 2) ORDER BY id",
    "a document": "SELECT source, gone, (SELECT revision FROM sources WHERE path = source) FROM documents WHERE key = ''",
    "a source": "SELECT id FROM documents WHERE source = ''",
    "a word": "SELECT id FROM terms WHERE term = ''",
    "words": "SELECT id FROM terms WHERE term >= 'a' AND term < 'b'",
    "an encoding": "SELECT id FROM passages WHERE encoding = x'00'",
}


@pytest.fixture
def replaced(tmp_path: Path, settings: Settings) -> Path:
    """An index in which a document between others was replaced, beside what is shared."""
    index_documents(tmp_path / "kb", [Document(key, "", f"Owl {key} hoots. It sleeps.") for key in "abc"], settings)
    index_documents(tmp_path / "kb", Document("b", "", "Larks sing. They fly. They eat."))
    return tmp_path / "kb"


@pytest.mark.usefixtures("shared")
def test_another_encoder_leaves_out_sentences_that_count_no_longer(tmp_path: Path, replaced: Path, fitted: Path) -> None:
    change_encoder(replaced, fitted)
    documents = [Document(key, "", f"Owl {key} hoots. It sleeps.") for key in "ac"]
    documents.append(Document("b", "", "Larks sing. They fly. They eat."))
    index_documents(tmp_path / "clean", documents, Settings(str(fitted), passage_tokens=40))
    assert_same(replaced, tmp_path / "clean")


@pytest.mark.usefixtures("shared")
def test_a_damaged_segment_is_repaired_without_what_counts_no_longer(replaced: Path) -> None:
    expected = content(replaced)
    flip(next(require_generation(replaced).glob("segment-*1/passages.npy")))
    index_documents(replaced, Document("d", "", "Herons wade."))
    assert_same_content([row for row in content(replaced) if row[0] != "d"], expected)
    assert check_index(replaced) == []


@pytest.mark.usefixtures("shared")
def test_damage_that_two_generations_share_is_named_with_both(replaced: Path) -> None:
    generation = require_generation(replaced)
    with (generation / DOCUMENTS).open("r+b") as file:  # in place, so that the file of the generation before has it, too
        file.seek(-9, 2)
        file.write(b"damaged")
    both = f"delete the folders {replaced / 'search-000001'} and {generation}, which share it, then run"
    with pytest.raises(IndexStateError, match=rf"{both}: .* \(this reads all documents again\)"):
        index_documents(replaced, "Herons wade.")


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize("query", QUERIES)
def test_no_search_reads_all_of_a_table(tmp_path: Path, settings: Settings, query: str) -> None:
    index_documents(tmp_path / "kb", "Owls hoot.", settings)
    index_documents(tmp_path / "kb", "Larks sing.")
    with closing(open_documents(require_generation(tmp_path / "kb"))) as database:
        plan = [row[-1] for row in database.execute(f"EXPLAIN QUERY PLAN {QUERIES[query]}")]
    assert any("SEARCH" in step for step in plan)
    assert not [step for step in plan if "SCAN" in step and "CONSTANT" not in step]


@pytest.mark.usefixtures("shared")
def test_another_encoder_and_a_copy_share_the_documents(
    tmp_path: Path, library: Path, settings: Settings, fitted: Path
) -> None:
    folder = tmp_path / "kb"
    index_files(folder, library, settings)
    (library / "bees.txt").write_text("Bees buzz.\n")
    index_files(folder, library)
    copy_generation(folder, tmp_path / "copy")
    assert inode(tmp_path / "copy") == inode(folder)
    assert_same(folder, tmp_path / "copy")
    before = inode(folder)
    change_encoder(folder, fitted)
    assert inode(folder) == before
    index_files(tmp_path / "clean", library, Settings(str(fitted), passage_tokens=40))
    assert_same(folder, tmp_path / "clean")


def test_an_index_of_the_format_before_goes_on(tmp_path: Path, library: Path, settings: Settings) -> None:
    folder = tmp_path / "kb"
    index_files(folder, library, settings)
    generation = require_generation(folder)
    with closing(sqlite3.connect(generation / DOCUMENTS)) as database:
        database.execute("DROP INDEX documents_key")
        database.execute("DELETE FROM settings WHERE key IN ('sum', 'passages')")
        database.commit()
    manifest = json.loads((generation / MANIFEST).read_text())
    row = integrity_row(generation / DOCUMENTS)
    (generation / MANIFEST).write_text(json.dumps({"format": 7, "files": {**manifest["files"], DOCUMENTS: row}}))
    assert check_index(folder) == []
    with Index.open(folder) as index:
        assert index.search("octopus", mode="sparse")
    (library / "owls.txt").write_text("Owls hoot.\n")
    report = index_files(folder, library)
    assert (report.encoded, report.passages, report.unchanged) == (1, 8 + 1, 4)
    (library / "owls.txt").write_text("Owls sleep.\n")
    assert index_files(folder, library).encoded == 1
    assert json.loads((require_generation(folder) / MANIFEST).read_text())["format"] == 8
    index_files(tmp_path / "clean", library, settings)
    assert_same(folder, tmp_path / "clean")


def integrity_row(path: Path) -> dict[str, Any]:
    """The row of a file in the manifest."""
    import hashlib

    data = path.read_bytes()
    return {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def flip(path: Path) -> None:
    """Damage a byte in the middle of a file, and its inode's alone."""
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.usefixtures("shared")
def test_damaged_documents_are_not_written_as_intact_ones(
    tmp_path: Path, library: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(integrity, "QUICK", 0)
    monkeypatch.setattr("oreqa.index.generations._SMALL", 0)
    folder = tmp_path / "kb"
    index_files(folder, library, settings)
    (library / "owls.txt").write_text("Owls hoot.\n")
    index_files(folder, library)
    flip(require_generation(folder) / DOCUMENTS)
    with pytest.raises(
        IndexStateError, match=r"documents\.db: this file of the index is missing or damaged; delete the folder"
    ):
        remove_documents(folder, "octopus.md")
    assert (require_generation(folder) / DAMAGED).is_file()
    with pytest.raises(IndexStateError, match=r"documents\.db: this file of the index is missing or damaged"):
        index_files(folder, library)


@pytest.mark.usefixtures("shared")
def test_a_draft_of_changes_has_what_the_generation_has(tmp_path: Path, settings: Settings) -> None:
    index_documents(tmp_path / "kb", [Document(key, "", f"Owl {key} hoots.") for key in "abc"], settings)
    index_documents(tmp_path / "kb", Document("b", "", "Larks sing."))
    (tmp_path / "draft").mkdir()
    with closing(begin_draft(require_generation(tmp_path / "kb"), tmp_path / "draft")) as draft:
        assert [row[0] for row in draft.execute("SELECT key FROM documents ORDER BY id")] == ["a", "c", "b"]
        drafts.delete_documents(draft, [number for (number,) in draft.execute("SELECT id FROM documents WHERE key > 'a'")])
        assert draft.execute("SELECT key FROM documents").fetchall() == [("a",)]
        assert draft.execute("SELECT COUNT(*) FROM removed").fetchone() == (2,)


@pytest.mark.usefixtures("shared")
def test_an_update_counts_the_words_of_no_other_segment(
    tmp_path: Path, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_documents(tmp_path / "kb", [Document(key, "", f"Owl {key} hoots.") for key in "abc"], settings)
    counted: list[object] = []
    monkeypatch.setattr("oreqa.index.publish.live_words", counted.append)
    index_documents(tmp_path / "kb", Document("b", "", "Larks sing."))
    assert not counted
