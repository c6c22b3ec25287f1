"""The keys of a recipe as a table on the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich import box
from rich.table import Table

if TYPE_CHECKING:
    from oreqa.training.recipe_keys import Key


def recipe_table(title: str, keys: Sequence[Key]) -> Table:
    """Keys with their defaults, as a recipe writes them; what they can be, and what they do."""
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("key = default", no_wrap=True)
    table.add_column("can be", max_width=16)
    table.add_column("what it does")
    for key in keys:
        default = " (needed)" if key.default is None else f" = {key.default}" if key.default else ""
        table.add_row(key.name + default, key.value, key.description)
    return table
