"""Fits score weights and calibration on questions with answers: for an index, or for models that ship.

``fit_index`` does what ``oreqa fit`` does, and ``undo_fit`` what its ``--undo`` does. The names are imported on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from oreqa.lazy import lazy_names

if TYPE_CHECKING:
    from oreqa.fitting.fit import FitReport as FitReport
    from oreqa.fitting.fit import fit_index as fit_index
    from oreqa.index.change_encoder import undo_fit as undo_fit

__getattr__, __dir__, __all__ = lazy_names(__name__, __file__)
