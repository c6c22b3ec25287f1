"""LaTeX's own macros: what is expanded, and what is not."""

from __future__ import annotations

import re

import pytest

from oreqa.corpus.formats.latex_macros import expand_macros


@pytest.mark.parametrize(
    ("source", "text"),
    [
        (r"\newcommand{\prog}{\texttt{foo}}Run \prog{} or \prog\ \prog.", r"Run \texttt{foo}{} or \texttt{foo}\ \texttt{foo}."),
        (r"\def\prog{foo}\prog is; \prog{} is", "foois; foo{} is"),  # as TeX prints it
        (r"\newcommand{\prog}{foo\xspace}\prog is, \prog, end", r"foo\xspace is, foo\xspace, end"),
        (r"\newcommand\x[2][d]{<#1|#2>}\x{a} \x[b]{c} \x{\x{in}} \x z", "<d|a> <b|c> <d|<d|in>> <d|z>"),
        (r"\def\x#1#2{#2-#1}\x ab \x{1}{\x{2}{3}}", "b-a 3-2-1"),
        (r"\newcommand{\x}[1]{{\rm#1}}\x{box}", r"{\rm{box}}"),
        (r"\newcommand{\bs}{\textbackslash}\bs begin", r"\textbackslash{}begin"),
        (r"\let\old\emph\renewcommand{\emph}[1]{\textbf{\old{#1}}}\emph{x}", r"\textbf{\emph{x}}"),
        (r"\newenvironment{steps}[1][t]{#1\begin{enumerate}}{\end{enumerate}}\begin{steps}\item a\end{steps}",
         r"t\begin{enumerate}\item a\end{enumerate}"),
        (r"\newcommand{\be}{\begin{equation}}\newcommand{\ee}{\end{equation}}\be x\ee", r"\begin{equation}x\end{equation}"),
        (r"\DeclareMathOperator{\argmax}{arg\,max}$\argmax x$", r"$\mathrm{arg\,max}x$"),
        (r"\NewDocumentCommand{\x}{m m}{#2#1}\x{a}{b}", "ba"),
        (r"\def\x{y}\verb|\x| \begin{verbatim}\x\end{verbatim} % \x", r"\verb|\x| \begin{verbatim}\x\end{verbatim} % \x"),
        (r"\newcommand{\x}[1]{\hskip 2em plus 1fil#1\kern-0.5pt}\x{a}", "a"),
        (r"\def\x{1}\x \def\x{2}\x", "12"),
        ("a\\iffalse b \\fi c", "a c"),
        (r"\iffalse old \else new \fi end.", " new  end."),
        (r"\iffalse a \ifx b \else c \fi d \fi e", " e"),
        ("\\newif\\ifx@y\\iffalse $\\iff$ \\ifthenelse{} \\ifx@y a \\fi % \\fi\nb \\else c \\iftrue d \\fi\\fi e",
         "\\newif\\ifx@y c \\iftrue d \\fi e"),
        (r"\iffalse a \iffalse b \fi", r"\iffalse a "),  # the first one does not end
        (r"\newcommand{\x}[3]{#1\\#2\\\emph#3\#1}\x{a}{b}{c}", r"a\\b\\\emph{c}\#1"),
        ("\\newcommand{\\x}{a\\\\% c\n  \\% b}\\x", r"a\\\% b"),
        (r"\newcommand{\x}[1]{\textbf{#1}}\x\% of \x\verb|}| it.", r"\textbf{\%} of \textbf{\verb|}|} it."),
        (r"\newcommand{\x}[1]{<#1>}\x{\lstinline{a} or \textbf{b}} \x{\lstinline[c]{d}} [", r"<\lstinline{a} or \textbf{b}> <\lstinline[c]{d}> ["),
        (r"\newcommand{\x}{a}\providecommand{\x}{b}\ProvideDocumentCommand{\x}{}{c}\providecommand{\y}{d}\x\y", "ad"),
        (r"\NewDocumentCommand{\x}{O{d e} m}{#1 #2}\x{a} \x[b]{c}", "d e a b c"),
        (r"\def\x{a}\section{b}", r"\section{b}"),
        (r"\def\section{a}\section{b}", r"\section{b}"),
    ],
)  # fmt: skip
def test_expansion(source: str, text: str) -> None:
    assert expand_macros(source, {"section"}) == (text, {})


@pytest.mark.parametrize(
    ("source", "text", "unexpanded"),
    [
        (r"\def\x#1.{a}\x b. \x c.", r"\x b. \x c.", {r"\x": 2}),
        (r"\def\x{\ifx a b\fi}\x", r"\x", {r"\x": 1}),
        (r"\newcommand{\x}[1]{a}\x", r"\x", {r"\x": 1}),
        (r"\newcommand{\x}[1]{a}\x{b", r"\x{b", {r"\x": 1}),
        (r"\def\x{\x a}\x", r"\x a", {}),
        (r"\NewDocumentCommand{\x}{s O{\emph{d}} m}{bold #2}\x{a}", r"\x{a}", {r"\x": 1}),
        (r"\newcommand{\x}[1]{a}\x\begin{verbatim}b\end{verbatim}", r"\x\begin{verbatim}b\end{verbatim}", {r"\x": 1}),
    ],
)
def test_what_cannot_be_expanded_is_counted(source: str, text: str, unexpanded: dict[str, int]) -> None:
    assert expand_macros(source) == (text, unexpanded)


def test_expansion_is_bounded() -> None:
    names = ["a" * length for length in range(1, 12)]
    doubled = "".join(f"\\def\\{name}{{\\{name}a\\{name}a}}" for name in names) + f"\\def\\{names[-1]}a{{0123456789}}"
    source = doubled + "\\aaaaa " * 200  # 256,000 characters
    text, unexpanded = expand_macros(source)
    assert 100_000 < len(text) < 200_000 + 3 * len(source)
    assert unexpanded
    nested, unexpanded = expand_macros("\\def\\x#1{<#1>}" + "\\x{" * 50 + "a" + "}" * 50)
    assert (nested.count("<"), unexpanded) == (30, {"\\x": 20})
    assert nested.count("a") == 1


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (r"\def\x{one} {\renewcommand{\x}{two}\x} \x", "two one"),
        (r"\def\x{one} {\bf{\x} \renewcommand\x{two}\textbf{\x}} \x", "one two one"),
        (r"\def\x{one}\begin{center}\let\y\x\def\x{two}\x\y\end{center} \x\y", "two one one \\y"),
        (r"\def\x{one} {\gdef\x{two}} \x {{\def\x{three}\gdef\x{four}}\x}", "two four"),
        (r"\AtBeginDocument{\newcommand{\x}{one}} \x", "one"),
        (r"\IfFileExists{a.sty}{\def\x{one}}{} \x", "one"),
        (r"\def\x{one}} \x } {\def\x{two} \end{b} \x", "one two"),
        (r"\begin{a}{\def\x{one}\end{a}} \x", "\\x"),
    ],
)
def test_a_definition_ends_with_its_group(source: str, expected: str) -> None:
    words = re.findall(r"one|two|three|four|\\[xy]\b", expand_macros(source)[0])
    assert words == expected.split()
