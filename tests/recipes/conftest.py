"""The scripts of recipes/base import one another, as they do when they are run."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "recipes" / "base"))
