"""An index's folder among the arguments of a command, which takes it as ``--index``."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from oreqa.errors import InputError
from oreqa.paths import default_index, need_index


def refuse_index(context: Any, words: Iterable[Any]) -> None:
    """Raise InputError, with what to type, if one of a command's arguments is the folder of an index."""
    from oreqa.index.generations import newest_generation

    for word in words:
        if isinstance(word, str) and os.path.isdir(word) and newest_generation(Path(word)) is not None:  # noqa: PTH112
            from oreqa.index.removal import how_to_delete  # only now: it takes time to import

            name = shlex.quote(word)
            delete = f"; to delete all of it: {how_to_delete(Path(word))}" if context.command.name == "remove" else ""
            raise InputError(f"{word} is an index; name it with --index: {_usage(context)} --index {name}{delete}")


def index_here(context: Any) -> Path:
    """Return the default index of a command that names none.

    Raises InputError if there is none, with what to type if an argument is an index.
    """
    if default_index() is None:
        for value in context.params.values():
            refuse_index(context, value if isinstance(value, list | tuple) else [value])
    return need_index()


def _usage(context: Any) -> str:
    """Return a command with the names of its arguments."""
    arguments = [each for each in context.command.params if each.param_type_name == "argument"]
    return " ".join([context.command_path, *(str(each.metavar or each.name).upper() for each in arguments)])
