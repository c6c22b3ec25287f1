"""The errors a user can meet. Each message is one line: what is wrong, where, and how to fix it."""

from __future__ import annotations

from typing import Any

INSTALL_TRAIN = "pip install 'oreqa[train]'"
"""The command that installs what training needs."""

INSTALL_SERVE = "pip install 'oreqa[serve]'"
"""The command that installs what the server needs."""


_LINE_BREAKS = str.maketrans(
    {
        **{code: 0x2400 + code for code in (*range(0x0A, 0x0E), *range(0x1C, 0x1F))},
        **dict.fromkeys((0x85, 0x2028, 0x2029), 0x2424),
    }
)
"""Maps line breaks to visible marks."""


_LONGEST = 5_000
"""Characters of a message: enough for the longest path and its problem."""


class OreqaError(Exception):
    """Base class of the errors that oreqa raises on purpose; the command line prints them without a traceback.

    Line breaks in the names and values quoted by a message become marks, such as ``␊``. Very long messages are cut in the
    middle.
    """

    exit_code = 1

    def __init__(self, message: str = "", **details: Any) -> None:
        self.details = details
        """What --json prints besides the message."""
        if len(message) > _LONGEST:
            message = f"{message[: _LONGEST // 2]} … {message[3 - _LONGEST // 2 :]}"
        super().__init__(message.translate(_LINE_BREAKS))


class InputError(OreqaError):
    """An argument, file or request is invalid."""

    exit_code = 2


class DocumentError(InputError):
    """A document cannot be read; other documents are not affected."""


class ModelError(InputError):
    """A model folder is missing, incomplete, or of an architecture that oreqa does not support."""


class IndexStateError(InputError):
    """An index is missing, incomplete, locked by another process, or was built with other settings."""


def describe(error: BaseException) -> str:
    """Return a library's error as one short printable line, with the name of its type."""
    words = " ".join(f"{type(error).__name__}: {error}".split())[:120].rstrip(": ")
    return "".join(character if character.isprintable() else "?" for character in words)
