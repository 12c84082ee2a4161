"""The solid of a fluid solver whose bodies a world moves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.coupling.bodies.bodies_on_grid import BodySample
from meniscus.coupling.bodies.pushed_form import PushedForm
from meniscus.fluids.pressure.sampled_solid import SampledSolid
from meniscus.grid.boundary import Slip
from meniscus.grid.fields import MacField
from meniscus.surface import SolidBoundary
from meniscus.surface.shapes.solid_boundary import SolidLike

Floats = npt.NDArray[np.float64]


class BodiesSolid(SampledSolid):
    """Boundary of the bodies of a world and of the own solid of a fluid solver: where they were as a step began, and where they are now.

    Args:
        obstacle: the own solid of the solver.
        velocity: of the solver.
        slip: condition of the flow at all solids.
        forms: a function that returns the forms of the bodies.
    """

    borrowed: ClassVar[tuple[str, ...]] = (*SampledSolid.borrowed, "_forms", "obstacle")

    def __init__(self, obstacle: SampledSolid, velocity: MacField, slip: Slip, forms: Callable[[], Sequence[PushedForm]]) -> None:
        self.obstacle = obstacle
        super().__init__(velocity.grid, velocity.dtype, obstacle.solid, slip)
        self._forms = forms
        self._start, self._end = BodySample(velocity, slip), BodySample(velocity, slip)
        self._placed: Floats | None = None
        self._began: float | None = None

    @property
    def solid(self) -> SolidLike | None:
        """The own solid of the solver; may be set."""
        return self.obstacle.solid

    @solid.setter
    def solid(self, value: SolidLike | None) -> None:
        if value is not self.obstacle.solid:
            self.obstacle.solid = value
        self._placed = None

    @property
    def moves(self) -> bool:
        """Whether anything may move: yes."""
        return True

    @property
    def now(self) -> BodySample:
        """The bodies as they are: within a step, after they have moved, at its end."""
        return self._end

    @property
    def before(self) -> BodySample:
        """The bodies as the step began."""
        return self._start

    def at(self, time: float, dt: float | None = None, needs_velocity: bool = False) -> SolidBoundary:
        """Return the boundary as the step began, or after the bodies have moved for any later time; outside of steps, that of now."""
        if self._began is None:
            self._see(time)
            return self._end.boundary
        return self._start.boundary if time <= self._began else self._end.boundary

    def seen(self, time: float) -> BodySample:
        """Return the bodies at a time (s), as of `at`."""
        return self._end if self.at(time) is self._end.boundary else self._start

    def begin(self, time: float) -> None:
        """Begin a step at a time, s."""
        self._see(time)
        self._start, self._end = self._end, self._start
        self._began, self._placed = time, None

    def moved(self, time: float, dt: float) -> None:
        """See bodies that have moved in the step of dt seconds that ends at a time, with the motion that they have now."""
        self._end.place(self._forms(), time, self.obstacle.at(time, dt, needs_velocity=True))

    def end(self) -> None:
        """End the step: the sample of its end is that of now, unless bodies are changed."""
        if self._began is not None:
            self._began = None
            self._placed = self._state()

    def max_speed(self, time: float) -> float:
        """Return the largest velocity component of solids on their faces, m/s."""
        return float(self.at(time, needs_velocity=True).max_speed())

    def forget(self) -> None:
        """Drop the samples, so that the next call makes new ones."""
        self.obstacle.forget()
        self._placed, self._began = None, None

    def _see(self, time: float) -> None:
        state = self._state()
        if self._placed is None or not np.array_equal(state, self._placed) or self.obstacle.moves:
            self._end.place(self._forms(), time, self.obstacle.at(time, needs_velocity=True))
            self._placed = state

    def _state(self) -> Floats:
        """Return where all bodies are."""
        return np.concatenate([np.zeros(0), *(form.state for form in self._forms())])
