"""Escapes, strings and conditions of roff."""

from __future__ import annotations

import pytest

from oreqa.corpus.formats.man.roff import Strings, arguments, logical_lines


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (r"\fB\-\-all\fR, \fI\,name\/\fP", "--all, name"),
        (r"\(lqa\(rq \(em b\[u20AC] \[:u]\['e]\(bu", "“a” — b€ üé•"),
        (r"a\&b\|c\^d\0e\ f\~g\:h\%i", "abcd e f ghi"),
        (r"\*(C+ \*(lqx\*(rq \*[Aq] \*R", "C++ “x” ' ®"),
        (r"\s-1SMALL\s0 \s+2b\s(12c \m[blue]d\m[] \n(.g\h'+4n'e\v'1'f\w'xx'", "SMALL bc d  ef"),
        (r"a\\n \e \" comment", "a\\n \\ "),
        ("trailing \\", "trailing "),
    ],
)
def test_escapes(line: str, text: str) -> None:
    assert Strings().text(line) == text


def test_arguments() -> None:
    assert arguments(r'one "two three" "a ""b""" c\ d \" rest') == ["one", "two three", 'a "b"', r"c\ d"]
    assert arguments('"open') == ["open"]
    assert arguments(r"--up \ cmd") == ["--up", r"\ cmd"]  # a blank that is no gap


def test_strings_conditions_and_definitions() -> None:
    source = r"""'\" t
.\" comment
.de Zz
.B hidden
..
.ig
ignored
..
.ds Me "my name
.ie \n(.g .ds Q yes
.el .ds Q no
.if t .B typeset
.if n \{\
.B shown
.\}
.ie t \{ .B never
.B nested \{ x \}
.\}
.el text \
goes on
.if 'a'a' equal
.if !'a'a' unequal
'br
end"""
    strings = Strings()
    assert list(logical_lines(source, strings)) == [
        ("B", "shown"), ("", "text goes on"), ("", "equal"), ("br", ""), ("", "end"),
    ]  # fmt: skip
    assert strings.text(r"\*(Me \*Q") == "my name yes"


def test_a_string_that_names_itself_ends() -> None:
    strings = Strings()
    strings["x"] = r"a\*x\*x"
    assert strings.text(r"\*x").count("a") < 20
