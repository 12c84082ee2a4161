"""Rigid bodies in a lattice Boltzmann flow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from meniscus.coupling.bodies.body_forms import BodyForm
from meniscus.fluids.lattice.options import LatticeReport
from meniscus.fluids.lattice.solver import LatticeBoltzmann
from meniscus.surface import Solid, SolidGroup
from meniscus.surface.shapes.solid import Sampling, SolidSample

Floats = npt.NDArray[np.float64]


class FormSolid(Solid):
    """A body as an obstacle, wherever it is now; the time that is asked for does not matter.

    Args:
        form: of the body.
    """

    def __init__(self, form: BodyForm) -> None:
        self.form = form

    @property
    def dimension(self) -> int:
        """2 or 3."""
        return self.form.dimension

    @property
    def moves(self) -> bool:
        """True."""
        return True

    def signed_distance(self, points: Floats, time: float = 0.0) -> Floats:
        """Return the distance (n,), m, of points (n, dim), m."""
        return self.form.signed_distance(points)

    def velocity(self, points: Floats, time: float = 0.0, dt: float | None = None) -> Floats:
        """Return the velocity (n, dim), m/s, of the body at points (n, dim), m."""
        k, motion = self.dimension, self.form.motion
        arms = np.zeros((len(points), 3))
        arms[:, :k] = points
        arms -= self.form.center
        return np.ascontiguousarray((motion[:3] + np.cross(motion[3:], arms))[:, :k])

    def bounds(self, time: float = 0.0) -> tuple[Floats, Floats]:
        """Return the corners (dim,) of a box around the body, m."""
        return self.form.bounds()

    def _sample_into(self, target: SolidSample, sampling: Sampling) -> None:
        raise TypeError("a body of a lattice is not sampled on nodes and faces")


class LatticeBodies:
    """Bodies in a lattice Boltzmann flow: obstacles that move, pushed by what the links hand over and what cells that they cover had.

    A body is also lifted by the weight of the fluid that it displaces, unless the fluid has an acceleration of its own, whose pressure does
    so already.

    Args:
        fluid: whose solid becomes the bodies, with that which it has.
        forms: of the bodies.
    """

    def __init__(self, fluid: LatticeBoltzmann, forms: Sequence[BodyForm]) -> None:
        self._fluid, self._forms = fluid, tuple(forms)
        self._solids = [FormSolid(form) for form in forms]
        given = fluid.solid
        own = given.solids if isinstance(given, SolidGroup) else () if given is None else (given,)
        # A copy of a fluid comes with the bodies of the other one.
        members: list[Solid] = [*(solid for solid in own if not isinstance(solid, FormSolid)), *self._solids]
        if members:
            fluid.solid = SolidGroup(members)

    @property
    def dt(self) -> float:
        """Length of a step of the fluid, s."""
        return self._fluid.dt

    def advance(self, dt: float) -> LatticeReport:
        """Advance the fluid by dt (s) around the bodies, which are at the end of the step already."""
        return self._fluid.step(dt)

    def loads(self) -> Floats:
        """Return force and torque (n, 6) about the centres on the bodies during the last step, N and N m."""
        fluid, k = self._fluid, self._fluid.grid.dimension
        result = np.zeros((len(self._forms), 6))
        for row, form, solid in zip(result, self._forms, self._solids, strict=True):
            force, torque = fluid.loads_on(solid, form.center[:k])
            row[:k] = force
            row[3 if k == 3 else 5 :] = torque
            if fluid.options.acceleration is None:
                row[:3] -= fluid.options.density * form.volume * form.gravity
        return result
