"""Parameters of tests that take long."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def first_and_system(values: Iterable[Any]) -> list[Any]:
    """``values``, of which make test runs the first, and .ci/run all."""
    first, *rest = values
    return [first, *(pytest.param(value, marks=pytest.mark.system) for value in rest)]
