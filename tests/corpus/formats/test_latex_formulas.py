"""Dollar signs without a partner."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.corpus.formats.latex import read_latex
from oreqa.corpus.formats.latex_formulas import escape_odd_dollars


@pytest.mark.parametrize(
    "source",
    [
        "",
        "no dollar",
        "$a$ and $$b$$",
        r"5\$ and \\$a$",
        "a % costs 5$\nb",
        r"\verb|$| and \verb*+$+ and \lstinline!$x!",
        "\\begin{verbatim}\n$ ls\n\n$ cd\n\n$ x\n\\end{verbatim}",
        "\\begin{lstlisting}\n$ ls\n\\end{verbatim}\n\n$ a\n\\end{lstlisting} $b$",
        "\\begin{verbatim}\n$ never closed",
    ],
)
def test_what_has_partners_or_is_code_stays(source: str) -> None:
    assert escape_odd_dollars(source) == source


@pytest.mark.parametrize(
    ("source", "escaped"),
    [
        ("$", "\\$"),
        ("5$ here.\n \t\n$a$", "5\\$ here.\n \t\n$a$"),
        ("$a$ costs 5$", "$a$ costs 5\\$"),
        ("$a\n\nb$", "\\$a\n\nb\\$"),
        ("\\begin{verbatim}\n$\n\\end{verbatim} $", "\\begin{verbatim}\n$\n\\end{verbatim} \\$"),
        ("\\lstinline{a} $ {", "\\lstinline{a} \\$ {"),
        ("$ % $\n$ $", "$ % $\n$ \\$"),
    ],
)
def test_the_last_of_an_odd_number_is_escaped(source: str, escaped: str) -> None:
    assert escape_odd_dollars(source) == escaped


def test_one_dollar_sign_spoils_nothing_behind_it() -> None:
    screen = "\\section{One}\n\\begin{screen}\n$ \\textbf{sample}\n\\end{screen}\n% $\n\n"
    rest = "\\section{Two} The port is 8080; $x^2$ holds.\n\\begin{verbatim}\nrm -rf /tmp\n\\end{verbatim}\nThe end."
    document = read_latex(f"{screen}{rest}".encode(), Path("a.tex"))
    assert document.text == "$ sample\n\nThe port is 8080; x^2 holds.\nrm -rf /tmp\n\nThe end."
    assert [section.heading for section in document.sections] == ["One", "Two"]
