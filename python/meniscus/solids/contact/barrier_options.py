"""Options of worlds whose surfaces answer to contact with a barrier."""

from __future__ import annotations

from dataclasses import dataclass

from meniscus import _checks


@dataclass(frozen=True, kw_only=True)
class BarrierOptions:
    """Options of `World(response="barrier")`.

    Attributes:
        stiffness: J, of the barrier b(s) = -(s - 1)^2 ln s of the squared distance relative to the squared activation distance. None: at
            first that of a balance of forces, at least the mean mass of a node times its way under gravity and inertia in a step, also in
            later steps that begin without contact; doubled while surfaces come nearer than `least_part` of their activation distance. It
            never falls, and is state of the world.
        least_part: see above.
        distance: activation distance at solids, m; None: the mean of the thicknesses of all surfaces of bodies, 1 cm without any. That
            between surfaces is their thickness.
        rest_part: of elements of one body, activation distances are at most this part of their distance at rest.
        slip_speed: m/s, below which friction holds with less than its full force.
        friction_solves: how often a step is solved, each time with the forces of friction of the time before.
        tolerance: Newton's method ends when no node would move faster by this, m/s; None: 1e-3 of the speed that gravity gives in a step,
            plus that of the fastest node at the start, or that of the fastest node now; at most a hundredth of the least activation
            distance in a step.
        max_iterations: of Newton's method, in each of its runs.
        linear_tolerance: of the linear solves, relative.
        max_linear_iterations: of one linear solve.
        increments: in how many moves at most obstacles and moved nodes reach the ends of their paths.
        raise_on_failure: whether a step that does not meet the tolerance raises ConvergenceError; else it is taken as it is, without
            intersections all the same.
    """

    stiffness: float | None = None
    least_part: float = 0.05
    distance: float | None = None
    rest_part: float = 0.9
    slip_speed: float = 1e-3
    friction_solves: int = 2
    tolerance: float | None = None
    max_iterations: int = 400
    linear_tolerance: float = 1e-3
    max_linear_iterations: int = 2000
    increments: int = 100
    raise_on_failure: bool = True

    def __post_init__(self) -> None:
        """Raise TypeError or ValueError for values that are not possible."""
        for name in ("stiffness", "distance", "tolerance"):
            if getattr(self, name) is not None:
                _checks.positive(name, getattr(self, name))
        for name in ("least_part", "rest_part", "slip_speed", "linear_tolerance"):
            _checks.positive(name, getattr(self, name))
        for name in ("friction_solves", "max_iterations", "max_linear_iterations", "increments"):
            _checks.integer(name, getattr(self, name), 1)
        _checks.flag("raise_on_failure", self.raise_on_failure)
