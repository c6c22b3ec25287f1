"""The macros of mdoc, used by the manual pages of BSD systems and others."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from oreqa.corpus.formats.man.roff import Strings, arguments

_PLAIN = frozenset(
    ("%A", "%B", "%C", "%D", "%I", "%J", "%N", "%O", "%P", "%Q", "%R", "%T", "%U", "%V", "Ac", "Ad", "An", "Ao", "Ap", "Aq",
     "Ar", "At", "Bc", "Bf", "Bo", "Bq", "Brc", "Bro", "Brq", "Bsx", "Bx", "Cd", "Cm", "Cx", "Dc", "Do", "Dq", "Dv", "Dx",
     "Ec", "Ef", "Em", "En", "Eo", "Er", "Ev", "Ex", "Fa", "Fc", "Fd", "Fl", "Fn", "Fo", "Ft", "Fx", "Hf", "Ic", "In", "Lb",
     "Li", "Lk", "Ms", "Mt", "Nm", "No", "Ns", "Nx", "Oc", "Oo", "Op", "Ox", "Pa", "Pc", "Pf", "Po", "Pq", "Qc", "Ql", "Qo",
     "Qq", "Rv", "Sc", "Sm", "So", "Sq", "St", "Sx", "Sy", "Tn", "Ux", "Va", "Vt", "Xc", "Xo", "Xr")
)  # fmt: skip
"""Macros that may occur within a line."""

_QUOTES = {
    "Op": "[]",
    "Aq": "<>",
    "Bq": "[]",
    "Brq": "{}",
    "Dq": "“”",
    "Pq": "()",
    "Ql": "‘’",
    "Qq": '""',
    "Sq": "‘’",
    "En": "  ",
}
_OPENING = {"Oo": "[", "Ao": "<", "Bo": "[", "Bro": "{", "Do": "“", "Po": "(", "Qo": '"', "So": "‘", "Fo": ""}
_CLOSING = {"Oc": "]", "Ac": ">", "Bc": "]", "Brc": "}", "Dc": "”", "Pc": ")", "Qc": '"', "Sc": "’", "Fc": ")"}
_SYSTEMS = {
    "Bx": "BSD",
    "Ux": "UNIX",
    "At": "AT&T UNIX",
    "Nx": "NetBSD",
    "Fx": "FreeBSD",
    "Ox": "OpenBSD",
    "Bsx": "BSD/OS",
    "Dx": "DragonFly",
}
_SENTENCES = {
    "Ex": "The {} utility exits 0 on success, and >0 if an error occurs.",
    "Rv": "The {} function returns the value 0 if successful; otherwise the value -1 is returned.",
}
_NO_SPACE_BEFORE, _NO_SPACE_BEHIND = frozenset(".,:;)]?!"), frozenset("([")


class Mdoc:
    """Adds the markup of a page to ``parts``, macro by macro."""

    def __init__(self, parts: list[str], strings: Strings) -> None:
        self.title = ""
        self._parts, self._strings = parts, strings
        self._name = ""
        self._lists: list[str] = []  # the tags of the items of open lists
        self._is_code = False
        self._extended = ""  # a term that continues over several lines
        self._is_extended = False

    def add(self, name: str, rest: str) -> None:
        """Add a macro with its arguments, or a line of text."""
        if not name:
            text = self._strings.text(rest)
            if self._is_extended:
                self._extended += f" {text}"
            else:
                self._parts.append(escape(text, quote=False) + "\n" if text.strip() or self._is_code else "<p>")
            return
        words = arguments(rest)
        if name in _PLAIN:
            self._inline([name, *words])
        else:
            self._block(name, words)

    def _inline(self, words: Sequence[str]) -> None:
        if words[0] == "Xo" or self._is_extended:
            self._is_extended = True
            end = words.index("Xc") if "Xc" in words else len(words)
            self._extended += " " + self._rendered(words[:end])
            if end < len(words):
                self._is_extended = False
                self._item(self._extended)
            return
        self._parts.append(escape(self._rendered(words), quote=False) + "\n")

    def _block(self, name: str, words: list[str]) -> None:
        text = self._rendered(words)
        if name == "Dt":
            self.title = f"{text.split()[0]}({text.split()[1]})" if len(text.split()) > 1 else text
        elif name in ("Sh", "Ss"):
            level = 2 + (name == "Ss")
            self._parts.append(f"<h{level}>{escape(text)}</h{level}>")
        elif name in ("Pp", "Lp", "sp"):
            self._parts.append("<p>")
        elif name == "Nd":
            self._parts.append(escape(f"— {text}", quote=False))
        elif name == "Bl":
            tag = "li" if words and words[0] in ("-bullet", "-dash", "-hyphen", "-item", "-enum") else "dt"
            tag = "tr" if words and words[0] == "-column" else tag
            self._lists.append(tag)
            self._parts.append({"li": "<ul>", "dt": "<dl>", "tr": "<table>"}[tag])
        elif name == "El" and self._lists:
            self._parts.append({"li": "</ul>", "dt": "</dl>", "tr": "</table>"}[self._lists.pop()])
        elif name == "It":
            self._begin_item(words)
        elif name in ("Bd", "Ed"):
            if name == "Bd" and words and words[0] in ("-literal", "-unfilled"):
                self._is_code = True
                self._parts.append("<pre>")
            elif self._is_code:
                self._is_code = False
                self._parts.append("</pre>")
            else:
                self._parts.append("<p>")
        elif name in ("D1", "Dl"):
            self._parts.append(f"<pre>{escape(text, quote=False)}</pre>")
        elif name == "Ta":
            self._parts.append(f"<td>{escape(text, quote=False)}")
        elif name == "br":
            self._parts.append("<br>")
        elif name == "Rs":
            self._parts.append("<p>")

    def _begin_item(self, words: list[str]) -> None:
        tag = self._lists[-1] if self._lists else "li"
        if tag == "tr":
            cells = [[]]  # type: list[list[str]]
            for word in words:
                if word == "Ta":
                    cells.append([])
                else:
                    cells[-1].append(word)
            self._parts.append("<tr>" + "".join(f"<td>{escape(self._rendered(cell), quote=False)}" for cell in cells))
        elif "Xo" in words and "Xc" not in words:
            self._is_extended = True
            self._extended = self._rendered(words[: words.index("Xo")] + words[words.index("Xo") + 1 :])
        else:
            self._item(self._rendered(words))

    def _item(self, term: str) -> None:
        if self._lists and self._lists[-1] == "dt":
            self._parts.append(f"<dt>{escape(term.strip(), quote=False)}</dt><dd>")
        else:
            self._parts.append(f"<li>{escape(term.strip(), quote=False)} ")

    def _rendered(self, words: Sequence[str]) -> str:
        """Return the text of macros and their arguments on one line."""
        line = _Line(words, self._strings, self._name)
        text = line.text()
        self._name = line.name
        return text


class _Line:
    """Joins the words of one line, applying macros that quote them or put marks before them."""

    def __init__(self, words: Sequence[str], strings: Strings, name: str) -> None:
        self.name = name
        self._words, self._strings = words, strings
        self._next = 0
        self._pieces: list[str] = []
        self._closing: list[str] = []  # of the quotes that last until the end of the line
        self._glue = False  # whether the next word follows without a space

    def text(self) -> str:
        """Return the line's text."""
        macro = ""
        while self._next < len(self._words):
            word = self._words[self._next]
            self._next += 1
            if word in _PLAIN:
                macro = word
                if self._macro(word):
                    break
            else:
                self._word(self._strings.text(word), is_option=macro == "Fl")
        self._close()
        return "".join(self._pieces)

    def _word(self, text: str, is_option: bool) -> None:
        if is_option and text[:1] not in ("|", *_NO_SPACE_BEFORE, *_NO_SPACE_BEHIND):
            text = f"-{text}"
        is_closing = text in _NO_SPACE_BEFORE
        if is_closing and self._next == len(self._words):
            self._close()
        self._join(text, is_closing or self._glue)
        self._glue = text in _NO_SPACE_BEHIND

    def _macro(self, name: str) -> bool:
        """Add the text that a macro itself stands for. Returns True if nothing after it is text."""
        if name == "Ns":
            self._glue = True
        elif name == "Ap":
            self._join("'", True)
            self._glue = True
        elif name == "Pf":
            self._join(self._take(), self._glue)
            self._glue = True
        elif name in _QUOTES or name in _OPENING:
            self._join((_QUOTES.get(name) or _OPENING[name])[:1] + (f"{self._take()}(" if name == "Fo" else ""), self._glue)
            self._closing += _QUOTES[name][1:] if name in _QUOTES else ""
            self._glue = True
        elif name in _CLOSING:
            self._join(_CLOSING[name], True)
            self._glue = False
        elif name in _SYSTEMS:
            self._join(_SYSTEMS[name], self._glue)
            self._glue = False
        elif name in _SENTENCES:
            self._join(_SENTENCES[name].format(self.name), self._glue)
        else:
            self._named(name)
        return name in _SENTENCES or name == "Sm"

    def _named(self, name: str) -> None:
        """Add the text of a macro for names; some have a default text."""
        is_alone = (
            self._next == len(self._words)
            or self._words[self._next] in _PLAIN
            or self._words[self._next] in _NO_SPACE_BEFORE
        )
        if name == "Nm":
            if is_alone:
                self._join(self.name, self._glue)
            else:
                self.name = self.name or self._strings.text(self._words[self._next])
        elif name == "Xr" and not is_alone:
            page = self._take()
            section = self._take() if self._next < len(self._words) and self._words[self._next].isalnum() else ""
            self._join(f"{page}({section})" if section else page, self._glue)
        elif name == "Fn" and not is_alone:
            function, texts = self._take(), list[str]()
            while self._next < len(self._words) and self._words[self._next] not in (_PLAIN | _NO_SPACE_BEFORE):
                texts.append(self._take())
            self._join(f"{function}({', '.join(texts)})", self._glue)
        elif name in ("Fl", "Ar") and is_alone:
            self._join("-" if name == "Fl" else "file ...", self._glue)
            self._glue = name == "Fl" and self._next < len(self._words) and self._words[self._next] in _PLAIN
            return
        else:
            return
        self._glue = False

    def _take(self) -> str:
        """Return the next word."""
        self._next += 1
        return self._strings.text(self._words[self._next - 1]) if self._next <= len(self._words) else ""

    def _close(self) -> None:
        while self._closing:
            self._join(self._closing.pop(), True)

    def _join(self, text: str, glue: bool) -> None:
        if self._pieces and not glue:
            self._pieces.append(" ")
        self._pieces.append(text)
