"""Books are read chapter by chapter, with the titles of their contents."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import pytest

from oreqa.core import MISSING, Document
from oreqa.corpus import limits
from oreqa.corpus.formats.epub import read_epub
from oreqa.errors import DocumentError

CONTAINER = '<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
PACKAGE = """<package xmlns="http://www.idpf.org/2007/opf" xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata>
<dc:title>The Sea</dc:title></metadata><manifest>
<item id="nav" href="nav.xhtml" media-type="application/xhtml+xml" properties="nav"/>
<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
<item id="b" href="text/two%20b.xhtml" media-type="application/xhtml+xml"/>
<item id="a" href="text/one.xhtml" media-type="application/xhtml+xml"/>
<item id="c" href="cover.png" media-type="image/png"/></manifest>
<spine><itemref idref="nav"/><itemref idref="a"/><itemref idref="a"/><itemref idref="c"/><itemref idref="gone"/><itemref idref="b"/></spine>
</package>"""
NAV = '<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><a href="text/one.xhtml">First</a></nav></body></html>'
NCX = """<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap><navPoint><navLabel><text>Second</text></navLabel>
<content src="text/two%20b.xhtml#top"/></navPoint></navMap></ncx>"""
ONE = '<?xml version="1.0"?><html><head><title/></head><body><h1 id="one">One</h1><p>Of&nbsp;waves.</p></body></html>'
TWO = '<html><body><p>Of <b>whales</b>.</p><p id="k">Of krill.</p></body></html>'
ENCRYPTED = '<x xmlns="e"><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></x>'
FILES = {
    "META-INF/container.xml": CONTAINER,
    "OEBPS/book.opf": PACKAGE,
    "OEBPS/nav.xhtml": NAV,
    "OEBPS/toc.ncx": NCX,
    "OEBPS/text/one.xhtml": ONE,
    "OEBPS/text/two b.xhtml": TWO,
}


def book(folder: str = "", **changes: str) -> bytes:
    """A packed book, in a folder if it is named.

    Changed files are named by their stems, new ones by all but their folder META-INF.
    """
    files = dict(FILES)
    for stem, content in changes.items():
        files[next((name for name in files if Path(name).stem == stem), f"META-INF/{stem}.xml")] = content
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(folder + name, content)
    return buffer.getvalue()


def read(data: bytes) -> Document:
    return read_epub(data, Path("sea.epub"))


def test_a_book() -> None:
    document = read(book())
    assert document.title == "The Sea"
    assert [(s.heading, document.text[s.start : s.end]) for s in document.sections] == [
        ("One", "Of waves."),
        ("Second", "Of whales.\n\nOf krill."),
    ]
    assert [place.name for place in document.places] == ["one.xhtml#one", "two b.xhtml", "two b.xhtml#k"]
    assert [(page.page, page.source, page.read, dict(page.left_out)) for page in document.pages] == [
        ("nav.xhtml", 1, 0, {"contents": 1}),
        ("one.xhtml", 3, 3, {}),
        ("two b.xhtml", 4, 4, {}),
        ("cover.png", 0, 0, {MISSING: 0}),
        ("gone", 0, 0, {MISSING: 0}),
    ]


def test_a_book_that_was_packed_as_a_folder() -> None:
    assert read(book("book/")) == read(book())
    with pytest.raises(DocumentError, match="DRM"):
        read(book("book/", encryption=ENCRYPTED))


def test_chapters_that_are_not_in_the_file() -> None:
    data = book(book=PACKAGE.replace("two%20b.xhtml", "three.xhtml"))
    missing = [page.page for page in read(data).pages if MISSING in page.left_out]
    assert missing == ["cover.png", "gone", "three.xhtml"]
    with pytest.raises(DocumentError, match="none of its chapters"):
        read(book(book=PACKAGE.replace("application/xhtml+xml", "application/x-other")))


def test_damaged_contents_are_read_as_far_as_they_go() -> None:
    assert read(book(nav=NAV.replace("First", "First&nbsp;one").replace("</nav>", ""))).text == read(book()).text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"PK\x03\x04", "not a readable .epub"),
        (b"", "not a readable .epub"),
        (book(container="no xml"), "not a readable .epub|damaged"),
        (book(book=""), "damaged|readable"),
        (book(encryption=ENCRYPTED), "DRM"),
    ],
)
def test_bad_books(data: bytes, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        read(data)


def test_garbled_fonts_are_no_encryption() -> None:
    garbled = '<x xmlns="e"><EncryptionMethod Algorithm="http://www.idpf.org/2008/embedding"/></x>'
    assert "whales" in read(book(encryption=garbled)).text


def test_bombs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "UNPACKED_BYTES", 1 << 20)
    with pytest.raises(DocumentError, match="unpacks to more than 1 MB"):
        read(book(one=" " * (1 << 20)))
