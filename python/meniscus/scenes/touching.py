"""Base of the scenes of bodies that touch each other and themselves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh import SubdivisionHierarchy
from meniscus.scenes.bodies.base import Bodies
from meniscus.scenes.scene import parameter
from meniscus.solids import DeformableBody, ImplicitElasticity, World
from meniscus.solids.contact.reports import WorldInfo

# Loops in a row that may be cut.
_MOST_CUTS = 100
# Columns of the counters of a run.
_LOOPS, _CUTS, _RIGID, _UNCERTIFIED = range(4)


@dataclass(kw_only=True)
class Touching(Bodies):
    """Bodies in one `World`. A step of the run is an outer loop of it, at whose end nothing intersects.

    A subclass makes the meshes at rest, the bodies, and the world. The diagnostics have the columns

    - `pairs`: of elements near each other in the last loop;
    - `contacts`: on the paths of the loops of this step, before they were resolved; `impulses`: that resolved them;
    - `zone vertices`: nodes in impact zones, mean over the loops of this step;
    - `rigid share`: part of the nodes in rigid zones, mean over all loops so far;
    - `loops` and `cuts`: so far; `uncertified`: loops so far on whose path, by the exact test, something may touch;
    - `deactivated`: pairs that may pass through each other;
    - `intersections`: pairs of an edge and a triangle that intersect now.
    """

    elasticity_of_steps: ClassVar[ImplicitElasticity] = "full-step"

    splits: int = parameter(0, "times that each triangle of the meshes is cut flat into four, each tetrahedron into eight")
    steps_per_loop: int = parameter(8, "steps from one certified state to the next")
    dt: float = parameter(1.0 / 384.0, "longest step, s")

    def split_meshes(self) -> list[Any]:
        """Return the meshes of all bodies at rest, from the parameters alone."""
        times = _checks.integer("splits", self.splits, 0)
        return [SubdivisionHierarchy(mesh, times).mesh(times) for mesh in self.make_meshes()]

    def make_world(self, bodies: Sequence[DeformableBody]) -> World:
        """Return the world with the bodies in their order, and the obstacles."""
        raise TypeError(f"scene {type(self).__name__} has no make_world()")

    def declare_bodies(self, bodies: list[DeformableBody]) -> None:
        """Declare the world."""
        _checks.positive("dt", self.dt)
        self.world = self.declare("world", self.make_world(bodies))
        self.body = self.world.bodies[0]
        self.counts = self.declare("counts", np.zeros(4))
        self._last: list[WorldInfo] = []

    def all_bodies(self) -> Sequence[DeformableBody]:
        """Return the deformable bodies of the world."""
        return self.world.bodies

    def start_from(self, time: float, positions: npt.NDArray[np.float64], velocities: npt.NDArray[np.float64]) -> None:
        """Go on from a state of this scene without splits: those of its triangles are cut flat, and move with them.

        What the scene is at the time, such as which nodes are released, follows from the time alone.

        Args:
            time: s.
            positions, velocities: (n, 3), of the nodes of all bodies without splits, m and m/s.

        Raises:
            ValueError: another number of nodes; surfaces that intersect, when the next step is taken.
        """
        coarse = list(self.make_meshes())
        count = sum(len(mesh.vertices) for mesh in coarse)
        if len(positions) != count or len(velocities) != count:
            raise ValueError(f"the scene without splits has {count} nodes, not {len(positions)}")
        self.world.setup.start_at(time)
        self.before_loop(time)
        first = 0
        for mesh, body in zip(coarse, self.world.bodies, strict=True):
            rows, finer = slice(first, first + len(mesh.vertices)), SubdivisionHierarchy(mesh, self.splits)
            body.positions = finer.positions(np.ascontiguousarray(positions[rows]), self.splits)
            body.velocities = finer.velocities(np.ascontiguousarray(velocities[rows]), self.splits)
            first = rows.stop

    def max_dt(self) -> float:
        """Return the length of a loop."""
        return self.equal_dt(self.steps_per_loop * min(self.dt, self.stable_dt()))

    def stable_dt(self) -> float:
        """Return the longest step (s) that is stable."""
        return min((body.limits(elasticity=self.elasticity_of_steps).frequency for body in self.world.bodies), default=math.inf)

    def advance(self, time: float, dt: float) -> None:
        """Take one loop, or several where it is cut."""
        with self.stage("step"):
            self.before_loop(time)
            self._last = self._loops(dt)
            size = max(self.world.surface.body_nodes, 1)
            for info in self._last:
                c = info.contact
                if c.loop_ended:
                    self.counts += (1.0, c.cuts, c.rigid_vertices / size, not c.certified)

    def _loops(self, duration: float) -> list[WorldInfo]:
        """Take a loop of equal steps, and where it is cut, others for what is left."""
        end = self.world.time + duration
        infos: list[WorldInfo] = []
        while (left := end - self.world.time) > 1e-9 * duration:
            if len(infos) > _MOST_CUTS * self.steps_per_loop:
                raise RuntimeError(f"{_MOST_CUTS} loops in a row were cut at contacts at {self.world.time:g} s")
            infos += [self.world.step(left / self.steps_per_loop) for _ in range(self.steps_per_loop)]
        return infos

    def before_loop(self, time: float) -> None:
        """Change what changes with time (s), such as what is pinned."""

    def report(self, time: float) -> dict[str, float]:
        """As for all bodies; with the contacts."""
        ends = [info.contact for info in self._last if info.contact.loop_ended]
        loops = max(float(self.counts[_LOOPS]), 1.0)
        return {
            **super().report(time),
            "pairs": float(self._last[-1].contact.pairs if self._last else 0),
            "contacts": float(sum(c.contacts for c in ends)),
            "impulses": float(sum(c.impulses for c in ends)),
            "zone vertices": float(np.mean([c.zone_vertices for c in ends])) if ends else 0.0,
            "rigid share": float(self.counts[_RIGID]) / loops,
            "loops": float(self.counts[_LOOPS]),
            "cuts": float(self.counts[_CUTS]),
            "uncertified": float(self.counts[_UNCERTIFIED]),
            "deactivated": float(sum(len(pairs) for pairs in self.world.loop.deactivated.pairs)),
            "intersections": float(len(self.world.audit())),
        }
