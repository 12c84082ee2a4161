"""Scene of the recovery of a flattened or scrambled block."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from meniscus import _checks
from meniscus.mesh import TetMesh, tet_block
from meniscus.scenes.bodies.base import Bodies
from meniscus.scenes.scene import parameter
from meniscus.solids import AltitudeSprings, DeformableBody, EdgeSprings, SpringOptions


@dataclass(kw_only=True)
class Recovery(Bodies):
    """A block of tetrahedra that starts flattened into a plane, or with random positions of all nodes, and recovers by altitude springs.

    Source: Selle 2008, section 5.3.4, figure 5.3.
    """

    name: ClassVar[str] = "recovery"
    edges: ClassVar[bool] = True
    summary: ClassVar[str] = "a flattened or scrambled block that finds back to its shape"
    box: ClassVar[Any] = ((-0.4, -0.4, -0.4), (1.4, 1.4, 1.4))

    resolution: int = parameter(5, "small boxes along a side, of six tetrahedra each")
    damage: Literal["flat", "scrambled"] = parameter("flat", "how the block starts")
    stiffness: float = parameter(40.0, "of the edges, N")
    altitude: float = parameter(40.0, "stiffness of the altitudes, N")
    damping: float = parameter(0.3, "fraction of the critical damping of a spring")
    density: float = parameter(10.0, "kg/m^3")
    seed: int = parameter(1, "of the random positions")

    def make_mesh(self) -> TetMesh:
        """A cube of 1 m."""
        n = _checks.integer("resolution", self.resolution, 1)
        return tet_block(n, n, n)

    def make_body(self, mesh: Any) -> DeformableBody:
        """Edge and altitude springs; positions without height or without order."""
        body = DeformableBody(mesh, density=self.density)
        edges = SpringOptions(stiffness=self.stiffness, damping_fraction=self.damping, masses=body.masses)
        body.add(EdgeSprings(mesh, edges, zero_length="last"))
        self.springs = body.add(AltitudeSprings(mesh, replace(edges, stiffness=self.altitude)))
        if self.damage == "flat":
            body.positions[:, 1] = 0.5
        else:
            body.positions = np.random.default_rng(self.seed).random((len(body), 3))
        return body

    def max_dt(self) -> float:
        """Return the limit of the springs."""
        return min(float(self.body.max_dt(cfl=0.5, max_strain=0.3)), 1.0 / 48.0)

    def report(self, time: float) -> dict[str, float]:
        """Energies, the height, and the share of tetrahedra with a positive volume."""
        x = self.body.positions
        volumes = self.mesh.measures(x)
        return {
            **super().report(time),
            "height": float(np.ptp(x[:, 1])),
            "upright": float((volumes > 0).mean()),
        }
