"""The files of the page."""

from __future__ import annotations

from pathlib import Path

import httpx
import pytest
from served import served

from oreqa.server import static
from oreqa.server.collections import ServedCollection
from oreqa.server.guard import HEADERS
from oreqa.server.settings import Access

FILES = {
    "index.html": ("text/html; charset=utf-8", "<!doctype html><title>oreqa</title>"),
    "main.js": ("text/javascript; charset=utf-8", "export {};"),
    "style.css": ("text/css; charset=utf-8", "body { margin: 0 }"),
    "icon.svg": ("image/svg+xml", "<svg xmlns='http://www.w3.org/2000/svg'/>"),
}


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "web"
    folder.mkdir()
    for name, (_, text) in FILES.items():
        (folder / name).write_text(text)
    (folder / "notes.txt").write_text("not of the page")
    (tmp_path / "secret.html").write_text("secret")
    monkeypatch.setattr(static.static_router, "__defaults__", (folder,))
    return folder


@pytest.mark.usefixtures("web")
def test_the_page_needs_no_token_and_has_the_headers_of_every_response(collections: dict[str, ServedCollection]) -> None:
    with served(collections, Access(frozenset(), "a-token-of-some-length")) as client:
        for path in ("/", "/d/0123456789abcdef", "/d/0123456789abcdef?collection=shelf"):
            response = client.get(path)
            assert (response.status_code, response.text) == (200, FILES["index.html"][1])
            assert response.headers.items() >= {name.lower(): value for name, value in HEADERS.items()}.items()
            assert response.headers["cache-control"] == "no-cache"
        for name, (kind, text) in FILES.items():
            response = client.get(f"/web/{name}")
            assert (response.status_code, response.headers["content-type"], response.text) == (200, kind, text)
        assert client.get("/v1/documents").status_code == 401


@pytest.mark.usefixtures("web")
def test_a_file_that_the_browser_has_is_not_sent_again(collections: dict[str, ServedCollection]) -> None:
    with served(collections) as client:
        tag = client.get("/web/main.js").headers["etag"]
        again = client.get("/web/main.js", headers={"If-None-Match": tag})
        assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", tag)
        assert client.get("/web/main.js", headers={"If-None-Match": '"other"'}).status_code == 200


@pytest.mark.usefixtures("web")
@pytest.mark.parametrize(
    "path",
    [
        "/web/notes.txt",
        "/web/",
        "/web/../secret.html",
        "/web/..%2fsecret.html",
        "/web/%2e%2e%2fsecret.html",
        "/web/..%5csecret.html",
        "/web/index.html%00",
        "/d/..%2fweb",
        "/d/x",
    ],
)
def test_nothing_else_is_sent(collections: dict[str, ServedCollection], path: str) -> None:
    with served(collections) as client:
        response = client.get(path)
        assert response.status_code in (404, 422)
        assert response.headers["content-type"] == "application/problem+json"


def test_the_page_is_not_in_the_description_of_the_api(client: httpx.Client) -> None:
    assert not [
        path for path in client.get("/openapi.json").json()["paths"] if path == "/" or path.startswith(("/web", "/d/"))
    ]


@pytest.mark.skipif(not static.WEB.exists(), reason="no page is there yet")
def test_the_shipped_page_loads_nothing_from_elsewhere_and_every_file_that_it_names(client: httpx.Client) -> None:
    page = client.get("/").text
    assert "//" not in page.replace("<!doctype html>", "")
    for file in static.WEB.iterdir():
        assert client.get(f"/web/{file.name}").content == file.read_bytes()
