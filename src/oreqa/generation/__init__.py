"""Questions made from documents alone: answers that passages offer, a question for each, and filters.

It is the data of ProQA's progressive pretraining (Xiong et al. 2021, section 2.2).
``generate_questions`` does what the command ``oreqa generate`` does, ``mine_definitions`` what ``oreqa mine definitions``
does. The functions are imported when they are asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oreqa.generation.candidates import answer_candidates
    from oreqa.generation.definitions import mine_definitions
    from oreqa.generation.generate import generate_questions

__all__ = ["answer_candidates", "generate_questions", "mine_definitions"]

_HOMES = {"answer_candidates": "candidates", "generate_questions": "generate", "mine_definitions": "definitions"}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(f"oreqa.generation.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'oreqa.generation' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
