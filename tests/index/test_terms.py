from __future__ import annotations

from pathlib import Path

import numpy as np

from oreqa.index.postings import LivePostings, live_words, postings_of
from oreqa.index.store import Settings, create_documents
from oreqa.index.terms import Terms, drop_unused_terms


def test_words_keep_their_numbers_while_a_text_uses_them(tmp_path: Path) -> None:
    database = create_documents(tmp_path, Settings(), "an encoder", "documents")
    first, second = Terms(database).number(["owl", "bee", "owl"]), Terms(database).number(["bee", "ant"])
    assert first.tolist() == [1, 2, 1]
    assert second.tolist() == [2, 3]
    postings = postings_of((np.concatenate([first, second]), np.array([3, 2])))
    held = "SELECT term FROM terms ORDER BY id"
    drop_unused_terms(database, [live_words(LivePostings.of(postings))[0]])
    assert database.execute(held).fetchall() == [("owl",), ("bee",), ("ant",)]
    drop_unused_terms(database, [live_words(LivePostings.of(postings, np.array([0])))[0]])
    assert database.execute(held).fetchall() == [("bee",), ("ant",)]
    assert Terms(database).number(["bee", "fly"]).tolist() == [2, 4]
    drop_unused_terms(database, [])
    assert database.execute(held).fetchall() == []
