"""Transport of the samples of a level set near its surface."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import grid as _grid
from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.core.memory import MemoryOwner
from meniscus.grid import MacField, advect, max_speed
from meniscus.grid.transport.advection import INTERPOLATION, TRACE
from meniscus.grid.transport.visibility import Visibility
from meniscus.surface.levelset import LevelSet
from meniscus.surface.markers.options import MarkerTransport


class BandTransport(MemoryOwner):
    """Advection of the samples that a step can bring within a band around the surface, with a mask that is reused.

    Args:
        options: scheme, trace and interpolation.
    """

    def __init__(self, options: MarkerTransport) -> None:
        self.options = options
        self._active: npt.NDArray[np.bool_] | None = None

    def reach(self, levelset: LevelSet, velocity: MacField, dt: float, band: float) -> float:
        """Return the distance, m, from the surface beyond which no sample can come within the band in dt seconds.

        Raises ValueError for a velocity or a level set that is not finite.
        """
        speed = max_speed(velocity)
        if not math.isfinite(speed):
            for d in range(velocity.grid.dimension):
                _checks.require_finite(f"component {d} of velocity", velocity.component(d))
        _grid.require_finite(levelset.field._core, "the level set")
        # None moves farther than the fastest flow in each axis.
        return band + math.sqrt(velocity.grid.dimension) * speed * dt + velocity.grid.spacing

    def advect(self, levelset: LevelSet, velocity: MacField, dt: float, reach: float, time: float, workspace: Workspace) -> int:
        """Advect the samples within `reach` for dt seconds from `time` on; return their number."""
        o, field = self.options, levelset.field
        if o.method == "semi-lagrangian":
            schemes = TRACE("trace", o.trace), INTERPOLATION("interpolation", o.interpolation)
            return int(_surface.advect_band(field._core, velocity._core, dt, reach, *schemes, time, workspace))
        if self._active is None:
            self._active = np.zeros(field.shape, bool)
        advected = int(_grid.mark_band(field._core, reach, self._active))
        options: dict[str, Any] = {"method": o.method, "trace": o.trace, "interpolation": o.interpolation}
        advect(field, velocity, dt, visibility=Visibility(active=self._active), time=time, workspace=workspace, **options)
        return advected
