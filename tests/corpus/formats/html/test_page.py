"""All that a web page shows is read, in its order; what is left out is counted."""

from __future__ import annotations

from pathlib import Path

import pytest
from growth import growth
from hypothesis import given
from hypothesis import strategies as st

from oreqa.core import Document
from oreqa.corpus.builder import TextBuilder, count_words
from oreqa.corpus.formats.html.page import read_html, read_page
from oreqa.corpus.formats.html.rules import PLAIN_WORDS
from oreqa.corpus.formats.html.source import as_html, decode_page, visible_words
from oreqa.errors import DocumentError

PLAIN = "The keepers lived in the tower all year round. "

FRENCH = "Où est le café ? Le garçon a déjà mangé près de la forêt, très tôt, à côté de l'hôtel. " * 5


def read(page: str | bytes, name: str = "some_page.html") -> Document:
    return read_html(page.encode() if isinstance(page, str) else page, Path(name))


def body(page: str) -> str:
    return read(page).text


def parts(document: Document) -> list[tuple[str, str]]:
    return [(section.heading, document.text[section.start : section.end]) for section in document.sections]


def places(document: Document) -> list[tuple[str, str]]:
    """Each place's name, and the first word there."""
    return [(place.name, document.text[place.start :].split()[0]) for place in document.places]


def test_title_headings_and_hidden_parts() -> None:
    page = f"""<html><head><title>Lighthouses</title><style>p {{color: red}}</style></head>
    <body><nav>Home | About</nav><article><h1>Lighthouses</h1><p>A page.</p><h2>Keepers</h2><p>{PLAIN}</p>
    <h3>Goats</h3><p>They gave milk.<script>var x</script></p><h2>Lamps</h2><p>Of oil.</article></body></html>"""
    document = read(page)
    assert document.title == "Lighthouses"
    assert parts(document) == [
        ("", "A page."),
        ("Keepers", PLAIN.strip()),
        ("Keepers > Goats", "They gave milk."),
        ("Lamps", "Of oil."),
    ]
    (words,) = document.pages
    assert words.left_out == {"navigation": 2}
    assert words.read + 2 == words.source


@pytest.mark.parametrize(
    ("page", "title", "headings"),
    [
        ("<h1>First</h1>a<h1>Second</h1>b", "First", ["", "Second"]),
        ("<title>Page - Site</title><h1>Page</h1>a", "Page - Site", ["Page"]),
        ("<p>a", "some page", [""]),
        ("<svg><title>Drawing</title></svg><h1>Page</h1>a", "Page", [""]),
        ("<div role=heading aria-level=1>T</div>a<div role=heading>H</div>b", "T", ["", "H"]),
    ],
)
def test_titles(page: str, title: str, headings: list[str]) -> None:
    document = read(page)
    assert (document.title, [section.heading for section in document.sections]) == (title, headings)


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>Just <b>this</b>.</p><script>var x</script>", "Just this."),
        ("re<b>gister</b> <i>now</i>", "register now"),
        ("<p>one<div>two</div>three<p>four", "one\n\ntwo\n\nthree\n\nfour"),
        ("<div>Beside <code>inline</code> code, and <em>after</em> it.<p>more</p>tail</div>", "Beside inline code, and after it.\n\nmore\n\ntail"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("x<sup>2</sup> H<sub>2</sub>O", "x² H2O"),
        ("2<sup><small>64</small></sup> of 2<small><sup>-31</sup></small>-1, the 3<sup>rd</sup>", "2⁶⁴ of 2⁻³¹-1, the 3rd"),
        ('known<sup><a href="#f">4</a></sup>.', "known 4."),
        ('250<sup><a href="#f">4</a></sup> seats', "250 seats"),
        ("now <s>59</s> <del>49</del> <strike>5</strike> 39", "now 39"),
        ("10<sup>0.5</sup>, 2<sup>1/3</sup> and 5<sup>-1,5</sup>", "10^0.5, 2^(1/3) and 5^-1,5"),
        ("a <img alt='a cat' src=x>sleeps <img src=y>", "a a cat sleeps"),
        ("<q>so</q> he said", "“so” he said"),
        ("<details><summary>More</summary>Hidden at first</details>", "More\n\nHidden at first"),
        ("fish&nbsp;&amp;&#160;chips inter&shy;national", "fish & chips international"),
        ("<title>t</title>only this", "only this"),
        ("no markup", "no markup"),
        ("1 < 2 <3", "1 < 2 <3"),
        ("<p>hi<style>a</style>&#1;x</p>", "hi\x01x"),
        ("<frameset><frame src=a><noframes><p>No <b>frames</b></noframes></frameset>", "No frames"),
        ("</div></p>broken <b>markup</i> here</table>", "broken markup here"),
        ("<h2>Not closed<p>text<p>more", "text\n\nmore"),
        ("<my-card>One</my-card><my-card>Two</my-card>", "One Two"),
        ("<span style='display: block'>One</span><span style='display:block'>Two</span>", "One\n\nTwo"),
        ("<h1>Bare</h1><h2>Heading</h2>", "Heading"),
    ],
)  # fmt: skip
def test_text(page: str, text: str) -> None:
    assert body(page) == text


@pytest.mark.parametrize(
    ("page", "text"),
    [
        ("<p>Choose:</p><ul><li>one<li>two <p>more</ul><p>After", "Choose:\n- one\n- two\nmore\n\nAfter"),
        ("<p>No colon.<ol start=3><li>one<li value=7>two<li>three</ol>", "No colon.\n\n3. one\n7. two\n8. three"),
        ("<ol type=a><li>one<ul><li>inner</ul><li>two</ol>", "a. one\n- inner\nb. two"),
        ("<p>Run this.</p><pre>\nls -l\n  cd  x\n</pre><p>After", "Run this.\nls -l\n  cd  x\n\nAfter"),
        ("<pre><span>a</span>\n\n<code>b</code></pre>", "a\n\nb"),
        ("<pre><div>a</div><div>b</div></pre>", "a\nb"),
        ("<dl><dt>-a<dt>--all<dd>All <p>files.<ul><li>x</ul><dt>-b<dd>Both</dl>", "-a\n--all\nAll\nfiles.\n- x\n\n-b\nBoth"),
        ("<dl><dt id=f>f(x)<dd>One.<dl><dt id=g>g()<dd>Two.</dl></dl>", "f(x)\nOne.\n\ng()\nTwo."),
        ("<p>Sizes:<table><caption>T</caption><tr><th>a<th>b<tr><td>1<td></table>", "Sizes:\nT\na | b\n1"),
        ("<p>Sizes:<table><tr><th>a<th>b<tr><td>1<td>2<tr><td>3<td>4</table>End", "Sizes:\n\na: 1; b: 2\n\na: 3; b: 4\n\nEnd"),
        ("<table><tr><th>a<th>b<tr><th>c<th>d<tr><td>1<td>2<tr><td>3</table>", "a | b\n\nc: 1; d: 2\n\n3"),
        ("<table><tr><th>a<th colspan=2>b<tr><td rowspan=2>1<td>2<tr><td>3<td>4</table>", "a | b\n1 | 2\n1 | 3 | 4"),
        ("<table><tr><th>a<th>b<th>c<tr><td rowspan=2>1<td>2<td>3<tr><td colspan=2>4<tr><td colspan=3>5</table>",
         "a: 1; b: 2; c: 3\n\na: 1; b: 4; c: 4\n\n5"),
        ("<table><tr><td>1<td rowspan=0>2<tr><td>3<tr><td colspan=99999>4</table>", "1 | 2\n3 | 2\n4"),
        ("<table><tr><th>a<th>b<tr><th>c<th>c<tr><td>1<td>2</table>", "a | b\nc | c\n1 | 2"),
        ("<table><tr><th>a<th>b</table>", "a | b"),
        ("<table><tr><th>a<th>b<tr><td><p>one<p>two<td>x</table>", "a | b\none\n\ntwo\n\nx"),
        ("<table><tr><th>a<th>b<tr><td>1<td><table><tr><td>2</table></table>", "a | b\n1\n\n2"),
        ("<table><tr><th>a<td>1<tr><th>b<td>2</table>", "a | 1\nb | 2"),
        ("<table><tr><th>a<th>a<tr><td>1<td>2</table>", "a | a\n1 | 2"),
        ("<table><tr><td><p>one<br>two</p><td>x</table>", "one two | x"),
        ("<table><tr><td><ul><li>a<li>b</ul><td>c</table>", "a b | c"),
        ("<table role=presentation><tr><td>a<td>b</table>", "a b"),
        ("<table><tr><td>menu<td><h2>H</h2><p>one<p>two</table><p>end", "menu\n\none\n\ntwo\n\nend"),
        ("<table><tr><td><p>one<p>two<p>three</table>", "one\n\ntwo\n\nthree"),
        ("<table><tr><td>a<table><tr><td>x<td>y</table>b<td>c</table>", "a\n\nx | y\n\nb\n\nc"),
        ("<div class=admonition><p class=admonition-title>Note<p>Care.</div>", "Note\nCare."),
        ("<figure><img alt=A><figcaption>Fig. 1</figcaption></figure>", "A\nFig. 1"),
    ],
)  # fmt: skip
def test_what_belongs_together_stays_together(page: str, text: str) -> None:
    assert body(page) == text


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        ("<nav>leave me</nav>", "navigation"),
        ("<div role=search>leave me</div>", "navigation"),
        ("<div class='sphinxsidebar x'>leave me</div>", "navigation"),
        ("<div class=navheader><table><tr><td>leave me</table></div>", "navigation"),
        ("<p>Next: <a rel=next href=x>leave</a>, Up: <a rel=up href=y>me</a></p>", "navigation"),
        ("<div class=toc><ul><li>leave<li>me</ul></div>", "contents"),
        ("<ul class=menu><li>leave<li>me</ul>", "contents"),
        ("<table class=indextable><tr><td>leave me</table>", "index"),
        ("<header>leave me</header>", "header"),
        ("<footer>leave me</footer>", "footer"),
        ("<div id=footer>leave me</div>", "footer"),
        ("<div hidden>leave me</div>", "hidden"),
        ("<span aria-hidden=true>leave me</span>", "hidden"),
        ("<p style='display: none'>leave me</p>", "hidden"),
        ("<select><option>leave<option>me</select>", "form controls"),
        ("<button>leave me</button>", "form controls"),
    ],
)
def test_what_is_omitted_is_counted(part: str, reason: str) -> None:
    document = read(f"<p>before</p>{part}<p>after</p>")
    assert document.text == "before\n\nafter"
    (words,) = document.pages
    assert words.left_out == {reason: 2 if "Next" not in part else 4}
    assert words.read + sum(words.left_out.values()) == words.source


@pytest.mark.parametrize(
    "page",
    [
        "<article><header>keep</header></article>",
        "<header><img src=logo><h1>keep</h1></header>",
        "<section id=navigation>keep</section>",
        "<p id=toc>keep</p>",
        "<body class=toc>keep</body>",
        "<footer class=footnotes>keep</footer>",
        "<table><tr><th class=header>keep</table>",
        "<div hidden=until-found>keep</div>",
        f"<div id=footer>keep {PLAIN * 20}</div>",
        f"<div class=navigation>keep {PLAIN * 20}<div class=header>keep {PLAIN * 20}</div></div>",
    ],
)
def test_text_that_looks_like_navigation_is_kept(page: str) -> None:
    document = read(f"<p>text</p>{page}")
    assert page.count("keep ") <= document.text.count("keep") or "keep" in document.title
    assert not document.pages[0].left_out
    assert 20 * count_words(PLAIN) > PLAIN_WORDS


def test_the_footer_of_a_section_around_the_main_part_is_the_pages() -> None:
    within = "<section><p>text</p><footer>keep</footer></section>"
    for main in ("main", "div role=main"):
        page = f"<section class=wrap><{main}>{within}<footer>keep</footer></{main.split()[0]}><footer>leave me</footer></section>"
        document = read(page)
        assert document.text.split() == ["text", "keep", "keep"]
        assert document.pages[0].left_out == {"footer": 2}


def test_permalinks_that_hold_a_heading_or_the_name_of_an_option_are_text() -> None:
    document = read(
        """<h1 id=o><a class=permalink href="#o">OPTIONS</a></h1><dl><dt id=n><a class=permalink href="#n"><code>-n</code></a>
        <dd>Show it.<dt id=x><a class=permalink href="#x">--1</a><dd>Keep it.</dl>
        <h2><a class="header-anchor" href="#e"><span>Exit status</span></a></h2><p>It is 0."""
    )
    assert document.title == "OPTIONS"
    assert parts(document) == [("", "-n\nShow it.\n\n--1\nKeep it."), ("Exit status", "It is 0.")]
    assert not document.pages[0].left_out


@pytest.mark.parametrize("heading", ["Source code", "Copy a file", "Link types", "Anchor elements", "Permanent redirects"])
def test_headings_that_begin_like_a_mark_are_text(heading: str) -> None:
    document = read(f"<h1>A</h1><p>a<h2><a class=header-anchor href='#b'>{heading}</a></h2><p>b")
    assert [heading for heading, _ in parts(document)] == ["", heading]


@pytest.mark.parametrize("mark", ["¶", "#", " § ", "", "Permalink", "Link to this heading", "Copy link", "Anchor", "🔗"])
def test_permalinks_that_only_mark_a_heading_are_no_text(mark: str) -> None:
    document = read(f"<h1>A</h1><p>a<h2>B<a class=headerlink href='#b'>{mark}</a></h2><p>b")
    assert [heading for heading, _ in parts(document)] == ["", "B"]


def test_a_page_of_nothing_but_contents_is_read() -> None:
    assert body("<nav>Bar</nav><h1>Book</h1><div class=toc><ul><li>One<li>Two</ul></div>") == "- One\n- Two"
    assert body("<nav>Home</nav>") == "Home"


def links(*texts: str, page: str = "", tag: str = "li") -> str:
    return "".join(f"<{tag}><a href='{page}#s{number}'>{text}</a>" for number, text in enumerate(texts))


NESTED = f"<a href=b.html>e</a><ul>{links(*'fgh')}</ul>"


@pytest.mark.parametrize(
    ("part", "reason"),
    [
        (f"<ul>{links('1 Light', '1.1 The lamp', '2 Keepers')}</ul>", "contents"),
        (f"<dl>{links('Light', 'The Lamp', 'Keepers', tag='dd')}</dl>", "contents"),
        (f"<ol><li>1. <a href=#a>Light</a><ol>{links('Keepers', 'The lamp')}</ol></ol>", "contents"),
        (f"<ul>{links('Chapter 1: Fog', '1.1 Horns', '1.2 Bells', page='fog.html')}</ul>", "contents"),
        (f"<h1>Contents</h1><ul>{links(*'abcd', page='a.html')}<li>{NESTED}</ul>", "contents"),
        (f"<p>{links('Light', 'The lamp', 'Keepers', tag='br')}</p>", "contents"),
        (f"<div>{links('1 Light', '1.1 The lamp', '2 Keepers', tag='br')}</div>", "contents"),
        (f"{links('Light', 'The lamp', 'Keepers', tag='br')}", "contents"),
        (f"<h1>Index</h1><p>{'oil: <a href=a.html>Section 3.1</a>, <a href=b.html>Chapter 4</a><br>' * 5}</p>", "index"),
        ("<p><a href=a.html>Previous</a> | <a href=b.html>Contents</a> | Next</p>", "navigation"),
    ],
)
def test_links_that_repeat_headings_are_omitted(part: str, reason: str) -> None:
    document = read(f"<p>before</p>{part}<h2>1 Light</h2><p>a<h3>1.1 The lamp</h3><p>b<h2>2 Keepers</h2><p>c")
    assert document.text == "before\n\na\n\nb\n\nc"
    (words,) = document.pages
    assert list(words.left_out) == [reason]
    assert words.read + sum(words.left_out.values()) == words.source


def test_what_else_a_list_of_contents_holds_is_counted_and_stays() -> None:
    listed = links("Light<span hidden>two words</span>", "Keepers<button>Copy</button>", "Goats")
    page = f"<ul>{listed}</ul><h2>Light</h2><p>a<h2>Keepers</h2><p>b<h2>Goats</h2><p>c"
    (words,) = read(page).pages
    assert words.left_out == {"contents": 3, "hidden": 2, "form controls": 1}
    builder = TextBuilder(Path("book.epub"))
    read_page(page, "one.html", "Chapter 1").add_to(builder)
    assert builder.document("").sections[0].heading == "Chapter 1 > Light"


@pytest.mark.parametrize(
    "part",
    [
        f"<ul>{links('ext4', 'XFS', 'Btrfs', page='systems.html')}</ul>",
        f"<ul>{links('Light', 'Keepers')}</ul>",
        f"<p>{links('Light', 'Keepers', tag='br')}</p>",
        f"<p>It has {links('Light', 'Lamp', 'Keepers', tag='span')}.</p>",
        f"<div>It has {links('Light', 'Lamp', 'Keepers', tag='span')}.</div>",
        f"<p>{links('ext4', 'XFS', 'Btrfs', tag='br')}</p>",
        f"<pre>{links('Light', 'Lamp', 'Keepers', tag='br')}</pre>",
        f"<ul>{links('Light of a whale-oil lamp', 'Keepers', 'The goats')}</ul>",
        f"<ul>{links('Light', 'Keepers', 'Lamp')}<li>No lamp burns at noon, when the keepers sleep</ul>",
        f"<h2>Contents</h2><ul>{links(*'abcd', page='http://a.org/')}<li>{NESTED}</ul>",
        f"<h2>Lamps</h2><ul>{links(*'abcd', page='a.html')}<li>{NESTED}</ul>",
        f"<ul>{'<li><a href=a.html>1.2.3</a> of May, with a new lamp' * 9}</ul>",
        f"<ul>{'<li>-v trims all wicks (<a href=a.html>section 3.1</a>)' * 9}</ul>",
        f"<p>No boat heeds {', '.join(['<a href=a.html>Section 3.1</a>'] * 9)} in fog.</p>",
        f"<ul>{links('1.2.3 mends the lamp', '1.2.2 adds goats', '1.2.1 is the first', page='news.html')}</ul>",
        f"<ul>{links('802.3 Ethernet', '802.11 Wi-Fi', '802.15 Bluetooth', page='standards.html')}</ul>",
        f"<ul>{links('1.' + '9' * 5000, '2.1 Light', '2.9 Lamps', page='numbers.html')}</ul>",
        f"<ul>{links('Part of the crew', 'Question about oil', 'Section for guests', page='people.html')}</ul>",
        f"<dl>{links('The oil lamp', 'The gas lamp', 'The arc lamp', page='lamps.html', tag='dt')}</dl>",
        f"<p>{'It is told in <a href=a.html>Section 3.1</a> of the old book, as far as it is told. ' * 9}</p>",
        "<p>The <a href=a>next</a> lamp is the top</p>",
    ],
)
def test_links_that_say_something_are_text(part: str) -> None:
    document = read(f"{part}<h2>1 Light</h2><p>a<h2>2 Keepers</h2><p>b<h2>Lamp</h2><p>c")
    assert not document.pages[0].left_out
    assert document.pages[0].read == document.pages[0].source


def test_places() -> None:
    document = read(
        """<title>T</title><section id=s><h2>One</h2><p>a</p><p id=p2>b</p></section><a name=two></a><h2>Two</h2>c
        <h2>Three<a class=headerlink id=three href="#three">#</a></h2><p>d<dl><dt id=f>f()<dd>e</dl><p id="no good">g"""
    )
    assert places(document) == [("#s", "a"), ("#p2", "b"), ("#two", "c"), ("#three", "d"), ("#f", "f()")]


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("<p>déjà</p>".encode(), "déjà"),
        ("<p>déjà</p>".encode("utf-8-sig"), "déjà"),
        ("<p>déjà</p>".encode("utf-16"), "déjà"),
        ("<meta charset=koi8-r><p>Привет</p>".encode("koi8-r"), "Привет"),
        ('<meta http-equiv=x content="text/html; charset=Shift_JIS"><p>日本'.encode("shift_jis"), "日本"),
        ('<?xml version="1.0" encoding="iso-8859-2"?><p>žába</p>'.encode("iso-8859-2"), "žába"),
        ("<meta charset=iso-8859-1><p>“a”</p>".encode("cp1252"), "“a”"),
        (f"<meta charset=utf-8><p>{FRENCH}</p>".encode("cp1252"), FRENCH),
        (b"<meta charset=rot13><p>plain</p>", "plain"),
        (b"<meta charset=nonsense><p>plain</p>", "plain"),
    ],
)
def test_encodings(data: bytes, text: str) -> None:
    assert read(data).text == text.strip()


def test_binary_files_are_refused() -> None:
    for head in (b"", b"<meta charset=latin1>"):
        with pytest.raises(DocumentError, match="binary"):
            read(head + b"<p>a\x00b</p><b>c")


def test_xhtml() -> None:
    page = """<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/><script src="x"/></head>
    <body><a id="x"/><p>a <![CDATA[<b> & c]]> d</p><div/><p>e<br/>f</p><![CDATA[open</body></html>"""
    assert body(page).startswith("a <b> & c d\n\ne\nf")
    assert as_html("<p/>", ".xhtml") == "<p></p>"
    assert as_html("<p/>") == "<p/>"


@pytest.mark.parametrize(
    "page", ["", " ", "<!-- a", "<", "<p", "<a name=q>", "<title>", "<table>", "</p>", "<pre>", "<dd><td><li>", "&#xD800;"]
)
def test_odd_pages(page: str) -> None:
    assert read(page).text in ("", "<", "\ufffd")


@pytest.mark.parametrize(
    ("begin", "unit"), [("<img", " alt=x"), ("<img", " alt="), ("", "<img alt='"), ("", "<a><sup"), ("", "<sup>  ")]
)
def test_words_are_counted_in_linear_time(begin: str, unit: str) -> None:
    assert growth(visible_words, lambda n: begin + unit * (n // len(unit)), 20_000) < 10


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit", ["<div><p>{}", "<b>{}", "<ul><li>{}", "<table><tr><td>{}", "<dl><dt>{}<dd>", "<pre>{}", "<span>{}", "<h2>{}"]
)
def test_deep_nesting_keeps_its_text(unit: str) -> None:
    document = read("".join(unit.format(f" w{n} ") for n in range(50_000)))
    assert document.text.count("w") == 50_000


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["<div><p>a", "<b>", "<!--", "<ul><li>a", "<table><tr><td>a", "<dl><dd>a", "<nav>a", "<div class=header>a", "<![CDATA[", "<a ",
     "<script>", "<title>", "<p>a</p>", "a &amp; ", "<br>", '<a id="x">a</a>', "<noframes>", "<pre><div>", "<svg>", "<td>a", "<a href=\"'", "'\"<a href=", "'\"<a b='"],
)  # fmt: skip
def test_linear_time(unit: str) -> None:
    for name in ("a.html", "a.xhtml"):
        assert growth(lambda text, name=name: read(text, name), lambda n: unit * n, 5_000) < 9  # type: ignore[misc]


INLINE = ("b", "i", "span", "a", "code", "sup", "em", "my-x", "label")
BLOCK = ("div", "p", "ul", "li", "dl", "dt", "dd", "table", "tr", "td", "th", "pre", "blockquote", "section", "h2", "h3", "form", "caption", "article", "main", "summary", "figure")  # fmt: skip
TREES = st.recursive(
    st.just("word"),
    lambda inner: st.tuples(st.sampled_from(INLINE + BLOCK), st.lists(inner, max_size=5)),
    max_leaves=40,
)


def _markup(tree: object, counter: list[int]) -> str:
    if isinstance(tree, tuple):
        tag, inner = tree
        return f"<{tag}>" + "".join(_markup(part, counter) for part in inner) + f"</{tag}>"
    counter[0] += 1
    return f" w{counter[0]} "


@given(st.lists(TREES, max_size=8))
def test_every_word_of_any_tree_comes_through_in_order(trees: list[object]) -> None:
    counter = [0]
    page = "".join(_markup(tree, counter) for tree in trees)
    document = read(page)
    headings: list[str] = []
    for section in document.sections:
        headings += section.heading.split()
    found = [word for word in document.text.split() if word.startswith("w")]
    expected = [f"w{n + 1}" for n in range(counter[0])]
    assert set(expected) <= {*found, *headings}
    in_text = set(found)
    assert found == [word for word in expected if word in in_text]
    (words,) = document.pages
    assert words.source == counter[0] == visible_words(page)


@given(st.binary(max_size=200), st.sampled_from([b"", b"<meta charset=utf-8>", b"<meta charset=gbk>", b"\xef\xbb\xbf"]))
def test_any_bytes(data: bytes, head: bytes) -> None:
    try:
        decode_page(head + data)
        read(head + data)
    except DocumentError:
        pass


@pytest.mark.parametrize(
    ("page", "text", "words"),
    [
        ("<p>x:<ol><li>alpha<li>beta</ol>", "x:\n1. alpha\n2. beta", 3),
        (
            "<p>Prices<table><tr><th>Name<th>Price<tr><td>Blue kettle<td>24.90<tr><td>Pot<td>8</table>",
            "Prices\n\nName: Blue kettle; Price: 24.90\n\nName: Pot; Price: 8",
            9,
        ),
        ("<p>See <img src=x alt=\"a lit lamp\">here<img alt=''><img data-alt=no>.", "See a lit lamp here .", 5),
        ("<p>Oil<sup><a href=#1>1</a></sup> and fat<a href=#2><sup>2</sup></a>", "Oil 1 and fat 2", 5),
        ("<p>10<sup>0.5</sup> and 2<sup>1/3</sup>", "10^0.5 and 2^(1/3)", 7),
    ],
)
def test_each_word_of_the_source_counts_as_read_once(page: str, text: str, words: int) -> None:
    document = read(page)
    assert document.text == text
    assert [(page.source, page.read) for page in document.pages] == [(words, words)]


def test_marks_of_footnotes_are_no_digits() -> None:
    note = "<p><sup>2</sup> Without the balcony.</p>"
    assert body(f"<p>It has 250<sup>2</sup> seats<sup>2</sup>.</p>{note}") == "It has 250 seats.\n\n² Without the balcony."
    assert body(f"<p>25 m<sup>2</sup>, 10<sup>2</sup> and 7<sup>3</sup></p>{note}").startswith("25 m², 10² and 7³")
    assert body("<p>250<sup>2</sup></p>") == "250²"


def test_a_line_about_the_program_that_made_the_page_is_omitted() -> None:
    about = "The dragon was donated by Rotem.\n\nThe pages are created using Sphinx. Install it first."
    for line in ("Built with <a href=a>Sphinx</a> using a <a>theme</a> provided by <a>Read the Docs</a>.",
                 "Created using <a href=a>Sphinx</a> 4.5.0.", "© Copyright 2020, A. Created using Sphinx 1.7.",
                 "© 2020, A. Powered by Sphinx 7.2.6 &amp; Alabaster 0.7.13 | Page source", "Built with MkDocs",
                 "Generated on Tue Jan 5 2021 10:00:00 for A by Doxygen 1.9.1", "Made with Sphinx and @ida's Furo"):  # fmt: skip
        page = f"<h1>T</h1><div><p>{about.replace(chr(10) * 2, '<p>')}<div>{line}</div></div>"
        assert read_html(page.encode(), Path("a.html")).text == about


@pytest.mark.parametrize(
    "line",
    [
        "<p>Created by Hugo Weber in 1999.",
        "<p>Created by Hugo.",
        "<p>Powered by the Hugo engine, the pump moves 40 litres of water a minute.",
        "<p>Built with MkDocs, this site needs Python 3.8 on every machine.",
        "<p>Copyright law also holds for what is generated by Doxygen.",
        "<ul><li>Generated with Doxygen</ul>",
        "<table><tr><td>The manual<td>Built with MkDocs</table>",
    ],
)
def test_a_sentence_or_an_entry_about_what_made_something_is_text(line: str) -> None:
    document = read_html(f"<h1>T</h1><p>The dragon.</p>{line}".encode(), Path("a.html"))
    assert document.text.split()[-1] == line.removesuffix("</table>").removesuffix("</ul>").split()[-1]
    assert not document.pages[0].left_out
