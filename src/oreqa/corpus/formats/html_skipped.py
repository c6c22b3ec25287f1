"""An element of a web page that is left out: its text, and whether leaving it out was a mistake."""

from __future__ import annotations

from collections.abc import Mapping

from oreqa.corpus.formats import html_rules as rules

ElementKey = tuple[str, str, str]
"""An element's tag, class and id."""


def element_key(tag: str, attributes: Mapping[str, str]) -> ElementKey:
    """Return the key that tells apart the kinds of elements of a page."""
    return tag, attributes.get("class", ""), attributes.get("id", "")


class SkippedElement:
    """Collects the text of an element at ``depth`` that is left out for a ``reason``."""

    def __init__(self, depth: int, reason: str, key: ElementKey) -> None:
        self.depth, self.reason, self.key = depth, reason, key
        self._text: list[str] = []
        self._unlinked: list[str] = []  # the text outside links
        self._links = 0  # open links

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._links += tag in rules.LINKS
        if tag == "img":
            self._text.append(f" {attributes.get('alt', '')} ")
        self._separate(tag)

    def end(self, tag: str) -> None:
        self._links -= tag in rules.LINKS
        self._separate(tag)

    def data(self, text: str) -> None:
        self._text.append(text)
        if not self._links:
            self._unlinked.append(text)

    def _separate(self, tag: str) -> None:
        if tag in rules.BLOCKS or tag == "br":
            self._text.append(" ")
            self._unlinked.append(" ")

    def ends_before(self, tag: str, attributes: Mapping[str, str]) -> bool:
        """Return whether this is a page's header and the element inside it is the page's title, where its text starts."""
        return self.reason == "header" and rules.is_title(tag, attributes)

    @property
    def text(self) -> str:
        """All text of the element."""
        return "".join(self._text)

    @property
    def is_text(self) -> bool:
        """Whether the element holds so much text outside links that it should not have been left out, or is text itself."""
        return rules.is_text(self.reason, "".join(self._unlinked)) or rules.is_linked_text(self.key[1], self.text)
