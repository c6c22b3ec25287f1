"""The errors a user can meet. Each message is one line: what is wrong, where, and how to mend it."""

from __future__ import annotations


class OreqaError(Exception):
    """Base of every error that oreqa raises on purpose; the command line prints it without a traceback."""

    exit_code = 1


class InputError(OreqaError):
    """A file, name, number or request is not usable as given."""

    exit_code = 2


class DocumentError(InputError):
    """One document cannot be read; the others can."""


class ModelError(InputError):
    """A model folder is missing, incomplete or of an architecture that oreqa does not run."""


class IndexStateError(InputError):
    """An index is missing, incomplete, busy, or was made with other settings."""


def describe(error: BaseException) -> str:
    """An error of a library in a few words on one line, whatever it says."""
    words = " ".join(f"{type(error).__name__}: {error}".split())[:120].rstrip(": ")
    return "".join(character if character.isprintable() else "?" for character in words)
