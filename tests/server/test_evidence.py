"""Where an answer is proved: rectangles and pages of documents in an index."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from zipfile import ZipFile

import pytest
from drawn_pdf import pdf

from oreqa.index.ingest import index_files
from oreqa.index.search import Index
from oreqa.index.store import Settings

pytest.importorskip("fastapi", reason="the serve extra is not installed")

from oreqa.server.catalog import Catalog, CatalogDocument
from oreqa.server.drawing import Drawer
from oreqa.server.evidence import document_boxes, is_drawable, page_picture
from oreqa.server.problems import RefusedError


@pytest.fixture
def documents(tmp_path: Path, tiny: Path) -> dict[str, CatalogDocument]:
    """A PDF, one in an archive, and a text, by the ends of their keys."""
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "a b.PDF").write_bytes(pdf(["Owls hoot.\nThey hunt mice.", "Bees hum."]))
    (folder / "b.txt").write_text("Cats purr.")
    with ZipFile(folder / "c.zip", "w") as archive:
        archive.write(folder / "a b.PDF", "inner.pdf")
    index_files(tmp_path / "kb", folder, Settings(model=str(tiny), passage_tokens=40))
    collection = SimpleNamespace(name="kb", index=Index.open(tmp_path / "kb"))
    rows, _ = Catalog({"kb": collection}).page("kb", (), None, 10)  # type: ignore[dict-item]
    return {row.key.rpartition("/")[2]: row for row in rows}


def test_rectangles_of_a_range(documents: dict[str, CatalogDocument], drawer: Drawer) -> None:
    document = documents["a b.PDF"]
    assert is_drawable(document)
    marked = document_boxes(document, drawer, 5, 60)
    assert [box.page for box in marked.boxes] == [1, 1, 2]
    assert marked.boxes[0].left > marked.boxes[1].left
    assert [page.page for page in marked.pages] == [1, 2]
    nothing = document_boxes(document, drawer, 500, 501)
    assert (nothing.boxes, nothing.pages, nothing.page_count) == ([], [], 2)
    for start, end in ((5, 5), (5, 3), (0, 20_001), (-1, 3)):
        with pytest.raises(RefusedError, match="end must be after start"):
            document_boxes(document, drawer, start, end)


def test_pages(documents: dict[str, CatalogDocument], drawer: Drawer) -> None:
    assert page_picture(documents["a b.PDF"], drawer, 2, 800)[8:12] == b"WEBP"
    with pytest.raises(RefusedError, match="width must be one of 800, 1200, 1600"):
        page_picture(documents["a b.PDF"], drawer, 2, 801)


def test_documents_without_pages(documents: dict[str, CatalogDocument], drawer: Drawer) -> None:
    for name in ("b.txt", "c.zip#inner.pdf"):
        assert not is_drawable(documents[name])
        with pytest.raises(RefusedError, match="is no PDF file") as caught:
            page_picture(documents[name], drawer, 1, 800)
        assert caught.value.status == 404


def test_a_changed_file_is_not_opened(documents: dict[str, CatalogDocument], drawer: Drawer) -> None:
    document = documents["a b.PDF"]
    os.utime(document.source, (1, 1))
    for show in (lambda: page_picture(document, drawer, 1, 800), lambda: document_boxes(document, drawer, 0, 4)):
        with pytest.raises(RefusedError, match="changed after it was indexed") as caught:
            show()
        assert caught.value.status == 409
