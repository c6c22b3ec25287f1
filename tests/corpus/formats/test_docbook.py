"""DocBook: its elements are read as those of a web page; what is other XML is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.core import Document
from oreqa.corpus.formats.docbook import is_docbook, read_docbook
from oreqa.errors import DocumentError

DTD = '<?xml version="1.0"?>\n<!DOCTYPE book PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "x.dtd" [\n<!ENTITY app "My App">\n<!ENTITY e SYSTEM "/etc/passwd">\n]>\n'


def read(body: str, name: str = "some_name.xml") -> Document:
    return read_docbook(f"{DTD}{body}".encode(), Path(name))


def parts(document: Document) -> list[tuple[str, str]]:
    return [(section.heading, document.text[section.start : section.end]) for section in document.sections]


def test_sections() -> None:
    body = "<book><bookinfo><title>The &app;</title></bookinfo><chapter><title>One</title><para>Text &mdash; &e;of <code>it</code>.</para><sect1><title>Two</title><para>More.</para></sect1></chapter></book>"
    document = read(body)
    assert document.title == "The My App"
    assert parts(document) == [("One", "Text — of it."), ("One > Two", "More.")]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<variablelist><varlistentry><term>-a</term><listitem><para>All.</para><para>Yes.</para></listitem></varlistentry></variablelist>", "-a\nAll.\nYes."),
        ("<itemizedlist><listitem><para>a</para></listitem><listitem><para>b</para></listitem></itemizedlist>", "- a\n- b"),
        ("<table><title>T</title><tgroup><thead><row><entry>A</entry><entry>B</entry></row></thead><tbody><row><entry morerows='1'>1</entry><entry>2</entry></row><row><entry>3</entry></row></tbody></tgroup></table>", "T\n\nA: 1; B: 2\n\nA: 1; B: 3"),
        ("<table><tgroup cols='3'><colspec colname='a'/><colspec colname='b'/><colspec colname='c'/><spanspec spanname='s' namest='b' nameend='c'/><thead><row><entry>A</entry><entry>B</entry><entry>C</entry></row></thead><tbody><row><entry namest='a' nameend='b'>1</entry><entry>2</entry></row><row><entry>3</entry><entry spanname='s'>4</entry></row></tbody></tgroup></table>", "A: 1; B: 1; C: 2\n\nA: 3; B: 4; C: 4"),
        ("<programlisting>a\n  b &lt; c</programlisting>", "a\n  b < c"),
        ("<para>See <citerefentry><refentrytitle>ls</refentrytitle><manvolnum>1</manvolnum></citerefentry><indexterm><primary>x</primary></indexterm>.</para>", "See ls(1)."),
        ("<para><menuchoice><guimenu>File</guimenu><guimenuitem>New</guimenuitem></menuchoice></para>", "File > New"),
        ("<para>At <ulink url='http://a.b'/> it<footnote><para>note</para></footnote>.</para>", "At http://a.b it (\n\nnote\n\n)."),
    ],
)  # fmt: skip
def test_elements(body: str, text: str) -> None:
    assert read(f"<article><title>T</title>{body}</article>").text == text


def test_places() -> None:
    document = read("<article>\n<title>T</title>\n<para>\nOne\n<b>two</b></para>\n<para>Three</para></article>")
    assert [place.line for place in document.places] == [9, 10, 11]


def test_what_is_refused_or_repaired() -> None:
    with pytest.raises(DocumentError, match="not DocBook"):
        read_docbook(b"<html/>", Path("a.xml"))
    with pytest.raises(DocumentError, match="it is not XML"):
        read_docbook(b"plain", Path("a.docbook"))
    assert read_docbook(b"<article><para>One.</para><para>Two", Path("a.dbk")).text == "One.\n\nTwo"
    bomb = "".join(f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 9))
    data = f'<!DOCTYPE book [<!ENTITY a0 "x">{bomb}]><article xmlns="http://docbook.org/ns/docbook"><para>A&a8;b</para></article>'
    assert read_docbook(data.encode(), Path("a.xml")).text == "A b"
    deep = "<sect1><title>t</title>" * 200 + "<para>deep</para>"
    assert read(f"<article>{deep}").text.endswith("deep")
    assert is_docbook(DTD.encode())
    assert not is_docbook(b"<project/>")
