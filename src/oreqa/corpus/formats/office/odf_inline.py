"""The inline content of an OpenDocument paragraph: text, notes, text boxes, and omitted elements."""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from oreqa.corpus.builder import TextBuilder
from oreqa.corpus.formats.office.packed import attribute, child, local
from oreqa.corpus.formats.office.text import HEADERS_AND_FOOTERS, ParagraphContent

_WITHOUT_TEXT = ("forms", "event-listeners", "ruby-text", "note-citation", "variable-decls", "sequence-decls")
_LEFT_OUT = {
    "tracked-changes": "deletions",
    "annotation": "comments",
    "title": "descriptions of pictures",
    "desc": "descriptions of pictures",
    "page-number": HEADERS_AND_FOOTERS,
    "page-count": HEADERS_AND_FOOTERS,
    "table-of-content": "table of contents",
    "alphabetical-index": "table of contents",
    "illustration-index": "table of contents",
    "table-index": "table of contents",
    "object-index": "table of contents",
    "user-index": "table of contents",
}


class OdfInline:
    """Reads the content of paragraphs. Omitted words, such as comments, are counted in ``builder``.

    ``struck_out`` has the families and names of the styles that strike text out.
    """

    def __init__(self, builder: TextBuilder, struck_out: Set[tuple[str, str]] = frozenset()) -> None:
        self._builder = builder
        self._struck_out = struck_out

    def read(self, paragraph: Any) -> ParagraphContent:
        """Return the content of a paragraph."""
        content = ParagraphContent()
        self._add(paragraph, "paragraph", content)
        return content

    def _add(self, part: Any, family: str, content: ParagraphContent) -> None:
        """Collect the content of a paragraph or a part of it, whose style belongs to this ``family``."""
        if (family, attribute(part, "style-name")) in self._struck_out:
            struck_out = ParagraphContent()
            self._collect(part, struck_out)
            content.take_struck_out(struck_out, self._builder)
        else:
            self._collect(part, content)

    def flat_text(self, parent: Any, notes: list[Any] | None = None) -> str:
        """Return the text of all paragraphs below an element as one line; ``notes`` collects the notes they refer to."""
        texts = []
        for part in parent:
            if local(part) in ("p", "h"):
                content = self.read(part)
                texts += [content.text(), *(self.flat_text(box, notes) for box in content.boxes)]
                if notes is not None:
                    notes += content.notes
            elif not self.leaves_out(part):
                texts.append(self.flat_text(part, notes))
        return " ".join(" ".join(texts).split())

    def leaves_out(self, part: Any) -> bool:
        """Return whether an element is omitted from the text, and count its words if it has any."""
        name = local(part)
        if name == "title" and ":text:" in part.tag:  # a field that shows the document's title
            return False
        if name in _LEFT_OUT:
            self._builder.leave_out(_LEFT_OUT[name], source_text(part))
        return not name or name in _LEFT_OUT or name in _WITHOUT_TEXT

    def _collect(self, parent: Any, content: ParagraphContent) -> None:
        content.pieces.append(parent.text or "")
        for part in parent:
            name = local(part)
            if name in ("s", "tab"):
                content.pieces.append(" ")
            elif name == "line-break":
                content.pieces.append("\n")
            elif name == "note":
                content.notes.append(child(part, "note-body") if child(part, "note-body") is not None else part)
            elif name in ("text-box", "list", "p", "h", "table"):
                content.boxes.append([part] if name != "text-box" else part)
            elif name in ("page-number", "page-count"):
                content.has_page_number = True
                self.leaves_out(part)
            elif not self.leaves_out(part):
                self._add(part, "text", content)
            content.pieces.append(part.tail or "")


def source_text(root: Any) -> str:
    """Return all text below an element, including what paragraphs omit."""
    pieces: list[str] = []

    def walk(element: Any) -> None:
        if local(element) == "note-citation":
            return
        if local(element) in ("p", "h", "tab", "s", "line-break"):
            pieces.append(" ")
        pieces.append(element.text or "")
        for part in element:
            walk(part)
            pieces.append(part.tail or "")

    walk(root)
    return "".join(pieces)
