"""Finds the files to index below the given paths, by .gitignore patterns and ignore files."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

import pathspec

from oreqa.corpus import limits
from oreqa.corpus.opening import open_file
from oreqa.corpus.readers import is_supported
from oreqa.corpus.unread import archive_suffix, how_to_download, how_to_unpack, is_document_name, may_be_gzipped_text
from oreqa.errors import InputError, describe
from oreqa.paths import full_path, is_generation

IGNORE_FILE = ".oreqaignore"
"""Name of the file that lists, in .gitignore syntax, what not to index in its folder and below."""

_NOT_UNICODE = "its name is not UTF-8: rename it"
_SURROGATE = re.compile("[\ud800-\udfff]")
_Rules = tuple[tuple[int, pathspec.GitIgnoreSpec], ...]
_ALWAYS_IGNORED = (".*", "node_modules/", "__pycache__/")


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The files to read, sorted, and what is not read.

    ``unsupported`` are files of unsupported types. ``skipped`` lists paths that exist but are not read, each with a
    one-line reason: folders that cannot be opened, links out of the named folder, pipes, devices. Documents already indexed
    from such a path or below it are kept. ``missing`` are the paths, as they were named, that do not exist.
    """

    files: tuple[Path, ...]
    unsupported: tuple[Path, ...] = ()
    skipped: tuple[tuple[Path, str], ...] = ()
    missing: tuple[Path, ...] = ()

    @property
    def unknown(self) -> dict[str, int]:
        """Return the number of unsupported files by extension, the most frequent first."""
        return dict(Counter(map(_extension, self.unsupported)).most_common())

    @property
    def examples(self) -> dict[str, Path]:
        """Return the first unsupported file of each extension."""
        return {_extension(path): path for path in reversed(self.unsupported)}

    def with_indexed(self, indexed: Collection[str]) -> FoundFiles:
        """Return the files plus those unsupported files that an index holds, by path: they are read again."""
        again = {path for path in self.unsupported if str(path) in indexed}
        rest = tuple(path for path in self.unsupported if path not in again)
        return replace(self, files=tuple(sorted({*self.files, *again})), unsupported=rest)


def find_files(
    paths: Sequence[Path], include: Sequence[str] = (), exclude: Sequence[str] = (), may_be_missing: bool = False
) -> FoundFiles:
    """Find every supported file at or below ``paths``, each once, as an absolute path.

    ``include`` and ``exclude`` are .gitignore patterns, matched relative to each folder in ``paths``. A file of another kind
    is included if an include pattern ends in its extension, e.g. "*.nft", or, without extension, in its name: "COPYING";
    README and the like are read anyway. Hidden files, files listed in an .oreqaignore, and subfolders that are indexes are
    skipped. A file named in ``paths`` is always included. Symbolic links are followed if ``paths`` names them, or if they
    lead to files within the named folder that have no other name there.

    Raises InputError if a path does not exist, unless paths ``may_be_missing``, or is neither a file nor a folder, for a
    web address, and if all paths are archives that are not supported.
    """
    _refuse_unread(paths)
    wanted = _spec(include) if include else None
    walk = _Walk(wanted, _named_kinds(include), _named_files(include), _spec([*_ALWAYS_IGNORED, *exclude]), may_be_missing)
    for path in paths:
        walk.add(path)
    walk.add_linked_files()
    skipped = tuple(sorted(walk.skipped.items()))
    return FoundFiles(tuple(sorted(walk.files)), tuple(sorted(walk.unsupported)), skipped, tuple(sorted(walk.missing)))


def _refuse_unread(paths: Sequence[Path]) -> None:
    """Raise InputError, with what to do, for a web address, and if all paths are unsupported archives.

    An archive among other paths is skipped like any unreadable file: a shell's ``*`` names all files.
    """
    for path in paths:
        if line := how_to_download(path):
            raise InputError(_printable(line))
    unpacked = (path for path in paths if how_to_unpack(path) and not may_be_gzipped_text(path))
    archives = [path for path in unpacked if path.is_file() and not is_supported(path)]
    if archives and len(archives) == len(paths):
        first = _printable(str(archives[0]))
        others = f" ({len(archives) - 1} more are, too)" if len(archives) > 1 else ""
        raise InputError(f"{first}: {how_to_unpack(archives[0], first)}{others}")


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to walk. ``relative`` is its path below the named folder, with a slash after each name.

    ``rules`` are those of the ignore files above it, each with the length of that folder's relative path.
    """

    path: Path
    relative: str
    rules: _Rules


class _Walk:
    def __init__(
        self,
        wanted: pathspec.GitIgnoreSpec | None,
        kinds: frozenset[str],
        names: frozenset[str],
        ignored: pathspec.GitIgnoreSpec,
        may_be_missing: bool,
    ) -> None:
        self._wanted = wanted
        self._kinds = kinds
        self._names = names
        self._ignored = ignored
        self._may_be_missing = may_be_missing
        self.missing: set[Path] = set()
        self.files: set[Path] = set()
        self.links: set[Path] = set()
        self.unsupported: set[Path] = set()
        self.skipped: dict[Path, str] = {}

    def add(self, path: Path) -> None:
        """Add a path that the caller named."""
        root = full_path(path)
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            if self._may_be_missing:
                self.missing.add(path)
                return
            raise InputError(f"{_printable(str(path))}: there is no such file or folder") from None
        except (OSError, ValueError) as error:
            if not isinstance(error, PermissionError):  # such as a name too long for any file
                raise InputError(f"{_printable(str(path))}: it cannot be read: {_reason(error)}") from error
            self.skipped[Path(_printable(str(root)))] = f"it cannot be read: {_reason(error)}"
            return
        if _printable(str(root)) != str(root):
            self.skipped[Path(_printable(str(root)))] = _NOT_UNICODE
        elif stat.S_ISDIR(mode):
            self._walk(root)
        elif stat.S_ISREG(mode):
            self.files.add(root)
        else:
            raise InputError(f"{path}: it is {_kind(mode)}, not a file or a folder")

    def add_linked_files(self) -> None:
        """Add the files that were found only through links, each under its first link."""
        real = {os.path.realpath(file) for file in self.files} if self.links else set()
        for link in sorted(self.links):
            if (target := os.path.realpath(link)) not in real:
                real.add(target)
                self.files.add(link)

    def _walk(self, root: Path) -> None:
        real = os.path.realpath(root).rstrip(os.sep) + os.sep
        pending = [_Folder(root, "", ())]  # a stack, not recursion: folders may be nested deeper than Python's call limit
        while pending:
            folder = pending.pop()
            try:
                with os.scandir(folder.path) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
                if folder.relative and any(is_generation(Path(entry.path)) for entry in entries):
                    continue  # the folder is an index, not documents
                rules = folder.rules
                if any(entry.name == IGNORE_FILE for entry in entries):
                    rules = (*rules, (len(folder.relative), _read_rules(folder.path / IGNORE_FILE)))
            except (OSError, InputError) as error:
                self.skipped[folder.path] = f"it cannot be read: {_reason(error)}"
                continue
            for entry in entries:
                try:
                    if self._visit(entry, folder, rules, real):
                        pending.append(_Folder(folder.path / entry.name, f"{folder.relative}{entry.name}/", rules))
                except OSError as error:
                    self.skipped[folder.path / _printable(entry.name)] = f"it cannot be read: {_reason(error)}"

    def _visit(self, entry: os.DirEntry[str], folder: _Folder, rules: _Rules, real: str) -> bool:
        """Add or skip a folder's entry. Returns True if it is a folder to walk."""
        name = _printable(entry.name)
        path, relative = folder.path / name, folder.relative + name
        is_folder = entry.is_dir(follow_symlinks=False)
        pattern_path = f"{relative}/" if is_folder else relative
        if self._ignored.match_file(pattern_path) or any(spec.match_file(pattern_path[length:]) for length, spec in rules):
            return False
        if not is_folder and self._wanted and not self._wanted.match_file(relative):
            return False
        if name != entry.name:
            self._skip(path, is_folder, _NOT_UNICODE)
        elif is_folder:
            return True
        elif entry.is_symlink():
            self._visit_link(path, real)
        else:
            self._add_file(path, entry.stat(follow_symlinks=False).st_mode, self.files)
        return False

    def _visit_link(self, path: Path, real: str) -> None:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            self._skip(path, not path.suffix, f"it is a broken link: {_reason(error)}")
            return
        is_folder = stat.S_ISDIR(mode)
        if not (os.path.realpath(path) + os.sep).startswith(real):
            self._skip(path, is_folder, "it is a link out of the folder: name it as well to index it")
        elif not is_folder:  # a linked folder's files are found in the folder itself
            self._add_file(path, mode, self.links)

    def _add_file(self, path: Path, mode: int, files: set[Path]) -> None:
        if not stat.S_ISREG(mode):
            self.skipped[path] = f"it is {_kind(mode)}"
        elif self._is_read(path):
            files.add(path)
        else:
            self.unsupported.add(path)

    def _is_read(self, path: Path) -> bool:
        if path.suffix:
            is_named = path.suffix.lower() in self._kinds
        else:
            is_named = any(fnmatchcase(path.name, name) for name in self._names)
        return is_named or is_document_name(path) or is_supported(path)

    def _skip(self, path: Path, is_folder: bool, reason: str) -> None:
        if is_folder or self._is_read(path):
            self.skipped[path] = reason
        else:
            self.unsupported.add(path)


def _extension(path: Path) -> str:
    return archive_suffix(path) or path.suffix.lower()


def _read_rules(path: Path) -> pathspec.GitIgnoreSpec:
    """Read an ignore file. Raises InputError if it is unusable; its folder is then skipped, rather than indexed in full."""
    try:
        with open_file(path) as file:
            data = file.read(limits.IGNORE_FILE_BYTES + 1)
        if len(data) > limits.IGNORE_FILE_BYTES:
            raise InputError(f"it is larger than {limits.IGNORE_FILE_BYTES >> 10} kB")
        return _spec(data.decode("utf-8-sig").splitlines())
    except (OSError, InputError, UnicodeDecodeError) as error:
        raise InputError(f"{IGNORE_FILE} is not usable ({_reason(error)})") from error


def _named_kinds(patterns: Sequence[str]) -> frozenset[str]:
    """Return the extensions that patterns end in, in lower case: ".nft" for "*.nft", none for "*" or "*.*"."""
    names = (PurePosixPath(pattern.rstrip()) for pattern in patterns if not pattern.startswith(("!", "#")))
    suffixes = {name.suffix.lower() for name in names}
    return frozenset(suffix for suffix in suffixes if suffix and not set(suffix) & set("*?[]\\"))


def _named_files(patterns: Sequence[str]) -> frozenset[str]:
    """Return the patterns of file names without extension: "FAQ" and "README*" for "FAQ" and "docs/README*"."""
    names = {pattern.rstrip().rpartition("/")[2] for pattern in patterns if not pattern.startswith(("!", "#"))}
    return frozenset(name for name in names if "." not in name and any(map(str.isalnum, name)))


def _spec(patterns: Sequence[str]) -> pathspec.GitIgnoreSpec:
    try:
        # The standard library's regular expressions can take exponential time on a pattern with many stars.
        return pathspec.GitIgnoreSpec.from_lines(patterns, backend="re2")
    except Exception as error:  # from pathspec, re or re2, which share no base class
        raise InputError(f"a pattern cannot be parsed: {describe(error)}") from error


def _kind(mode: int) -> str:
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    return kinds.get(stat.S_IFMT(mode), "a special file")


def _printable(path: str) -> str:
    """Return a path with its invalid UTF-8 bytes (lone surrogates in Python's strings) written as ``\\xff``."""
    return _SURROGATE.sub(lambda match: f"\\x{ord(match.group()) & 0xFF:02x}", path)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) if isinstance(error, InputError) else describe(error)
