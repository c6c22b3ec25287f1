"""A hook of mkdocs: the reference's tables of recipe keys are printed from the recipes."""

from __future__ import annotations

from oreqa.training.recipe_keys import recipe_reference

PLACE = "<!-- the keys of every recipe -->"


def on_page_markdown(markdown: str, **_: object) -> str:
    """The page with the tables in their place."""
    return markdown.replace(PLACE, recipe_reference())
