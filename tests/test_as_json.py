from __future__ import annotations

import hashlib

from oreqa.as_json import document_id, place_json
from oreqa.core import Passage, Place, Sentence

TEXT = "One. Two.\nThree."


def place(document: str, start: int, end: int, *places: Place) -> dict[str, object]:
    passage = Passage(document, "", "", TEXT, 10, 10 + len(TEXT), (Sentence(TEXT, 10, 10 + len(TEXT)),), {}, places)
    return place_json(passage, start, end)


def test_the_place_of_a_text_has_its_line_and_its_characters_in_the_file() -> None:
    assert place("/x/a.txt", 20, 26, Place(10, "", 7, 90)) == {
        "name": None, "page": None, "line": 8, "source": {"start": 100, "end": 106}, "document_id": document_id("/x/a.txt"),
    }  # fmt: skip
    # Markup between two parts of an answer: its end is that of its last character.
    two = (Place(10, "", 1, 2), Place(15, "", 1, 9))
    assert place("/x/a.md", 10, 15, *two)["source"] == {"start": 2, "end": 7}
    assert place("/x/a.md", 10, 16, *two)["source"] == {"start": 2, "end": 10}


def test_only_a_page_has_a_number() -> None:
    on_page = place("/x/a.pdf", 20, 26, Place(10, "page 12"))
    assert (on_page["name"], on_page["page"], on_page["line"], on_page["source"]) == ("page 12", 12, None, None)
    assert place("/x/a.pptx", 20, 26, Place(10, "slide 2"))["page"] is None
    assert place("/x/a.html", 20, 26, Place(10, "#page 2"))["page"] is None
    nowhere = place("/x/a.pdf", 20, 26)
    assert (nowhere["name"], nowhere["page"]) == (None, None)


def test_a_document_has_an_id_even_if_its_path_is_not_utf_8() -> None:
    assert document_id("a.md") == hashlib.sha256(b"a.md").hexdigest()[:16]
    assert len(document_id("caf\udce9.txt")) == 16
