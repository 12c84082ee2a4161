"""Scene of cloth on rigid bodies on jelly, in real time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.io.frames import FrameItem
from meniscus.mesh import TriangleMesh, cloth_mesh, tet_block
from meniscus.scenes.bodies.base import Bodies, rigid_surfaces
from meniscus.scenes.scene import parameter
from meniscus.solids import BendingConstraints, DistanceConstraints, PositionBody, PositionsWorld, ReducedBody, ReducedModel, RigidBody
from meniscus.surface import Pose

_CELLS = 8  # elements of the jelly along its sides, for one along its height
_ROW = 8  # boxes in a row of a layer


@dataclass(kw_only=True)
class LivePlayground(Bodies):
    """Boxes fall on a slab of jelly, and a cloth over all of them, sixty times a second: in a world of positions.

    Source: own; bodies of different types in one step, after Müller, Stam, James and Thürey 2008, sections 1.1 and 1.3.
    """

    name: ClassVar[str] = "live-playground"
    ground: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "cloth falls over boxes on jelly, in real time"
    box: ClassVar[Any] = ((-0.95, 0.0, -0.95), (0.95, 0.9, 0.95))
    eye: ClassVar[tuple[float, float, float]] = (0.8, 0.8, 1.6)
    gravity: ClassVar[tuple[float, float, float]] = (0.0, -9.81, 0.0)
    stepped: ClassVar[str] = "world"

    end: float = parameter(4.0, "length of the run, s")
    frames: int = parameter(96, "frames to write")
    squares: int = parameter(109, "of the cloth along a side")
    bodies: int = parameter(200, "number of boxes")
    resolution: int = parameter(4, "elements along the height of the jelly")
    flying: bool = parameter(False, "whether the jelly lies on the ground, or is held by its lower side")
    substeps: int = parameter(8, "parts of a step of 1/60 s")
    iterations: int = parameter(1, "projections of all constraints in each")
    rigid_every: int = parameter(2, "substeps from one solve of contacts between boxes to the next")
    thickness: float = parameter(0.006, "of the cloth, m")
    friction: float = parameter(0.5, "of all surfaces")
    youngs_modulus: float = parameter(6e4, "of the jelly, Pa")
    jelly_density: float = parameter(500.0, "of the jelly, kg/m^3")
    body_density: float = parameter(200.0, "of the boxes, kg/m^3")
    cloth_density: float = parameter(0.3, "of the cloth, kg/m^2")
    seed: int = parameter(1, "of sizes and turns")

    def make_meshes(self) -> Sequence[Any]:
        """The jelly and the cloth."""
        n, m = _checks.integer("resolution", self.resolution, 1), _checks.integer("squares", self.squares, 2)
        jelly = tet_block(_CELLS * n, n, _CELLS * n, (1.6, 0.2, 1.6), origin=(-0.8, 0.0, -0.8), pattern="five")
        flat = cloth_mesh(m, m, (1.6, 1.6), origin=(-0.8, -0.8, 0.0))
        height = 0.42 + 0.15 * -(-_checks.integer("bodies", self.bodies, 1) // _ROW**2)
        level = np.stack([flat.vertices[:, 0], np.full(len(flat.vertices), height), flat.vertices[:, 1]], axis=1)
        return [jelly, TriangleMesh(level, np.ascontiguousarray(flat.triangles[:, ::-1]))]

    def make_jelly(self, mesh: Any) -> ReducedBody:
        """Twenty coordinates."""
        fixed: Any = () if self.flying else np.flatnonzero(mesh.vertices[:, 1] == 0.0)
        named: dict[str, Any] = {"youngs_modulus": self.youngs_modulus, "poissons_ratio": 0.4, "density": self.jelly_density}
        model = ReducedModel(mesh, modes=8, size=20, fixed=fixed, **named)
        return ReducedBody(model, gravity=self.gravity, mass_damping=1.0, stiffness_damping=0.01)

    def make_cloth(self, mesh: Any) -> PositionBody:
        """A cloth that hardly stretches."""
        body = PositionBody(mesh, density=self.cloth_density, gravity=self.gravity)
        body.add(DistanceConstraints(mesh, compliance=1e-6))
        body.add(BendingConstraints(mesh, compliance=1e3))
        return body

    def make_boxes(self) -> list[RigidBody]:
        """Boxes in layers above the jelly, turned a little."""
        rng = np.random.default_rng(self.seed)
        boxes = []
        for k in range(self.bodies):
            size = rng.uniform(0.06, 0.12, 3)
            q = np.linalg.qr(np.eye(3) + 0.3 * rng.normal(size=(3, 3)))[0]
            turn = (q * np.sign(np.linalg.det(q))).tolist()
            x, z = 0.17 * (k % _ROW - 0.5 * (_ROW - 1)), 0.17 * (k // _ROW % _ROW - 0.5 * (_ROW - 1))
            pose = Pose((x, 0.3 + 0.15 * (k // _ROW**2), z), turn)
            boxes.append(RigidBody.box(size.tolist(), density=self.body_density, pose=pose, gravity=self.gravity))
        return boxes

    def make_bodies(self, meshes: Sequence[Any]) -> list[Any]:
        """The jelly and the cloth."""
        return [self.make_jelly(meshes[0]), self.make_cloth(meshes[1])]

    def make_live_world(self, bodies: Sequence[Any]) -> Any:
        """Return the world with all bodies and the ground."""
        options = self.values("substeps", "iterations", "rigid_every")
        world = PositionsWorld(gravity=self.gravity, damping=0.5, edges=False, searches=0, **options)
        world.add(bodies[0], friction=self.friction, thickness=0.01)
        world.add(bodies[1], friction=self.friction, thickness=self.thickness)
        for box in self.make_boxes():
            world.add(box, friction=self.friction)
        world.add_obstacle(self.ground_plane(), friction=0.6, thickness=0.5 * self.thickness)
        return world

    def declare_bodies(self, bodies: list[Any]) -> None:
        """Declare the world."""
        self.world = self.declare("world", self.make_live_world(bodies))

    def all_bodies(self) -> Sequence[Any]:
        """Return the jelly and the cloth."""
        return self.world.reduced_bodies[0], self.world.node_bodies[0]

    def max_dt(self) -> float:
        """Return the longest step."""
        return 1.0 / 60.0

    def report(self, time: float) -> dict[str, float]:
        """Energies (J), speed (m/s), contacts, and the weight on the ground, N."""
        found = dict(self.world.energy())
        r = self.last_report
        if r is None:
            return {**found, "max speed": 0.0, "pairs": 0.0, "rows": 0.0, "pressing": 0.0, "on the ground": 0.0}
        counts = {"pairs": float(r.pairs), "rows": float(r.rows), "pressing": float(r.pressing)}
        return {**found, "max speed": r.max_speed, **counts, "on the ground": r.support[1] / r.dt}

    def frame_data(self) -> Mapping[str, FrameItem]:
        """Jelly and cloth as one mesh, with the velocities of the nodes, and the boxes."""
        return {**super().frame_data(), "rigid": rigid_surfaces(self.world.rigid.bodies)}
