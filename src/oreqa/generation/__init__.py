"""Questions made from documents alone: answers that passages offer, a question for each, and filters.

It is the data of ProQA's progressive pretraining (Xiong et al. 2021, section 2.2).
``generate_questions`` does what the command ``oreqa generate`` does. It is imported when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from oreqa.generation.generate import generate_questions

__all__ = ["generate_questions"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from oreqa.generation.generate import generate_questions

        return generate_questions
    raise AttributeError(f"module 'oreqa.generation' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
