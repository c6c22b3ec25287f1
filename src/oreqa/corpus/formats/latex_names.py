"""What LaTeX's macros and environments are: headings, lists, tables, layout."""

from __future__ import annotations

from oreqa.corpus.formats.latex_formulas import CODE_ENVIRONMENTS

SECTION_LEVELS = {
    "part": 1,
    "chapter": 1,
    "section": 2,
    "subsection": 3,
    "subsubsection": 4,
    "paragraph": 5,
    "subparagraph": 6,
}
LISTS = {"itemize": "ul", "enumerate": "ol", "description": "dl"}
LISTS |= {"compactitem": "ul", "compactenum": "ol", "compactdesc": "dl"}
TABLES = frozenset(("tabular", "tabular*", "tabularx", "longtable", "tabulary", "supertabular", "array"))
SILENT = frozenset(
    ("label", "ref", "pageref", "eqref", "cite", "citep", "citet", "index", "bibliography", "bibliographystyle",
     "documentclass", "usepackage", "RequirePackage", "newcommand", "renewcommand", "providecommand", "newenvironment",
     "renewenvironment", "def", "input", "include", "includegraphics", "pagestyle", "thispagestyle", "setlength",
     "addtolength", "setcounter", "vspace", "hspace", "newtheorem", "hypersetup", "makeatletter", "makeatother",
     "maketitle", "tableofcontents", "clearpage", "newpage", "centering", "noindent", "hline", "cline", "toprule",
     "midrule", "bottomrule", "DeclareMathOperator", "graphicspath", "title", "let", "newlength", "today", "newif",
     "selectlanguage", "definecolor", "color", "fontsize", "markboth", "markright", "addcontentsline",
     "DeclareOption", "ProvidesPackage", "newcounter", "vskip", "hskip", "nocite", "lstset", "includeonly", "hyphenation",
     "cmidrule", "rule", "linespread", "enlargethispage", "addvspace", "pagenumbering", "phantom", "vphantom",
     "hphantom", "catcode", "sloppy")
)  # fmt: skip
"""Macros whose arguments are not text."""

ARGUMENTS = {
    **dict.fromkeys(("index", "bibliographystyle", "pagestyle", "thispagestyle", "hypersetup", "graphicspath"), "{"),
    **dict.fromkeys(
        ("author", "date", "title", "selectlanguage", "nocite", "lstset", "includeonly", "hyphenation", "cmidrule"), "[{"
    ),
    **dict.fromkeys(
        ("color", "newcounter", "newlength", "phantom", "vphantom", "hphantom", "bibliography", "markright"), "{"
    ),
    **dict.fromkeys(("sout", "st", "xout", "vspace", "hspace", "eqref", "pageref", "bibliography", "markright"), "*{"),
    **dict.fromkeys(("setlength", "addtolength", "setcounter", "markboth", "href", "fontsize"), "{{"),
    **dict.fromkeys(("caption", "footnotetext", "thanks", "ProvidesPackage"), "[{"),
    **{"definecolor": "{{{", "addcontentsline": "{{{", "newtheorem": "*{[{[", "citep": "[[{", "citet": "[[{", "rule": "[{{"},
    **dict.fromkeys(("foreignlanguage", "hyperlink"), "{{"),
    **dict.fromkeys(("makebox", "framebox"), "[[{"),
    **{"multicolumn": "{{{", "multirow": "[{[{[{", "raisebox": "{[[{", "parbox": "[[[{{", "hyperref": "[{"},
    **{"resizebox": "*{{{", "scalebox": "{[{", "rotatebox": "[{{"},
    **dict.fromkeys(("linespread", "enlargethispage", "addvspace", "pagenumbering"), "*{"),
}
"""The arguments of macros in pylatexenc's notation: ``[`` for an optional one."""

ENVIRONMENT_ARGUMENTS = {
    **dict.fromkeys(("thebibliography", "spacing", "supertabular"), "{"),
    **dict.fromkeys(("list", "adjustwidth", "tabulary"), "{{"),
    **dict.fromkeys(("wrapfigure", "wraptable"), "[{[{"),
    **{"minipage": "[[[{", "multicols": "{[", "longtable": "[{", "subfigure": "[{"},
}
"""The arguments of environments, which are not text, in the same notation."""

LAST_IS_TEXT = frozenset(
    ("href", "multicolumn", "multirow", "makebox", "framebox", "raisebox", "parbox", "textcolor", "colorbox", "fcolorbox",
     "resizebox", "scalebox", "rotatebox", "foreignlanguage", "hyperlink", "hyperref", "texorpdfstring")
)  # fmt: skip
"""Macros whose last argument alone is text."""

MONOSPACED = frozenset(("texttt", "code", "command", "option", "file", "samp", "kbd"))
"""Macros such as those for commands and options, whose hyphens and quotes are not ligatures."""

LOGOS = ("TeX", "LaTeX", "LaTeXe", "BibTeX", "XeTeX", "XeLaTeX", "LuaTeX", "LuaLaTeX", "ConTeXt", "MusiXTeX", "AmS")

_ENVIRONMENTS = (*LISTS, *TABLES, *CODE_ENVIRONMENTS, "document")
NOT_REDEFINED = {
    *(*SECTION_LEVELS, *SILENT, "author", "date", "item", "footnote", "footnotetext", "thanks", "par", "caption", "href"),
    *(f"{side}{{{name}}}" for side in ("begin", "end") for name in _ENVIRONMENTS),
}
"""Macros and environments that are read as what LaTeX gives, also where a file changes how they look."""
