"""Scene of a reduced beam that bends far."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.mesh import TetMesh, tet_block
from meniscus.scenes.bodies.base import Bodies
from meniscus.scenes.scene import parameter
from meniscus.solids import ReducedBody


@dataclass(kw_only=True)
class ReducedBeam(Bodies):
    """A beam of few coordinates, clamped at one end, that gravity bends by more than half of its length.

    With `derivatives` off the same number of modes of vibration alone, which lock.

    Source: Müller et al. 2008, chapter 7; Barbic and James 2005.
    """

    name: ClassVar[str] = "reduced-beam"
    edges: ClassVar[bool] = True
    summary: ClassVar[str] = "a soft beam of 20 coordinates that swings"
    box: ClassVar[Any] = ((0.0, -1.0, 0.0), (1.1, 0.35, 0.2))

    resolution: int = parameter(3, "elements along the thickness")
    modes: int = parameter(8, "modes of vibration in the basis")
    size: int = parameter(20, "vectors of the basis, with modal derivatives")
    derivatives: bool = parameter(True, "whether the basis has modal derivatives, or as many modes alone")
    youngs_modulus: float = parameter(5e5, "Pa")
    damping: float = parameter(0.01, "proportional to stiffness, s")
    dt: float = parameter(1.0 / 96.0, "longest step, s")

    def make_mesh(self) -> TetMesh:
        """A beam of 1 m along x, 0.1 m thick."""
        n = _checks.integer("resolution", self.resolution, 1)
        return tet_block(10 * n, n, n, (1.0, 0.1, 0.1), pattern="five")

    def make_body(self, mesh: Any) -> Any:
        """The reduced body, with a clamped end."""
        return ReducedBody(
            mesh,
            modes=self.modes if self.derivatives else self.size,
            size=self.size,
            youngs_modulus=self.youngs_modulus,
            fixed=np.flatnonzero(mesh.vertices[:, 0] == 0.0),
            gravity=(0.0, -9.8, 0.0),
            stiffness_damping=self.damping,
        )

    def max_dt(self) -> float:
        """Return the longest step."""
        return self.dt
