"""Files into an index: find, read, cut, and hand to the writer."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from oreqa.core import Document, Passage
from oreqa.corpus.chunks import CUT_VERSION, split_passages
from oreqa.corpus.files import find_files
from oreqa.corpus.readers import Fields, read_documents
from oreqa.errors import DocumentError
from oreqa.index.store import Settings
from oreqa.index.update import IndexWriter, Progress, Report, open_writer


def index_files(
    folder: Path,
    paths: Sequence[Path],
    settings: Settings | None = None,
    *,
    include: Sequence[str] = (),
    exclude: Sequence[str] = (),
    fields: Fields | None = None,
    prune: bool = False,
    strict: bool = False,
    device: str = "cpu",
    progress: Progress | None = None,
    on_problem: Callable[[str], None] = lambda line: None,
) -> Report:
    """Add or refresh the documents of files and folders, and publish them together.

    Files that cannot be read are passed to ``on_problem``, a line each, and keep what the index has of them; with
    ``strict`` the first one raises DocumentError and nothing is published. ``prune`` removes documents whose file or row is
    gone from ``paths``; others are left alone. Interrupted, it can be called again and goes on where it stopped.
    """
    found = find_files(paths, include, exclude)
    roots = [path.absolute() for path in paths]
    with open_writer(folder, settings, device) as writer:
        writer.report.unknown = found.unknown
        own = folder.absolute()
        for file in found.files:
            if file.is_relative_to(own):
                continue
            try:
                _read(writer, file, fields or Fields(), progress)
            except DocumentError as error:
                line = f"{file}: {error}"
                if strict:
                    raise DocumentError(f"{line} (--strict: nothing was published)") from error
                writer.keep(str(file))
                writer.report.problems.append(line)
                on_problem(line)
        writer.flush(progress)
        writer.remove_unseen(lambda source: any(Path(source).is_relative_to(root) for root in roots), prune)
        writer.publish()
        return writer.report


def _read(writer: IndexWriter, file: Path, fields: Fields, progress: Progress | None) -> None:
    source = str(file)
    stamp = _stamp(file, fields)
    if writer.fresh(source, stamp):
        return
    for document in read_documents(file, fields):
        writer.add(document, source, lambda document: cut_document(writer, document), progress)
    # A file that was written just now may change again within the clock's grain: it is read once more next time.
    if time.time_ns() - file.stat().st_mtime_ns > 2_000_000_000:
        writer.finish_source(source, stamp)


def cut_document(writer: IndexWriter, document: Document) -> list[Passage]:
    """A document's passages, of the length that the index is set to."""
    encoder = writer.encoder
    room = min(writer.settings.passage_tokens - 2, encoder.max_tokens)  # [CLS] and [SEP] count
    return split_passages(document, encoder.count_tokens, room, writer.settings.language)


def _stamp(file: Path, fields: Fields) -> str:
    status = file.stat()
    return f"{CUT_VERSION} {status.st_size} {status.st_mtime_ns} {fields.text} {fields.title} {fields.id}"
