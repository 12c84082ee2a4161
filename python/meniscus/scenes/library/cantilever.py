"""Scene of a beam that is released and swings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from meniscus import _checks
from meniscus.mesh import QuadraticTetMesh, TetMesh, quadratic_mesh, tet_block
from meniscus.scenes.bodies.base import Bodies
from meniscus.scenes.scene import parameter
from meniscus.solids import DeformableBody, Material, QuadraticTetElements, TetElements

Elements = Literal["linear", "quadratic"]
"""Linear ones lock: with few of them the beam is too stiff."""
Integrator = Literal["newmark", "implicit-euler"]
"""Those that take the damping of the beam implicitly."""


@dataclass(kw_only=True)
class Cantilever(Bodies):
    """A beam of finite elements, clamped at one end, that gravity bends.

    Source: Müller et al. 2008, sections 4.3 and 4.4 (corotational elements).
    """

    name: ClassVar[str] = "cantilever"
    edges: ClassVar[bool] = True
    summary: ClassVar[str] = "a soft beam that is clamped at one end and swings"
    box: ClassVar[Any] = ((0.0, -1.0, 0.0), (1.1, 0.35, 0.2))

    resolution: int = parameter(4, "elements along the thickness")
    elements: Elements = parameter("linear", "kind of finite elements")
    youngs_modulus: float = parameter(8e5, "Pa")
    poissons_ratio: float = parameter(0.3, "")
    density: float = parameter(1000.0, "kg/m^3")
    damping: float = parameter(0.002, "proportional to stiffness, s")
    material: Material = parameter("corotational", "of the elements")
    integrator: Integrator = parameter("newmark", "time integration")
    dt: float = parameter(1.0 / 96.0, "longest step, s")

    def make_mesh(self) -> TetMesh | QuadraticTetMesh:
        """A beam of 1 m along x, 0.2 m thick."""
        n = _checks.integer("resolution", self.resolution, 1)
        kind = _checks.choice("elements", self.elements, Elements)
        mesh = tet_block(5 * n, n, n, (1.0, 0.2, 0.2), pattern="five")
        return quadratic_mesh(mesh) if kind == "quadratic" else mesh

    def make_body(self, mesh: Any) -> DeformableBody:
        """Elements and a clamped end."""
        body = DeformableBody(mesh, density=self.density, gravity=(0.0, -9.8, 0.0))
        kind = QuadraticTetElements if isinstance(mesh, QuadraticTetMesh) else TetElements
        body.add(kind(mesh, **self.values("youngs_modulus", "poissons_ratio", "material", "damping")))
        body.pin(np.flatnonzero(mesh.vertices[:, 0] == 0.0))
        return body

    def max_dt(self) -> float:
        """Return the longest step."""
        return self.dt

    def step_options(self) -> dict[str, Any]:
        """Return those of Newmark with elasticity implicit, or of implicit Euler."""
        if self.integrator == "implicit-euler":
            return {"integrator": "implicit-euler", "tolerance": 1e-4, "newton_tolerance": 1e-6}
        return {"integrator": "newmark", "elasticity": "full-step", "tolerance": 1e-6}
