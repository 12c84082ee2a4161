"""Rest state of a sheet in a plane."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh.arrays import float_rows
from meniscus.mesh.triangle_mesh import TriangleMesh
from meniscus.solids.elements.plate_bending import hinges_of_sheet

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

# Off their plane, relative to the size of the mesh.
_FLAT = 1e-9


def rest_of(mesh: TriangleMesh, rest: npt.ArrayLike | None) -> Floats:
    """Return the rest state (n, 2), m, of a sheet: the one given, or the mesh itself if that is flat.

    Raises:
        TypeError, ValueError: a wrong shape, values that are not finite, a mesh that is not flat, rest triangles that are inverted or
            have no area, edges that are not those of a sheet.
    """
    triangles = np.asarray(mesh.triangles)
    if not len(triangles):
        raise ValueError("cloth needs a triangle")
    if rest is None:
        x = _flattened(np.asarray(mesh.vertices))
    else:
        given = np.asarray(rest)
        x = np.array(float_rows("rest", given[:, :2] if given.ndim == 2 and given.shape[1] == 3 and not given[:, 2].any() else given, 2))
        if len(x) != len(mesh.vertices):
            raise ValueError(f"rest must have a row for each of the {len(mesh.vertices)} vertices, not {len(x)}")
        _checks.require_finite("rest", x)
    areas = rest_areas(x, triangles)
    if rest is None and (areas < 0).all():
        x[:, 1] *= -1
        areas = -areas
    if (areas <= 0).any():
        t = int(np.argmin(areas))
        raise ValueError(f"triangles must be positive at rest, but {int((areas <= 0).sum())} are not, the first {t}, of {areas[t]:g} m^2")
    hinges_of_sheet(x, triangles)
    used = np.zeros(len(x), np.bool_)
    used[triangles] = True
    if not used.all():
        raise ValueError(f"vertex {int(np.argmin(used))} belongs to no triangle, so it has no mass: see `mesh.compacted`")
    return np.ascontiguousarray(x)


def rest_areas(rest: Floats, triangles: Ints) -> Floats:
    """Return the signed areas (m,) of triangles at rest, m^2."""
    a, b, c = (rest[triangles[:, k]] for k in range(3))
    u, v = b - a, c - a
    areas: Floats = 0.5 * (u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
    return areas


def rest_masses(rest: Floats, triangles: Ints, density: float) -> Floats:
    """Return the masses (n,) of vertices, kg: a third of each triangle at rest, of a density in kg/m^2."""
    share = np.repeat(rest_areas(rest, triangles) * (density / 3), 3)
    return np.asarray(np.bincount(triangles.ravel(), weights=share, minlength=len(rest)), np.float64)


def _flattened(x: Floats) -> Floats:
    """Return coordinates (n, 2) in the plane of points; those along two axes, if it is theirs."""
    if np.ptp(x[:, 2]) == 0.0:
        return np.array(x[:, :2], np.float64)
    centre = x.mean(axis=0)
    _, sizes, axes = np.linalg.svd(x - centre, full_matrices=False)
    if sizes[2] > _FLAT * sizes[0]:
        raise ValueError("the mesh is not flat: give its rest state, (n, 2), as `rest`")
    normal = np.cross(axes[0], axes[1])
    first = np.eye(3)[int(np.argmin(np.abs(normal)))]
    first -= normal * (first @ normal)
    first /= np.linalg.norm(first)
    return np.ascontiguousarray((x - centre) @ np.stack([first, np.cross(normal, first)], axis=1))
