"""Smooth surfaces for pictures, which intersect nothing that the coarse ones do not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision.collision_mesh import CollisionMesh
from meniscus.collision.contact.limited_motion import StillObstacles, limited_motion
from meniscus.mesh.refinement.loop import LoopSubdivision
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.mesh.triangle_mesh import TriangleMesh, triangle_mesh


class SmoothSurface:
    """Loop subdivision of triangles that move, which stops before the surface touches itself or obstacles.

    On each level the surface goes from its linear subdivision, which is where the coarser one is, towards the smooth one, as if that were a
    step in time: vertices whose elements would touch something go less far (`limited_motion`). So folds do not intersect if those of the
    coarse surface do not, and what is on one side of the coarse surface is on the same side of the smooth one.

    Args:
        triangles: (m, 3) integers.
        vertices: number of vertices.
        levels: of subdivision.

    Attributes:
        triangles: of the smooth surface.

    Raises:
        TypeError, ValueError: as `mesh.refinement.loop.LoopSubdivision`; a negative number of levels.

    Source: Bridson, Fedkiw and Anderson 2002, section 8; Selle 2008, section 4.6 (subdivision that minds collisions and fluids).
    """

    def __init__(self, triangles: npt.ArrayLike, vertices: int, levels: int = 2) -> None:
        self._levels: list[tuple[LoopSubdivision, CollisionMesh]] = []
        self.triangles = np.array(triangles, np.int32)
        for _ in range(_checks.integer("levels", levels, 0, 6)):
            finer = LoopSubdivision(self.triangles, vertices)
            self.triangles, vertices = finer.triangles, finer.vertices
            self._levels.append((finer, CollisionMesh(None, finer.triangles)))

    def flat(self, positions: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the vertices (k, 3), m, of the coarse surface with positions (n, 3), m, cut into the triangles of the smooth one."""
        x = np.ascontiguousarray(positions, np.float64)
        for finer, _ in self._levels:
            x = finer.linear(x)
        return x

    def at(
        self, positions: npt.NDArray[np.float64], obstacles: Sequence[npt.NDArray[np.float64] | SurfaceLike] = ()
    ) -> npt.NDArray[np.float64]:
        """Return the vertices (k, 3), m, of the smooth surface around the coarse one with positions (n, 3), m.

        Args:
            positions: float64.
            obstacles: points (p, 3), m, such as markers, samples of water or vertices of its mesh, and surfaces, which the surface must not
                pass on its way from the coarse one.

        Raises:
            TypeError, ValueError: wrong shapes, positions that are not finite; a coarse surface that touches itself or an obstacle.
        """
        still = StillObstacles(obstacles)
        x = np.ascontiguousarray(positions, np.float64)
        for finer, mesh in self._levels:
            x, _ = limited_motion(mesh, finer.linear(x), finer.smooth(x), still)
        return x


def smooth_surface(
    surface: SurfaceLike, levels: int = 2, *, obstacles: Sequence[npt.NDArray[np.float64] | SurfaceLike] = ()
) -> TriangleMesh:
    """Return a surface after Loop subdivision that stops before it touches itself or obstacles; see `SmoothSurface`."""
    coarse = triangle_mesh(surface)
    made = SmoothSurface(coarse.triangles, len(coarse.vertices), levels)
    return TriangleMesh(made.at(coarse.vertices, obstacles), made.triangles)
