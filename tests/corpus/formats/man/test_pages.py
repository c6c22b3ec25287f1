"""Manual pages: headings, terms with what follows, code and tables."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.core import Document
from oreqa.corpus.formats.man.pages import is_man_page, read_man
from oreqa.errors import DocumentError


def read(body: str) -> Document:
    return read_man(f'.TH "LS" 1 2024\n{body}'.encode(), Path("ls.1"))


def parts(document: Document) -> list[tuple[str, str]]:
    return [(section.heading, document.text[section.start : section.end]) for section in document.sections]


def test_sections() -> None:
    document = read(".SH NAME\nls \\- list\n.SH DESCRIPTION\nOne\ntwo.\n.PP\nThree.\n.SS Sub part\nFour.\n")
    assert document.title == "LS(1)"
    assert parts(document) == [
        ("NAME", "ls - list"),
        ("DESCRIPTION", "One two.\n\nThree."),
        ("DESCRIPTION > Sub part", "Four."),
    ]


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('.TP\n.BR \\-a ", " \\-\\-all\nShow all.\n.TP\n.B \\-b\nBoth.', "-a, --all\nShow all.\n\n-b\nBoth."),
        (".TP\n.B \\-\\-batch\n.TQ\n.B \\-\\-no\\-batch\nAsk nothing.", "--batch\n--no-batch\nAsk nothing."),
        ('.IP "\\-a" 4\n.PD 0\n.IP "\\-\\-all" 4\n.PD\nShow all.\n.IP "\\-b" 4\nBoth.', "-a\n--all\nShow all.\n\n-b\nBoth."),
        (".IP \\-a 4\nAll.\n.IP\nMore.\n.IP \\(bu 2\nitem\n.PP\nEnd.", "-a\nAll.\nMore.\n- item\n\nEnd."),
        (".PP\n\\fB\\-t\\fR\n.RS 4\nThe type.\n.sp\nMore.\n.RE\n.PP\nEnd.", "-t\nThe type.\nMore.\n\nEnd."),
        ("Run:\n.nf\nls \\-l\n  \\(dq\n.fi\nEnd.", 'Run:\nls -l\n  "\n\nEnd.'),
        (".TS\ntab(|);\nlb l\nl l.\nA|B\n_\n1|T{\ntwo words\nhere\nT}\n.TE", "A | B\n1 | two words here"),
        (
            ".TS\nallbox tab(:);\nltB ltB.\nA:B\n.T&\nlt lt\nlt lt.\nT{\none.\nT}:2.\n3:4\n.T&\nl l.\n5:6\n.TE",
            "A | B\none. | 2.\n3 | 4\n5 | 6",
        ),
        ("a\n.br\nb\n.IR c ,\n.B d e", "a\nb c, d e"),
        ("See\n.UR http://a.b\nhere\n.UE .", "See http://a.b here ."),
        (".EQ\nx over y\n.EN\n.unknown thing\nText.", "Text."),
    ],
)
def test_requests(body: str, text: str) -> None:
    assert read(f".SH X\n{body}\n").text == text


MDOC = """.Dd May 1, 2024
.Dt CP 1
.Sh SYNOPSIS
.Nm cp
.Op Fl R Op Fl H | L
.Op Fl Fl long Ns = Ns Ar name
.Ar target ...
.Sh DESCRIPTION
The
.Nm
utility, see
.Xr ls 1 ,
and
.Dq Li a ,
.Pq b .
.Bl -tag -width x
.It Fl a , Fl Fl all Ar file
All.
.Pp
Again.
.It Xo
.Fl x
.Xc
Ex.
.El
.Bd -literal
$ cp a b
.Ed
.Fn open "const char *path" "int flags" .
.Ex -std
"""


def test_mdoc() -> None:
    document = read_man(MDOC.encode(), Path("cp.1"))
    assert document.title == "CP(1)"
    assert parts(document) == [
        ("SYNOPSIS", "cp [-R [-H | -L]] [--long=name] target ..."),
        (
            "DESCRIPTION",
            "The cp utility, see ls(1), and “a”, (b).\n\n-a, --all file\nAll.\nAgain.\n\n-x\nEx.\n$ cp a b\n\n"
            "open(const char *path, int flags). The cp utility exits 0 on success, and >0 if an error occurs.",
        ),
    ]  # fmt: skip


def test_places() -> None:
    document = read(".SH NAME\nls \\- list\n.TP\n.B \\-a\nShow\nall.\n")
    assert [place.line for place in document.places] == [3, 3, 5, 6, 7]


@pytest.mark.parametrize("data", [b"", b"# Title\n", b"Version 1.2\n.TH x\n", b".x\ny\n"])
def test_what_is_no_page_is_refused(data: bytes) -> None:
    assert not is_man_page(data)
    with pytest.raises(DocumentError, match="it is not a manual page"):
        read_man(data, Path("a.1"))


def test_damaged_pages() -> None:
    assert read(".SH X\n.TS\nl.\na\n.TP\n.B x").text == "a"
    assert read(".SH X\n.if n \\{\nText.").text == "Text."
    assert read(".RE\n.RE\n.SH X\n" + ".RS\n" * 300 + "deep").text == "deep"
    assert read(".de x\nnever closed").text == ""
