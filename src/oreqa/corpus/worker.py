"""The child process that parses the formats whose libraries can hang, crash or exhaust memory.

The parent sends three messages (child.py) per file: its path, its limit in seconds, and its bytes. The child replies with
a JSON object: the document with its attachments, or the error; before that, it sends one message per scanned page.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import IO, Any

from oreqa.core import Document
from oreqa.corpus import limits
from oreqa.corpus.child import begin_child, extend_time, limit_memory, limit_time, peak_memory, receive, send
from oreqa.corpus.formats import (
    asciidoc,
    docbook,
    epub,
    info,
    json_file,
    latex,
    mail,
    markdown,
    msg,
    notebook,
    org,
    rst,
    rtf,
    source_code,
    subtitles,
)
from oreqa.corpus.formats.html.page import read_html
from oreqa.corpus.formats.man.pages import is_man_page, read_man
from oreqa.corpus.formats.office import docx, odf, pptx, xlsx
from oreqa.corpus.formats.pdf import ocr
from oreqa.corpus.formats.pdf.document import read_pdf
from oreqa.errors import DocumentError, describe

PARSERS: dict[str, Callable[[bytes, Path], Document]] = {
    ".md": markdown.read_markdown,
    ".markdown": markdown.read_markdown,
    ".html": read_html,
    ".htm": read_html,
    ".xhtml": read_html,
    ".epub": epub.read_epub,
    ".json": json_file.read_json_document,
    ".rtf": rtf.read_rtf,
    ".rst": rst.read_rst,
    ".adoc": asciidoc.read_asciidoc,
    ".asciidoc": asciidoc.read_asciidoc,
    ".org": org.read_org,
    ".ipynb": notebook.read_notebook,
    ".srt": subtitles.read_subtitles,
    ".vtt": subtitles.read_subtitles,
    ".ass": subtitles.read_subtitles,
    ".info": info.read_info,
    **dict.fromkeys(source_code.CODE_SUFFIXES, source_code.read_source_code),
    ".tex": latex.read_latex,
    ".docbook": docbook.read_docbook,
    ".dbk": docbook.read_docbook,
    ".pdf": read_pdf,
    ".docx": docx.read_docx,
    ".pptx": pptx.read_pptx,
    ".xlsx": xlsx.read_xlsx,
    ".odt": odf.read_odf,
    ".ods": odf.read_odf,
    ".odp": odf.read_odf,
}

MAILS = {".eml": mail.read_mail, ".msg": msg.read_msg}
"""Extensions of mails, which are read together with their attachments."""

NAMED_ALONE = ocr.PICTURES
"""Extensions of pictures, which are read only if named explicitly."""

TEXT_SUFFIXES = (
    *(
        ".md",
        ".markdown",
        ".html",
        ".htm",
        ".xhtml",
        ".json",
        ".rst",
        ".docbook",
        ".dbk",
        ".adoc",
        ".asciidoc",
        ".org",
        ".tex",
    ),
    *(".srt", ".vtt", ".ipynb", ".info"),
)
"""Extensions of text formats, which may be compressed with gzip."""

_INFO_PART = re.compile(r"\.info-\d+")
_MAN_PAGE = re.compile(r"\.(?:[1-9][a-z]*|man|mdoc)")


def may_be_recognized(path: Path) -> bool:
    """Return whether a file with this name may be a manual page or DocBook, which ``is_recognized`` decides by its head."""
    return path.suffix.lower() == ".xml" or bool(_MAN_PAGE.fullmatch(path.suffix) or _INFO_PART.fullmatch(path.suffix))


def is_recognized(path: Path, head: bytes) -> bool:
    """Return whether a file that begins with ``head`` is a manual page or DocBook, given its name."""
    if path.suffix.lower() == ".xml":
        return docbook.is_docbook(head)
    return bool(_INFO_PART.fullmatch(path.suffix)) or is_man_page(head)


def parser_of(path: Path, before_page: Callable[[], None] = lambda: None) -> Callable[[bytes, Path], Document]:
    """Return the parser of a file, by its name. ``before_page`` is called before each page that is recognized by OCR."""
    suffix = path.suffix.lower()
    if suffix == ".pdf" or suffix in NAMED_ALONE:
        read = partial(read_pdf, before_page=before_page)
        return read if suffix == ".pdf" else partial(ocr.read_picture, read_pdf=read, before_page=before_page)
    if _INFO_PART.fullmatch(path.suffix):
        return info.read_info
    return PARSERS.get(suffix) or (docbook.read_docbook if suffix == ".xml" else read_man)


MORE = b"more"
"""Announces that a scanned page is being recognized, which may take ``limits.OCR_SECONDS`` more."""


class _Allowance:
    """This process's limits for a file: CPU seconds, and bytes of address space (``memory``)."""

    def __init__(self, seconds: int, memory: int, replies: IO[bytes]) -> None:
        self.memory, self._replies = memory, replies
        limit_time(seconds)
        limit_memory(memory)

    def add_page(self) -> None:
        """Extend the limits of the parent and this process for recognizing one more page."""
        send(self._replies, MORE)
        extend_time(limits.OCR_SECONDS)
        self.memory = limits.OCR_BYTES
        limit_memory(self.memory)


def serve(parent: int, memory: int) -> None:
    """Parse files until the process ``parent`` exits or closes the stream, each within its limit of CPU seconds.

    ``memory`` limits this process's address space, in bytes.
    """
    requests, replies = begin_child(parent, memory)
    last = False
    while not last:
        path, seconds, data = receive(requests), receive(requests), receive(requests)
        if path is None or seconds is None or data is None:
            return
        reply = _parse(Path(path.decode()), data, _Allowance(int(seconds), memory, replies))
        # The memory used by a file may not all be freed: after a large file, a new process takes the next one.
        last = "memory" in reply or peak_memory() > memory // 4
        send(replies, json.dumps({**reply, "last": last}).encode())


def _parse(path: Path, data: bytes, allowance: _Allowance) -> dict[str, Any]:
    try:
        read = MAILS.get(path.suffix.lower())
        document, attached = read(data, path) if read else (parser_of(path, allowance.add_page)(data, path), [])
        return {
            "document": {**asdict(document), "layout": base64.b64encode(document.layout).decode()},
            "attached": [(name, base64.b64encode(content).decode()) for name, content in attached],
        }
    except MemoryError:
        return {"memory": allowance.memory}
    except Exception as error:  # parsers raise anything, and not always MemoryError when memory runs out
        if peak_memory() > allowance.memory // 2:
            return {"memory": allowance.memory}
        return {"error": str(error) if isinstance(error, DocumentError) else f"it is damaged ({describe(error)})"}
