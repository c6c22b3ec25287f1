"""Info files, as made by Texinfo: nodes with underlined headings and indented explanations."""

from __future__ import annotations

import re
from pathlib import Path

from oreqa.core import Document, PageWords, Place
from oreqa.corpus.builder import count_words, file_title
from oreqa.corpus.decode import decode
from oreqa.corpus.formats.manual import manual_sections
from oreqa.corpus.formats.places import SourcePlaces
from oreqa.errors import DocumentError

_SEPARATOR = "\x1f"
_HEAD = re.compile(r"\n?File: ([^,\n]*),.*\n")
_MENU = re.compile(r"^\* Menu:", re.MULTILINE)
"""The last part of a node."""

_IMAGE = re.compile(rb"\x00\x08\[(?:(?!\x00\x08\[).)*?\x00\x08\]", re.DOTALL)
_TITLE_ENDS = re.compile(r"\.info(?:-\d+)?$")


def read_info(data: bytes, path: Path) -> Document:
    """Read an Info file or a part of one. Menus, indexes and the table of nodes are omitted.

    Raises DocumentError if it contains no node.
    """
    source = decode(_IMAGE.sub(lambda match: b" " * len(match.group()), data))
    places, spots = SourcePlaces(source), list[Place]()
    text, menus = "", ""
    nodes = source.split(_SEPARATOR)
    offset = len(nodes[0]) + 1
    name = ""
    for node in nodes[1:]:
        if head := _HEAD.match(node):
            name = name or head[1]
            menu = _MENU.search(node, head.end())
            begin, end = head.end(), menu.start() if menu else len(node)
            menus += node[end:]
            if node[begin:end].strip():
                spots.append(places.at(offset + begin, len(text)))
                text += node[begin:end].rstrip() + "\n\n"
        offset += len(node) + 1
    if not spots:
        raise DocumentError("it is not an Info file: it holds no node" if not name else "it holds no text but menus")
    omitted = {"contents": count_words(menus)} if menus else {}
    words = count_words(text)
    page = PageWords("", words + sum(omitted.values()), words, omitted)
    title = _TITLE_ENDS.sub("", name) or file_title(path)
    return Document(str(path), title, text, manual_sections(text), places=tuple(spots), pages=(page,))
