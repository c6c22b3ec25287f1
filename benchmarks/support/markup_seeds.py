# ruff: noqa: E501
"""Small files in the formats of markup, mails and containers, and fragments that are inserted to damage them."""

from __future__ import annotations

import io
import json
import random
import zipfile
from collections.abc import Callable, Mapping
from email.message import EmailMessage
from typing import Any

WORDS = (
    *("The", "octopus", "has", "three", "hearts", "and", "eight", "arms,", "Dr.", "Smith", "wrote", "in", "1987", "(cf."),
    *("p.", "3).", "Its", "blood", "is", "blue!", "Why?", ""),
)

Seed = Callable[[random.Random], bytes]

TOKENS: dict[str, tuple[bytes, ...]] = {
    "json": (b"{", b"}", b"[", b"]", b'"', b'{"a":', b"[[", b"\\ud800", b"9" * 5000, b"1e999", b"NaN", b"null", b'"title":'),
    "rtf": (b"{", b"}", b"\\", b"{\\*", b"\\u-4051?", b"\\'e9", b"\\bin999999", b"\\cell", b"\\row", b"\\outlinelevel0 ",
            b"{\\title ", b"\\ansicpg65001", b"{\\fonttbl", b"\\par", b"\\uc99999999"),
    "rst": (b"===\n", b".. ", b"::\n\n", b"* ", b"``", b":ref:`", b"`a <b>`_", b"|x|", b"+--+\n", b"   ", b".. |x| replace:: |x|\n",
            b".. include:: /etc/passwd\n", b".. csv-table::\n", b"[#]_ ", b"#. ", b"=== ===\n", b":a: ", b"\\", b"**"),
    "adoc": (b"= ", b"== ", b"----\n", b"====\n", b"|===\n", b"* ", b"a:: ", b"+\n", b"{a}", b":a: {a}{a}\n", b"[cols=\"9*\"]\n",
             b"((", b"<<", b"`", b"999999999*|", b"image::", b"//// \n", b".T\n", b"include::x[]\n"),
    "man": (b".SH ", b".TP\n", b".IP ", b".RS\n", b".RE\n", b".TS\n", b".TE\n", b"T{\n", b"T}", b".if n \\{\\\n", b".\\}\n", b".de x\n",
            b"..\n", b".ds x \\*x\\*x\n", b"\\*x", b"\\fB", b"\\(em", b"\\[u", b"\\h'", b".ie ", b".el ", b'"', b".so x\n", b"\\\n"),
    "mdoc": (b".Sh ", b".Bl -column\n", b".Bl -tag\n", b".El\n", b".It ", b".Xo\n", b".Xc\n", b".Fn ", b".Op Fl ", b".Ta ", b".Bd -literal\n",
             b".Nm", b" Ns ", b" Pf ", b".Fo ", b"\\&"),
    "info": (b"\x1f\n", b"File: a.info,  Node: Top,  Up: (dir)\n", b"* Menu:\n", b"\n***\n", b"\x00\x08[", b"\x00\x08]", b" -- ", b"* a::"),
    "tex": (b"\\begin{itemize}", b"\\end{itemize}", b"\\item ", b"{", b"}", b"$", b"$$", b"\\[", b"%", b"\\section{", b"\\begin{verbatim}",
            b"\\verb|", b"\\title{", b"&", b"\\\\", b"\\begin{tabular}{", b"\\newcommand{\\x}{\\x}", b"\\footnote{", b"\\", b"\\frac"),
    "org": (b"* ", b"#+BEGIN_SRC\n", b"#+END_SRC\n", b"| ", b"|-\n", b"- a :: ", b":DRAWER:\n", b":END:\n", b"[[", b"][", b"*a", b"=", b"#+TITLE: "),
    "ipynb": (b"{", b"}", b"[", b"]", b'"', b'"cells":', b'"cell_type": "heading"', b'"level": -1', b'"worksheets": 3', b'"source": null',
              b'"outputs": [3]', b"null", b"1e999"),
    "dbk": (b"<section>", b"</section>", b"<title>", b"<para>", b"<itemizedlist><listitem>", b"<table><row><entry>", b"<footnote>",
            b'morerows="99999999"', b"<!ENTITY a '&a;&a;'>", b"&a;", b"<!DOCTYPE book [", b"]>", b"<info>", b"<![CDATA[", b"<xi:include href='/etc/passwd'/>",
            b"<programlisting>", b"<refname>"),
    "mbox": (b"\nFrom a@b.org Mon Jan  2 10:00:00 2023\n", b"From ", b">From ", b"\n\n", b"Subject: ", b"--b\n", b"Content-Type: multipart/mixed; boundary=b\n\n"),
    "msg": (b"\xfe\xff\xff\xff", b"\xff\xff\xff\xff", b"\0\0\0\0", b"_\0_\0s\0u\0b\0", b"R\0o\0o\0t\0"),
    "srt": (b"1\n00:00:01,000 --> 00:00:02,000\n", b"-->", b"99:99:99,999", b"{\\an8}", b"<i>", b"&amp;", b"\n\n", b"WEBVTT\n"),
    "vtt": (b"WEBVTT\n\n", b"NOTE ", b"STYLE\n", b"00:01.000 --> 00:02.000 line:0\n", b"<c.x>", b"-->", b"&lt;"),
    "ass": (b"Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,", b"[Events]\n", b"Format: ", b"{\\p1}", b"\\N", b"Style: ", b",,,,", b"[Fonts]\n"),
    "zip": (b"PK\1\2", b"PK\3\4", b"PK\5\6", b"\xff\xff\xff\xff", b"../", b"\0\0"),
    "py": (b'"""', b"'''", b"# ", b"def ", b"class ", b'f"{', b"(", b"\\", b"    ", b"'", b'r"'),
    "c": (b"/*", b"*/", b"//", b"#define ", b"{", b"}", b'"', b"'", b"int f(", b"\\\n", b"/** "),
}  # fmt: skip

PACKED = {"zip": "page.html"}


def random_text(rng: random.Random) -> str:
    """Return paragraphs of words."""
    return "\n\n".join(" ".join(rng.choices(WORDS, k=rng.randint(1, 80))) for _ in range(rng.randint(1, 9)))


def _line(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS[:-1], k=rng.randint(1, 12)))


_TEMPLATES = {
    "json": '{{"title": "{a}", "parts": [{{"id": 1, "text": "{b}", "tags": ["x", null, 2.5]}}, {{"deep": {{"er": ["{c}"]}}}}]}}',
    "rtf": r"{{\rtf1\ansi\ansicpg1252{{\fonttbl{{\f0 Times;}}}}{{\info{{\title {a}}}}}\outlinelevel0 {b}\par {t}\par "
    r"\trowd {a}\cell {b}\cell\row \u8364? \'e9 {{\*\generator x}}{{\field{{\fldrslt {c}}}}}\par}}",
    "rst": "{a}\n====================================================\n\n{t}\n\n.. note:: {b}\n\n* one\n\n  * two\n\n{c}\n"
    "----------------------------------------------------------\n\n:name: value\n\n::\n\n  code\n\n"
    "=== ===\na   b\n=== ===\n1   2\n=== ===\n\n.. function:: f(x)\n\n   {a} :ref:`b <c>` ``d`` [#]_\n\n.. [#] note\n",
    "adoc": "= {a}\nAnna Berg <a@b.org>\n:v: 1\n\n{t}\n\n== {b}\n\n* one\n** two {{v}}\n+\n----\ncode <1>\n----\n\nterm:: {c}\n\n"
    '[cols="2*",options="header"]\n|===\n|a |b\n\n|1 |2\n|===\n\n*bold* _it_ `c` ((x)) <<y,z>> footnote:[n]\n',
    "man": '.TH A 1 "2023"\n.SH NAME\na \\- {a}\n.SH "B C"\n.PP\n{t}\n.TP\n.B \\-x\n{b}\n.RS\n.IP \\(bu 2\n{c}\n.RE\n.TS\ntab(;);\nl l.\n'
    "a;T{{\nb\nT}}\n.TE\n.nf\ncode\n.fi\n.ds s text\n\\*s \\fBbold\\fR\n.if n \\{{\\\nyes\n.\\}}\n",
    "mdoc": ".Dd January 2, 2023\n.Dt A 1\n.Os\n.Sh NAME\n.Nm a\n.Nd {a}\n.Sh SYNOPSIS\n.Nm\n.Op Fl x Ar file\n.Sh DESCRIPTION\n{t}\n"
    ".Bl -tag -width x\n.It Fl x Ns Ar y\n{b}\n.El\n.Bl -column a b\n.It one Ta two\n.El\n.Bd -literal\ncode\n.Ed\n.Xr b 3\n",
    "info": "x\n\x1f\nFile: a.info,  Node: Top,  Next: B,  Up: (dir)\n\n{a}\n*****\n\n{t}\n\n* Menu:\n\n* B::  x\n\x1f\n"
    "File: a.info,  Node: B,  Prev: Top\n\n1 {b}\n=====\n\n   {c}\n\n -- Command: f x\n     {a}\n",
    "tex": "\\documentclass{{article}}\n\\title{{{a}}}\n\\begin{{document}}\n\\maketitle\n\\section{{{b}}}\n{t}\n\\begin{{itemize}}\n\\item {c}\n"
    "\\end{{itemize}}\n\\begin{{tabular}}{{ll}}a & b \\\\ 1 & 2\\end{{tabular}}\n$x^2$ \\[\\frac{{1}}{{2}}\\] \\footnote{{{a}}} \\verb|v|\n"
    "\\begin{{verbatim}}\ncode\n\\end{{verbatim}}\n% comment\n\\end{{document}}\n",
    "org": "#+TITLE: {a}\n* {b}\n{t}\n** TODO {c}\n:PROPERTIES:\n:x: y\n:END:\n- one\n  - two :: x\n1. a\n| a | b |\n|---+---|\n| 1 | 2 |\n"
    "#+BEGIN_SRC c\ncode\n#+END_SRC\n[[http://x][link]] *b* /i/ =v= +s+\n",
    "dbk": '<?xml version="1.0"?><!DOCTYPE book PUBLIC "-//OASIS//DTD DocBook XML V4.5//EN" "x" [<!ENTITY e "{a}">]>'
    "<book><info><title>{a}</title></info><chapter><title>{b}</title><para>{t} &e;</para><itemizedlist><listitem><para>{c}</para></listitem>"
    "</itemizedlist><table><title>T</title><tgroup><thead><row><entry>a</entry></row></thead><tbody><row><entry morerows='1'>1</entry></row>"
    "</tbody></tgroup></table><programlisting>code</programlisting></chapter></book>",
    "srt": "1\n00:00:01,000 --> 00:00:02,500\n<i>{a}</i>\n\n2\n00:00:09,000 --> 00:00:12,000\n{b}\n{c}\n\n",
    "vtt": "WEBVTT\n\nNOTE x\n\n1\n00:01.000 --> 00:02.500 align:start\n<v Anna>{a}\n\n00:00:09.000 --> 00:00:12.000\n{b}\n\n",
    "ass": "[Script Info]\nTitle: x\nScriptType: v4.00+\n\n[V4+ Styles]\nFormat: Name, Fontname\nStyle: Default,Arial\n\n[Events]\n"
    "Format: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
    "Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,{{\\an8}}{a}\\N{b}\nComment: 0,0:00:03.00,0:00:04.00,Default,,0,0,0,,{c}\n",
    "py": '"""{a}"""\n\nimport os\n\n# {b}\n# {c}\nX = 1  # x\n\n\nclass A:\n    """{a}\n\n    {t}"""\n\n    def f(self):\n        return f"{{self}}"\n',
    "c": '/* {a}\n * {b}\n */\n#include <x.h>\n#define N 3 // {c}\n\n/** {t} */\nint f(int a) {{\n  return "s"[a]; /* x */\n}}\n',
}  # fmt: skip


def _filled(kind: str) -> Seed:
    def make(rng: random.Random) -> bytes:
        parts = {"a": _line(rng), "b": _line(rng), "c": _line(rng), "t": random_text(rng)}
        return _TEMPLATES[kind].format(**parts).encode() * (rng.randint(1, 3) if kind in ("srt", "man", "org", "c") else 1)

    return make


def _notebook(rng: random.Random) -> bytes:
    output = {"output_type": "stream", "text": [_line(rng)]}
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "source": [f"# {_line(rng)}\n", random_text(rng)]},
        {"cell_type": "code", "source": "x = 1", "outputs": [output, {"output_type": "error"}]},
        {"cell_type": "heading", "level": 2, "source": _line(rng)},
    ]
    return json.dumps({"cells": cells, "nbformat": 4} if rng.random() < 0.7 else {"worksheets": [{"cells": cells}]}).encode()


def mail(rng: random.Random) -> bytes:
    """Return a message with alternative forms of its text, and with attached files and messages."""
    message = EmailMessage()
    message["Subject"], message["From"], message["Date"] = "Ein Käfer", "a@b.org", "Mon, 02 Jan 2023 10:00:00 +0100"
    message.set_content(random_text(rng))
    if rng.random() < 0.5:
        message.add_alternative(f"<p>{_line(rng)}</p>", subtype="html")
    if rng.random() < 0.5:
        message.add_attachment(b"x" * 50, maintype="image", subtype="png", filename="ä.png")
    if rng.random() < 0.5:
        kind = rng.choice(("json", "rst", "tex", "srt"))
        content = SEEDS[kind](rng)
        message.add_attachment(content, maintype="application", subtype="octet-stream", filename=f"a.{kind}")
    if rng.random() < 0.3:
        inner = EmailMessage()
        inner["Subject"] = "Inner"
        inner.set_content(_line(rng))
        message.add_attachment(inner)
    return bytes(message)


def _mailbox(rng: random.Random) -> bytes:
    return b"".join(b"From a@b.org Mon Jan  2 10:00:00 2023\n" + mail(rng) + b"\n" for _ in range(rng.randint(1, 4)))


def _outlook(rng: random.Random) -> bytes:
    from ole_file import ole_file

    def texts(**properties: str) -> dict[str, bytes]:
        return {f"__substg1.0_{name[1:]}001F": value.encode("utf-16-le") for name, value in properties.items()}

    file: Mapping[str, Any] = {
        "__properties_version1.0": bytes(8),
        **texts(_3707="a.json"),
        "__substg1.0_37010102": SEEDS["json"](rng),
    }
    person: Mapping[str, Any] = {"__properties_version1.0": bytes(8), **texts(_3001=_line(rng), _39FE="c@d.org")}
    return ole_file(
        {
            "__properties_version1.0": bytes(32),
            **texts(_0037=_line(rng), _1000=random_text(rng), _0C1A="Anna", _5D01="a@b.org"),
            "__attach_version1.0_#00000000": file,
            "__recip_version1.0_#00000000": person,
        }
    )


def _archive(rng: random.Random) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("page.html", f"<h1>{_line(rng)}</h1><p>{random_text(rng)}</p>")
        archive.writestr("rows.csv", f"id,text\n1,{_line(rng)}\n")
        archive.writestr("mail.eml", mail(rng))
        if rng.random() < 0.3:
            archive.writestr("inner.zip", _archive(rng))
    return buffer.getvalue()


SEEDS: dict[str, Seed] = {
    **{kind: _filled(kind) for kind in _TEMPLATES},
    "ipynb": _notebook,
    "mbox": _mailbox,
    "msg": _outlook,
    "zip": _archive,
}
