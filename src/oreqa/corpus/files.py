"""Paths to the files to read: recursive, with globs and ignore rules."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pathspec

from oreqa.corpus import limits
from oreqa.corpus.readers import known, open_file
from oreqa.errors import InputError, describe

IGNORE_FILE = ".oreqaignore"
"""A file of this name in a folder lists, as a .gitignore does, what below it is not to be indexed."""

_NOT_UNICODE = "its name is not UTF-8: rename it"
_SURROGATE = re.compile("[\ud800-\udfff]")
_Rules = tuple[tuple[int, pathspec.GitIgnoreSpec], ...]
_ALWAYS_IGNORED = (".*", "node_modules/", "__pycache__/")


@dataclass(frozen=True, slots=True)
class FoundFiles:
    """The files to read, sorted, and what is passed over.

    ``unknown`` counts the files of kinds that no reader knows, by the ends of their names. ``left_out`` names what is there
    but is not read, with a one-line reason: folders that cannot be opened, links out of the folder named, pipes, devices.
    Documents at or below such a path are kept.
    """

    files: tuple[Path, ...]
    unknown: Mapping[str, int]
    left_out: tuple[tuple[Path, str], ...] = ()


def find_files(paths: Sequence[Path], include: Sequence[str] = (), exclude: Sequence[str] = ()) -> FoundFiles:
    """Every readable file below ``paths``, once, as absolute paths.

    ``include`` and ``exclude`` are patterns as in .gitignore, matched below each folder. Hidden files are left out, and
    what a folder's .oreqaignore lists. A file named outright is always taken. Links are followed to files of the folder
    named, and where they are named outright. Raises InputError if a path does not exist, or is no file and no folder.
    """
    walk = _Walk(_spec(include) if include else None, _spec([*_ALWAYS_IGNORED, *exclude]))
    for path in paths:
        walk.add(path)
    return FoundFiles(tuple(sorted(walk.files)), dict(walk.unknown.most_common()), tuple(sorted(walk.left_out.items())))


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder to be walked: ``place`` is its path below the folder named, with a slash after each name.

    ``rules`` are those of the ignore files above it, each with the length of its own folder's place.
    """

    path: Path
    place: str
    rules: _Rules


def full_path(path: Path) -> Path:
    """A path from the root without "..", links kept: so documents' sources are named."""
    return Path(os.path.normpath(path.absolute()))


class _Walk:
    def __init__(self, wanted: pathspec.GitIgnoreSpec | None, ignored: pathspec.GitIgnoreSpec) -> None:
        self._wanted = wanted
        self._ignored = ignored
        self.files: set[Path] = set()
        self.unknown: Counter[str] = Counter()
        self.left_out: dict[Path, str] = {}

    def add(self, path: Path) -> None:
        """Take a path that was named outright."""
        root = full_path(path)
        try:
            mode = path.stat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            raise InputError(f"{_printable(str(path))}: there is no such file or folder") from None
        except (OSError, ValueError) as error:
            if not isinstance(error, PermissionError):  # too long a name, say: no such file can be there
                raise InputError(f"{_printable(str(path))}: it cannot be read: {_reason(error)}") from error
            self.left_out[Path(_printable(str(root)))] = f"it cannot be read: {_reason(error)}"
            return
        if _printable(str(root)) != str(root):
            self.left_out[Path(_printable(str(root)))] = _NOT_UNICODE
        elif stat.S_ISDIR(mode):
            self._walk(root)
        elif stat.S_ISREG(mode):
            self.files.add(root)
        else:
            raise InputError(f"{path}: it is {_kind(mode)}, not a file or a folder")

    def _walk(self, root: Path) -> None:
        real = os.path.realpath(root).rstrip(os.sep) + os.sep
        waiting = [_Folder(root, "", ())]  # no recursion: folders may be nested deeper than calls can be
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(folder.path) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
                rules = folder.rules
                if any(entry.name == IGNORE_FILE for entry in entries):
                    rules = (*rules, (len(folder.place), _read_rules(folder.path / IGNORE_FILE)))
            except (OSError, InputError) as error:
                self.left_out[folder.path] = f"it cannot be read: {_reason(error)}"
                continue
            for entry in entries:
                try:
                    if self._visit(entry, folder, rules, real):
                        waiting.append(_Folder(folder.path / entry.name, f"{folder.place}{entry.name}/", rules))
                except OSError as error:
                    self.left_out[folder.path / _printable(entry.name)] = f"it cannot be read: {_reason(error)}"

    def _visit(self, entry: os.DirEntry[str], folder: _Folder, rules: _Rules, real: str) -> bool:
        """Take an entry of a folder, leave it out, or say that it is a folder to go on with."""
        name = _printable(entry.name)
        path, place = folder.path / name, folder.place + name
        is_folder = entry.is_dir(follow_symlinks=False)
        marked = f"{place}/" if is_folder else place
        if self._ignored.match_file(marked) or any(spec.match_file(marked[length:]) for length, spec in rules):
            return False
        if not is_folder and self._wanted and not self._wanted.match_file(place):
            return False
        if name != entry.name:
            self._leave_out(path, is_folder, _NOT_UNICODE)
        elif is_folder:
            return True
        elif entry.is_symlink():
            self._visit_link(path, real)
        else:
            self._take(path, entry.stat(follow_symlinks=False).st_mode)
        return False

    def _visit_link(self, path: Path, real: str) -> None:
        try:
            mode = path.stat().st_mode
        except OSError as error:
            self._leave_out(path, False, f"it is a link that leads nowhere: {_reason(error)}")
            return
        is_folder = stat.S_ISDIR(mode)
        if not (os.path.realpath(path) + os.sep).startswith(real):
            self._leave_out(path, is_folder, "it is a link out of the folder: name it, too, to have it read")
        elif not is_folder:  # what a folder holds is found where it is
            self._take(path, mode)

    def _take(self, path: Path, mode: int) -> None:
        if not stat.S_ISREG(mode):
            self.left_out[path] = f"it is {_kind(mode)}"
        elif known(path):
            self.files.add(path)
        else:
            self.unknown[path.suffix.lower()] += 1

    def _leave_out(self, path: Path, is_folder: bool, reason: str) -> None:
        if is_folder or known(path):
            self.left_out[path] = reason
        else:
            self.unknown[path.suffix.lower()] += 1


def _read_rules(path: Path) -> pathspec.GitIgnoreSpec:
    """The rules of an ignore file. Without them nothing says what its folder wants to keep out, and it is not read."""
    try:
        with open_file(path) as file:
            data = file.read(limits.IGNORE_FILE_BYTES + 1)
        if len(data) > limits.IGNORE_FILE_BYTES:
            raise InputError(f"it is larger than {limits.IGNORE_FILE_BYTES >> 10} kB")
        return _spec(data.decode("utf-8-sig").splitlines())
    except (OSError, InputError, UnicodeDecodeError) as error:
        raise InputError(f"{IGNORE_FILE} is not usable ({_reason(error)})") from error


def _spec(patterns: Sequence[str]) -> pathspec.GitIgnoreSpec:
    try:
        # The standard library's regular expressions can take for ever over a pattern of many stars.
        return pathspec.GitIgnoreSpec.from_lines(patterns, backend="re2")
    except Exception as error:  # of pathspec, re or re2, which share no base
        raise InputError(f"a pattern cannot be understood: {describe(error)}") from error


def _kind(mode: int) -> str:
    kinds = {stat.S_IFIFO: "a named pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}
    return kinds.get(stat.S_IFMT(mode), "something special")


def _printable(path: str) -> str:
    """A path, its bytes that are no UTF-8 (halves of characters in Python's strings) as ``\\xff``."""
    return _SURROGATE.sub(lambda match: f"\\x{ord(match.group()) & 0xFF:02x}", path)


def _reason(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) if isinstance(error, InputError) else describe(error)
