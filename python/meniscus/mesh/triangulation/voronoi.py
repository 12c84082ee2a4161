"""Voronoi cells of sites in a box."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import mesh as _mesh
from meniscus.core.memory import MemoryOwner

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


class VoronoiMesh(MemoryOwner):
    """Voronoi cells of sites in a box, the dual of their Delaunay tetrahedra: a cell is what is closer to its site than to any other.

    Each face is one for both of its cells. Lattices, where more than four sites lie on a sphere, are no special case: faces whose area is
    round-off are left out. All arrays are read-only views. What is built depends on the sites alone, and not on the number of threads.

    Args:
        sites: float64 (n, 3), m, in the box and apart from each other; one is enough.
        box: its lower and its upper corner, m.

    Raises:
        TypeError, ValueError: sites of another shape or type, not finite, outside of the box or at the same place; an empty box.

    Source: Brochu 2012, section 7.4.1.
    """

    def __init__(self, sites: npt.NDArray[np.float64], box: npt.ArrayLike) -> None:
        x = _checks.points("sites", sites, np.dtype(np.float64), 3)
        corners = _checks.numbers("box", box)
        if corners.shape != (2, 3):
            raise ValueError(f"box must have two corners of three numbers each, not shape {corners.shape}")
        self._low, self._high = (np.array(corner) for corner in corners)
        self._core: _mesh.VoronoiMesh = _mesh.VoronoiMesh(np.ascontiguousarray(x), self._low, self._high)

    @classmethod
    def of_core(cls, core: _mesh.VoronoiMesh, box: tuple[Floats, Floats]) -> VoronoiMesh:
        """Return the cells that the compiled core has built."""
        self = cls.__new__(cls)
        self._core = core
        self._low, self._high = box
        return self

    @property
    def box(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The lower and the upper corner, m."""
        return tuple(self._low.tolist()), tuple(self._high.tolist())

    @property
    def sites(self) -> Floats:
        """(n, 3), m."""
        return self._core.sites

    @property
    def faces(self) -> Ints:
        """(f, 2), the sites of both cells, ascending; faces on the walls come last, with -1 to -6 for those at -x, +x, -y, +y, -z, +z."""
        return self._core.faces

    @property
    def areas(self) -> Floats:
        """(f,), m^2, of the faces."""
        return self._core.areas

    @property
    def centroids(self) -> Floats:
        """(f, 3), m, of the faces."""
        return self._core.centroids

    @property
    def normals(self) -> Floats:
        """(f, 3), unit normals from the first cell of a face to the second, or out of the box."""
        return self._core.normals

    @property
    def distances(self) -> Floats:
        """(f,), m, between the sites of a face; twice that to the wall, where it is on one."""
        return self._core.distances

    @property
    def volumes(self) -> Floats:
        """(n,), m^3, of the cells."""
        return self._core.volumes

    def polygon(self, face: int) -> Floats:
        """Return the corners (k, 3), m, of a face, counter-clockwise about its normal."""
        f = _checks.integer("face", face, 0, len(self.areas))
        start = self._core.polygon_starts
        corners: Floats = self._core.polygon_corners[start[f] : start[f + 1]]
        return corners

    def locate(self, points: npt.ArrayLike) -> Ints:
        """Return the cells (k,) that points (k, 3), m, are in: their closest sites.

        Points outside of the box count as at the closest point of its walls.
        """
        x = np.ascontiguousarray(_checks.points("points", np.asarray(points, np.float64), np.dtype(np.float64), 3))
        _checks.require_finite("points", x)
        found = np.empty(len(x), np.int32)
        self._core.locate(x, found)
        return found

    def update(self, remove: npt.ArrayLike = (), insert: npt.ArrayLike = ()) -> None:
        """Take sites out and put others in; those that stay keep their order, and new ones follow them.

        All is built anew at present, so a few changes cost as much as many.

        Args:
            remove: (k,) numbers of sites.
            insert: (m, 3) places, m.

        Raises:
            TypeError, ValueError: numbers that are none of sites; as the constructor. Nothing has changed then.
        """
        numbers = np.asarray(remove)
        if numbers.size and (numbers.dtype.kind not in "iu" or numbers.min() < 0 or numbers.max() >= len(self.sites)):
            raise ValueError(f"remove must hold numbers of sites, 0 to {len(self.sites) - 1}")
        kept = np.delete(np.asarray(self.sites), numbers.astype(np.int64), axis=0)
        added = np.asarray(insert, np.float64).reshape(-1, 3) if np.size(insert) else np.zeros((0, 3))
        self._core = _mesh.VoronoiMesh(np.concatenate([kept, added]), self._low, self._high)

    def __getstate__(self) -> dict[str, Any]:
        """Return the sites and the box, from which all follows."""
        return {"sites": np.array(self.sites), "box": np.stack([self._low, self._high])}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Build the cells again."""
        self.__init__(state["sites"], state["box"])  # type: ignore[misc]

    def __repr__(self) -> str:
        """One line with the counts."""
        return f"<VoronoiMesh: {len(self.sites)} cells, {len(self.areas)} faces>"
