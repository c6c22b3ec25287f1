"""Web pages of eleven generators: what oreqa reads in them, compared with what w3m shows.

The reference is `w3m -dump` of the page without its navigation, which lexbor, a parser that oreqa does not use, removes
by the selectors below. Each selector names what the page itself marks as navigation, or what a browser hides. Forms and
signs that link to a heading itself are removed everywhere.
"""

from __future__ import annotations

import random
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from oreqa.core import Document
from oreqa.corpus.readers import read_documents
from oreqa.errors import DocumentError
from support.debian import fetch
from support.pages import Page, words

PAGES = 120
"""The most pages of a collection: a fixed sample."""

EVERYWHERE = (
    "[style*='display:none'], [style*='display: none'], script, style, template, noscript, select, button, textarea, input,"
    " [hidden], meta[http-equiv], img:not([alt]), img[alt='']"
)
"""Scripts, forms, what is hidden, and what only w3m shows: redirections, and the names of pictures without a text."""

FEW = 20
"""Words: a page with fewer besides its ``contents`` (a book's table of contents, an index) is compared with them."""
BOOK_LINK = re.compile(r"\W*(Next|Previous|Prev|Up)\b")


@dataclass(frozen=True)
class Collection:
    package: str
    folder: str
    navigation: str  # selectors of links to other pages
    contents: str = ""  # selectors of tables of contents and of indexes
    pages: str = "*.html"


COLLECTIONS = (
    # Sphinx: bars above and below, the side bar, links to headings and sources; lists of chapters, the general index.
    Collection(
        "python3.11-doc",
        "usr/share/doc/python3.11/html",
        "div.related, div.sphinxsidebar, div.footer, div.mobile-nav, div.menu-wrapper, nav, a.headerlink, a.viewcode-link",
        "div.toctree-wrapper, nav.contents, div.contents.topic, table.contentstable, table.indextable, div.genindex-jumpbox,"
        " div.modindex-jumpbox",
    ),
    # AsciiDoc: "Last updated"; the table of contents, which a script fills.
    Collection("git-doc", "usr/share/doc/git-doc", "div#footer", "div#toc, div.toc"),
    # Apache: the site's header and footer, the path, languages, arrows to the top; links to the page's sections.
    Collection(
        "apache2-doc",
        "usr/share/doc/apache2-doc/manual/en",
        "div#page-header, div#path, div.toplang, div.bottomlang, div#footer, div.up, div.top, div#comments_thread,"
        " a.permalink",
        "div#quickview",
    ),
    # Texinfo: bars of "Next, Previous, Up"; contents, menus, indexes.
    *(
        Collection(
            package,
            folder,
            "div.nav-panel, div.header, table.header, a.copiable-link",
            "div#SEC_Contents, div.contents, div.region-contents, .contents-heading, div.shortcontents, table.menu,"
            " ul.mini-toc, ul.section-toc, table[class^=index-], div.printindex",
        )
        for package, folder in (
            ("r-doc-html", "usr/share/R/doc/manual"),
            ("zsh-doc", "usr/share/doc/zsh-common/html"),
            ("maxima-doc", "usr/share/doc/maxima-doc/html"),
        )
    ),
    # xfpt and DocBook: the site's menu and footer, bars above and below; contents.
    Collection(
        "exim4-doc-html",
        "usr/share/doc/exim4-doc-html/spec_html",
        "ul#nav_flow, div.navheader, div.navfooter, div#footer",
        "div.toc",
    ),
    # gtk-doc: DocBook with a bar, and line numbers of listings.
    Collection("libgtk-3-doc", "usr/share/gtk-doc/html/gtk3", "table.navigation, div.footer, td.listing_lines", "div.toc"),
    # Doxygen: the project's header with its tabs, the path, the footer, link signs, tooltips, line numbers.
    Collection(
        "doxygen-doc",
        "usr/share/doc/doxygen/html",
        "div#top, div#nav-path, div#side-nav, address.footer, ul.footer, div.footer, span.permalink, .ttc, span.lineno,"
        " div#MSearchSelectWindow, div#MSearchResultsWindow",
        "div.toc, div.summary",
    ),
    # Written by hand: the site's header with its menus, marked as not to be searched; contents that a click opens.
    Collection("sqlite3-doc", "usr/share/doc/sqlite3", "div.nosearch", "div.fancy_toc"),
    # MkDocs: the site's bar, side bar and footer.
    Collection(
        "mkdocs-doc",
        "usr/share/doc/mkdocs/html",
        "nav, div.navbar, header, footer, div.bs-sidebar, div.modal, a.headerlink, ul.breadcrumb, [role=navigation],"
        " [role=contentinfo], svg title",
    ),
)


def html_pages(work: Path) -> Iterator[Page]:
    for collection in COLLECTIONS:
        for file in page_files(collection, work):
            yield _page(collection, file)


def page_files(collection: Collection, work: Path) -> list[Path]:
    """Return the sample of a collection's pages."""
    root = fetch(collection.package, work) / collection.folder
    files = sorted(path for path in root.rglob(collection.pages) if path.is_file() and not path.is_symlink())
    return sorted(random.Random(collection.package).sample(files, min(PAGES, len(files))))


def _page(collection: Collection, file: Path) -> Page:
    reference = show(_without(file.read_bytes(), f"{collection.navigation}, {collection.contents}".rstrip(", ")))
    if words(reference).total() < FEW:
        reference = show(_without(file.read_bytes(), collection.navigation))
    try:
        (document,) = read_documents(file)
    except DocumentError:
        return Page(collection.package, file.name, reference, "", {}, warned=True)
    omitted = {reason: count for page in document.pages for reason, count in page.left_out.items()}
    warned = not document.pages or bool(omitted) or any(page.read < 0.95 * page.source for page in document.pages)
    return Page(collection.package, file.name, reference, document_text(document, reference), omitted, warned)


def _without(page: bytes, selectors: str) -> str:
    """Return the page's markup without what the selectors match, and without paragraphs of "Next: ..., Up: ..."."""
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(page)
    for node in tree.css(f"{EVERYWHERE}, {selectors}"):
        node.decompose()
    for node in tree.css("p, div.node"):
        if BOOK_LINK.match(node.text()) and node.css("a[accesskey], a[rel]"):
            node.decompose()
    return tree.html or ""


def show(page: str) -> str:
    command = ["w3m", "-dump", "-cols", "10000", "-T", "text/html", "-I", "UTF-8", "-O", "UTF-8"]
    return subprocess.run(command, input=page.encode(), capture_output=True, check=True).stdout.decode("utf-8", "replace")


def document_text(document: Document, reference: str) -> str:
    """Return oreqa's text of a page, each heading once.

    The title, shown in the window's frame, counts only if w3m shows it.
    """
    headings: list[str] = []
    before: list[str] = []
    for section in document.sections:
        path = section.heading.split(" > ") if section.heading else []
        shared = next((i for i, (a, b) in enumerate(zip(path, before, strict=False)) if a != b), min(len(path), len(before)))
        headings += path[min(shared, len(path) - 1) :]  # each section begins with a heading
        before = path
    shown = " ".join(document.title.split()) in " ".join(reference.split())
    title = [document.title] if shown and not any(document.title in heading for heading in headings) else []
    return "\n".join([*title, *headings, document.text])
