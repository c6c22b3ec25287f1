"""Reads the styles and the numbering of a Word document: headings, struck-out text, list items and their marks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from oreqa.corpus.formats.office.packed import attribute, child, local, value

_LONGEST_CHAIN = 20
_LEVELS = 9
_TRUE = ("1", "true", "on")
_CONTENTS = re.compile(r"(?:toc|index) (?:heading|\d)|table of (?:figures|authorities)|toa heading|contents (?:heading|\d)")


@dataclass(frozen=True, slots=True)
class _Style:
    name: str
    parent: str
    properties: Any | None


@dataclass(frozen=True, slots=True)
class Role:
    """A paragraph's role: ``level`` 0 is the title, 1 to 9 are headings, None is text.

    ``number`` is its list and its level there; ``contents`` says that it belongs to a table of contents or an index.
    """

    level: int | None
    number: tuple[str, int] | None
    contents: bool


class Styles:
    """The paragraph styles, and the styles that they are based on."""

    def __init__(self, root: Any | None) -> None:
        self._styles: dict[str, _Style] = {}
        self._default = ""
        self._roles: dict[str, Role] = {}
        for style in () if root is None else root:
            key = attribute(style, "styleId")
            if local(style) == "style" and key and attribute(style, "type") == "paragraph":
                self._styles[key] = _Style(
                    (value(style, "name") or key).lower(), value(style, "basedOn") or "", child(style, "pPr")
                )
                if attribute(style, "default") in _TRUE:
                    self._default = key

    def role(self, paragraph: Any) -> Role:
        """Return a paragraph's role from its own properties, then its style's, then those of the style's parents."""
        properties = child(paragraph, "pPr")
        key = value(properties, "pStyle") or self._default
        if key not in self._roles:
            self._roles[key] = self._style_role(key)
        role = self._roles[key]
        level = _outline(properties)
        number = _number(properties)
        if level is None and number is None:
            return role
        return Role(
            role.level if level is None else level or None,
            role.number if number is None else (number[0] or (role.number or ("", 0))[0], number[1]),
            role.contents,
        )

    def _style_role(self, key: str) -> Role:
        chain = list(self._chain(key))
        level: int | None = None
        for style in chain:
            heading = re.fullmatch(r"heading ([1-9])", style.name)
            outline = _outline(style.properties)
            if style.name == "title":
                level = 0
            elif outline is not None:
                level = outline or None
            elif heading:
                level = int(heading.group(1))
            else:
                continue
            break
        number = next((numbering for style in chain if (numbering := _number(style.properties))), None)
        return Role(level, number, bool(chain and _CONTENTS.fullmatch(chain[0].name)))

    def _chain(self, key: str) -> Iterator[_Style]:
        for _ in range(_LONGEST_CHAIN):
            style = self._styles.get(key)
            if style is None:
                # Word's built-in style names are English in every language; a missing style has only its identifier.
                if key:
                    yield _Style(re.sub(r"(?<=[a-z])(?=\d)", " ", key.lower()), "", None)
                return
            yield style
            key = style.parent
            if not key:
                return


class Strikes:
    """Which runs are struck out: by their own properties, else by their character style and their paragraph's style."""

    def __init__(self, root: Any | None) -> None:
        self._styles: dict[tuple[str, str], Any] = {}
        self._switches: dict[tuple[str, str, str], bool] = {}
        self._default = ""
        for style in () if root is None else root:
            kind, key = attribute(style, "type") or "", attribute(style, "styleId") or ""
            if local(style) == "style":
                self._styles[kind, key] = style
                if kind == "paragraph" and attribute(style, "default") in _TRUE:
                    self._default = key

    def strike_out(self, run: Any, paragraph: Any) -> bool:
        """Return whether a run of a paragraph is struck out."""
        direct = child(run, "rPr")
        styles = (
            ("paragraph", value(child(paragraph, "pPr"), "pStyle") or self._default),
            ("character", value(direct, "rStyle") or ""),
        )
        single, double = _switch(direct, "strike"), _switch(direct, "dstrike")
        if single is None:
            # A strike set by both styles cancels out: it toggles (ECMA-376, part 1, section 17.7.3); a double strike does
            # not.
            single = self._style_says("strike", *styles[0]) != self._style_says("strike", *styles[1])
        if double is None:
            double = any(self._style_says("dstrike", *style) for style in styles)
        return single or double

    def _style_says(self, name: str, kind: str, key: str) -> bool:
        if (name, kind, key) not in self._switches:
            self._switches[name, kind, key] = self._chain_says(name, kind, key)
        return self._switches[name, kind, key]

    def _chain_says(self, name: str, kind: str, key: str) -> bool:
        """Return the value set by the nearest style, from a style to those that it is based on."""
        for _ in range(_LONGEST_CHAIN):
            style = self._styles.get((kind, key))
            switch = _switch(child(style, "rPr"), name)
            if switch is not None:
                return switch
            key = value(style, "basedOn") or ""
        return False


def _switch(properties: Any | None, name: str) -> bool | None:
    """Return whether a property is on, None if it is not set."""
    text = value(properties, name)
    return None if text is None else text not in ("0", "false", "off")


def _outline(properties: Any | None) -> int | None:
    """Return the outline level, from 1; 0 for "body text", None if there is none."""
    level = _whole(value(properties, "outlineLvl"))
    return None if level is None else level + 1 if 0 <= level < _LEVELS else 0


def _number(properties: Any | None) -> tuple[str, int] | None:
    number = child(properties, "numPr")
    return None if number is None else (value(number, "numId") or "", _whole(value(number, "ilvl")) or 0)


def _whole(text: str | None) -> int | None:
    return int(text) if text and re.fullmatch(r"-?\d{1,9}", text) else None


@dataclass(frozen=True, slots=True)
class _Level:
    format: str
    text: str
    start: int


class Numbering:
    """Counts the items of a document's lists, to give each the mark that Word displays before it."""

    def __init__(self, root: Any | None) -> None:
        self._lists: dict[str, str] = {}
        self._restarts: dict[str, dict[int, int]] = {}
        self._levels: dict[str, dict[int, _Level]] = {}
        self._counts: dict[str, dict[int, int]] = {}
        styles: dict[str, str] = {}
        links: dict[str, str] = {}
        for part in () if root is None else root:
            if local(part) == "abstractNum":
                key = attribute(part, "abstractNumId") or ""
                self._levels[key] = dict(_level(row) for row in part if local(row) == "lvl")
                styles[value(part, "styleLink") or ""] = key
                links[key] = value(part, "numStyleLink") or ""
            elif local(part) == "num":
                key = attribute(part, "numId") or ""
                self._lists[key] = value(part, "abstractNumId") or ""
                self._restarts[key] = {
                    _whole(attribute(row, "ilvl")) or 0: start
                    for row in part
                    if local(row) == "lvlOverride" and (start := _whole(value(row, "startOverride"))) is not None
                }
        for key, link in links.items():
            if link and styles.get(link) not in (None, key):
                self._levels[key] = self._levels[styles[link]]

    def mark(self, number: tuple[str, int] | None) -> str:
        """Return the next item's mark, such as "-", "3." or "a)"; "" for a paragraph that is not in a list."""
        if number is None or number[0] not in self._lists:
            return ""
        key, depth = self._lists[number[0]], number[1]
        levels = self._levels.get(key, {})
        if depth not in levels:
            return "-"
        counts = self._counts.setdefault(key, {})
        for level, start in self._restarts.pop(number[0], {}).items():
            counts[level] = start - 1
        counts[depth] = counts.get(depth, levels[depth].start - 1) + 1
        for deeper in [level for level in counts if level > depth]:
            del counts[deeper]
        if levels[depth].format == "bullet":
            return "-"
        if levels[depth].format == "none":
            return ""

        def shown(match: re.Match[str]) -> str:
            level = int(match.group(1)) - 1
            definition = levels.get(level, levels[depth])
            return format_number(counts.setdefault(level, definition.start), definition.format)

        return re.sub(r"%([1-9])", shown, levels[depth].text).strip()


def _level(element: Any) -> tuple[int, _Level]:
    start = _whole(value(element, "start"))
    text = (value(element, "lvlText") or "")[:40]
    return _whole(attribute(element, "ilvl")) or 0, _Level(
        value(element, "numFmt") or "decimal", text, 1 if start is None else start
    )


def format_number(number: int, style: str) -> str:
    """Format a number as Word does in the style "lowerLetter", "upperRoman" and so on, or as a decimal in others."""
    if style in ("lowerLetter", "upperLetter") and 1 <= number <= 26 * 9:
        letters = chr(ord("a") + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letters.upper() if style == "upperLetter" else letters
    if style in ("lowerRoman", "upperRoman") and 1 <= number < 4000:
        roman = ""
        for amount, letters in _ROMAN:
            roman += letters * (number // amount)
            number %= amount
        return roman.upper() if style == "upperRoman" else roman
    return str(number)


_ROMAN = tuple(
    zip(
        (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1),
        ("m", "cm", "d", "cd", "c", "xc", "l", "xl", "x", "ix", "v", "iv", "i"),
        strict=True,
    )
)
