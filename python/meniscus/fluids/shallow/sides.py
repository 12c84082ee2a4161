"""Sides of shallow water beyond which there is more of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks

Floats = npt.NDArray[np.float64]
AlongSide = float | Floats | Callable[[float], float | Floats]
"""A number, an array of one number per cell along the side, or a function of the time (s) that returns one of these."""


@dataclass(frozen=True, kw_only=True)
class OpenSide:
    """Water beyond the side that is at rest at a level: waves leave into it, and it holds the mean level.

    A wave that meets the side at an angle t is reflected by (1 - cos t) / (1 + cos t): by nothing where it meets it straight. A `Sponge`
    before the side takes waves of all angles.

    Attributes:
        level: of the surface beyond, m; a function of time makes waves that come in.
        along: velocity along the side of what comes in, m/s.

    Source: Higdon 1986, first order, as in "Real time physics class notes", (11.5), here by the Riemann invariant that leaves.
    """

    level: AlongSide
    along: AlongSide = 0.0


@dataclass(frozen=True, kw_only=True)
class InflowSide:
    """Water that comes in at a given rate.

    Where it comes slower than waves the depth follows from the water inside; where it is to come faster, the depth must be given.

    Attributes:
        discharge: into the domain per width, m^2/s, not negative: water leaves through an `OutflowSide`.
        depth: m; used where the discharge is then faster than waves. None: never.
        along: velocity along the side, m/s.
    """

    discharge: AlongSide
    depth: AlongSide | None = None
    along: AlongSide = 0.0


@dataclass(frozen=True, kw_only=True)
class OutflowSide:
    """Water that leaves.

    Attributes:
        level: of the surface at the side, m, where the flow is slower than waves. A flow that is faster, and one over an edge below which
            the level lies, leaves as it comes. None: everything leaves as it comes, and nothing comes in.
    """

    level: AlongSide | None = None


ShallowSide = OpenSide | InflowSide | OutflowSide | Literal["wall"]


def side_values(name: str, value: AlongSide | None, time: float, cells: int) -> list[float]:
    """Return the values along a side at a time (s); not-a-number where there are none. Raises TypeError or ValueError."""
    if value is None:
        return [float("nan")] * cells
    given = value(time) if callable(value) else value
    array = _checks.numbers(name, given)
    if array.shape not in ((), (cells,)):
        raise ValueError(f"{name} must be a number or have shape ({cells},), not {array.shape}")
    _checks.require_finite(name, np.atleast_1d(array))
    return [float(x) for x in np.broadcast_to(array, (cells,))]
