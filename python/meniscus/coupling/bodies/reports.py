"""Reports of steps of a fluid and a world."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from meniscus.fluids.gas.options import SmokeReport
from meniscus.fluids.liquid.options import LiquidReport
from meniscus.solids import DeformableBody, RigidBody, WorldInfo

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class BodyForce:
    """What a fluid gave a body in a step.

    Attributes:
        force: (3,) mean over the step, N (N/m in 2-D).
        torque: (3,) about the centre of mass, N m.
        work: J (J/m in 2-D).
    """

    force: Floats
    torque: Floats
    work: float


class BodyForces(Mapping[RigidBody | DeformableBody, BodyForce]):
    """Forces of a step, by body."""

    def __init__(
        self, bodies: Sequence[RigidBody | DeformableBody] = (), impulses: Floats | None = None, work: Floats | None = None, dt: float = 1.0
    ) -> None:
        self._bodies = tuple(bodies)
        self._rates = np.zeros((0, 6)) if impulses is None else impulses / dt
        self._work = np.zeros(0) if work is None else work

    def __getitem__(self, body: RigidBody | DeformableBody) -> BodyForce:
        """Return what a body got; KeyError for one that was not there."""
        for i, known in enumerate(self._bodies):
            if known is body:
                return BodyForce(self._rates[i, :3].copy(), self._rates[i, 3:].copy(), float(self._work[i]))
        raise KeyError(body)

    def __iter__(self) -> Iterator[RigidBody | DeformableBody]:
        """Iterate over the bodies."""
        return iter(self._bodies)

    def __len__(self) -> int:
        """Return the number of bodies."""
        return len(self._bodies)


@dataclass(kw_only=True)
class FluidWorldReport:
    """Report of one step of a `FluidWorld`.

    Attributes:
        dt: seconds.
        fluid: report of the fluid solver.
        world: report of the world.
        forces: of the fluid, by body.
        held: contacts that kept bodies from yielding to the pressure, rows of constraints.
    """

    dt: float = 0.0
    fluid: SmokeReport | LiquidReport | None = None
    world: WorldInfo | None = None
    forces: BodyForces = field(default_factory=BodyForces)
    held: int = 0


@dataclass(frozen=True)
class FluidWorldLedger:
    """Momentum and energy of a fluid and the bodies in it.

    Attributes:
        fluid_momentum, body_momentum: (3,), kg m/s (per metre in 2-D); that of the fluid is what the pressure acts on: the open parts of
            faces, and the fluid that moves with bodies.
        fluid_energy, body_energy: kinetic, J.
        gravity: of the bodies in their gravity, J, zero at the origin.
        elastic_energy: of bodies that deform, J.
    """

    fluid_momentum: Floats
    body_momentum: Floats
    fluid_energy: float
    body_energy: float
    gravity: float
    elastic_energy: float = 0.0

    @property
    def momentum(self) -> Floats:
        """Of all (3,), kg m/s."""
        return self.fluid_momentum + self.body_momentum
