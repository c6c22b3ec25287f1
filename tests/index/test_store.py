from __future__ import annotations

from contextlib import closing
from pathlib import Path

from oreqa.core import Document
from oreqa.corpus.splitter import paragraph_passage
from oreqa.index.documents import insert_document
from oreqa.index.store import Settings, create_documents, open_draft


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
