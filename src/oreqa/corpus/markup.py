"""HTML pages: the main text as trafilatura extracts it, with its headings as sections."""

from __future__ import annotations

from pathlib import Path

from oreqa.core import Document
from oreqa.corpus.decode import decode
from oreqa.corpus.text import file_title, markdown_sections


def read_html(data: bytes, path: Path) -> Document:
    """A web page. Offsets point into the extracted text, which keeps headings and lists as Markdown."""
    page = decode(data)
    text, title = _main_text(page)
    if not text.strip():
        text = _all_text(page)
    heading, sections = markdown_sections(text)
    return Document(str(path), title or heading or file_title(path), text, tuple(sections))


def _main_text(page: str) -> tuple[str, str]:
    from trafilatura import bare_extraction, extract

    # Two calls: the extractor's text output carries headings only in Markdown, its title only in the object.
    text = extract(page, output_format="markdown", include_comments=False, include_formatting=False)
    found = bare_extraction(page, include_comments=False)
    title = getattr(found, "title", None)
    return text or "", title or ""


def _all_text(page: str) -> str:
    """Every visible text of a page in which no main text stands out."""
    from lxml import html

    if not page.strip():
        return ""
    try:
        tree = html.document_fromstring(page.encode(), parser=html.HTMLParser(encoding="utf-8"))
    except (ValueError, html.etree.ParserError):
        return ""
    for hidden in tree.xpath("//script|//style|//noscript|//template|//head"):
        hidden.drop_tree()
    lines = (" ".join(str(piece).split()) for piece in tree.itertext())
    return "\n".join(line for line in lines if line)
