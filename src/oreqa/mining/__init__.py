"""Mined training data: negatives, silver pairs, a reader's predictions, passages found by answer match, and cloze pairs.

Each function does what the command with its name does (``oreqa mine silver`` is ``mine_silver``). They are imported on
first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oreqa.lazy import lazy_names

if TYPE_CHECKING:
    from oreqa.mining.cloze import mine_cloze as mine_cloze
    from oreqa.mining.negatives import mine_negatives as mine_negatives
    from oreqa.mining.passages import mine_passages as mine_passages
    from oreqa.mining.predictions import mine_predictions as mine_predictions
    from oreqa.mining.silver import mine_silver as mine_silver

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
