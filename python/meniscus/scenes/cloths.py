"""Cloth of the scenes of contact."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from meniscus import _checks
from meniscus.mesh import TriangleMesh, cloth_mesh
from meniscus.scenes.scene import parameter
from meniscus.scenes.touching import Touching
from meniscus.solids import BendingSprings, DeformableBody, EdgeSprings, SpringOptions, World

Parameters = Literal["scene", "thesis"]
"""Parameters of cloth: those of the scene, or those of Selle 2008, table 6.1."""

# Selle 2008, table 6.1; its gravity, 9.8 m/s^2, and the constant of the repulsion springs, 30 N/m, are those of all scenes.
TABLE = {
    "stiffness": 4.14,
    "damping": 15.0,
    "bending": 0.41,
    "bending_damping": 8.0,
    "tolerance": 1e-3,
    "node_mass": 1e-6,
    "thickness": 0.01,
    "steps_per_loop": 16,
    # Not in the table: steps of the size that section 7.4 names for hair, so that cloth falls a few centimetres in a loop.
    "dt": 1.0 / 1536.0,
}


@dataclass(kw_only=True)
class Cloths(Touching):
    """Cloth of springs with the parameters of Selle 2008, table 6.1; y is up.

    Of the table, the mass of a node, 1e-6 kg, belongs to half a million triangles on a square metre. With the same mass per area, coarser
    cloth of these springs stretches and folds about as much; with the same mass of a node (`node_mass`) it is as stiff as sheet metal.
    `parameters="thesis"` takes all values of the table as printed, in the place of those that are given.
    """

    gravity: ClassVar[tuple[float, float, float]] = (0.0, -9.8, 0.0)

    parameters: Parameters = parameter("scene", "of the cloth: those below, or those of Selle 2008, table 6.1, as printed")

    triangles: int = parameter(3000, "triangles of all cloth, about")
    density: float = parameter(0.25, "mass per area, kg/m^2")
    node_mass: float = parameter(0.0, "mass of each node instead, kg; 0: as the density says")
    stiffness: float = parameter(4.14, "of the edges, N")
    damping: float = parameter(15.0, "of the edges, fraction of the critical one")
    bending: float = parameter(0.41, "of the springs across edges, N")
    bending_damping: float = parameter(8.0, "of the springs across edges, fraction of the critical one")
    thickness: float = parameter(0.01, "distance at which surfaces repel each other, m")
    friction: float = parameter(0.4, "of cloth against cloth")
    tolerance: float = parameter(1e-3, "of the velocity solve")

    def __post_init__(self) -> None:
        """Check the parameters, and take those of the table if they are wanted."""
        super().__post_init__()
        if self.parameters == "thesis":
            for name, value in TABLE.items():
                setattr(self, name, value)

    def quads(self, size: Sequence[float], share: float = 1.0) -> tuple[int, int]:
        """Return the numbers of quads along a cloth of a size (m) that gets a share of the triangles."""
        count = share * _checks.integer("triangles", self.triangles, 2) / 2.0
        nx = max(2, round(math.sqrt(count * size[0] / size[1])))
        return nx, max(2, round(count / nx))

    def make_body(self, mesh: TriangleMesh) -> DeformableBody:
        """Springs along and across edges."""
        weights = {"masses": np.full(len(mesh.vertices), self.node_mass)} if self.node_mass > 0 else {"density": self.density}
        return sprung(mesh, (self.stiffness, self.damping), (self.bending, self.bending_damping), gravity=self.gravity, **weights)

    def make_world(self, bodies: Sequence[DeformableBody]) -> World:
        """The cloths, and what `add_obstacles` adds."""
        world = World(steps_per_loop=self.steps_per_loop, **self.world_options())
        for body in bodies:
            world.add(body, thickness=self.thickness, friction=self.friction)
        self.add_obstacles(world)
        return world

    def world_options(self) -> dict[str, Any]:
        """Return options of the world."""
        # Further solves for friction let resting cloth shiver.
        return {"elasticity": "full-step", "tolerance": self.tolerance, "friction_solves": 0}

    def add_obstacles(self, world: World) -> None:
        """Add the obstacles to the world."""


def sprung(mesh: Any, edges: tuple[float, float], bending: tuple[float, float | None], **options: Any) -> DeformableBody:
    """Return a body of springs along and across the edges of a mesh.

    Args:
        mesh: of triangles.
        edges, bending: stiffness (N) and damping (fraction of the critical one; None: none) of both.
        **options: of the body: its density or masses, gravity.
    """
    body = DeformableBody(mesh, **options)
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=edges[0], damping_fraction=edges[1], masses=body.masses)))
    body.add(BendingSprings(mesh, SpringOptions(stiffness=bending[0], damping_fraction=bending[1], masses=body.masses)))
    return body


def horizontal(mesh: TriangleMesh) -> TriangleMesh:
    """Return a cloth in the plane of x and y turned into that of x and z, its front up."""
    x, y, z = mesh.vertices.T
    return TriangleMesh(np.ascontiguousarray(np.stack([x, z, -y], axis=1)), mesh.triangles)


def centered_cloth(quads: tuple[int, int], size: Sequence[float], height: float = 0.0) -> TriangleMesh:
    """Return a horizontal cloth around the y axis."""
    flat = cloth_mesh(*quads, size, origin=(-0.5 * size[0], -0.5 * size[1], 0.0))
    return horizontal(flat).translated((0.0, height, 0.0))


def smooth_start(time: float, start: float, ramp: float) -> tuple[float, float]:
    """Return rate and integral over time (s) of a rate that grows from 0 at `start` (s) to 1 within `ramp` (s)."""
    s = min(max((time - start) / ramp, 0.0), 1.0)
    rate = s * s * (3.0 - 2.0 * s)
    return rate, ramp * s**3 * (1.0 - 0.5 * s) + max(time - start - ramp, 0.0)
