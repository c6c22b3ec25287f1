"""Classify the elements of a web page: blocks, invisible elements, and navigation as sites and generators mark it up."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape

from oreqa.corpus.builder import count_words


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


INVISIBLE = _names("script style template noscript annotation annotation-xml metadata defs rp")
"""Elements whose text is never shown."""

BLOCKS = _names(
    "address article aside blockquote body caption center dd details dialog dir div dl dt fieldset"
    " figcaption figure footer form frameset h1 h2 h3 h4 h5 h6 header hgroup hr html legend li listing main menu"
    " nav noframes ol optgroup option p plaintext pre search section summary table tbody td tfoot th thead tr ul"
    " xmp"
)
INSIDE_WORDS = _names(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark math mi mn mo ms msub"
    " msup mrow mtext nobr output q rb rt rtc ruby s samp semantics slot small span strike strong sub sup time"
    " tt u var wbr"
)
"""Elements that may be inside a word; others separate words."""

LINKS = frozenset(("a", "option", "button"))
HEADINGS = {f"h{level}": level for level in range(1, 7)}
CODE = frozenset(("pre", "listing", "xmp", "plaintext"))
SECTIONING = frozenset(("article", "section", "main", "blockquote", "aside", "figure", "dialog", "td", "th", "li", "dd"))
"""Elements whose header and footer are their own, not the page's."""

_TAGS = {
    "nav": "navigation",
    "search": "navigation",
    **dict.fromkeys(("select", "button", "textarea", "datalist", "option", "optgroup"), "form controls"),
    **dict.fromkeys(("del", "s", "strike"), "struck-out text"),
    **dict.fromkeys(("iframe", "video", "audio", "canvas", "noembed", "applet"), "hidden"),
}
_ROLES = {
    **dict.fromkeys(("navigation", "banner", "contentinfo", "search", "menu", "menubar", "toolbar"), "navigation"),
    **dict.fromkeys(("doc-toc", "doc-pagelist", "directory"), "contents"),
    **dict.fromkeys(("button", "checkbox", "slider", "listbox"), "form controls"),
}
_EVERYWHERE = {
    "navigation": (
        # permalinks of headings, skip links, buttons
        "headerlink permalink copiable-link copiable-anchor anchorjs-link header-anchor anchor-link a.mark viewcode-link"
        " viewcode-back"
        " linkback skip-link skiplink skipnav skip-to-content mw-jump-link mw-editsection noprint copybtn copy-button"
        # Sphinx
        " div.related sphinxsidebar sphinxsidebarwrapper mobile-nav menu-wrapper rst-versions wy-nav-side"
        " wy-breadcrumbs bd-sidebar toc-drawer sidebar-drawer mobile-header related-pages prev-next-area"
        " version_switcher_placeholder"
        # Texinfo, DocBook, gtk-doc
        " nav-panel navheader navfooter navigation nav-header nav-footer"
        # Doxygen, Javadoc
        " navpath nav-path tablist titlearea main-nav side-nav msearchbox msearchselectwindow"
        " msearchresultswindow topnav subnav bottomnav navbar top-nav sub-nav"
        # Apache, MkDocs, Wikipedia, others
        " toplang bottomlang quickview comments_thread md-header md-sidebar md-footer md-nav md-skip md-tabs"
        " rst-footer-buttons wm-toc-pane mw-navigation mw-panel catlinks printfooter navbox ul.nav bs-sidebar"
        " mainmenu main-menu searchmenu nosearch breadcrumb breadcrumbs pagination pager navbar-nav site-nav"
        " site-header site-footer sidebar-nav nav-links"
    ),
    "contents": (
        "toc fancy_toc toc_sub toc-list article-toc page-toc toc_container toc-container ez-toc-container"
        " toctree-wrapper shortcontents region-contents region-shortcontents element-contents mini-toc section-toc"
        " sec_contents sec_shortcontents sec_overview ul.menu table.menu detailmenu list-of-figures list-of-tables"
        " list-of-examples list-of-equations list-of-titles table-of-contents tableofcontents"
        " contentstable contents-heading shortcontents-heading toc-title toctitle localtoc local-toc lof lot"
    ),
    "index": (
        "indextable genindextable modindextable genindex-jumpbox modindex-jumpbox printindex indexdiv index-cp"
        " index-fn index-vr index-ky index-pg index-tp cp-entries-printindex fn-entries-printindex"
        " vr-entries-printindex ky-entries-printindex pg-entries-printindex tp-entries-printindex"
    ),
    "line numbers": "linenos lineno linenodiv listing_lines line-numbers",
    "hidden": "ttc",
}
_NAMES = {name: reason for reason, names in _EVERYWHERE.items() for name in names.split()}
_PAGE_LEVEL = {
    "header": "header",
    "footer": "footer",
    "page-header": "header",
    "page-footer": "footer",
    "footer-text": "footer",
    "site-info": "footer",
    "toplinks": "header",
    "path": "header",
}
"""Classes, ids and tags that are the page's header or footer, unless they are within its text."""

CAPTIONS = frozenset(("admonition-title", "title", "caption", "toc-caption"))
"""Classes of a paragraph that is the caption of the next block."""

_HIDING = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.I)
PLAIN_WORDS = 150
"""An element that looks like navigation but has more words than this outside links is text."""

_NAVIGATION = frozenset(("navigation", "contents", "header", "footer"))
_TO_THE_TOP = ("#top", "#page-header", "#__top", "#pagetop")
_PERMALINKS = frozenset(
    ("headerlink", "permalink", "copiable-link", "copiable-anchor", "header-anchor", "anchor-link", "mark")
)
_PERMALINK_MARK = re.compile(
    r"\W*(?:(?:permalink|(?:permanent|direct|copy|anchor)?\W*link|anchor)(?:\W+(?:to|for)\b.*)?|copy to clipboard)?\W*",
    re.I | re.S,
)
_NEVER = frozenset(("html", "body", "main", "article"))
_ANY_TAG = re.compile(r"<[A-Za-z/!][^<>]*>")
_BOOK_LINKS = re.compile(r"\W*(?:Node|Next|Previous|Prev|Up|Back|Home|Top|Forward)\b")
_VERSION = r"(?:,? \(?(?:version )?v?\d[\w.+-]*\)?)?"
_COLOPHON = re.compile(
    r"(?:(?i:©|\(c\)|Copyright|Last (?:updated|modified|changed)).{0,250}?\W(?=[A-Z]))?"
    r"(?i:(?:Built|Created|Generated|Made|Powered)(?: (?:on|at|for|automatically) .{1,100}?)? "
    r"(?:(?:with|using|by) (?:Sphinx|MkDocs|Material for MkDocs|Doxygen|Read the Docs|Docusaurus|gi-docgen|pdoc3?)"
    rf"|(?:with|using) (?:Hugo|Jekyll)){_VERSION}"
    rf"(?:,? (?:using|with|and|&|\+) (?:an? |the )?(?:[\w'’@-]+ ){{0,4}}?(?:theme|Alabaster|Furo){_VERSION}"
    r"(?: (?:provided |made )?by (?:the )?[\w'’-]+(?: [\w'’-]+){0,4})?)?(?: \| Page source)?\.?)"
)
"""What made a page. Only a version, a theme and its provider may follow the program, or it may be a sentence of the text."""

_BOOK_RELATIONS = frozenset(("next", "prev", "previous", "up", "start", "first", "last", "contents", "index"))


def skip_reason(tag: str, attributes: Mapping[str, str], page_level: bool) -> str:
    """Return why an element is not part of the page's text, "" if it is.

    ``page_level`` says that it is not within an article, section or cell. A "header" may contain the page's title: its text
    from the first heading on belongs to the page.
    """
    reason = _TAGS.get(tag, "")
    if not attributes:
        return reason or (tag if page_level and tag in ("header", "footer") else "")
    if tag not in _NEVER:
        if attributes.get("hidden", "until-found") != "until-found" or attributes.get("aria-hidden") == "true":
            return "hidden"
        if tag == "dialog" and "open" not in attributes:
            return "hidden"
        if "style" in attributes and _HIDING.search(attributes["style"]):
            return "hidden"
        return reason or _skip_reason_by_attributes(tag, attributes, page_level)
    return reason


def _skip_reason_by_attributes(tag: str, attributes: Mapping[str, str], page_level: bool) -> str:
    role = attributes.get("role", "")
    if role in _ROLES:
        return _ROLES[role]
    identifier = attributes.get("id", "")
    if tag == "a" and attributes.get("href") in _TO_THE_TOP:
        return "navigation"
    names = [name.lower() for name in attributes.get("class", "").split()]
    if any("footnote" in name for name in names) or role in ("doc-endnotes", "doc-footnote"):
        return ""
    if tag not in ("a", "span", "section", "p", "li", "dt"):  # their ids name chapters or entries
        names.append(identifier.lower())
        if tag == "ul" and identifier == "index":  # Perl's manuals
            return "contents"
    for name in names:
        if reason := _NAMES.get(name) or _NAMES.get(f"{tag}.{name}"):
            return reason
    if "contents" in names and ("topic" in names or "local" in names):  # docutils
        return "contents"
    if page_level and tag in ("header", "footer", "div", "address", "table"):
        for name in (tag, *names):
            if name in _PAGE_LEVEL:
                return _PAGE_LEVEL[name]
    return ""


def is_text(reason: str, unlinked: str) -> bool:
    """Return whether an element that looks like navigation is text, as it has much text outside links, ``unlinked``."""
    return reason in _NAVIGATION and len(unlinked) > PLAIN_WORDS and count_words(unlinked) > PLAIN_WORDS


def is_linked_text(names: str, text: str) -> bool:
    """Return whether a permalink, by the ``names`` of its class, contains the text that it leads to.

    Manual pages put the names of options in such links, and some sites their headings.
    """
    return not _PERMALINKS.isdisjoint(names.lower().split()) and not _PERMALINK_MARK.fullmatch(text)


def without_tags(markup: str) -> str:
    """Return the text of markup that the parser reports as text, as it does within ``<noframes>``."""
    return unescape(_ANY_TAG.sub(" ", markup))


def is_main(tag: str, attributes: Mapping[str, str]) -> bool:
    """Return whether an element is the main part of a page."""
    return tag == "main" or attributes.get("role") == "main"


def is_title(tag: str, attributes: Mapping[str, str]) -> bool:
    """Return whether an element of a page's header is the page's title."""
    return tag in HEADINGS or attributes.get("class", "") in ("title", "headertitle")


def is_book_link(attributes: Mapping[str, str]) -> bool:
    """Return whether a link leads to the next, previous or parent page of a book."""
    return attributes.get("rel", "").lower() in _BOOK_RELATIONS or attributes.get("accesskey", "").lower() in ("n", "p", "u")


def is_colophon(text: str) -> bool:
    """Return whether a paragraph only says what made the page, such as "Built with Sphinx using a theme".

    Entries of lists and tables can say so of something else.
    """
    return len(text) < 400 and bool(_COLOPHON.fullmatch(" ".join(text.split())))


def is_book_line(text: str) -> bool:
    """Return whether a paragraph with such links is only navigation, such as "Next: Files, Up: Top"."""
    return len(text) < 500 and bool(_BOOK_LINKS.match(text))


def anchor_name(tag: str, attributes: Mapping[str, str]) -> str:
    """Return the name by which a URL fragment refers to an element, "" if it has none."""
    name = attributes.get("id", "") or (attributes.get("name", "") if tag == "a" else "")
    return "" if any(character.isspace() for character in name) else name


def heading_level(tag: str, attributes: Mapping[str, str]) -> int:
    """Return the level of a heading, 0 for other elements."""
    if tag in HEADINGS:
        return HEADINGS[tag]
    if not attributes:
        return 0
    if attributes.get("role") == "heading":
        level = attributes.get("aria-level", "2")
        return int(level) if level in "123456" and level else 2
    return int(attributes.get("class") == "headertitle")  # Doxygen


def is_layout(attributes: Mapping[str, str]) -> bool:
    """Return whether a table is only used for layout."""
    roles, classes = ("presentation", "none"), ("memname", "mlabels", "fieldtable")
    return attributes.get("role") in roles or attributes.get("class") in classes


_NOTE = re.compile(r"<(?:p|li|dd|td|div|br|small)\b[^<>]*>\s*<sup\b[^<>]*>\s*(\d{1,2})\s*</sup", re.IGNORECASE)


def note_numbers(page: str) -> frozenset[str]:
    """Return the numbers of a page's footnotes: those raised at the start of a block."""
    return frozenset(_NOTE.findall(page))
