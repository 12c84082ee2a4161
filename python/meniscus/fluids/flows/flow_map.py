"""Flow map of several steps, along which a velocity is carried in one interpolation."""

from __future__ import annotations

from meniscus._meniscus import grid as _grid
from meniscus.core.stateful import Stateful
from meniscus.grid.boundary import at_rest
from meniscus.grid.fields import MacField
from meniscus.grid.transport.advection import INTERPOLATION, TRACE
from meniscus.surface import SolidBoundary

_INTERPOLATION = INTERPOLATION("interpolation", "catmull-rom")
# A step of a path is two of the midpoint rule. A single one leads outwards in the core of a vortex that turns by 0.8 in a step, by 0.8^4/8
# of the radius, and the vortex gains energy; one of third order leads inwards by a third of that, and it loses some.
_TRACE, _PARTS = TRACE("trace", "midpoint"), 2


class FlowMap(Stateful):
    """Carries a velocity along the paths of the flow since the map began, instead of interpolating it anew in each step.

    What a scheme carries step by step is interpolated once a step, and loses a little each time. Here the velocity at the beginning of the
    map stays as it is, and a face takes its value from where the path ends that leads back from it through the velocities of all steps
    since. What else has changed the velocity meanwhile (pressure, viscosity, forces, sources, anybody) is found as a difference, and added
    to the velocity at the beginning, from the ends of the paths that lead forward. Paths are traced anew in each step through the stored
    velocities, so that no map is interpolated; after `steps` steps it begins anew: the flow shears it, and what is added is interpolated
    there and back.

    Args:
        velocity: of the flow; gives grid, dtype and boundary.
        steps: of a map, 1 or more.

    Attributes:
        start: velocity at the beginning of the map, and what was added, m/s.
        carried: velocity that the last step has ended its transport with, m/s.
        paths: velocities by which the steps of this map carry, m/s.
        lengths: of these steps, s.
        count: how many there are.

    Source: Qu, Zhang, Gao, Jiang and Chen 2019, "Efficient and conservative fluids using bidirectional mapping", sections 3 and 4 (maps of
    several steps, changes added at their beginning); Deng et al. 2023, "Fluid simulation on neural flow maps", section 4 (paths through
    stored velocities).
    """

    def __init__(self, velocity: MacField, steps: int) -> None:
        boundary = {name: at_rest(side) for name, side in velocity.boundary.items()}
        self.start = self.declare("start", velocity.copy())
        self.carried = self.declare("carried", MacField(velocity.grid, velocity.dtype, boundary))
        self.paths = self.declare("paths", [velocity.copy() for _ in range(steps)])
        self.lengths = self.declare("lengths", [0.0] * steps)
        self.count = self.declare("count", 0)

    def carry(self, velocity: MacField, by: MacField, dt: float, time: float, solid: SolidBoundary | None) -> None:
        """Carry a velocity for dt seconds from a time (s) on, in place, by another one; both are continued into a solid.

        Raises:
            ValueError: samples that are not finite; the grid is cut among ranks.
        """
        if self.count == len(self.paths):
            self.count = 0
        n = self.count
        if n == 0:
            self.start.assign(velocity)
        else:
            _grid.combine(self.carried._core, 1.0, velocity._core, -1.0, self.carried._core)
            if solid is not None:
                # What lies in the solid is none of the flow.
                _grid.assign_faces(self.carried._core, 0.0, solid.inside_faces, True)
            self._sample(self.start, self.carried, range(n), 1.0, time, True)
        self.paths[n].assign(by)
        self.lengths[n] = dt
        self._sample(velocity, self.start, range(n, -1, -1), -1.0, time, False)
        velocity._core.enforce_boundary(time + dt)
        self.carried.assign(velocity)
        self.count = n + 1

    def _sample(self, out: MacField, source: MacField, steps: range, sign: float, time: float, add: bool) -> None:
        parts = [k for k in steps for _ in range(_PARTS)]
        path = [self.paths[k]._core for k in parts], [sign / _PARTS * self.lengths[k] for k in parts]
        _grid.sample_along(out._core, source._core, *path, _TRACE, _INTERPOLATION, time, add)
