"""Bending of thin plates that are flat at rest."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.mesh import TriangleMesh
from meniscus.mesh.any_mesh import own_mesh
from meniscus.mesh.arrays import float_rows
from meniscus.solids.force import FLOAT64, Floats, Force, of_mesh

Bools = npt.NDArray[np.bool_]


class PlateBending(Force):
    """Bending of a thin plate of an elastic material, such as cloth, which is flat at rest; the same on every mesh.

    The energy of a triangle with area A at rest is A / 2 k^T D k, for its curvatures k = (k11, k22, k12) along the axes of the plane at
    rest. These are sums over the angles between triangles around, with weights by which the curvatures of every quadratic surface are
    exact, so that the energy converges to that of the material, with second order, on meshes of any shape. (Angles of hinges alone, as in
    `DihedralBending`, or springs across edges, give another stiffness on each mesh.)

    Args:
        mesh: the triangles (a `mesh.TriangleMesh`, or a mesh of trimesh, meshio or PyVista), or an (m, 3) int32 array of nodes. Each edge
            has one or two of them.
        rest: (n, 2) float64, m, where all triangles are positive; the first two coordinates of the mesh if left out.
        stiffness: D, N m: one number B is that of an isotropic plate (Young's modulus times thickness^3 / 12 / (1 - nu^2)); or (3, 3),
            symmetric and positive definite, for all triangles, or (m, 3, 3).
        poissons_ratio: of an isotropic plate, above -1 and below 1.
        damping: s, in proportion to the stiffness.
        rigid: (m,) bool: triangles whose nodes are all held. They do not bend, and an edge of them holds the plate like a clamp.
        collapsed: triangles below this multiple of their rest area have no angle with others.

    Raises:
        TypeError, ValueError: wrong dtype or shape, triangles that are not positive at rest, values out of range.

    Source: Morley 1968 (plates by constant moments); Grinspun, Gingold, Reisman and Zorin, "Computing discrete shape operators on general
    meshes", 2006; the weights are ours.
    """

    _core: _solids.PlateBending

    def __init__(
        self,
        mesh: object,
        rest: npt.ArrayLike | None = None,
        *,
        stiffness: npt.ArrayLike,
        poissons_ratio: float = 0.0,
        damping: float = 0.0,
        rigid: npt.ArrayLike | None = None,
        collapsed: float = 1e-6,
    ) -> None:
        own = own_mesh(mesh)
        triangles = of_mesh("mesh", own, "triangles", 3)
        if rest is None:
            if not hasattr(own, "vertices"):
                raise TypeError("rest is needed where mesh is an array of triangles")
            rest = np.asarray(own.vertices)[:, :2]
        x = float_rows("rest", rest, 2)
        _checks.require_finite("rest", x)
        if triangles.size and (triangles.min() < 0 or triangles.max() >= len(x)):
            raise ValueError(f"rest must have a row for each of the {int(triangles.max()) + 1} nodes, not {len(x)}")
        hinges = hinges_of_sheet(x, triangles)
        held = np.zeros(len(triangles), np.bool_) if rigid is None else np.ascontiguousarray(rigid)
        if held.dtype != np.bool_ or held.shape != (len(triangles),):
            raise ValueError(f"rigid must be of bool and shape ({len(triangles)},), not {held.dtype} and {held.shape}")
        d = plate_stiffness(stiffness, poissons_ratio, len(triangles))
        part = _checks.number("collapsed", collapsed)
        if not 0 <= part < 1:
            raise ValueError(f"collapsed must be at least 0 and below 1, not {part:g}")
        self._make(_solids.PlateBending, triangles, x, hinges, held, d, _checks.number("damping", damping), part)

    def curvatures(self, x: Floats) -> Floats:
        """Return the curvatures k11, k22, k12 (m, 3) of the triangles at positions `x` (m), 1/m; positive towards their normals."""
        return np.asarray(self._core.curvatures(_checks.points("x", x, FLOAT64, 3)))


def hinges_of_sheet(rest: Floats, triangles: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Return the hinges (k, 4) of triangles in a plane (n, 2). Raises ValueError for edges with more than two of them, or opposed ones."""
    mesh = TriangleMesh(np.concatenate([rest, np.zeros((len(rest), 1))], axis=1), triangles)
    hinges: npt.NDArray[np.int32] = mesh.hinges
    directed = triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2).astype(np.int64)
    keys = directed[:, 0] * len(rest) + directed[:, 1]
    if len(np.unique(keys)) != len(keys):
        order = np.argsort(keys, kind="stable")
        first = order[np.flatnonzero(np.diff(keys[order]) == 0)[0]]
        a, b = directed[first].tolist()
        raise ValueError(
            f"edges of a sheet have one or two triangles that pass them in opposite directions, but that of {a} and {b} has not"
        )
    return hinges


def plate_stiffness(stiffness: npt.ArrayLike, poissons_ratio: float, triangles: int) -> Floats:
    """Return the stiffness (1 | m, 3, 3) of (k11, k22, k12), N m. Raises ValueError for a wrong shape or values out of range."""
    d = np.array(stiffness, np.float64)
    nu = _checks.number("poissons_ratio", poissons_ratio)
    if not -1 < nu < 1:
        raise ValueError(f"poissons_ratio must be above -1 and below 1, not {nu:g}")
    if d.ndim == 0:
        b = _checks.positive("stiffness", float(d))
        return b * np.array([[[1.0, nu, 0.0], [nu, 1.0, 0.0], [0.0, 0.0, 2.0 * (1.0 - nu)]]])
    if d.shape not in ((3, 3), (triangles, 3, 3)):
        raise ValueError(f"stiffness must be a number or have shape (3, 3) or ({triangles}, 3, 3), not {d.shape}")
    return np.ascontiguousarray(d.reshape(-1, 3, 3))
