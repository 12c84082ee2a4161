"""The motion of the inside of a creature that follows from the motion of its skin."""

from __future__ import annotations

import copy
import warnings
from typing import Literal

import numpy as np
import numpy.typing as npt

from meniscus.collision.point_location.tet_locator import TetLocator
from meniscus.collision.proximity.queries import closest_point
from meniscus.mesh import HarmonicMorph, TetMesh, TriangleMesh
from meniscus.surface import DeviationWarning, NotWatertightWarning, bcc_mesh

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
MorphStart = Literal["rest", "previous-frame"]

_TOLERANCE = 1e-12
_REACH = 0.5  # cells: farther off the mesh of the inside, points are not taken along


class InteriorMorph:
    """Displacements of points inside a closed surface that moves: harmonic, and exact for affine motions.

    The inside is meshed with tetrahedra whose boundary vertices lie on the skin and take part in its motion. The affine map that fits the
    motion of the skin best is taken as it is; what remains is interpolated harmonically. Parts of the skin thinner than the cells have no
    mesh inside; points there are left out (`covered`).

    Args:
        skin: closed, at rest.
        points: (k, 3) inside of it, m.
        cell_size: of the mesh, m.
        start: "rest": the displacement since the rest pose is harmonic in the mesh at rest, so that a motion that returns takes all points
            back; "previous-frame": that since the last frame, in the mesh of the last frame, as printed, which drifts.

    Source: Lee 2018, section 2.3.1; Ali-Hamadi et al., "Anatomy transfer", 2013.
    """

    def __init__(self, skin: TriangleMesh, points: Floats, cell_size: float, start: MorphStart = "rest") -> None:
        self._skin = skin.vertices
        self._start = start
        self.mesh = _fitted(skin, cell_size)
        self.covered = np.zeros(len(points), bool)
        self.drift = 0.0
        """Largest distance (m) of the points of the last frame from where the displacement since rest would take them."""
        self._morph: HarmonicMorph | None = None
        if not len(self.mesh.tets):
            self._at = (np.empty((0, 4), np.int32), np.empty((0, 4)))
            return
        nodes = self.mesh.boundary.used_vertices
        on_skin = closest_point(skin.vertices, skin.triangles, np.ascontiguousarray(self.mesh.vertices[nodes]))
        self._nodes: Ints = nodes.astype(np.int32)
        self._corners, self._weights = skin.triangles[on_skin.triangles], on_skin.barycentric
        self._center = self._skin.mean(axis=0)
        offsets = self._skin - self._center
        self._fit = np.linalg.pinv(offsets)
        self.covered, tets, weights = _embedded(self.mesh, points, _REACH * cell_size)
        self._at = (self.mesh.tets[tets[self.covered]], weights[self.covered])
        self._morph = HarmonicMorph(self.mesh, self._nodes)
        self._rest_morph = self._morph
        self._reset()

    @property
    def keeps_history(self) -> bool:
        """Whether positions depend on the frames before."""
        return self._start == "previous-frame"

    def copy(self) -> InteriorMorph:
        """Return one in the rest pose with solvers of its own, for another thread."""
        other = copy.copy(self)
        if self._morph is not None:
            other._morph = other._rest_morph = HarmonicMorph(self.mesh, self._nodes)
            other._reset()
        return other

    def _reset(self) -> None:
        self._inside: Floats = np.array(self.mesh.vertices)
        self._previous: Floats = self._skin

    def positions(self, skin: Floats) -> Floats:
        """Return the positions of the covered points, m, for a position of the skin (n, 3). Frames come in their order, unless `start` is
        "rest"."""
        if self._morph is None:
            return np.empty((0, 3))
        from_rest = self.mesh.vertices + self._displacement(self._rest_morph, self.mesh.vertices, self._skin, skin)
        if self._start == "rest":
            inside = from_rest
        else:
            inside = self._inside + self._displacement(self._current(), self._inside, self._previous, skin)
            self.drift = float(np.linalg.norm(inside - from_rest, axis=1).max())
        self._inside, self._previous = inside, np.array(skin)
        corners, weights = self._at
        result: Floats = np.einsum("nk,nkd->nd", weights, inside[corners])
        return result

    def _current(self) -> HarmonicMorph:
        """Return the morph of the mesh of the last frame; of that at rest where it is inverted somewhere."""
        moved = self.mesh.moved(self._inside)
        if moved.volumes.min(initial=np.inf) > 0:
            return HarmonicMorph(moved, self._nodes)
        return self._rest_morph

    def _displacement(self, morph: HarmonicMorph, inside: Floats, before: Floats, after: Floats) -> Floats:
        motion = after - before
        if not motion.any():
            return np.zeros_like(inside)
        center = before.mean(axis=0)
        offsets = before - center
        shift = motion.mean(axis=0)
        fit = self._fit if before is self._skin else np.linalg.pinv(offsets)
        gradient = fit @ (motion - shift)
        rest = motion - shift - offsets @ gradient
        given = np.einsum("nk,nkd->nd", self._weights, rest[self._corners])
        result: Floats = shift + (inside - center) @ gradient
        if np.abs(given).max(initial=0.0) > 1e-14 * np.abs(before).max():
            result = result + morph.displacements(np.ascontiguousarray(given), tolerance=_TOLERANCE)
        return result


def _fitted(skin: TriangleMesh, cell_size: float) -> TetMesh:
    """Return a mesh of the inside whose boundary vertices lie on the skin."""
    with warnings.catch_warnings():
        # What is too thin for the cells is left out, and `covered` tells of it; what is inside, the user knows from the mesh of air.
        warnings.simplefilter("ignore", DeviationWarning)
        warnings.simplefilter("ignore", NotWatertightWarning)
        mesh = bcc_mesh(skin, cell_size, refine=1, compress=True)
    if not len(mesh.tets):
        return mesh
    nodes = mesh.boundary.used_vertices
    x = np.array(mesh.vertices)
    x[nodes] = closest_point(skin.vertices, skin.triangles, np.ascontiguousarray(x[nodes])).positions
    snapped = mesh.moved(x)
    return snapped if snapped.volumes.min() > 0 else mesh


def _embedded(mesh: TetMesh, points: Floats, reach: float) -> tuple[npt.NDArray[np.bool_], Ints, Floats]:
    """Return which points have a tetrahedron, which, and their barycentric coordinates, negative for those a bit outside."""
    x = np.ascontiguousarray(points)
    found = TetLocator(mesh).locate(x)
    tets, weights = found.tets.copy(), found.barycentric.copy()
    outside = np.flatnonzero(tets < 0)
    if len(outside):
        near = closest_point(mesh.boundary, points=np.ascontiguousarray(x[outside]))
        owner = mesh.face_tets[mesh.boundary_faces[near.triangles]].max(axis=1)
        corners = mesh.vertices[mesh.tets[owner]]
        edges = np.stack([corners[:, k] - corners[:, 0] for k in (1, 2, 3)], axis=2)
        local = np.linalg.solve(edges, (x[outside] - corners[:, 0])[:, :, None])[:, :, 0]
        weights[outside] = np.column_stack([1.0 - local.sum(axis=1), local])
        tets[outside] = np.where(near.distances <= reach, owner, -1)
    return tets >= 0, tets, weights
