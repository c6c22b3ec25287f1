"""Indexes files: finds them, reads them, and passes them to the writer."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from pathlib import Path

from oreqa.arguments import as_index_folder, as_paths, kind_of, text_list
from oreqa.core import Document
from oreqa.corpus.files import FoundFiles, find_files
from oreqa.corpus.process import end_parser
from oreqa.corpus.readers import Fields, read_documents
from oreqa.corpus.unread import include_hint, include_patterns
from oreqa.errors import DocumentError, InputError, OreqaError
from oreqa.index.coverage import Report, coverage_warnings
from oreqa.index.generations import newest_generation
from oreqa.index.revisions import IN_MEMORY, file_revision, read_revision
from oreqa.index.store import Settings
from oreqa.index.writer import IndexWriter, open_writer
from oreqa.models.encoder.encoder import Encoder
from oreqa.paths import full_path
from oreqa.progress import Advance, Progress, no_progress, report_kept, show

OnFile = Callable[[Path, int, int], None]
"""Receives the file being read, the bytes read and encoded so far, and the bytes of all files but the unchanged ones."""


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
    """Add or update the documents of a file or folder, or of a list of them, and publish them together.

    A new index is created with ``settings``, or with the defaults and the ``model``; an existing index keeps its own.
    ``include`` and ``exclude`` are .gitignore patterns; ``fields`` names the columns of tables. A loaded ``encoder``
    is used if it is the index's.

    What cannot be read is reported to ``on_problem``, one line per file or folder, and keeps its indexed content; with
    ``strict`` the first problem raises DocumentError and nothing is published. ``on_warning`` gets a line for each file
    from which too little text was extracted, ``on_file`` each file before it is read and again as its passages are
    encoded. ``prune`` removes documents whose file or row is no longer in ``paths``, which may be missing themselves; other
    documents, and those of ``index_documents``, are kept. After an interruption, call it again: encoded passages are
    kept. Raises InputError for invalid arguments, IndexStateError if the index cannot be written or has other settings,
    OreqaError if a new index would be empty.

    Examples:
        >>> index_files("handbook", ["docs", Path("notes.txt")], exclude="*.jsonl")
        Report(added=3, passages=4, encoded=4)
    """
    if fields is not None and not isinstance(fields, Fields):
        raise InputError(f"fields are Fields(text=..., title=..., id=...), not {kind_of(fields)}")
    folder, paths = as_index_folder(folder), as_paths(paths)
    is_new = newest_generation(folder) is None
    files = find_files(paths, text_list(include, "include"), text_list(exclude, "exclude"), may_be_missing=not is_new)
    roots, index = {str(full_path(root)) for root in paths}, _own_paths(folder, paths)
    if is_new and not files.files and not files.skipped:
        raise OreqaError(_no_documents(paths, files))
    mode = _folder_mode(files.files) if is_new else 0o777
    with (
        show(progress, "encoding passages") as advance,
        open_writer(folder, settings, device, model=model, mode=mode, encoder=encoder) as writer,
    ):
        indexed = writer.current.sources() if files.missing or files.unsupported else set()
        _refuse_missing(files.missing, indexed, prune)
        files = files.with_indexed(indexed)
        writer.report.note_unsupported(files.unknown, files.examples, include_patterns(files.unsupported))

        def skip(file: Path, reason: str) -> None:
            line = f"{file}: {reason}"
            if strict:
                raise DocumentError(f"{line} (--strict: nothing was published)")
            writer.report.problems.append(line)
            if on_problem is not None:
                on_problem(line)

        for path, reason in files.skipped:
            skip(path, reason)

        def warn(line: str) -> None:
            writer.report.warnings.append(line)
            on_warning(line)

        wanted = [file for file in files.files if not _below(str(file), index)]
        sizes = _sizes(wanted)
        done, documents = _Done(writer, on_file, advance, sum(sizes)), 0
        try:
            for file, size in zip(wanted, sizes, strict=True):
                done.begin(file, size)
                try:
                    documents += _read(writer, file, fields or Fields(), done, warn)
                except DocumentError as error:
                    skip(file, str(error))
                    writer.keep(str(file))
        finally:
            end_parser()  # frees its memory for the search files
        if is_new and not documents:
            raise OreqaError(_nothing_read(paths, wanted, writer.report.problems, on_problem is not None))
        done.flush()
        unseen = {str(path) for path, _ in files.skipped}  # what they contain cannot be seen, so it counts as present

        def searched(source: str) -> bool:
            return _below(source, roots) and not _below(source, unseen) and writer.current.revision(source) != IN_MEMORY

        writer.remove_unseen(searched, prune)
        writer.publish(advance)
        return writer.report


def _refuse_missing(missing: Sequence[Path], sources: Set[str], prune: bool) -> None:
    """Raise InputError for a path that does not exist, unless the index has documents of it and may ``prune`` them."""
    places = _with_folders(sources) if missing else set()
    for path in missing:
        indexed = str(full_path(path)) in places
        if not (prune and indexed):
            hint = ", but the index has documents of it: --prune removes them" if indexed else ""
            raise InputError(f"{path}: there is no such file or folder{hint}")


def _no_documents(paths: Sequence[Path], files: FoundFiles) -> str:
    """Return the message if no file is read, with how to read those of other kinds that hold text."""
    kinds = [f"{number} {kind or 'without a suffix'}" for kind, number in files.unknown.items()]
    others = f" among files of other kinds ({', '.join(kinds[:5])}{', ...' if len(kinds) > 5 else ''})" if kinds else ""
    way = include_hint(include_patterns(files.unsupported))
    return f"{_named(paths)}: no documents found{others}, so no index was made; {way or 'name others, or change --include'}"


def _nothing_read(paths: Sequence[Path], wanted: Sequence[Path], problems: Sequence[str], are_reported: bool) -> str:
    """Return the message if no file could be read, without problems already reported."""
    others = "they hold no text" if wanted else "they lie in the index's own folder"
    why = "" if problems and are_reported else f" ({next(iter(problems), others)})"
    return f"{_named(paths)}: no documents could be read, so no index was made{why}"


def _named(paths: Sequence[Path]) -> str:
    return f"{', '.join(map(str, paths[:3]))}{', ...' if len(paths) > 3 else ''}"


def _below(path: str, folders: Set[str]) -> bool:
    """Return whether a full path is one of these or below one."""
    while path not in folders:
        parent = os.path.dirname(path)  # noqa: PTH120  (pathlib takes ten times as long, and an index may have many sources)
        if parent == path:
            return False
        path = parent
    return True


def _own_paths(folder: Path, paths: Iterable[Path]) -> set[str]:
    """Return the names of the index's folder, including those by which links in ``paths`` lead into it."""
    real = os.path.realpath(folder)
    return {
        str(full_path(folder)),
        real,
        *(str(full_path(path)) for path in paths if _below(os.path.realpath(path), {real})),
    }


def _with_folders(paths: Iterable[str]) -> set[str]:
    """Return full paths with all of their parent folders."""
    places: set[str] = set()
    for path in paths:
        while path not in places:
            places.add(path)
            path = os.path.dirname(path)  # noqa: PTH120, PLW2901
    return places


def _sizes(files: Sequence[Path]) -> list[int]:
    """Return the sizes of files; 0 for those that cannot be read, which the reader will report."""
    sizes = []
    for file in files:
        try:
            sizes.append(file.stat().st_size)
        except OSError:
            sizes.append(0)
    return sizes


@dataclass
class _Done:
    """Reports progress as bytes of the ``total`` of all files: those read, times the share encoded.

    Unchanged files are excluded from both. Call it with the number of encoded passages.
    """

    writer: IndexWriter
    on_file: OnFile
    advance: Advance
    total: int
    path: Path = Path()
    size: int = 0
    before: int = 0  # bytes of the files before this one
    read: int = 0  # bytes passed to the writer
    characters: int = 0  # of this file's documents
    encoded: int = 0
    settled: int = 0  # encoded before the current batch

    def begin(self, path: Path, size: int) -> None:
        """Begin the next file."""
        self.before += self.size
        self.path, self.size, self.characters = path, size, 0
        self.settle()
        self.tell()

    def skip(self) -> None:
        """Skip an unchanged file."""
        self.total -= self.size
        self.size = 0
        self.tell()

    def adding(self, document: Document) -> None:
        """Note that a document of the file is about to be added."""
        self.settle()
        whole = len(document.text) if document.key == str(self.path) else self.size  # else one of many, as a table's rows
        self.characters = min(self.characters + len(document.text), whole)
        self.read = self.before + int(self.size * self.characters / max(1, whole))

    def settle(self) -> None:
        """Note that no batch is being encoded."""
        self.settled = self.encoded

    def flush(self) -> None:
        """Encode what is pending."""
        self.settle()
        self.writer.flush(self)

    def __call__(self, passages: int) -> None:
        self.advance(passages)
        self.encoded += passages
        self.tell()

    def kept(self, passages: int) -> None:
        """Note passages that were encoded before."""
        report_kept(self.advance, passages)
        self.encoded += passages
        self.tell()

    def tell(self) -> None:
        passages = self.settled + self.writer.waiting
        self.on_file(self.path, int(self.read * self.encoded / passages) if passages else 0, self.total)


def _read(writer: IndexWriter, file: Path, fields: Fields, done: _Done, warn: Callable[[str], None]) -> int:
    """Pass a file's documents to the writer. Returns their number; 0 if the file is unchanged."""
    source = str(file)
    revision = file_revision(file, fields)
    if writer.fresh(source, revision):
        done.skip()
        writer.report.files += 1
        return 0
    started, number = time.time_ns(), 0
    for document in read_documents(file, fields, lambda line: warn(f"{file}: {line}")):
        number += 1
        writer.report.read(document)
        for line in coverage_warnings(document):
            warn(f"{file}: {line}")
        done.adding(document)
        writer.add(document, source, advance=done)
    writer.report.files += number > 0
    # A file that changed while it was read is read again next time.
    same = file_revision(file, fields) == revision
    writer.finish_source(source, read_revision(revision, started) if same else None)
    return number


def _folder_mode(files: Iterable[Path]) -> int:
    """Return the mode for a new index's folder: group and others may enter if they may read every indexed file."""
    places, folders = set(files), {file.parent.resolve() for file in files}
    places.update(folders, *(folder.parents for folder in folders))
    mode = 0o777
    for place in places:
        try:
            status = place.stat()
        except OSError:  # the reader will report the reason
            continue
        wanted = 0o011 if stat.S_ISDIR(status.st_mode) else 0o044
        allowed = status.st_mode & wanted
        if not allowed & 0o007:
            mode &= ~0o007 if allowed and status.st_gid == os.getegid() else 0o700
    return mode
