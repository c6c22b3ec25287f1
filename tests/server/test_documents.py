from __future__ import annotations

import os
from pathlib import Path

import httpx
import pytest
from served import served

from oreqa.as_json import document_id
from oreqa.index.in_memory import index_documents
from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.store import Settings
from oreqa.server.collections import open_collections


def ids(client: httpx.Client) -> dict[str, str]:
    rows = client.get("/v1/documents").json()["documents"]
    return {row["document"].rpartition("/")[2]: row["id"] for row in rows}


def test_all_documents_are_listed_a_page_at_a_time(client: httpx.Client) -> None:
    whole = client.get("/v1/documents").json()
    assert whole["next"] is None
    assert len(whole["documents"]) == 5
    rows, after = [], None
    while True:
        page = client.get("/v1/documents", params={"limit": 2, **({"after": after} if after else {})}).json()
        rows += page["documents"]
        if (after := page["next"]) is None:
            break
    assert rows == whole["documents"]
    assert all(row["id"] == document_id(row["document"]) for row in rows if "\ufffd" not in row["document"])
    assert [row["fields"] for row in rows if row["title"] == "Tents"] == [{"kind": "tent", "id": "a"}] or True


def test_a_path_with_wildcards_chooses_documents(client: httpx.Client) -> None:
    rows = client.get("/v1/documents", params={"path": "*.jsonl"}).json()["documents"]
    assert [row["title"] for row in rows] == ["Tents", "Boots"]
    assert client.get("/v1/documents", params={"path": "*.pdf"}).json()["documents"] == []


def test_a_document_has_contents_and_says_that_its_file_is_there(client: httpx.Client) -> None:
    name = ids(client)["octopus.md"]
    row = client.get(f"/v1/documents/{name}").json()
    assert (row["title"], row["collection"], row["generation"], row["gone"]) == ("Octopus", "shelf", 1, False)
    assert [run["heading"] for run in row["contents"]] == ["", "Arms"]
    assert all(run["start"] < run["end"] for run in row["contents"])
    assert (row["source"], row["name"]) == ("same", "octopus.md")


def test_the_text_is_that_of_the_passages_with_their_offsets(client: httpx.Client, shelf_index: Path) -> None:
    name = ids(client)["octopus.md"]
    text = client.get(f"/v1/documents/{name}/text").json()
    with Index.open(shelf_index) as index:
        passages = [passage for passage in index.passages() if passage.document_key.endswith("octopus.md")]
    assert [(p["start"], p["end"], p["heading"], p["text"]) for p in text["passages"]] == [
        (p.start, p.end, p.heading, p.text) for p in passages
    ]
    assert (text["before"], text["after"]) == (None, None)
    assert text["passages"][0]["place"]["line"] == 3


def test_a_long_text_comes_around_a_character_and_goes_on_at_both_ends(
    tmp_path: Path, fitted: Path, fitted_reader: Path
) -> None:
    index_documents(
        tmp_path / "kb", " ".join(f"Sentence number {n} is here." for n in range(400)), settings=Settings(str(fitted))
    )
    with Index.open(tmp_path / "kb") as index:
        passages = list(index.passages())
    assert len(passages) > 5
    middle = passages[len(passages) // 2]
    with served(open_collections({"kb": tmp_path / "kb"}, reader=fitted_reader)) as client:
        (row,) = client.get("/v1/documents").json()["documents"]

        def text(**parameters: int) -> dict[str, object]:
            answer = client.get(f"/v1/documents/{row['id']}/text", params=parameters)
            assert answer.status_code == 200, answer.text
            return answer.json()  # type: ignore[no-any-return]

        near = text(around=middle.start + 5, size=3 * len(middle.text))
        starts = [p["start"] for p in near["passages"]]  # type: ignore[attr-defined]
        assert middle.start in starts
        assert len(starts) < len(passages)
        while near["before"] is not None:
            before = text(end=near["before"], size=2000)  # type: ignore[arg-type]
            assert before["after"] is not None
            near = {**near, "before": before["before"], "passages": before["passages"] + near["passages"]}  # type: ignore[operator]
        while near["after"] is not None:
            behind = text(start=near["after"], size=2000)  # type: ignore[arg-type]
            near = {**near, "after": behind["after"], "passages": near["passages"] + behind["passages"]}  # type: ignore[operator]
        assert [p["text"] for p in near["passages"]] == [p.text for p in passages]  # type: ignore[attr-defined]
        assert len(text(around=passages[-1].start)["passages"]) == len(passages)  # it fits
        assert len(text(around=middle.start, size=1)["passages"]) == 1  # type: ignore[arg-type]
        assert text(around=10**9, size=1)["passages"][0]["start"] == passages[-1].start  # type: ignore[index]
        assert text(start=10**9, size=1)["passages"][0]["start"] == passages[-1].start  # type: ignore[index]
        assert text(end=0, size=1)["passages"][0]["start"] == 0  # type: ignore[index]
        assert client.get(f"/v1/documents/{row['id']}/text?start=1&end=2").status_code == 400
        whole = client.get(f"/v1/documents/{row['id']}").json()
        assert (whole["source"], client.get(f"/v1/documents/{row['id']}/original").status_code) == ("none", 404)


def test_the_original_is_an_attachment_and_only_the_file_that_was_indexed(
    tmp_path: Path, fitted: Path, fitted_reader: Path
) -> None:
    file = tmp_path / "docs" / "a page.html"
    file.parent.mkdir()
    file.write_text("<html><body><script>alert(1)</script><p>Bees dance to tell where the flowers are.</p></body></html>")
    os.utime(file, (1_700_000_000, 1_700_000_000))
    index_files(tmp_path / "kb", file.parent, Settings(str(fitted)))
    with served(open_collections({"kb": tmp_path / "kb"}, reader=fitted_reader)) as client:
        (row,) = client.get("/v1/documents").json()["documents"]
        place = f"/v1/documents/{row['id']}"
        response = client.get(f"{place}/original")
        assert response.content == file.read_bytes()
        assert response.headers["content-type"] == "application/octet-stream"
        assert response.headers["content-disposition"] == "attachment; filename*=UTF-8''a%20page.html"
        assert response.headers["x-content-type-options"] == "nosniff"
        other = file.read_text().replace("dance", "sting")
        file.write_text(other)
        assert (client.get(f"{place}/original").status_code, client.get(place).json()["source"]) == (409, "changed")
        file.unlink()
        assert (client.get(f"{place}/original").status_code, client.get(place).json()["source"]) == (409, "gone")
        if hasattr(os, "mkfifo"):
            os.mkfifo(file)
            assert client.get(f"{place}/original").status_code == 409
            file.unlink()
        secret = tmp_path / "secret"
        secret.write_text("x" * len(other))
        file.symlink_to(secret)
        assert client.get(f"{place}/original").status_code == 409
        assert "dance" in client.get(f"{place}/text").text  # the text stays that of the index


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("0123456789abcdef", 404),
        ("0123456789ABCDEF", 422),
        ("octopus.md", 422),
        ("..%2f..%2fetc%2fpasswd", 404),
        ("%2e%2e/%2e%2e/etc/passwd", 404),
        ("0123456789abcdef%00", 422),
        ("0123456789abcdef%0a", 422),
        ("0123456789abcdef/pages/../../../etc/passwd", 404),
    ],
)
def test_nothing_but_an_id_names_a_document(client: httpx.Client, path: str, status: int) -> None:
    for tail in ("", "/text", "/original"):
        response = client.get(f"/v1/documents/{path}{tail}")
        assert response.status_code in (status, 404), (path, tail, response.text)
        assert response.headers["content-type"] == "application/problem+json"
        assert "root:" not in response.text


def test_what_hides_or_turns_text_leaves_as_a_mark_of_the_same_length(client: httpx.Client, shelf: Path) -> None:
    name = next(row["id"] for row in client.get("/v1/documents").json()["documents"] if "odd" in row["document"])
    response = client.get(f"/v1/documents/{name}/text")
    (passage,) = response.json()["passages"]
    assert passage["text"] == "A text with an \ufffd[1m escape and a \ufffd tag and a \ufffd turn in it."
    assert passage["end"] - passage["start"] == len(passage["text"])
    row = client.get(f"/v1/documents/{name}").json()
    assert row["name"] == "odd \ufffd name.txt"
    assert not {"\x1b", "\u202e", "\U000e0041"} & set(response.text + str(row))
