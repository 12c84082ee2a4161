"""Repair of surfaces as files hold them, so that they are the boundary of a solid where that can be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import mesh as _mesh
from meniscus.mesh.surface_like import SurfaceLike, surface_arrays
from meniscus.mesh.topology.watertight import Ints, WatertightReport, count_of
from meniscus.mesh.triangle_mesh import TriangleMesh


@dataclass(frozen=True, eq=False, repr=False)
class RepairReport:
    """What `repair` did, and what remains to be wrong.

    Attributes:
        welded: vertices that became part of another one.
        degenerate: triangles left out that had no area.
        doubled: triangles left out that had the corners of another one.
        turned: triangles turned around.
        filled: holes closed.
        added: triangles that close them.
        sources: (n,), for each vertex of the result which of the given ones it is.
        remaining: watertightness of the result.
        one_sided: edges of surfaces with one side, such as a Moebius strip, where no orientation fits.
        crossings: pairs of triangles that meet beyond the corners that they share: the surface crosses or touches itself there.
    """

    welded: int
    degenerate: int
    doubled: int
    turned: int
    filled: int
    added: int
    sources: Ints
    remaining: WatertightReport
    one_sided: int
    crossings: int

    @property
    def clean(self) -> bool:
        """Whether the result is watertight and does not cross itself."""
        return self.remaining.watertight and self.crossings == 0

    def __str__(self) -> str:
        """One sentence."""
        done = [
            f"{verb} {count_of(n, what)}"
            for n, verb, what in (
                (self.welded, "joined", "coincident point"),
                (self.degenerate + self.doubled, "left out", "triangle"),
                (self.turned, "turned", "triangle"),
                (self.filled, "closed", "hole"),
            )
            if n
        ]
        crossing = f", with {count_of(self.crossings, 'pair')} of triangles that cross or touch" if self.crossings else ""
        return f"{', '.join(done) or 'nothing to do'}; what remains: {self.remaining}{crossing}"

    def __repr__(self) -> str:
        """The same sentence."""
        return f"<RepairReport: {self}>"


def repair(
    surface: SurfaceLike,
    triangles: npt.ArrayLike | None = None,
    *,
    weld: float | None = None,
    fill: bool = True,
    orient: bool = True,
) -> tuple[TriangleMesh, RepairReport]:
    """Return a surface without the defects that can be mended, and what was done and remains.

    Vertices that coincide become one. Triangles without area go, without opening the surface, and so do copies: of triangles with the
    same corners one stays, or none where the surface is closed without them, as at a wall between two boxes. Holes are closed by the
    triangulation with the least area, except where it is more than three quarters of the area around (so that a sheet stays a sheet), and
    so are cracks at corners that lie on an edge. Triangles then pass their edges in opposite directions, and normals point outward; a
    shell within another keeps its orientation relative to that one. No vertex moves and none is added.

    What remains, such as parts that cross each other, needs no repair: `MeshDistance` and all that takes one go by the winding number.

    Args:
        surface: a `TriangleMesh` or what it is made from; with `triangles`, the vertices (n, 3) alone, m.
        triangles: (m, 3).
        weld: m; vertices joined by steps of at most this become one. Default: a hundred-millionth of the longest side of the box around
            all that triangles use; 0: only those with the same coordinates.
        fill: whether holes are closed.
        orient: whether triangles are turned.

    Raises:
        TypeError, ValueError: what is no surface, positions that are not finite, no triangle with an area.

    Source: Barequet and Sharir, "Filling gaps in the boundary of a polyhedron", 1995; Jacobson, Kavan and Sorkine-Hornung 2013.
    """
    vertices, corners = surface_arrays(surface, triangles)
    if weld is None:
        used = vertices[np.unique(corners)]
        weld = 1e-8 * float(np.ptp(used, axis=0).max()) if len(used) and np.isfinite(used).all() else 0.0
    elif _checks.number("weld", weld) < 0:
        raise ValueError(f"weld must not be negative, but is {weld}")
    x, kept, sources, counts = _mesh.repaired_surface(
        vertices, corners, float(weld), _checks.flag("fill", fill), _checks.flag("orient", orient)
    )
    mesh = TriangleMesh(x, kept)
    return mesh, RepairReport(sources=sources, remaining=mesh.check_watertight(), **counts)
