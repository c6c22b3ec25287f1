"""Generates questions from documents alone: candidate answers in passages, a question for each, and filters.

This is the data of ProQA's progressive pretraining (Xiong et al. 2021, section 2.2). ``generate_questions`` does what the
command ``oreqa generate`` does. The functions are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oreqa.lazy import lazy_names

if TYPE_CHECKING:
    from oreqa.generation.candidates import answer_candidates as answer_candidates
    from oreqa.generation.generate import generate_questions as generate_questions

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
