"""Files into an index: find, read, and hand to the writer."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from oreqa.arguments import as_index_folder, as_paths, kind_of, text_list
from oreqa.core import Document
from oreqa.corpus.files import find_files
from oreqa.corpus.process import end_parser
from oreqa.corpus.readers import Fields, read_documents
from oreqa.errors import DocumentError, InputError, OreqaError
from oreqa.index.coverage import Report, coverage_warnings
from oreqa.index.generations import newest_generation
from oreqa.index.revisions import IN_MEMORY, file_revision, read_revision
from oreqa.index.store import Settings
from oreqa.index.writer import IndexWriter, open_writer
from oreqa.models.encoder.encoder import Encoder
from oreqa.paths import full_path
from oreqa.progress import Advance, Progress, no_progress, show

OnFile = Callable[[Path, int, int], None]
"""Told of a file, the bytes of the files before it, and of its own that are done, and the bytes of all."""


def index_files(
    folder: str | Path,
    paths: str | Path | Iterable[str | Path],
    settings: Settings | None = None,
    *,
    model: str | Path | None = None,
    include: str | Iterable[str] = (),
    exclude: str | Iterable[str] = (),
    fields: Fields | None = None,
    prune: bool = False,
    strict: bool = False,
    device: str = "cpu",
    encoder: Encoder | None = None,
    progress: Progress = no_progress,
    on_problem: Callable[[str], None] | None = None,
    on_warning: Callable[[str], None] = lambda line: None,
    on_file: OnFile = lambda path, done, total: None,
) -> Report:
    """Add or refresh the documents of a file or folder, or of a list of them, and publish them together.

    A new index is made with ``settings``, or with the defaults and the ``model``; an index that exists keeps its own.
    ``include`` and ``exclude`` are patterns as in .gitignore; ``fields`` say which columns of tables hold what. An
    ``encoder`` that is loaded already is used if it is the index's.

    What cannot be read is passed to ``on_problem``, a line a file or folder, and keeps what the index has of it; with
    ``strict`` the first one raises DocumentError and nothing is published. ``on_warning`` gets a line for each file of which
    too little came through, ``on_file`` each file before it is read, and a large one again and again. ``prune`` removes
    documents whose file or row is gone from ``paths``, which may be gone themselves; others, and documents of
    ``index_documents``, are left alone.
    Interrupted, it can be called again: encoded passages are kept. Raises InputError for arguments that cannot work,
    IndexStateError if the index cannot be written or was made otherwise, OreqaError if a new index would hold nothing.

    Examples:
        >>> index_files("handbook", ["docs", Path("notes.txt")], exclude="*.jsonl")
        Report(added=3, passages=4, encoded=4)
    """
    if fields is not None and not isinstance(fields, Fields):
        raise InputError(f"fields are Fields(text=..., title=..., id=...), not {kind_of(fields)}")
    folder, paths = as_index_folder(folder), as_paths(paths)
    is_new = newest_generation(folder) is None
    files = find_files(paths, text_list(include, "include"), text_list(exclude, "exclude"), may_be_gone=not is_new)
    roots, index = {str(full_path(root)) for root in paths}, {str(full_path(folder))}
    if is_new and not files.files and not files.left_out:
        raise OreqaError(_no_documents(paths, files.unknown))
    mode = _folder_mode(files.files) if is_new else 0o777
    with (
        show(progress, "encoding passages") as advance,
        open_writer(folder, settings, device, model=model, mode=mode, encoder=encoder) as writer,
    ):
        writer.report.unknown = dict(files.unknown)
        held = _with_folders(writer.current.by_source) if files.gone else set()
        for path in files.gone:
            indexed = str(full_path(path)) in held
            if not (prune and indexed):
                hint = ", but the index has documents of it: --prune removes them" if indexed else ""
                raise InputError(f"{path}: there is no such file or folder{hint}")

        def leave_out(file: Path, reason: str) -> None:
            line = f"{file}: {reason}"
            if strict:
                raise DocumentError(f"{line} (--strict: nothing was published)")
            writer.report.problems.append(line)
            if on_problem is not None:
                on_problem(line)

        for left_out, reason in files.left_out:
            leave_out(left_out, reason)

        def warn(line: str) -> None:
            writer.report.warnings.append(line)
            on_warning(line)

        wanted = [file for file in files.files if not _below(str(file), index)]
        documents = 0
        try:
            for file, size, done, total in _with_sizes(wanted):
                on_file(file, done, total)
                telling = _FileProgress(file, size, done, total, on_file, advance)
                try:
                    documents += _read(writer, file, fields or Fields(), telling, warn)
                except DocumentError as error:
                    leave_out(file, str(error))
                    writer.keep(str(file))
        finally:
            end_parser()  # its memory is wanted for the search files
        if is_new and not documents:
            raise OreqaError(_nothing_read(paths, wanted, writer.report.problems, on_problem is not None))
        writer.flush(advance)
        unseen = {str(path) for path, _ in files.left_out}  # nothing can be said of what is there: it is not gone

        def searched(source: str) -> bool:
            return writer.current.revisions.get(source) != IN_MEMORY and _below(source, roots) and not _below(source, unseen)

        writer.remove_unseen(searched, prune)
        writer.publish()
        return writer.report


def _no_documents(paths: Sequence[Path], unknown: Mapping[str, int]) -> str:
    kinds = [f"{number} {kind or 'without a suffix'}" for kind, number in unknown.items()]
    others = f" among files of other kinds ({', '.join(kinds[:5])}{', ...' if len(kinds) > 5 else ''})" if kinds else ""
    return f"{_named(paths)}: no documents found{others}, so no index was made; name others, or change --include"


def _nothing_read(paths: Sequence[Path], wanted: Sequence[Path], problems: Sequence[str], told: bool) -> str:
    """What is said if no file could be read; problems that were told before are not said again."""
    others = "they hold no text" if wanted else "they lie in the index's own folder"
    why = "" if problems and told else f" ({next(iter(problems), others)})"
    return f"{_named(paths)}: no documents could be read, so no index was made{why}"


def _named(paths: Sequence[Path]) -> str:
    return f"{', '.join(map(str, paths[:3]))}{', ...' if len(paths) > 3 else ''}"


def _below(path: str, folders: Set[str]) -> bool:
    """Whether a full path is one of these, or below one."""
    while path not in folders:
        parent = os.path.dirname(path)  # noqa: PTH120  (pathlib takes ten times as long, and an index may have many sources)
        if parent == path:
            return False
        path = parent
    return True


def _with_folders(paths: Iterable[str]) -> set[str]:
    """Full paths, and all folders above them."""
    places: set[str] = set()
    for path in paths:
        while path not in places:
            places.add(path)
            path = os.path.dirname(path)  # noqa: PTH120, PLW2901
    return places


def _with_sizes(files: Sequence[Path]) -> Iterator[tuple[Path, int, int, int]]:
    """Each file with its bytes, those of the files before it, and those of all."""
    sizes = []
    for file in files:
        try:
            sizes.append(file.stat().st_size)
        except OSError:  # the reader will say why
            sizes.append(0)
    total = sum(sizes)
    for file, size, done in zip(files, sizes, accumulate(sizes), strict=True):
        yield file, size, done - size, total


@dataclass
class _FileProgress:
    """Tells how much of a file is encoded, by the characters of its documents; ``before`` are the bytes of earlier files."""

    path: Path
    size: int
    before: int
    total: int
    on_file: OnFile
    advance: Advance
    characters: int = 0

    def while_adding(self, document: Document, writer: IndexWriter) -> Advance:
        """An Advance for what is encoded while a document of the file is added."""
        whole = len(document.text) if document.key == str(self.path) else self.size  # else one of many, as a table's rows
        begin, steps = self.characters, 0
        self.characters += len(document.text)

        def encoded(count: int) -> None:
            nonlocal steps
            self.advance(count)
            steps += count
            done = begin + len(document.text) * min(1.0, steps / max(1, writer.waiting))
            self.on_file(self.path, self.before + int(self.size * min(1.0, done / max(1, whole))), self.total)

        return encoded


def _read(writer: IndexWriter, file: Path, fields: Fields, progress: _FileProgress, warn: Callable[[str], None]) -> int:
    """Hand the documents of a file to the writer. Returns their number; 0 if the index has them as they are."""
    source = str(file)
    revision = file_revision(file, fields)
    if writer.fresh(source, revision):
        return 0
    begun, number = time.time_ns(), 0
    for document in read_documents(file, fields, lambda line: warn(f"{file}: {line}")):
        number += 1
        writer.report.read(document)
        for line in coverage_warnings(document):
            warn(f"{file}: {line}")
        writer.add(document, source, advance=progress.while_adding(document, writer))
    # A file that changed while it was read is read once more next time.
    same = file_revision(file, fields) == revision
    writer.finish_source(source, read_revision(revision, begun) if same else None)
    return number


def _folder_mode(files: Iterable[Path]) -> int:
    """The mode of a new index's folder: its group, and others, may enter if they may read every file that it is made of."""
    places, folders = set(files), {file.parent.resolve() for file in files}
    places.update(folders, *(folder.parents for folder in folders))
    mode = 0o777
    for place in places:
        try:
            status = place.stat()
        except OSError:  # the reader will say why
            continue
        wanted = 0o011 if stat.S_ISDIR(status.st_mode) else 0o044
        allowed = status.st_mode & wanted
        if not allowed & 0o007:
            mode &= ~0o007 if allowed and status.st_gid == os.getegid() else 0o700
    return mode
