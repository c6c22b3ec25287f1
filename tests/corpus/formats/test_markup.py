"""The parts of a page that formats of lines share."""

from __future__ import annotations

from oreqa.corpus.formats.markup import LineMarkup


def test_lists_nest_by_their_marks() -> None:
    markup = LineMarkup()
    for mark, text in (("*", "a"), ("**", "b"), ("*", "c")):
        markup.item(mark, text)
    markup.end_lists()
    markup.text("d")
    assert markup.page() == "<ul><li><p>a</p><ul><li><p>b</p></ul><li><p>c</p></ul><p>d</p>"


def test_terms_without_an_explanation_share_the_next() -> None:
    markup = LineMarkup()
    markup.item("::", "", tag="dl", term="-a")
    markup.item("::", "all", tag="dl", term="--all")
    assert markup.page() == "<dl><dt>-a</dt><dt>--all</dt><dd><p>all</p></dl>"


def test_tables_and_code() -> None:
    markup = LineMarkup()
    markup.row(["A", "B"])
    markup.header()
    markup.row(["1", "2"])
    markup.row(["3"], [(2, 1)])
    markup.code(["x < 1"])
    assert (
        markup.page()
        == "<table><tr><th>A</th><th>B</th></tr><tr><td>1</td><td>2</td></tr><tr><td colspan=2 rowspan=1>3</td></tr></table><pre>\nx &lt; 1</pre>"
    )
