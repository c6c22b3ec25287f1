"""Prompts: the text that precedes every question and every passage an encoder reads.

sentence-transformers stores them in config_sentence_transformers.json. Some well-known models have theirs only in their
cards, where no program finds them: those are listed here by model name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from oreqa.errors import ModelError

_SEARCH = "Represent this sentence for searching relevant passages: "

PROMPTS_BY_NAME = {
    r"(multilingual-)?e5-(small|base|large)(-v2|-unsupervised)?": ("query: ", "passage: "),
    r"bge-(small|base|large)-en(-v1\.5)?": (_SEARCH, ""),
    r"bge-(small|base|large)-zh(-v1\.5)?": ("为这个句子生成表示以用于检索相关文章：", ""),
    r"(uae|mxbai-embed)-large-v1": (_SEARCH, ""),
    r"modernbert-embed-(base|large)": ("search_query: ", "search_document: "),
}
"""Maps the last part of a model's name on the Hub (or of its folder), in lower case, to its card's prompts for questions and
passages."""

_QUESTION, _PASSAGES = "query", ("document", "passage", "corpus")
"""sentence-transformers' names of the prompts."""

_HUB_FOLDER = re.compile(r"models--(.+--)?(.+)")
"""A model's folder in the Hub's cache, which contains its revisions."""


@dataclass(frozen=True, slots=True)
class Prompts:
    """The texts before a question and before a passage. ``by_name`` says that they come from the name, not the files."""

    question: str = ""
    passage: str = ""
    by_name: bool = field(default=False, compare=False)

    def __str__(self) -> str:
        texts = {"questions": self.question, "passages": self.passage}
        shown = [f"{kind} begin with {text!r}" for kind, text in texts.items() if text]
        return f"{', '.join(shown) or 'none'} (by the model's {'name' if self.by_name else 'files'})"

    def __bool__(self) -> bool:
        return bool(self.question or self.passage)


def read_prompts(path: Path, settings: Mapping[str, Any]) -> Prompts:
    """Return the prompts of the model in ``path``; ``settings`` is the content of config_sentence_transformers.json.

    They are chosen like sentence-transformers' ``encode_query`` and ``encode_document`` do: for questions ``query``, for
    passages the first of ``document``, ``passage`` and ``corpus`` that is not empty, as sentence-transformers saves an empty
    ``document`` beside another. If there is none of these, both are the default prompt, as for ``encode``. If the file has
    none, or only the empty ones that sentence-transformers saves by default, they are those of PROMPTS_BY_NAME. Raises
    ModelError if the settings are damaged.
    """
    texts, default = settings.get("prompts") or {}, settings.get("default_prompt_name")
    if not isinstance(texts, dict) or not all(isinstance(text, str | None) for text in texts.values()):
        raise ModelError(f"{path}: its prompts must be texts by name (prompts in config_sentence_transformers.json)")
    if default is not None and default not in texts:
        raise ModelError(f"{path}: it has no prompt of its default_prompt_name {default!r}")
    named = [name for name in (_QUESTION, *_PASSAGES) if name in texts]
    by_name = next((Prompts(*prompts, by_name=True) for name in _names(path) if (prompts := _by_name(name))), Prompts())
    if by_name and not any(texts.values()):
        return by_name
    if named:
        passage = next((texts[name] for name in named if name in _PASSAGES and texts[name]), "")
        return Prompts(texts.get(_QUESTION) or "", passage)
    if default is not None:
        return Prompts(texts[default] or "", texts[default] or "")
    return by_name


def _names(path: Path) -> list[str]:
    hub = [match[2] for part in path.parts if (match := _HUB_FOLDER.fullmatch(part))]
    return [name.lower() for name in (*hub, path.name)]


def _by_name(name: str) -> tuple[str, str] | None:
    return next((prompts for pattern, prompts in PROMPTS_BY_NAME.items() if re.fullmatch(pattern, name)), None)
