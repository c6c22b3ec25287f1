"""Imports a package's names on first use: ``import oreqa`` and a command's help stay instant."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_names(
    package: str, file: str, others: Sequence[str] = (), check: Callable[[], None] = lambda: None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """Return the ``__getattr__``, ``__dir__`` and ``__all__`` of a package whose ``__init__.py`` is this ``file``.

    The file lists its names once, for type checkers, as ``from MODULE import NAME as NAME`` under ``if TYPE_CHECKING:``.
    Subpackages (``from PACKAGE import NAME as NAME``) are not in ``__all__``. ``others`` are names defined by the file
    itself; ``check`` is called before an import.
    """
    imports = (node for node in ast.walk(ast.parse(Path(file).read_bytes())) if isinstance(node, ast.ImportFrom))
    homes = {a.name: str(node.module) for node in imports for a in node.names if a.asname == a.name}

    def get(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        check()
        module = homes[name]
        return import_module(f"{package}.{name}") if module == package else getattr(import_module(module), name)

    public = sorted([*others, *(name for name, module in homes.items() if module != package)])
    return get, lambda: sorted({*others, *homes}), public
