from __future__ import annotations

import random
from contextlib import closing
from pathlib import Path

from oreqa.core import Document
from oreqa.corpus.splitter import paragraph_passage
from oreqa.index.documents import insert_document
from oreqa.index.generations import DOCUMENTS
from oreqa.index.store import Settings, create_documents, erase_unused, open_draft, transaction


def test_a_draft_notes_the_passages_that_it_loses_and_gives_no_id_twice(tmp_path: Path) -> None:
    owls, bees = Document("a", "", "Owls hoot."), Document("b", "", "Bees hum.")
    with closing(create_documents(tmp_path, Settings(), "an encoder", "documents")) as database:
        for document in (owls, bees):
            insert_document(database, document, document.key, b"", [paragraph_passage(document)] * 2, [b"1", b"2"])
    with closing(open_draft(tmp_path)) as draft:
        assert draft.execute("SELECT id FROM removed").fetchall() == []
        draft.execute("DELETE FROM documents WHERE key = 'b'")  # its passages go with it
        assert draft.execute("SELECT id FROM removed").fetchall() == [(3,), (4,)]
        insert_document(draft, bees, "b", b"", [paragraph_passage(bees)], [b"1"])
        assert draft.execute("SELECT MAX(id) FROM passages").fetchone() == (5,)


def test_what_was_deleted_can_be_read_nowhere(tmp_path: Path) -> None:
    """A word a document: of some, SQLite has left copies where it does not overwrite them."""
    rng, live, deleted = random.Random(2), dict[str, int](), set[str]()
    database = create_documents(tmp_path, Settings(), "encoder", "documents")
    for _ in range(5):
        with transaction(database):
            for _ in range(300):
                word = "".join(rng.choices("bcdfghjk", k=12))
                document = Document(f"key of {word}", f"title of {word}", f"{word} " * rng.choice([1, 5, 300]))
                live[word] = insert_document(database, document, "source", b"", [paragraph_passage(document)], [b""])
                database.execute("INSERT INTO terms(term) VALUES (?)", (word,))
        with transaction(database):
            for word in rng.sample(sorted(live), 250):
                database.execute("DELETE FROM documents WHERE id = ?", (live.pop(word),))
                database.execute("DELETE FROM terms WHERE term = ?", (word,))
                deleted.add(word)
    every = list(database.iterdump())
    database.close()

    def left() -> set[str]:
        data = (tmp_path / DOCUMENTS).read_bytes()
        return {word for word in deleted if word.encode() in data}

    assert left()
    erase_unused(tmp_path)
    assert not left()
    database = open_draft(tmp_path)
    assert list(database.iterdump()) == every
    assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    database.close()
