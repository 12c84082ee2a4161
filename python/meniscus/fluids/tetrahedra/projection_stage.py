"""The projection of the water of a `TetVOF`, for comparison with its own way of conserving volume."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.fluids.tetrahedra.geometry import TetGeometry
from meniscus.fluids.tetrahedra.options import TetVOFOptions
from meniscus.fluids.tetrahedra.projection import TetPressureSolver, TetSolid
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.surface.shapes.solid import Solid
from meniscus.surface.tetrahedra.solid_on_tets import SolidOnTets

Floats = npt.NDArray[np.float64]
_WET = 0.5  # tetrahedra that are fuller belong to the water whose pressure is found


class ProjectionOfWater:
    """Projection on the tetrahedra that are at least half full.

    Args:
        geometry: of the water.
    """

    def __init__(self, geometry: TetGeometry) -> None:
        self._geometry = geometry
        self._solver = TetPressureSolver(TetMesh(geometry.positions.copy(), geometry.tets))
        self._pressure = np.zeros(len(geometry.positions))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._solver.nbytes + self._pressure.nbytes

    @property
    def pressure(self) -> Floats:
        """Of the last solve (n,), Pa."""
        return self._pressure

    def holds(self, volume: Floats) -> npt.NDArray[np.bool_]:
        """Return the tetrahedra (m,) with water that the pressure of the last solve acts on."""
        found: npt.NDArray[np.bool_] = (volume > _WET * self._geometry.capacity) & (self._pressure != 0)[self._geometry.tets].any(axis=1)
        return found

    def act(self, volume: Floats, velocity: Floats, dt: float, options: TetVOFOptions) -> Any:
        """Make the velocity divergence-free, in place. Returns the report; None where there is nothing to solve for.

        Raises:
            ConvergenceError: the solve failed; nothing is changed.
        """
        g = self._geometry
        wet = (volume > _WET * g.capacity) & (g.ranks >= 0) & (g.capacity > 0)
        if not wet.any() or dt == 0:
            return None
        solid = g.on_tets
        if solid is not None:
            g.solid_motion(g.layers_of(volume))
        return self._solver.project(
            g.positions,
            velocity,
            dt,
            wet=wet,
            solid=TetSolid(
                open_fraction=None if solid is None else 1 - solid.fraction,
                object_velocity=None if solid is None else self._object_velocity(solid, dt),
                enabled=g.ranks > -2,
            ),
            density=options.density,
            boundary="open" if g.open_boundary else "wall",
            pressure=self._pressure,
        )

    def _object_velocity(self, on_tets: SolidOnTets, dt: float) -> Floats:
        """Return the velocity (m, 3) of the solid, also deep inside of it, where a jump would count as a flow through its surface."""
        g = self._geometry
        if not isinstance(g.solid, Solid) or not g.solid.moves:
            return on_tets.velocity
        velocity: Floats = on_tets.velocity.copy()
        inside = np.flatnonzero(on_tets.inside)
        if len(inside):
            centres = np.ascontiguousarray(g.positions[g.tets[inside]].mean(axis=1))
            velocity[inside] = g.solid.velocity(centres, float(g.time or 0.0), -dt)
        return velocity
