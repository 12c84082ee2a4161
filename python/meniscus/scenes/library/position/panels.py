"""Scene of six cloths with the stretch and bending stiffness of a figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from meniscus import _checks
from meniscus.mesh import TriangleMesh, cloth_mesh
from meniscus.scenes.bodies.positioned import Positioned
from meniscus.scenes.scene import parameter
from meniscus.solids import BendingConstraints, BendingMeasure, DistanceConstraints, PositionBody

STIFFNESS = ((1.0, 1.0), (0.5, 1.0), (0.01, 1.0), (1.0, 0.0), (0.5, 0.0), (0.01, 0.0))
"""Of stretch and of bending, row by row."""

_STEP = 1.5  # between panels, over the side


@dataclass(kw_only=True)
class Panels(Positioned):
    """Six cloths that hang over two corners: stretched more from left to right, and folded more in the lower row.

    Source: Müller et al. 2008, figure 5.5.
    """

    name: ClassVar[str] = "panels"
    summary: ClassVar[str] = "six cloths of different stretch and bending stiffness"
    box: ClassVar[Any] = ((-0.25, -2.9, -0.5), (4.25, 1.0, 0.5))
    eye: ClassVar[tuple[float, float, float]] = (0.35, 0.45, 2.0)

    resolution: int = parameter(16, "squares along a side")
    measure: BendingMeasure = parameter("isometric", "of bending")
    substeps: int = parameter(20, "parts of a step of 1/60 s, on whose length the printed stiffness depends")

    def make_meshes(self) -> Sequence[Any]:
        """Horizontal squares of 1 m in two rows."""
        n = _checks.integer("resolution", self.resolution, 2)
        flat = cloth_mesh(n, n)
        x = np.stack([flat.vertices[:, 0], np.zeros(len(flat.vertices)), flat.vertices[:, 1]], axis=1)
        shifts = [np.array([_STEP * (k % 3), -1.9 * (k // 3) + 0.7, 0.0]) for k in range(6)]
        return [TriangleMesh(x + shift, flat.triangles[:, ::-1]) for shift in shifts]

    def make_bodies(self, meshes: Sequence[Any]) -> list[PositionBody]:
        """Cloths with their stiffness, held at two neighbouring corners."""
        n, bodies = self.resolution, []
        for mesh, (stretch, bend) in zip(meshes, STIFFNESS, strict=True):
            body = PositionBody(mesh, density=0.2, gravity=self.gravity)
            body.add(DistanceConstraints(mesh, stiffness=stretch))
            body.add(BendingConstraints(mesh, measure=self.measure, stiffness=bend))
            x = mesh.vertices - mesh.vertices.min(axis=0)
            corners = [np.flatnonzero((np.abs(x[:, [0, 2]] - at) < 0.5 / n).all(axis=1))[0] for at in ((0.0, 0.0), (1.0, 0.0))]
            body.pin(corners)
            bodies.append(body)
        return bodies

    def step_options(self) -> dict[str, Any]:
        """With the printed method."""
        return {**super().step_options(), "method": "printed"}

    def report(self, time: float) -> dict[str, float]:
        """Besides: how long the middle line of each cloth is (m)."""
        lengths = {}
        for k, (body, mesh) in enumerate(zip(self.bodies, self.meshes, strict=True)):
            x = mesh.vertices - mesh.vertices.min(axis=0)
            line = np.flatnonzero(np.abs(x[:, 0] - 0.5) < 0.25 / self.resolution)
            line = line[np.argsort(x[line, 2])]
            lengths[f"length {k + 1}"] = float(np.linalg.norm(np.diff(body.positions[line], axis=0), axis=1).sum())
        return {**super().report(time), **lengths}
