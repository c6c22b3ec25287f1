"""LaTeX: sections, lists, tables, code and formulas."""

from __future__ import annotations

from pathlib import Path

import pytest

from oreqa.core import Document
from oreqa.corpus.formats.latex import read_latex


def read(body: str, head: str = "") -> Document:
    text = f"\\documentclass{{article}}{head}\n\\begin{{document}}\n{body}\n\\end{{document}}\n"
    return read_latex(text.encode(), Path("some_name.tex"))


def test_title_and_sections() -> None:
    body = "\\maketitle\nIntro.\n\\section{One}\\label{a}\nText.\n\n\\subsection*{Two \\emph{it}}\nMore."
    document = read(body, "\\usepackage[utf8]{x}\\title{The \\emph{great} plan}\\author{Ida}")
    assert document.title == "The great plan"
    parts = [(section.heading, document.text[section.start : section.end]) for section in document.sections]
    assert parts == [("", "Ida\n\nIntro."), ("One", "Text."), ("One > Two it", "More.")]
    assert read_latex(b"Just \\textbf{text}.", Path("some_name.tex")).title == "some name"


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"Gr\"unbacher~\textbf{and} \unknown{kept} ``so'' 1--2 5\,\% % comment", "Grünbacher and kept “so” 1–2 5 %"),
        ("One\ntwo.\n\nThree.\\\\Four", "One two.\n\nThree.\nFour"),
        (r"See~\ref{x} and \cite{y}\index{z}: \href{http://a.b}{this}\footnote{A note.} \verb|a_b|", "See and : this (A note.) a_b"),
        (r"\begin{itemize}\item a\item b\end{itemize}\begin{enumerate}\item c\end{enumerate}", "- a\n- b\n\n1. c"),
        (r"\begin{description}\item[Term] what\end{description}", "Term\nwhat"),
        ("\\begin{tabular}{ll}\nName & No \\\\ \\hline\nPen & 2 \\\\\n\\end{tabular}", "Name | No\nPen | 2"),
        ("\\begin{verbatim}\nx & \\y\n  z\n\\end{verbatim}", "x & \\y\n  z"),
        (r"$x^2 + \alpha$ and \begin{equation}a = \frac{1}{2}\end{equation}", "x^2 + α and\n\na = 1/2"),
        (r"\begin{figure}\includegraphics{x}\caption{A map}\end{figure}\sout{59} 39", "A map\n\n39"),
        (
            r"\begin{tabular}{ccc}A & B & C\\ \multicolumn{2}{c}{wide} & 3\\ \multirow{2}{*}{tall} & x & y\\ & p & q\\ e & f & g\end{tabular}",
            "A | B | C\nwide | 3\ntall | x | y\ntall | p | q\ne | f | g",
        ),
        (
            r"\begin{tabular}{cc}\multicolumn{1}{c}{\multirow{2}{*}{tall}} & x--y\\ & p \& q\\\end{tabular}",
            "tall | x–y\ntall | p & q",
        ),
        (r"Set \texttt{--no-edit} or \texttt{git~a\_b \emph{x--y}}--so.", "Set --no-edit or git a_b x–y–so."),
        (r"For \LaTeX\ and \TeX{}, with \textbf{\BibTeX}.", "For LaTeX and TeX, with BibTeX."),
        (r"\begin{description}\item[\texttt{--all}:] what\end{description}", "--all:\nwhat"),
        ("\\begin{minipage}[t]{4cm}A\\ \nb\\end{minipage} \\makebox[3cm][l]{c} \\textcolor{red}{d} {\\tt --e}", "A b\n\nc d --e"),
        (r"\begin{itemize} never \textbf{closed", "never closed"),
        ("", ""),
    ],
)  # fmt: skip
def test_commands_are_not_text(body: str, text: str) -> None:
    assert read(body).text == text


def test_places_and_nesting() -> None:
    assert [place.line for place in read("One \\emph{two}\nthree.\n\nFour.").places] == [3, 3, 4, 6]
    assert "deep" in read("{" * 60 + "deep" + "}" * 60).text


def test_what_is_commented_out_is_neither_title_nor_beginning() -> None:
    document = read("Text.", "\n% \\title{Old}\n\\title{100 \\% new}%\n% \\begin{document}\n\\newcommand{\\x}{preamble}")
    assert (document.title, document.text) == ("100 % new", "Text.")


@pytest.mark.parametrize(
    ("end", "text"),
    [
        ("\\verb", "Kept."),
        ("}\\verb ", "Kept."),
        ("\\verb|x", "Kept. |x"),
        ("{\\verb}", "Kept."),
        ("\\href", "Kept."),
        ("}\\href{a", "Kept. a"),
        ("\\sqrt", "Kept. \\sqrt"),
        ("$\\frac", "Kept. $\\frac"),
        ("$\\author", "Kept. $"),
        ("\\begin{verbatim}\nx", "Kept.\nx"),
        ("\\begin{lstlisting}\nx", "Kept.\nx"),
    ],
)
def test_macro_that_the_end_of_the_file_cuts_off(end: str, text: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert read_latex(f"Kept. {end}".encode(), Path("a.tex")).text == text
    assert capfd.readouterr().err == ""


def test_cell_that_the_end_of_the_file_cuts_off() -> None:
    assert read_latex(b"\\begin{tabular}{l}kept & \\multicolumn", Path("a.tex")).text == "kept"


def test_authors_date_and_notes() -> None:
    head = "\\title{Plan\\thanks{A note.}}\n\\author{Ida Berg\\\\Oslo \\and Ole}\n\\author[2]{Eva}\\date{\\today}\n%\\author{No}"
    document = read("Text.", head)
    assert (document.title, document.text) == ("Plan", "(A note.)\n\nIda Berg\nOslo and Ole\n\nEva\n\nText.")


def test_all_authors_are_read() -> None:
    names = [f"Author Number{number} of a long name" for number in range(80)]
    assert read("Text.", "\\author{" + " \\and ".join(names) + "}").text == " and ".join(names) + "\n\nText."
    each = "".join(f"\\author{{{name}}}%\\author{{No}}\n" for name in names)
    assert read("Text.", each).text == "\n\n".join((*names, "Text."))
    assert read("Text.", "\\author{Ida").text == "Ida\n\nText."


def test_macros_of_the_file() -> None:
    head = "\\newcommand{\\prog}{\\texttt{foo}}\\newcommand{\\odd}{\\ifx a b\\fi}\\def\\tool#1{the \\emph{#1} tool}\\title{On \\prog}"
    document = read("\\section{\\prog{} 2}\nRun \\prog, \\tool{bar} and \\odd.\n\nLater, \\prog\\ ends.", head)
    assert document.title == "On foo"
    assert [(section.heading, document.text[section.start : section.end]) for section in document.sections] == [
        ("foo 2", "Run foo, the bar tool and .\n\nLater, foo ends.")
    ]
    assert [place.line for place in document.places] == [4, 4, 4, 4, 6, 6]
    (page,) = document.pages
    assert (page.source, page.read, page.left_out) == (12, 11, {"\\odd": 1})


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (
            r"Call \lstinline[language=C]{f(a_b, {x})} or \lstinline[style=a]|$g % h$| now.",
            "Call f(a_b, {x}) or $g % h$ now.",
        ),
        (r"Not \mintinline{python}{x = {1: 2}} but \mintinline[a=b]{c}!y!, \Verb+z_1+.", "Not x = {1: 2} but y, z_1."),
        (r"\newcommand\code{\lstinline[language=C]}It is \code|%d| or \code{$a}.", "It is %d or $a."),
    ],
)
def test_code_within_a_line_has_no_options_and_no_macros(source: str, text: str) -> None:
    document = read_latex(f"\\begin{{document}}{source}\\end{{document}}".encode(), Path("a.tex"))
    assert document.text.strip() == text
