"""Sources of smoke, heat and gas."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core import Workspace
from meniscus.grid.fields import CellField, MacField
from meniscus.surface import Pose, Shape

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class Emitter:
    """A region in which the gas gets given properties while the emitter is on.

    Attributes:
        region: the shape that it fills, m; cells whose centre is inside belong to it.
        motion: where the region is, as a function of time (s); default at rest.
        density: least density of the smoke in the region; None leaves it.
        density_rate: added per second.
        temperature: temperature that is set; None leaves it.
        velocity: of the gas at the faces of its cells, m/s; None leaves it.
        divergence: inflow of gas, 1/s: per second, the volume of the region times this number.
        start: when it is turned on, s.
        end: when it is turned off, s.
    """

    region: Shape
    motion: Callable[[float], Pose] | None = None
    density: float | None = None
    density_rate: float = 0.0
    temperature: float | None = None
    velocity: Sequence[float] | None = None
    divergence: float = 0.0
    start: float = 0.0
    end: float = math.inf

    def __post_init__(self) -> None:
        """Check the values."""
        _checks.one_of_type("region", self.region, Shape)
        for name in ("density", "temperature"):
            value = getattr(self, name)
            if value is not None:
                _checks.number(name, value)
        for name in ("density_rate", "divergence", "start"):
            _checks.number(name, getattr(self, name))
        if self.velocity is not None:
            _checks.vector("velocity of an Emitter", self.velocity, self.region.dimension)
        if not self.end > self.start:
            raise ValueError(f"end must be after start, {self.start:g}, not {self.end:g}")

    def is_on(self, time: float) -> bool:
        """Return whether it works at a time, s."""
        return self.start <= time < self.end


class EmitterCells:
    """The cells of an emitter on one grid; recomputed only while it moves."""

    def __init__(self, emitter: Emitter, phi: CellField) -> None:
        if emitter.region.dimension != phi.grid.dimension:
            raise ValueError(f"the region of an emitter must be {phi.grid.dimension}-D, not {emitter.region.dimension}-D")
        self.emitter = emitter
        self.phi = phi
        self._inside: Bools = np.zeros(phi.shape, bool)
        self._known = False

    def inside(self, time: float, workspace: Workspace) -> Bools:
        """Return the mask of its cells at a time, s."""
        motion = self.emitter.motion
        if motion is not None or not self._known:
            pose = None if motion is None else motion(time)
            # The sign is all that counts.
            phi_band = self.phi.grid.spacing
            self.emitter.region.sample(self.phi, pose=pose, band=phi_band, workspace=workspace)
            np.less_equal(self.phi.array, 0.0, out=self._inside)
            self._known = True
        return self._inside

    def set_velocity(self, velocity: MacField, inside: Bools) -> None:
        """Set the faces of the cells to the velocity of the emitter."""
        if self.emitter.velocity is None:
            return
        set_face_velocity(velocity, inside, self.emitter.velocity)


def set_face_velocity(velocity: MacField, inside: Bools, value: Sequence[float]) -> None:
    """Set the velocity on all faces of the cells of a mask."""
    for d, component in enumerate(value):
        faces = velocity.component(d)
        lower = tuple(slice(None, -1) if k == d else slice(None) for k in range(inside.ndim))
        upper = tuple(slice(1, None) if k == d else slice(None) for k in range(inside.ndim))
        faces[lower][inside] = component
        faces[upper][inside] = component
        if velocity.grid.periodic[d]:
            # The first and the last face are one unknown, between the last cell and the first.
            ends = np.moveaxis(faces, d, 0)
            seam = np.take(inside, 0, d) | np.take(inside, -1, d)
            ends[0][seam] = ends[-1][seam] = component
