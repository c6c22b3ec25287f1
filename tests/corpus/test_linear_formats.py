"""No file of markup, source code or mail makes reading take more than its size does: what repeats costs its share."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest
from growth import growth

from oreqa.corpus.containers import mailbox_messages
from oreqa.corpus.worker import MAILS, parser_of
from oreqa.errors import DocumentError

pytestmark = pytest.mark.slow

FACTOR = 9
"""Four times the input takes four times as long, not sixteen times."""

MAN, MDOC, TABLE = ".TH A 1\n", ".Dd January 1, 2023\n.Dt A 1\n", ".TH A 1\n.TS\nl.\n"
NODE, MANUAL = "\x1f\nFile: a.info,  Node: T\n\n", "\x1f\nFile: a.info,  Node: T\n\nABC\n===\n\nDEF\n===\n\n"
BOOK, DTD = '<book xmlns="http://docbook.org/ns/docbook">', '<!DOCTYPE book PUBLIC "-//OASIS//DTD DocBook" ['
CUE, EVENT = "1\n00:00:01,000 --> 00:00:02,000\n", "Dialogue: 0,0:00:01.00,0:00:02.00,D,,0,0,0,,"
EVENTS = "[Events]\nFormat: Layer, Start, End, Style, Name, MarginL, MarginR, MarginV, Effect, Text\n"
CELL = '{"cells": [{"cell_type": "markdown", "source": "'

CASES: dict[str, tuple[tuple[str, str, str], ...]] = {
    "json": (("[", '{"a": 1},', "{}]"), ("[", '{"a": {"b": "word"}},', "1]"), ("{", '"a": "b c",', '"z": 1}'), ('"', "\\\\", '"'),
             ('["', "word ", '"]'), ("", '{"a": 1}\n', ""), ("[", '["a"],', "1]"), ('{"a": [', '"word",', "1]}"), ("", '"', "")),
    "rtf": (("{\\rtf1 ", "a\\par ", "}"), ("{\\rtf1 ", "{", ""), ("{\\rtf1 ", "{\\*\\x ", "}"), ("{\\rtf1 ", "\\cell\\row ", "}"),
            ("{\\rtf1 ", "\\outlinelevel0 a\\par ", "}"), ("{\\rtf1 ", "{\\title ", "}"), ("{\\rtf1 ", "\\u233?", "}"),
            ("{\\rtf1 ", "\\strike a", "}"), ("{\\rtf1 ", "{\\strike a", ""), ("{\\rtf1 ", "\\strike a \\strike0 b ", "}")),
    "rst": (("", "a\n\n", ""), ("", ".. a comment\n\n", ""), ("", "* a\n\n", ""), ("", "a\n=\n\n", ""), ("", "``a ", ""), ("", "a_ ", ""),
            ("", "[#]_ ", ""), ("", "a_ b\n\n", ""), ("", "word\n", ""), ("", ".. note:: a\n\n", ""), ("", ":a: b\n", ""), ("", "::\n\n a\n\n", ""),
            ("", "=== ===\na b\n=== ===\n\n", "")),
    "adoc": (("= a", " ", "b"), ("", "a\n\n", ""), ("", "* a\n", ""), ("", "** a\n* b\n", ""), ("", "// c\n", ""), ("", "== a\n\n", ""),
             ("", "----\n", ""), ("", "|===\n|a |b\n", ""), ("|===\n", "|a", "\n|==="), ("", "a:: b\n", ""), ("", "((", ""), ("", "`", ""),
             ("", "////\n", ""), ("= T\n", ":a: {a}{a}\n", "{a}"), ("|===\n", ".9+|a\n", "|==="), ("|===\n2+|a |b\n|c\n", "\n", "|==="), ("", "[a]\n.t\n", "|===\n|a"),
             ("", "[.line-through]#a", "")),
    "man": ((MAN, ".PP\na\n", ""), (MAN, ".RS\n", ""), (MAN, ".TP\na\nb\n", ""), (MAN, ".SH A\n", ""), (MAN, '.\\" c\n', ""), (MAN, "\\[", ""),
            (MAN, ".if n \\{\\\n", ""), (MAN, ".if t \\{\n", ""), (f"{MAN}.if n ", ".if n ", "a"), (MAN, "a\\\n", ""), (MAN, ".de x\n", ""),
            (TABLE, "a\tb\n", ""), (f"{TABLE}T{{\n", "a\n", ""), (f"{MAN}.TS\n", "l l\n", ""), (f"{MAN}.B ", '"', ""), (MAN, "\\h'a", "")),
    "mdoc": ((MDOC, "a\n", ""), (MDOC, ".Sh A\n", ""), (MDOC, ".Bl -tag\n.It a\n", ""), (f"{MDOC}.Bl -tag\n.It Xo\n", ".Fl a\n", ".Xc\n"),
             (f"{MDOC}.Op ", "Op ", ""), (f"{MDOC}.Fn ", "a ", ""), (MDOC, ".Bd -literal\n", "")),
    "info": ((NODE, "a\n\n", ""), ("", f"{NODE}a\n", ""), (NODE, "a\n===\n\n", ""), (NODE, "\x00\x08[", ""), (NODE, "* Menu:\n", ""),
             (MANUAL, " -- x\n     a\n\n", ""), (MANUAL, "  foo_a\n      b\n\n      c\n\n", "")),
    "tex": (("", "a\n\n", ""), ("", "{a}", ""), ("", "{", ""), ("", "$a$ ", ""), ("", "% c\n", ""), ("", "\\section{a}\n", ""), ("", "\\title{", ""),
            ("\\begin{itemize}", "\\item a ", "\\end{itemize}"), ("", "\\begin{verbatim}", ""), ("", "\\verb|", ""), ("", "\\footnote{a} ", ""),
            ("\\begin{tabular}{l}", "a & b \\\\ ", "\\end{tabular}"), ("", "% \\title{\n", ""), ("", "% \\title{", ""),
            ("\\def\\x#1{(#1)}", "\\x{", ""), ("\\def\\x#1{(#1)}", "\\x{a}", ""), ("", "\\def\\x{a}", ""), ("", "\\def\\x{a}\\x ", ""),
            ("\\def\\x{a}", "\\x", "\n\nb"), ("\\newcommand\\x", " ", "{a}"), ("", "\\iffalse ", "\\fi"), ("", "\\author{", ""),
            ("", "\\iffalse \\else ", "\\fi"), ("", "\\iffalse a\\fi ", ""), ("\\def\\x#1{(#1)}\\x{", "\\\\", "}"),
            ("", "\\author{a}", "\\begin{document}b"), ("", "\\author{", "\\begin{document}b"), ("%", "\\author{", "\n\\begin{document}b"),
            ("\\def\\x{a}\\x", " ", "b"), ("\\newcommand\\x[1][a]{#1}", "\\x[", ""), ("\\def\\x#1{(#1)}", "\\x{", "}" * 9),
            ("\\begin{tabular}{l}", "\\multirow{2}{*}{a} & b \\\\ ", "\\end{tabular}")),
    "org": (("* a", " ", "b"), ("* a", ":x: ", "b"), ("", "* a\n", ""), ("", "- a\n", ""), ("", "| a | b |\n", ""), ("", "# c\n", ""),
            ("", "#+BEGIN_SRC\n", ""), ("", "[[", ""), ("", "- a :: b\n", ""), ("", ": c\n", ""), ("", ":D:\n", ""), ("", ":D:\n", ":END:"),
            ("", "#+begin_comment\n", ""), ("", "#+begin_comment\na\n", "#+end_comment")),
    "ipynb": ((CELL, "`", '"}]}'), (CELL, "[a](", '"}]}'), (CELL, "> ", '"}]}'), (CELL, '# a"}, {"cell_type": "markdown", "source": "', '"}]}')),
    "dbk": ((BOOK, "<para>a</para>", "</book>"), (BOOK, "<section><title>a</title></section>", "</book>"), (BOOK, "<itemizedlist><listitem>", ""),
            (BOOK, "<!-- a -->", "</book>"), (BOOK, "<!--", ""), (BOOK, "&a;", "</book>"), (BOOK, "<!DOCTYPE", ""),
            (DTD, "<!ENTITY a 'b'>", "]><book><para>a</para></book>")),
    "srt": (("", f"{CUE}a\n\n", ""), (CUE, "a\n", ""), (CUE, "<a", "b"), (CUE, "{\\", "b"), (f"{CUE}a", "\n", "b"), ("", "-->\n", "")),
    "vtt": (("WEBVTT\n\n", "00:01.000 --> 00:02.000\na\n\n", ""), ("WEBVTT\n\n", "NOTE a\n\n", "")),
    "ass": ((EVENTS, f"{EVENT}a\n", ""), (EVENTS + EVENT, "{\\", "a"), (EVENTS + EVENT, "\\N", "a"), (EVENTS, "[x]\n", "")),
    "py": (("", "# a\n", ""), ("", "a = 1 # b\n", ""), ("", '"""a"""\n', ""), ("", "def f():\n    pass\n", ""), ("", "(", "")),
    "c": (("", "/* a */\n", ""), ("", "// a ", ""), ("", "/", ""), ("", "{", ""), ("", "int f(int a) {}\n", ""), ("", "a b(", ""), ("", '"\n', "")),
    "java": (("", "/** a */\n", ""), ("", "<a", ""), ("", "int ", ""), ("", "public int f(int a){}\n", "")),
    "mbox": (("", "From a@b Mon Jan  2 10:00:00 2023\nSubject: a\n\nb\n\n", ""), ("From a@b\nA: b\n\n", "From \n", ""), ("From a@b\nA: b\n\n", ">", "")),
    "eml": (("Subject: a\n\n", "b\n\n", ""), ("", "Subject: a\n", "\nb"), ("To: ", '"', "\n\nb"), ("To: ", "a, ", "\n\nb"), ("From: ", "a ", "\n\nb"),
            ("Content-Disposition: ", "a; ", "\n\nb"), ("Subject: ", "=?utf-8?b?YQ==?= ", "\n\nb")),
}  # fmt: skip


def reader(kind: str) -> Callable[[str], None]:
    path = Path(f"a.{kind}")

    def read(text: str) -> None:
        with suppress(DocumentError, RecursionError):  # the worker refuses what is nested too deeply
            if kind == "mbox":
                assert list(mailbox_messages(io.BytesIO(text.encode())))
            elif kind == "eml":
                MAILS[".eml"](text.encode(), path)
            else:
                parser_of(path)(text.encode(), path)

    return read


@pytest.mark.parametrize(
    ("kind", "before", "unit", "after"), [(kind, *case) for kind, cases in CASES.items() for case in cases]
)
def test_what_repeats_takes_linear_time(kind: str, before: str, unit: str, after: str) -> None:
    assert growth(reader(kind), lambda n: before + unit * n + after, max(400, 12_000 // len(unit))) < FACTOR


@pytest.mark.parametrize("kind", CASES)
def test_any_number_of_repetitions_is_read_or_refused(kind: str) -> None:
    read = reader(kind)
    for before, unit, after in CASES[kind]:
        for n in (1, 2, 3, 4, 7, 16):
            read(before + unit * n + after)
