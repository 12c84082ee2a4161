"""Variants of a test, of which only some run with the fast tests; the slow ones take the others."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest


def slow(*values: Any) -> Any:
    """One variant that runs with the slow tests."""
    return pytest.param(*values, marks=pytest.mark.slow)


def slow_but(values: Iterable[Any], *fast: Any) -> list[Any]:
    """All variants in their order; those not named run with the slow tests. Tuples are values of several parameters."""
    return [v if v in fast else slow(*v) if isinstance(v, tuple) else slow(v) for v in values]


# In place of the fixtures of these names.
SLOW_IN_SINGLE = pytest.mark.parametrize("dtype", slow_but([np.float64, np.float32], np.float64), ids=["f64", "f32"])
SLOW_IN_SPACE = pytest.mark.parametrize("dimension", slow_but([2, 3], 2), ids=["2d", "3d"])
# Results with so many threads each are compared with one another.
THREAD_COUNTS = pytest.mark.parametrize("threads", [(1, 3), slow((1, 2, 3, 5, 8))], ids=["two", "five"])
