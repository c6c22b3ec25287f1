from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="the serve extra is not installed")

import uvicorn
from served import served

from oreqa.as_json import document_id
from oreqa.core import Passage, Place, Sentence
from oreqa.errors import InputError
from oreqa.server.collections import ServedCollection
from oreqa.server.links import base_address, citation, file_url, published_folders, published_url

LONG = "The warranty lasts two-year terms, and ends when the owner sells it."


def published(key: str, text: str, *places: Place, sites: dict[str, str] | None = None) -> str | None:
    passage = Passage(key, "", "", text, 0, len(text), (), places=places)
    return published_url(
        passage, Sentence(text, 0, len(text)), sites or {"/docs": "https://a.org/m", "/docs/x": "https://x.org"}
    )


def test_a_sentence_is_found_on_its_site() -> None:
    text = ":~:text=The%20warranty%20lasts%20two%2Dyear,the%20owner%20sells%20it."
    assert published("/docs/a b/ü.html", LONG, Place(0, "#part 2")) == f"https://a.org/m/a%20b/%C3%BC.html#part%202{text}"
    assert published("/docs/a.md", LONG, Place(0, line=3)) == f"https://a.org/m/a.md#{text}"
    assert published("/docs/a.md", "Short,\n& sweet.") == "https://a.org/m/a.md#:~:text=Short%2C%20%26%20sweet."
    assert published("/docs/a.pdf", LONG, Place(0, "page 12")) == "https://a.org/m/a.pdf#page=12"
    assert published("/docs/a.md", "- Drop it.").endswith("=Drop%20it.")
    assert published("/docs/a.md", "(iv) Drop it.").endswith("=Drop%20it.")
    assert published("/docs/a.md", "Drop it (all) now.").endswith("=Drop%20it%20%28all%29%20now.")
    assert published("/docs/a.md", "- ").endswith("=%2D")
    assert published("/docs/a.md", "name: Bhutan; capital: Thimphu town").endswith("=Thimphu%20town")
    assert published("/docs/a.md", "size | the size of a file").endswith("=the%20size%20of%20a%20file")
    assert published("/docs/x/a.md", "One.") == "https://x.org/a.md#:~:text=One."
    assert published("/docs/rows.csv#3", "One.") == "https://a.org/m/rows.csv#:~:text=One."


def test_a_document_elsewhere_has_no_site() -> None:
    assert published("/docs2/a.md", LONG) is None
    assert published("tent", LONG) is None
    assert published("/docs/a.md", LONG, sites={"/other": "https://a.org"}) is None


def test_a_sentence_is_found_in_its_file() -> None:
    def file(key: str, *places: Place) -> str:
        return file_url(Passage(key, "", "", "One.", 0, 4, (), places=places), Sentence("One.", 0, 4))

    assert file("/docs/a b.md") == "file:///docs/a%20b.md#:~:text=One."
    assert file("/docs/a.pdf", Place(0, "page 2")) == "file:///docs/a.pdf#page=2"
    assert file("/docs/rows.csv#3") == "file:///docs/rows.csv#:~:text=One."
    assert file("tent") == f"oreqa:{document_id('tent')}#c=0-4"


def test_a_number_sign_may_be_part_of_a_files_name(tmp_path: Path) -> None:
    (tmp_path / "C# notes.csv").write_text("")
    for key in (f"{tmp_path}/C# notes.csv", f"{tmp_path}/C# notes.csv#3"):
        assert (
            published(key, "One.", sites={str(tmp_path): "https://a.org"}) == "https://a.org/C%23%20notes.csv#:~:text=One."
        )


def counting_looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the threads that ask the disk for a file of rows, as they come."""
    looks: list[str] = []
    look = os.path.isfile

    def noted(path: str | Path) -> bool:
        if "rows." in str(path):
            looks.append(threading.current_thread().name)
        return look(path)

    monkeypatch.setattr(os.path, "isfile", noted)
    return looks


def test_the_disk_is_asked_only_where_a_row_of_a_published_file_may_be_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    looks = counting_looks(monkeypatch)
    assert published_url(Passage("/docs/rows.csv#3", "", "", "", 0, 0, ()), Sentence("", 0, 0), {}) is None
    assert looks == []
    published("/docs/rows.csv#3", "One.")
    assert looks


def test_the_disk_is_never_asked_by_the_thread_of_the_requests(
    shelf: Path, collections: dict[str, ServedCollection], monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[str] = []
    run = uvicorn.Server.run
    monkeypatch.setattr(
        uvicorn.Server,
        "run",
        lambda *args, **kwargs: [threads.append(threading.current_thread().name), run(*args, **kwargs)],
    )
    with served(collections, sites={str(shelf): "https://a.org"}) as client:
        looks = counting_looks(monkeypatch)
        body = {"question": "Which boots are of leather?", "where": {"kind": "shoe"}}
        for path, request_body in (
            ("/v1/ask", {**body, "threshold": 0}),
            ("/v1/batch", {"questions": [body["question"]], "where": body["where"], "threshold": 0}),
            ("/v1/search", body),
            ("/v1/explain", body),
        ):
            looks.clear()
            assert "https://a.org/rows.jsonl" in client.post(path, json=request_body).text
            assert looks, path
            assert threads[0] not in looks, path


def test_a_servers_address_has_a_scheme_and_a_host() -> None:
    assert base_address("https://kb.example.org/docs/") == "https://kb.example.org/docs"
    for wrong in ("kb.example.org", "javascript:alert(1)", "https://", "https://a.org?q=1", "https://a.org#x", "file:///x"):
        with pytest.raises(InputError, match="write an address, as in"):
            base_address(wrong)


def test_folders_are_named_with_their_sites(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert published_folders(["docs=https://a.org/m/", "/x/../y=http://b.org"]) == {
        str(tmp_path / "docs"): "https://a.org/m", "/y": "http://b.org",
    }  # fmt: skip
    for wrong in (
        "docs",
        "=https://a.org",
        "docs=",
        "docs=a.org",
        "docs=javascript:alert(1)",
        "docs=https://a.org?q=1",
        "docs=https://a.org#x",
    ):
        with pytest.raises(InputError, match="write it as FOLDER=URL"):
            published_folders([wrong])


def test_a_citation_names_page_heading_line_or_row() -> None:
    sentence = Sentence("It has\nthree.", 0, 13)

    def cited(title: str, heading: str, *places: Place) -> str:
        return citation(Passage("kb/a.md", title, heading, sentence.text, 0, 13, (sentence,), places=places), sentence)

    assert cited("T", "H", Place(0, "page 12")) == "“It has three.” (T, page 12)"
    assert cited("T", "H", Place(0, "#x")) == "“It has three.” (T, H)"
    assert cited("T", "", Place(0, "#x")) == "“It has three.” (T, #x)"
    assert cited("T", "", Place(0, line=3)) == "“It has three.” (T, line 3)"
    assert cited("", "") == "“It has three.” (a.md)"
    assert cited("T", "") == "“It has three.” (T, a.md)"
    assert cited("T", "T") == "“It has three.” (T)"
