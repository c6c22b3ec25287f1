r"""Macros and environments that a LaTeX file defines: simple ones are expanded, as TeX does.

Definitions hold until their group or environment ends. Simple macros are those whose bodies are text and other macros, with
arguments in braces and perhaps an optional first one. Not expanded are macros with conditions, internal macros
(``\x@y``), other forms of arguments, or themselves in their bodies.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import dataclass

from oreqa.corpus.formats.latex_tokens import LATEX_TOKEN, NEAR, BracedText, begins_group, end_of_code, skipped_branches

_GROWTH, _SPARE = 2, 200_000
"""All expansions together add at most ``_GROWTH`` times the file's characters and ``_SPARE``."""

_DEEPEST = 30
"""Most calls inside the arguments and bodies of others."""

_DEFINITION = re.compile(
    r"""
    (?:\\(?:(?:re|provide)?newcommand|providecommand|DeclareRobustCommand)\*?\s*+
        (?:\{\s*\\(?P<command>[A-Za-z@]+)\s*\}|\\(?P<bare>[A-Za-z@]+))
        |\\(?:re)?newenvironment\*?\s*+\{(?P<environment>[A-Za-z]+\*?)\})
        \s*+(?:\[(?P<count>\d)\]\s*+(?:\[(?P<default>[^\[\]]{0,300})\]\s*+)?)?(?=\{)
    |\\[gex]?def\s*+\\(?P<defined>[A-Za-z@]+)(?P<pattern>[^{}\\%]{0,100})(?=\{)
    |\\DeclareMathOperator\*?\s*+\{?\\(?P<operator>[A-Za-z@]+)\}?\s*+(?=\{)
    |\\(?:New|Renew|Provide|Declare)DocumentCommand\s*+\{?\\(?P<document>[A-Za-z@]+)\}?\s*+(?=\{)
    |\\let\s*+\\(?P<alias>[A-Za-z@]+)\s*+=?\s?(?P<original>\\[A-Za-z@]+|\\?[^\s{}])
    """,
    re.VERBOSE,
)
_COMPLEX = re.compile(
    r"@|##|\\(?:if[a-z]*|else|fi|[gex]?def|let|(?:re|provide)?newcommand|csname|expandafter|futurelet|catcode|the|read"
    r"|noexpand|verbatim|endverbatim|afterassignment|begingroup|loop|newif|obeylines|lowercase|uppercase)(?![A-Za-z])"
)
"""What makes a macro too complex to expand."""

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*+)%[^\n]*\n?[ \t]*")
_PARAMETER = re.compile(r"(?<!\\)(?P<before>(?:\\\\)*+(?P<word>\\[A-Za-z]+)?)#(?P<number>[1-9])")
_FORM = re.compile(r"\s*+(?:O\s*+\{(?P<default>[^{}]*)\})?(?P<rest>[m\s]*)")
_UNIT = r"(?:true\s?)?(?:pt|em|ex|mm|cm|in|bp|sp|dd|pc|mu|fil{1,3})(?![A-Za-z])"
_LENGTH = rf"\s*+(?:[-+]?\d*[.,]?\d*\s?{_UNIT}|[-+]?\d*\.?\d*\\[a-z]+(?:skip|width|height|indent|sep)(?![A-Za-z]))"
_LENGTHS = re.compile(
    r"\\(?:m?kern|[a-z]*(?:skip|indent|depth|height|width|spread))(?![A-Za-z])\s*+=?"
    rf"{_LENGTH}(?:\s*+(?:plus|minus){_LENGTH}){{0,2}}|\\[a-z]*penalty\s*+-?\d+"
)
"""Lengths and penalties of layout, which are not text."""

_OPTION = re.compile(r"\s*+\[([^\[\]]{0,1000})\]")
_GAP = re.compile(r"[ \t]*+\n?+[ \t]*+(?!\n)")
_CONTROL_WORD_AT_END = re.compile(r"\\[A-Za-z]+\Z")


@dataclass(frozen=True, slots=True)
class _Macro:
    """A macro with ``count`` arguments, the first optional if it has a ``default``."""

    count: int
    default: str | None
    body: str


@dataclass(frozen=True, slots=True)
class _Group:
    """An open ``environment``, or braces, with what the macros defined in it were ``before``, if they are local to it."""

    environment: str
    before: dict[str, tuple[bool, _Macro | None]] | None


def expand_macros(source: str, kept: Container[str] = ()) -> tuple[str, Counter[str]]:
    r"""Return the source with its own macros expanded, and how often those are used that cannot be.

    Definitions are removed. Macros whose names are ``kept`` are not redefined.

    Examples:
        >>> expand_macros(r"\newcommand{\prog}[1]{the program \textbf{#1}}Run \prog{foo}.")
        ('Run the program \\textbf{foo}.', Counter())
    """
    if not _DEFINITION.search(source) and "\\iffalse" not in source:
        return source, Counter()
    expansion = _Expansion(source, kept)
    return expansion.expanded(BracedText(source)), expansion.unexpanded


class _Expansion:
    """Expands a file's macros from its begin to its end, with the definitions made so far."""

    def __init__(self, source: str, kept: Container[str]) -> None:
        self.unexpanded: Counter[str] = Counter()
        self._kept = kept
        self._macros: dict[str, _Macro | None] = {}
        self._bodies: dict[str, str] = {}  # expanded
        self._groups: list[_Group] = []
        self._after_definition = 0
        self._skipped = skipped_branches(source)
        self._left = _GROWTH * len(source) + _SPARE

    def expanded(
        self, text: BracedText, begin: int = 0, end: int | None = None, active: tuple[str, ...] = (), depth: int = 0
    ) -> str:
        """Return a part of a text with its macros expanded but those that are ``active``: whose bodies it stands in."""
        end = len(text.text) if end is None else end
        parts: list[str] = []
        position, outer = begin, len(self._groups)
        while (token := LATEX_TOKEN.search(text.text, position, end)) is not None:
            parts.append(text.text[position : token.start()])
            if token["brace"] == "{":
                is_next = (
                    not depth and not text.text[max(self._after_definition, token.start() - NEAR) : token.start()].strip()
                )
                self._groups.append(_Group("", {} if is_next or begins_group(text.text, token.start()) else None))
            elif token["brace"] and len(self._groups) > outer and not self._groups[-1].environment:
                self._end_group()
            replacement, position = self._replacement(text, token, active, depth)
            position = min(position, end)
            parts.append(replacement)
        parts.append(text.text[position:end])
        while depth and len(self._groups) > outer:
            self._end_group()
        return "".join(parts)

    def _replacement(self, text: BracedText, token: re.Match[str], active: tuple[str, ...], depth: int) -> tuple[str, int]:
        """Return what replaces a token, and where the text goes on after it."""
        if token["code"]:
            end = end_of_code(text.text, token)
            return text.text[token.start() : end], end
        if not active and token.start() in self._skipped:
            return "", self._skipped[token.start()]
        definition = _DEFINITION.match(text.text, token.start()) if token["name"] else None
        if definition:
            replacement, self._after_definition = self._define(definition, text)
            return replacement, self._after_definition
        name = token["name"] or (f"{token['side']}{{{token['environment']}}}" if token["side"] else "")
        macro, is_defined = self._macros.get(name), name in self._macros
        if token["side"] == "begin":
            self._groups.append(_Group(token["environment"], {}))
        elif token["side"] and any(group.environment == token["environment"] for group in self._groups):
            while self._end_group() != token["environment"]:
                pass
        if not name or not is_defined:
            return token.group(), token.end()
        call = self._called(name, macro, text, token.end(), active, depth) if macro else None
        if call is None:
            if name not in active or macro is None:
                self.unexpanded[f"\\{name}"] += 1
            return token.group(), token.end()
        return call

    def _called(
        self, name: str, macro: _Macro, text: BracedText, position: int, active: tuple[str, ...], depth: int
    ) -> tuple[str, int] | None:
        """Return the text of a call and where the text goes on after it; None if it cannot be expanded."""
        arguments = _arguments(macro, text, position)
        if arguments is None or name in active or depth == _DEEPEST or self._left < 0:
            return None
        ranges, end = arguments
        body = self._body(name, macro, active, depth)
        values = [macro.default or "" if span is None else self.expanded(text, *span, active, depth + 1) for span in ranges]
        filled = _filled(body, values)
        self._left -= len(filled)
        if self._left < 0:
            return None
        after = text.text[end : end + 1]
        if not macro.count and not name.startswith(("begin{", "end{")):
            gap = _GAP.match(text.text, end)
            after = text.text[gap.end() : gap.end() + 1] if gap else after
            if gap and "\\xspace" in body and gap.group():
                after = " " if after.isalnum() or after in ("(", "\\", "$", "`") else after
                filled += " " if after == " " else ""
            end = gap.end() if gap else end
        if after.isalpha() and _CONTROL_WORD_AT_END.search(filled):
            filled += "{}"
        return filled, end

    def _body(self, name: str, macro: _Macro, active: tuple[str, ...], depth: int) -> str:
        """Return the body of a macro with the macros in it expanded."""
        if name not in self._bodies:
            self._left -= len(macro.body)
            body = self.expanded(BracedText(macro.body), active=(*active, name), depth=depth + 1)
            if active:
                return body  # without those that it must not expand here
            self._bodies[name] = body
        return self._bodies[name]

    def _define(self, definition: re.Match[str], text: BracedText) -> tuple[str, int]:
        """Note a definition, and return what replaces it, and where the text goes on after it."""
        groups = definition.groupdict()
        is_global = definition.group().startswith(("\\gdef", "\\xdef"))
        if groups["alias"]:
            original = groups["original"]
            body = "" if original == "\\relax" else original
            self._set(groups["alias"], self._macros.get(original.removeprefix("\\"), _Macro(0, None, body)))
            return "", definition.end()
        body = text.group(definition.end())
        if body is None:
            return definition.group(), definition.end()
        end = body[1] + 1
        source, second = text.text[slice(*body)], ""
        count, default = int(groups["count"] or 0), groups["default"]
        if groups["environment"] or groups["document"]:
            gap = _GAP.match(text.text, end)
            group = text.group(gap.end() if gap else end)
            if group is None:
                return definition.group(), definition.end()
            second, end = text.text[slice(*group)], group[1] + 1
        if groups["environment"]:
            self._set(f"begin{{{groups['environment']}}}", _simple(count, default, source))
            self._set(f"end{{{groups['environment']}}}", _simple(0, None, second))
            return "", end
        name = next(filter(None, (groups[key] for key in ("command", "bare", "defined", "operator", "document"))))
        if name in self._macros and definition.group().lower().startswith("\\provide"):
            return "", end
        if groups["document"]:
            self._set(name, _document_macro(source, second))
            return "", end
        if groups["operator"]:
            source = f"\\mathrm{{{source}}}"
        pattern = (groups["pattern"] or "").strip()
        count += pattern.count("#")
        plain = ("", "".join(f"#{number}" for number in range(1, count + 1)))
        self._set(name, _simple(count, default, source) if pattern in plain else None, is_global)
        return "", end

    def _set(self, name: str, macro: _Macro | None, is_global: bool = False) -> None:
        """Define a macro until the innermost group ends, or for good."""
        if name in self._kept:
            return
        scopes = [group.before for group in self._groups if group.before is not None]
        for before in scopes if is_global else ():
            before.pop(name, None)
        if scopes and not is_global:
            scopes[-1].setdefault(name, (name in self._macros, self._macros.get(name)))
        self._macros[name] = macro
        self._bodies.clear()

    def _end_group(self) -> str:
        """End the innermost group, restoring the macros from before it. Returns its environment."""
        group = self._groups.pop()
        for name, (was_defined, macro) in (group.before or {}).items():
            self._macros[name] = macro
            if not was_defined:
                del self._macros[name]
            self._bodies.clear()
        return group.environment


def _simple(count: int, default: str | None, body: str) -> _Macro | None:
    return None if _COMPLEX.search(body) else _Macro(count, default, _LENGTHS.sub("", _COMMENT.sub(r"\1", body)))


def _document_macro(form: str, body: str) -> _Macro | None:
    """Return the macro whose arguments are described as in ``O{default} m m``."""
    arguments = _FORM.fullmatch(form)
    if arguments is None:
        return None
    default = arguments["default"]
    return _simple(arguments["rest"].count("m") + (default is not None), default, body)


def _filled(body: str, values: Sequence[str]) -> str:
    """Return a body with its parameters replaced; braces separate a value from a macro that it would continue."""

    def value(parameter: re.Match[str]) -> str:
        number = int(parameter["number"])
        text = values[number - 1] if number <= len(values) else ""
        return parameter["before"] + (f"{{{text}}}" if parameter["word"] and text[:1].isalpha() else text)

    return _PARAMETER.sub(value, body)


def _arguments(macro: _Macro, text: BracedText, position: int) -> tuple[list[tuple[int, int] | None], int] | None:
    """Return the ranges of a call's arguments, None for one that takes its default, and their end; None if some lack."""
    ranges: list[tuple[int, int] | None] = []
    if macro.default is not None and macro.count:
        option = _OPTION.match(text.text, position)
        ranges.append(option.span(1) if option else None)
        position = option.end() if option else position
    while len(ranges) < macro.count:
        gap = _GAP.match(text.text, position)
        position = gap.end() if gap else position
        if group := text.group(position):
            ranges.append(group)
            position = group[1] + 1
            continue
        token = LATEX_TOKEN.match(text.text, position)
        end = token.end() if token else position + 1
        if end > len(text.text) or text.text[position] in "{}%&" or text.text[position].isspace():
            return None
        if token and (token["code"] or token["side"]):
            return None
        ranges.append((position, end))
        position = end
    return ranges, position
