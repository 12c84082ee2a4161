"""Scene of cloth on rigid bodies on jelly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.io.frames import FrameItem
from meniscus.mesh import TetMesh, tet_block
from meniscus.scenes.bodies.base import rigid_surfaces
from meniscus.scenes.cloths import Cloths, centered_cloth
from meniscus.scenes.scene import parameter
from meniscus.solids import DeformableBody, RigidBody, TetElements, World
from meniscus.surface import Pose

_LAYER = 9  # bodies in a layer, three by three


@dataclass(kw_only=True)
class Playground(Cloths):
    """Boxes and balls fall on a slab of jelly, and a cloth over all of them.

    Source: own; bodies of different types in one step, after Müller, Stam, James and Thürey 2008, section 1.3.
    """

    name: ClassVar[str] = "playground"
    ground: ClassVar[float | None] = 0.0
    summary: ClassVar[str] = "cloth falls over boxes and balls on jelly"
    box: ClassVar[Any] = ((-0.55, 0.0, -0.55), (0.55, 0.6, 0.55))
    eye: ClassVar[tuple[float, float, float]] = (0.8, 0.8, 1.6)

    stiffness: float = parameter(20.0, "of the edges, N")
    resolution: int = parameter(3, "elements along the height of the jelly")
    youngs_modulus: float = parameter(3e4, "of the jelly, Pa")
    jelly_density: float = parameter(500.0, "of the jelly, kg/m^3")
    bodies: int = parameter(9, "number of boxes and balls")
    body_density: float = parameter(200.0, "of these, kg/m^3")
    side: float = parameter(0.9, "of the cloth, m")
    seed: int = parameter(1, "of sizes and turns")

    def make_meshes(self) -> Sequence[Any]:
        """The jelly and the cloth."""
        n = _checks.integer("resolution", self.resolution, 1)
        jelly = tet_block(4 * n, n, 4 * n, (0.6, 0.15, 0.6), origin=(-0.3, 0.002, -0.3), pattern="five")
        layers = -(-_checks.integer("bodies", self.bodies, 1) // _LAYER)
        return [jelly, centered_cloth(self.quads((1.0, 1.0)), (self.side, self.side), 0.25 + 0.16 * layers)]

    def make_body(self, mesh: Any) -> DeformableBody:
        """Elements that resist inversion, or springs."""
        if not isinstance(mesh, TetMesh):
            return super().make_body(mesh)
        body = DeformableBody(mesh, density=self.jelly_density, gravity=self.gravity)
        body.add(TetElements(mesh, youngs_modulus=self.youngs_modulus, poissons_ratio=0.4, material="neo-hookean", damping=0.01))
        return body

    def make_rigid(self) -> list[RigidBody]:
        """Boxes and balls in layers above the jelly."""
        rng = np.random.default_rng(self.seed)
        bodies = []
        for k in range(self.bodies):
            size = rng.uniform(0.05, 0.12, 3)
            q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
            turn = (q * np.sign(np.linalg.det(q))).tolist()
            x, z = 0.17 * (k % 3 - 1), 0.17 * (k // 3 % 3 - 1)
            pose = Pose((x, 0.26 + 0.16 * (k // _LAYER), z), turn)
            options: dict[str, Any] = {"density": self.body_density, "pose": pose, "gravity": self.gravity}
            bodies.append(RigidBody.sphere(0.5 * size[0], **options) if k % 3 == 2 else RigidBody.box(size.tolist(), **options))
        return bodies

    def make_world(self, bodies: Sequence[DeformableBody]) -> World:
        """All bodies on the ground."""
        world = World(gravity=self.gravity, steps_per_loop=self.steps_per_loop, elasticity="full-step", tolerance=self.tolerance)
        for body in bodies:
            world.add(body, thickness=self.thickness, friction=self.friction)
        for rigid in self.make_rigid():
            world.add(rigid, friction=self.friction)
        world.add_obstacle(self.ground_plane(), friction=0.6)
        return world

    def report(self, time: float) -> dict[str, float]:
        """As for other scenes; `intersections` are those of deformable surfaces, `overlap` (m) is the largest of rigid bodies."""
        report = super().report(time)
        found = self.world.surface.movable_pairs(self.world.audit())
        rigid = self._last[-1].rigid if self._last else None
        return {**report, "intersections": float(len(found)), "overlap": 0.0 if rigid is None else max(0.0, float(rigid.deepest))}

    def frame_data(self) -> Mapping[str, FrameItem]:
        """The surfaces of deformable bodies as one mesh, and those of rigid ones."""
        return {**super().frame_data(), "rigid": rigid_surfaces(self.world.rigid.bodies)}
