"""Scene of two ropes that are tied in a reef knot and pulled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh import TetMesh
from meniscus.scenes.cloths import smooth_start
from meniscus.scenes.scene import parameter
from meniscus.scenes.touching import Touching
from meniscus.solids import DeformableBody, EdgeSprings, SpringOptions, World

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

# The upper half of the left rope, from its end to the tip of its bight: control points of a quadratic spline, in a unit of which the radius
# of a rope is 1 / 0.65. The rope goes over the bight of the other one (x = -9), under its strand (x = 0) and over both of its strands at
# the tip (x = 9). The other rope is this one turned by half a turn about the y axis. Found by a random search for ropes that are far from
# each other and bend little.
_CONTROL = (
    *((-22.0, 3.14, 0.0), (-12.04, 3.14, 0.0), (-9.26, 2.16, 0.35), (-6.17, 1.99, 0.07)),
    *((-2.46, 2.87, -2.32), (2.92, 6.12, -1.73), (6.79, 6.18, 1.83), (9.04, 2.54, 4.68)),
)
_SCALE = 0.65
_ROUNDS = 6  # of corner cutting
_AROUND = 9  # sides of a rope


def reef_line() -> Floats:
    """Return the middle of the left rope of a loose reef knot (n, 3), in radii of the rope; the knot is around the origin, in x and y."""
    half = np.array(_CONTROL) * _SCALE
    points = np.concatenate([half, half[::-1] * [1.0, -1.0, 1.0]])
    for _ in range(_ROUNDS):
        a, b = points[:-1], points[1:]
        cut = np.stack([0.75 * a + 0.25 * b, 0.25 * a + 0.75 * b], axis=1).reshape(-1, 3)
        points = np.concatenate([points[:1], cut, points[-1:]])
    return points


def evenly(points: Floats, spacing: float) -> Floats:
    """Return points (n, 3) on a polyline at equal distances of about `spacing` along it."""
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    at = np.linspace(0.0, along[-1], max(2, round(along[-1] / spacing)) + 1)
    return np.stack([np.interp(at, along, points[:, k]) for k in range(3)], axis=1)


def rope_mesh(middle: Floats, radius: float, around: int) -> TetMesh:
    """Return a rope: rings of `around` vertices about the points of its middle (n, 3), which are vertices too, m.

    The rings do not twist: each is turned from the one before by the least rotation.
    """
    tangents = np.gradient(middle, axis=0)
    tangents /= np.linalg.norm(tangents, axis=1, keepdims=True)
    side = np.cross(tangents[0], np.eye(3)[np.abs(tangents[0]).argmin()])
    angles = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    rings = []
    for at, along in zip(middle, tangents, strict=True):
        side = side - (side @ along) * along
        side /= np.linalg.norm(side)
        across = np.cross(along, side)
        rings.append(np.concatenate([[at], at + radius * (np.cos(angles)[:, None] * side + np.sin(angles)[:, None] * across)]))
    return TetMesh(np.concatenate(rings), _rope_tets(len(middle), around))


def _rope_tets(rings: int, around: int) -> Ints:
    """Cut the prisms between rings into tetrahedra, three each; diagonals rise towards the greater number in the ring."""
    i = np.arange(1, around + 1)
    j = i % around + 1
    a, b, c = np.zeros_like(i), np.minimum(i, j), np.maximum(i, j)
    n = around + 1
    one = np.concatenate([np.stack(corners, 1) for corners in ((a, b, c, c + n), (a, b, b + n, c + n), (a, a + n, b + n, c + n))])
    # Where the ring closes, the greater number comes first, which turns the tetrahedra over; so does the one in the middle.
    turned = np.tile(i > j, 3)
    turned[around : 2 * around] ^= True
    one[turned] = one[turned][:, [0, 2, 1, 3]]
    return np.concatenate([one + n * k for k in range(rings - 1)]).astype(np.int32)


class Pulled:
    """Path of the nodes at an end of a rope: along x by a way, smoothly."""

    def __init__(self, rest: Floats, way: float, start: float, ramp: float) -> None:
        self.rest, self.way, self.start, self.ramp = rest, way, start, ramp

    def __call__(self, time: float) -> Floats:
        """Return the positions (n, 3), m, at a time (s)."""
        part = smooth_start(time, self.start, self.ramp)[0]
        at: Floats = self.rest + np.array([self.way * part, 0.0, 0.0])
        return at


@dataclass(kw_only=True)
class ReefKnot(Touching):
    """Two ropes without weight are tied loosely in a reef knot; their ends are pulled, the knot tightens and holds.

    Source: own; knots of ropes and ribbons are common tests of contact since Harmon, Vouga, Smith, Tamstorf and Grinspun, "Asynchronous
    contact mechanics", 2009.
    """

    name: ClassVar[str] = "reef-knot"
    summary: ClassVar[str] = "two ropes in a reef knot are pulled tight"
    box: ClassVar[Any] = ((-0.3, -0.12, -0.12), (0.3, 0.12, 0.12))
    eye: ClassVar[tuple[float, float, float]] = (0.15, 0.25, 1.6)
    dt: float = parameter(1.0 / 1200.0, "longest step, s")
    radius: float = parameter(0.015, "of a rope, m")
    around: int = parameter(_AROUND, "vertices around a rope")
    density: float = parameter(500.0, "kg/m^3")
    stiffness: float = parameter(5.0, "of the edges, N")
    damping: float = parameter(15.0, "of the edges, fraction of the critical one")
    friction: float = parameter(0.3, "of rope against rope")
    end: float = parameter(2.0, "length of the run, s")
    frames: int = parameter(48, "frames to write")
    thickness: float = parameter(0.003, "distance at which surfaces repel each other, m")
    pull: float = parameter(0.065, "way of each end, m")
    start: float = parameter(0.1, "when the ends begin to move, s")
    ramp: float = parameter(1.0, "time that they take, s")
    tolerance: float = parameter(1e-4, "of the velocity solve")

    def make_meshes(self) -> Sequence[Any]:
        """The ropes; all ends are in the plane z = 0."""
        around = _checks.integer("around", self.around, 4)
        spacing = 2.0 * np.pi * self.radius / around * 1.2
        middle = evenly(reef_line() * self.radius, spacing)
        return [rope_mesh(np.ascontiguousarray(middle * sign), self.radius, around) for sign in ([1.0, 1.0, 1.0], [-1.0, 1.0, -1.0])]

    def make_bodies(self, meshes: Sequence[Any]) -> list[DeformableBody]:
        """Elastic ropes whose ends move apart."""
        bodies = []
        for mesh, side in zip(meshes, (-1.0, 1.0), strict=True):
            body = DeformableBody(mesh, density=self.density, gravity=(0.0, 0.0, 0.0))
            springs = SpringOptions(stiffness=self.stiffness, damping_fraction=self.damping, masses=body.masses)
            body.add(EdgeSprings(mesh, springs))
            ring = self.around + 1
            ends = np.concatenate([np.arange(ring), np.arange(len(body) - ring, len(body))]).astype(np.int32)
            body.move(ends, Pulled(mesh.vertices[ends], side * self.pull, self.start, self.ramp))
            bodies.append(body)
        return bodies

    def make_world(self, bodies: Sequence[DeformableBody]) -> World:
        """The two ropes."""
        world = World(steps_per_loop=self.steps_per_loop, elasticity="full-step", tolerance=self.tolerance)
        for body in bodies:
            world.add(body, thickness=self.thickness, friction=self.friction)
        return world
