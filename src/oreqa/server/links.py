"""Builds addresses of answers: on this server, and on the site where a folder of documents is published."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from oreqa.as_json import document_id
from oreqa.core import Passage, Sentence
from oreqa.errors import InputError
from oreqa.paths import file_of, full_path
from oreqa.text.rows import CELL_GAP, row_cells

_WORDS_AT_EACH_END = 4
_MARK = re.compile(r"\A\s*(?:[-*•]|\(?\w{1,4}[.)])\s+")


def published_folders(links: Sequence[str]) -> dict[str, str]:
    """Parse folders and the addresses of their sites from ``FOLDER=URL``. Raises InputError for anything else."""
    sites = {}
    for text in links:
        folder, _, url = text.partition("=")
        parts = urlsplit(url)
        is_site = parts.scheme in ("http", "https") and parts.netloc and not parts.query and not parts.fragment
        if not folder or not is_site:
            raise InputError(f"--link {text}: write it as FOLDER=URL, as in docs=https://docs.example.org/manual")
        sites[str(full_path(Path(folder)))] = url.rstrip("/")
    return sites


def base_address(text: str) -> str:
    """Return a server's address without a trailing slash. Raises InputError if it is not one."""
    parts = urlsplit(text)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise InputError(f"--base-url {text}: write an address, as in https://kb.example.org")
    return text.rstrip("/")


def answer_links(
    passage: Passage,
    sentence: Sentence,
    start: int,
    end: int,
    collection: str,
    generation: int,
    sites: Mapping[str, str],
    several: bool,
) -> dict[str, Any]:
    """Return what identifies a range that answers, where to see it, and how to cite it.

    With ``several`` collections, URLs name theirs.
    """
    name = document_id(passage.document_key)
    return {
        "id": f"{name}:{start}-{end}",
        "url": document_url(name, start, end, collection if several else None),
        "link": published_url(passage, sentence, sites),
        "citation": citation(passage, sentence),
        "collection": collection,
        "generation": generation,
    }


def document_url(name: str, start: int, end: int, collection: str | None) -> str:
    """Return the address on this server of a range of a document, given by id.

    Examples:
        >>> document_url("865c35c7be9db942", 27, 32, None)
        '/d/865c35c7be9db942#c=27-32'
    """
    return f"/d/{name}{f'?collection={collection}' if collection else ''}#c={start}-{end}"


def published_url(passage: Passage, sentence: Sentence, sites: Mapping[str, str]) -> str | None:
    """Return the address of a sentence on the site of the deepest folder that contains it; None if there is none.

    For a PDF it links to the page, for a web page or other text to the sentence, whose words browsers highlight. If the key
    may end in a row of a file, the disk is checked for the file's name.

    Examples:
        >>> passage = Passage("/docs/a b.html", "", "", "It has three.", 0, 13, ())
        >>> published_url(passage, Sentence("It has three.", 0, 13), {"/docs": "https://example.org"})
        'https://example.org/a%20b.html#:~:text=It%20has%20three.'
    """
    if not sites:
        return None
    path = file_of(passage.document_key)
    homes = [folder for folder in sites if path.is_relative_to(folder)]
    if not homes:
        return None
    folder = max(homes, key=len)
    return f"{sites[folder]}/{quote(path.relative_to(folder).as_posix())}#{_fragment(passage, sentence)}"


def file_url(passage: Passage, sentence: Sentence) -> str:
    """Return the address of a sentence in its file, or without a file one that only names the document.

    Examples:
        >>> passage = Passage("octopus", "", "", "It has three.", 0, 13, ())
        >>> file_url(passage, Sentence("It has three.", 0, 13))
        'oreqa:5633c9b8af6d0898#c=0-13'
    """
    path = file_of(passage.document_key)
    if not path.is_absolute():
        return f"oreqa:{document_id(passage.document_key)}#c={sentence.start}-{sentence.end}"
    return f"{path.as_uri()}#{_fragment(passage, sentence)}"


def _fragment(passage: Passage, sentence: Sentence) -> str:
    """Return the fragment that leads to a sentence in its file: the page of a PDF, else the anchor and the words."""
    place = passage.place(sentence.start)
    name = place.name if place else ""
    if page := re.fullmatch(r"page (\d+)", name):
        return f"page={page[1]}"
    return f"{quote(name[1:], safe='') if name.startswith('#') else ''}:~:text={_text_of(sentence.text)}"


def _text_of(sentence: str) -> str:
    """Return a sentence as browsers search for it: its first and last words, or all if they are few.

    List marks are dropped, as the page lacks them; a table row is reduced to its longest cell.
    """
    cells = [sentence[slice(*value)] for _, value in row_cells(sentence, 0)] or sentence.split(CELL_GAP)
    words = _MARK.sub("", max(cells, key=len)).split() or sentence.split()
    if len(words) <= 2 * _WORDS_AT_EACH_END:
        return _quoted(words)
    return f"{_quoted(words[:_WORDS_AT_EACH_END])},{_quoted(words[-_WORDS_AT_EACH_END:])}"


def _quoted(words: Sequence[str]) -> str:
    return quote(" ".join(words), safe="", errors="replace").replace("-", "%2D")  # a hyphen would introduce the context


def citation(passage: Passage, sentence: Sentence) -> str:
    """Return a sentence in quotes and its location: the title or file name, with the page, line or heading.

    Examples:
        >>> passage = Passage("kb/octopus.md", "Octopus", "Hearts", "It has three.", 0, 13, ())
        >>> citation(passage, Sentence("It has three.", 0, 13))
        '“It has three.” (Octopus, Hearts)'
    """
    return f"“{' '.join(sentence.text.split())}” ({source_name(passage, sentence)})"


def source_name(passage: Passage, sentence: Sentence) -> str:
    """Return a sentence's location for people: the title or file name, with the page, line or heading, else the row.

    Examples:
        >>> passage = Passage("kb/octopus.md", "", "Hearts", "It has three.", 0, 13, ())
        >>> source_name(passage, Sentence("It has three.", 0, 13))
        'octopus.md, Hearts'
        >>> source_name(Passage("kb/tents.csv#2", "TX-9", "", "It has three.", 0, 13, ()), Sentence("It has three.", 0, 13))
        'TX-9, tents.csv#2'
    """
    place = passage.place(sentence.start)
    where = ""
    if place and place.name:
        where = place.name if not place.name.startswith("#") else passage.heading or place.name
    elif passage.heading:
        where = passage.heading
    elif place and place.line is not None:
        where = f"line {place.line}"
    name = re.split(r"[/\\]", passage.document_key)[-1]
    return ", ".join(dict.fromkeys((passage.title or name, where or name)))
