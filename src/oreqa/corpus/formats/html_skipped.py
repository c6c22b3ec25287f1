"""A part of a page that is left out: how many words it has, and whether its marks mislead."""

from __future__ import annotations

from collections.abc import Mapping

from oreqa.corpus.formats import html_rules as rules

Marks = tuple[str, str, str]
"""An element's tag, class and identifier."""


def marks_of(tag: str, attributes: Mapping[str, str]) -> Marks:
    return tag, attributes.get("class", ""), attributes.get("id", "")


class Skipped:
    """What stands in an element that is left out for a ``reason``; ``depth`` elements are open around its text."""

    def __init__(self, depth: int, reason: str, marks: Marks) -> None:
        self.depth, self.reason, self.marks = depth, reason, marks
        self._text: list[str] = []
        self._plain: list[str] = []  # what is no link
        self._links = 0  # open ones

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._links += tag in rules.LINKS
        if tag == "img":
            self._text.append(f" {attributes.get('alt', '')} ")
        self._part(tag)

    def end(self, tag: str) -> None:
        self._links -= tag in rules.LINKS
        self._part(tag)

    def data(self, text: str) -> None:
        self._text.append(text)
        if not self._links:
            self._plain.append(text)

    def _part(self, tag: str) -> None:
        if tag in rules.BLOCKS or tag == "br":
            self._text.append(" ")
            self._plain.append(" ")

    def ends_before(self, tag: str, attributes: Mapping[str, str]) -> bool:
        """Whether an element in it is the page's title, and text begins."""
        return self.reason == "header" and rules.begins_text(tag, attributes)

    @property
    def text(self) -> str:
        return "".join(self._text)

    @property
    def misleads(self) -> bool:
        return rules.is_text_after_all(self.reason, "".join(self._plain))
