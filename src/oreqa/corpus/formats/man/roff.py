"""Processes the lines of a roff file: escapes, arguments, strings, conditions and macro definitions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

_NAMES = {
    "em": "—", "en": "–", "hy": "-", "bu": "•", "co": "©", "rg": "®", "tm": "™", "aq": "'", "dq": '"', "lq": "“", "rq": "”",
    "oq": "‘", "cq": "’", "ti": "~", "ha": "^", "ga": "`", "aa": "´", "rs": "\\", "ba": "|", "bv": "|", "br": "|", "or": "|",
    "mu": "×", "di": "÷", "+-": "±", "->": "→", "<-": "←", "<>": "↔", "ua": "↑", "da": "↓", "=>": "⇒", "<=": "≤", ">=": "≥",
    "!=": "≠", "==": "≡", "de": "°", "ss": "ß", "AE": "Æ", "ae": "æ", "O/": "Ø", "o/": "ø", "/O": "Ø", "/o": "ø", "oa": "å",
    "L/": "Ł", "/L": "Ł", "l/": "ł", "/l": "ł", "12": "½", "14": "¼", "34": "¾", "Eu": "€", "eu": "€", "Po": "£", "ct": "¢",
    "sc": "§", "ps": "¶", "dg": "†", "dd": "‡", "Fo": "«", "Fc": "»", "fo": "‹", "fc": "›", "sq": "□", "ul": "_", "sl": "/",
    "at": "@", "sh": "#", "Do": "$", "lB": "[", "rB": "]", "lC": "{", "rC": "}", "la": "⟨", "ra": "⟩", "if": "∞", "mc": "µ",
    "*a": "α", "*b": "β", "*g": "γ", "*d": "δ", "*e": "ε", "*l": "λ", "*m": "μ", "*p": "π", "*s": "σ", "*D": "Δ", "*W": "Ω",
    "S1": "¹", "S2": "²", "S3": "³", "r!": "¡", "r?": "¿", "pc": "·", "no": "¬", "fm": "′", "rn": "‾", "pl": "+", "mi": "−",
}  # fmt: skip
_ACCENTS = {"'": "\u0301", "`": "\u0300", "^": "\u0302", ":": "\u0308", "~": "\u0303", ",": "\u0327", "v": "\u030c"}
_NAME = r"(?:\((?P<two{0}>..)|\[(?P<long{0}>[^\]\[]*)\]|(?P<one{0}>.))"
_ESCAPE = re.compile(
    r"\\(?:"
    r"(?P<comment>[\"#].*)"
    rf"|\*{_NAME.format('s')}"
    r"|[fFmMnkgY]\+?(?:\(..|\[[^\]\[]*\]|.)"
    r"|s(?:[+-]?(?:\(\d\d|\[[^\]\[]*\]|'[^']*'|[1-3]\d|\d)|\([+-]?\d\d)"
    r"|[hvwbDXRxlLoNA](?P<quote>['\"])(?P<body>.*?)(?P=quote)"
    r"|\((?P<two>..)|\[(?P<long>[^\]\[]*)\]|C'(?P<named>[^']*)'"
    r"|(?P<one>.))"
)
_SINGLE = {"-": "-", "e": "\\", "\\": "\\", "0": " ", " ": " ", "~": " ", "t": "\t", "'": "´", "`": "`", "_": "_", ".": "."}
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)(?:"|$)|((?:\\ |\S)+)')
_CONDITION = re.compile(r"(!?)(?:([a-z])(?=\s|\\|$|\.|')|'([^']*)'([^']*)'|(\S+))\s*(.*)", re.DOTALL)
_MOST_LINES = 2_000_000
_LONGEST_REST = 20_000
"""Characters read after a condition, which may be another condition: more would take quadratic time."""


class Strings(dict[str, str]):
    """The strings that a page defines, and the predefined ones."""

    def __init__(self) -> None:
        super().__init__(lq="“", rq="”", Tm="™", R="®", Aq="'", **{"-": "-", "C+": "C++", 'L"': '"', 'R"': '"'})

    def text(self, line: str, depth: int = 3) -> str:
        """Return a line without escapes."""
        return _ESCAPE.sub(lambda match: self._character(match, depth), line).rstrip("\\") if "\\" in line else line

    def _character(self, match: re.Match[str], depth: int) -> str:
        string = match["twos"] or match["longs"] or match["ones"]
        if string:
            return self.text(self.get(string, ""), depth - 1) if depth else ""
        if match["quote"]:
            return (
                match["body"]
                if match.group()[1] == "o"
                else " "
                if match.group()[1] == "h" and "0" not in match["body"]
                else ""
            )
        if name := match["two"] or match["long"] or match["named"]:
            return _special(name)
        return "" if match["comment"] is not None else _SINGLE.get(match["one"] or "", "")


def _special(name: str) -> str:
    if name in _NAMES:
        return _NAMES[name]
    if re.fullmatch(r"u[0-9A-F]{4,6}(?:_[0-9A-F]{4,6})*", name):
        codes = [int(code, 16) for code in name[1:].split("_")]
        return "".join(chr(code) for code in codes if code < 0x110000)
    if len(name) == 2 and name[0] in _ACCENTS:
        return unicodedata.normalize("NFC", name[1] + _ACCENTS[name[0]])
    return name if name.isascii() and len(name) == 1 else ""


def arguments(line: str) -> list[str]:
    """Return the arguments of a request, without quotes."""
    return [
        match[2] if match[1] is None else match[1].replace('""', '"')
        for match in _ARGUMENT.finditer(re.sub(r'\\["#].*', "", line))
    ]


def logical_lines(source: str, strings: Strings) -> Iterator[tuple[str, str]]:
    """Yield the requests of a page and their arguments, and its lines of text under the name ""."""
    pending = source.split("\n")
    pending.reverse()
    skipping = ""  # the request that ends a definition
    otherwise = False  # whether the last condition was false
    levels: list[bool] = []  # for each open brace, whether its content is read
    for _ in range(_MOST_LINES):
        if not pending:
            return
        line = pending.pop()
        if skipping:
            if re.match(rf"[.']\s*{re.escape(skipping)}(?:\s|$)", line):
                skipping = ""
            continue
        parts = [line]
        while parts[-1].endswith("\\") and not parts[-1].endswith("\\\\") and pending:
            parts[-1:] = [parts[-1][:-1], pending.pop()]
        line = "".join(parts)
        closing = line.count("\\}") if not line.startswith(('.\\"', "'\\\"")) else 0
        name, rest = _request(line)
        if levels and not levels[-1]:
            levels += [False] * line.count("\\{")
            _close(levels, closing)
            continue
        if name in ("if", "ie", "el", "while"):
            if name == "el":
                is_true, rest = otherwise, rest
            else:
                is_true, rest = _evaluate(rest, strings)
                otherwise = not is_true
            rest = rest.strip()
            if rest.startswith("\\{"):
                levels.append(is_true)  # all enclosing conditions are true
                rest = rest[2:].lstrip("\\").strip()
            if is_true and rest:
                pending.append(rest[:_LONGEST_REST])
            elif closing and not is_true:
                _close(levels, closing)
            continue
        if closing:
            _close(levels, closing)
            line = line.replace("\\}", "")
            name, rest = _request(line)
        if name in ("de", "de1", "am", "ig", "dei"):
            words = re.sub(r'\\["#].*', "", rest).split()
            skipping = words[1] if len(words) > 1 and name != "ig" else words[0] if words and name == "ig" else "."
        elif name in ("ds", "as"):
            string, _, value = rest.partition(" ")
            strings[string] = (strings.get(string, "") if name == "as" else "") + value.lstrip().removeprefix('"')
        elif name is None:
            yield "", line
        elif name:
            yield name, rest


def _request(line: str) -> tuple[str | None, str]:
    """Return a request's name and the rest of its line; None for a line of text, "" for a comment."""
    if line[:1] not in (".", "'") or line == "'":
        return ("", "") if line.startswith('\\"') else (None, line)
    match = re.match(r"[.']\s*([^\s\\]*)\s*(.*)", line, re.DOTALL)
    return (match[1], match[2]) if match else ("", "")


def _close(levels: list[bool], count: int) -> None:
    del levels[max(0, len(levels) - count) :]


def _evaluate(rest: str, strings: Strings) -> tuple[bool, str]:
    match = _CONDITION.match(rest)
    if match is None:
        return False, ""
    if match[2]:
        is_true = match[2] in ("n", "o")
    elif match[3] is not None:
        is_true = strings.text(match[3]) == strings.text(match[4])
    else:
        is_true = "\\n(.g" in match[5] or "\\n[.g]" in match[5]
    return is_true != bool(match[1]), match[6]
