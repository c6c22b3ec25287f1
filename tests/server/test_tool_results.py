from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed")

from oreqa.answer import Answer, Piece
from oreqa.as_json import document_id
from oreqa.core import Passage, Sentence
from oreqa.index.in_memory import index_documents
from oreqa.index.store import Settings
from oreqa.server.catalog import Catalog
from oreqa.server.collections import ServedCollection, close_collections, open_collections
from oreqa.server.problems import RefusedError
from oreqa.server.tool_results import MOST_FETCHED, QUOTED, answer_result, fetched, tool_links

ADDRESSED = partial(tool_links, sites={}, several=False, base="http://kb:1")


@pytest.fixture(scope="module")
def long(tmp_path_factory: pytest.TempPathFactory, fitted: Path, fitted_reader: Path) -> Any:
    """A collection of a document of some 90 KB whose letters have two bytes, of one without text, and of a short one."""
    folder = tmp_path_factory.mktemp("long") / "kb"
    text = "\n\n".join(f"Абзац {number} про улей и пчёл, которые летают далеко от дома." for number in range(900))
    documents = [
        {"id": "long", "title": "Пчёлы", "text": text},
        {"id": "short", "text": "Bees dance.", "kind": "note"},
    ]
    index_documents(folder, documents, settings=Settings(str(fitted)))
    opened = open_collections({"kb": folder}, reader=fitted_reader)
    yield opened
    close_collections(opened)


def numbers(text: str) -> list[int]:
    return [int(number) for number in re.findall(r"Абзац (\d+)", text)]


def fetch(collections: dict[str, ServedCollection], id: str) -> dict[str, Any]:
    row = fetched(id, Catalog(collections), ADDRESSED)
    assert len(row["text"].encode()) <= MOST_FETCHED
    assert row["metadata"]["note"] == QUOTED
    return row


def test_an_answer_of_several_spans_names_them_all() -> None:
    sentence = Sentence("It speaks TLS and SSH.", 0, 22)
    passage = Passage("a.md", "", "", sentence.text, 0, 22, (sentence,))
    answer = Answer("SSH", 18, 21, 0.5, sentence, passage, 1.0, {}, spans=(Piece("TLS", 10, 13), Piece("SSH", 18, 21)))
    row = answer_result(answer, "", ADDRESSED)
    assert (row["text"], row["start"], row["end"]) == ("TLS, SSH", 18, 21)


def test_a_short_document_comes_whole_wherever_it_was_found(long: dict[str, ServedCollection]) -> None:
    name = document_id("short")
    for id in (name, f"{name}:0-4", f" {name}:5-11\n", f"kb/{name}"):
        row = fetch(long, id)
        assert (row["id"], row["text"], row["title"]) == (id.strip(), "Bees dance.", "short")
        assert row["metadata"] == {
            "document": "short", "collection": "kb", "characters": "0-11 of 11", "field kind": "note", "note": QUOTED,
        }  # fmt: skip
    assert fetch(long, f"{name}:5-11")["url"] == f"http://kb:1/d/{name}#c=5-11"
    assert fetch(long, name)["url"] == f"http://kb:1/d/{name}#c=0-11"


def test_a_long_document_comes_in_parts_that_lead_to_one_another(long: dict[str, ServedCollection]) -> None:
    name = document_id("long")
    row, read = fetch(long, name), []
    while True:
        read += numbers(row["text"])
        if "after" not in row["metadata"]:
            break
        following = row["metadata"]["after"].split()[2]
        assert following == f"{name}:{row['metadata']['characters'].split('-')[1].split()[0]}-"
        row = fetch(long, following)
    assert read == list(range(900))
    back = numbers(row["text"])
    while "before" in row["metadata"]:
        row = fetch(long, row["metadata"]["before"].split()[2])
        back = [*numbers(row["text"]), *back]
    assert back == list(range(900))


def test_a_part_has_what_is_on_both_sides_of_what_was_found(long: dict[str, ServedCollection]) -> None:
    name, middle = document_id("long"), 450 * 58
    row = fetch(long, f"{name}:{middle}-{middle + 5}")
    first, last = (int(each) for each in re.findall(r"\d+", row["metadata"]["characters"])[:2])
    assert first < middle - 5000
    assert last > middle + 5000
    assert row["metadata"]["before"].startswith("cut: fetch ")
    assert row["metadata"]["after"].startswith("cut: fetch ")
    assert len(row["text"].encode()) > MOST_FETCHED - 2000
    assert row["url"].endswith(f"#c={middle}-{middle + 5}")


@pytest.mark.parametrize(
    "id", ["", "x", "../etc/passwd", "0123456789ABCDEF", "0123456789abcdef:1", f"{'0' * 16}:{'9' * 13}-"]
)
def test_what_is_no_id_is_refused(long: dict[str, ServedCollection], id: str) -> None:
    with pytest.raises(RefusedError, match="id: take one from the results of search or ask") as refused:
        fetch(long, id)
    assert refused.value.status == 400


def test_a_place_behind_the_end_gives_the_end(long: dict[str, ServedCollection]) -> None:
    assert fetch(long, f"{document_id('short')}:999999999999-")["text"] == "Bees dance."
    assert numbers(fetch(long, f"{document_id('long')}:999999-999999")["text"])[-1] == 899
