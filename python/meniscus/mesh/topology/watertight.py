"""Watertightness: whether a triangle mesh is the boundary of a solid, and its defects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import mesh as _mesh
from meniscus.mesh.surface_like import SurfaceLike, surface_arrays

Ints = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, repr=False)
class WatertightReport:
    """Report of `check_watertight`.

    Attributes:
        watertight: no boundary, no non-manifold and no flipped edge.
        holes: one loop of vertex indices per hole, in the direction of the triangle at its first edge. A loop goes round the
            triangles at a vertex: holes that touch in a vertex make one loop, and parts of a surface that touch there have each
            their own. Where non-manifold edges cut a loop, it is an open chain.
        boundary_edges: number of edges with one triangle.
        hole_lengths: number of vertices of each hole.
        nonmanifold_edges: (n, 2), the edges with more than two triangles.
        flipped_edges: (n, 2), the edges that both of their triangles pass in the same direction.
        degenerate: the triangles with a repeated corner or without area. They do not keep a mesh from being watertight.
        components: number of parts that are connected over edges.
        component: (m,), of each triangle the number of its part; -1 for a triangle with a repeated corner.
    """

    watertight: bool
    holes: list[Ints]
    boundary_edges: int
    nonmanifold_edges: Ints
    flipped_edges: Ints
    degenerate: Ints
    components: int
    component: Ints

    @property
    def hole_lengths(self) -> list[int]:
        """Number of vertices of each hole."""
        return [len(h) for h in self.holes]

    def faults(self) -> str:
        """Return the defects of the mesh in words; empty if it is watertight."""
        parts = []
        if self.boundary_edges:
            parts.append(f"{count_of(len(self.holes), 'hole')} with {count_of(self.boundary_edges, 'boundary edge')}")
        if len(self.nonmanifold_edges):
            parts.append(count_of(len(self.nonmanifold_edges), "non-manifold edge"))
        if len(self.flipped_edges):
            parts.append(f"{count_of(len(self.flipped_edges), 'edge')} between triangles of opposite orientation")
        return " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)

    def __str__(self) -> str:
        """One sentence."""
        faults = self.faults()
        state = f"not watertight: {faults}" if faults else "watertight"
        thin = f"; {count_of(len(self.degenerate), 'degenerate triangle')}" if len(self.degenerate) else ""
        return f"{count_of(len(self.component), 'triangle')} in {count_of(self.components, 'component')}, {state}{thin}"

    def __repr__(self) -> str:
        """The same sentence."""
        return f"<WatertightReport: {self}>"


def count_of(n: int, what: str) -> str:
    """Return a number of things in words."""
    return f"{n} {what}{'' if n == 1 else 's'}"


def report_of(core: Any) -> WatertightReport:
    """Convert a report of the core."""
    return WatertightReport(
        core.watertight,
        core.holes,
        core.boundary_edges,
        core.nonmanifold_edges,
        core.flipped_edges,
        core.degenerate,
        core.components,
        core.component,
    )


def check_watertight(surface: SurfaceLike, triangles: npt.ArrayLike | None = None) -> WatertightReport:
    """Return whether a triangle mesh is watertight, and its defects.

    Args:
        surface: a `TriangleMesh` or what it is made from; with `triangles`, the vertices (n, 3) alone, m.
        triangles: (m, 3), indices of vertices, counter-clockwise as seen from outside.

    Raises:
        TypeError, ValueError: what is no surface, no triangle, indices out of range, positions that are not finite.
    """
    return report_of(_mesh.check_watertight(*surface_arrays(surface, triangles)))
