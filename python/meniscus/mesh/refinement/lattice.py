"""Body-centred cubic lattices and red-green refinement."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from meniscus import _checks
from meniscus._meniscus import mesh as _mesh
from meniscus.mesh.any_mesh import own_mesh
from meniscus.mesh.simplices import Floats
from meniscus.mesh.tet_mesh import TetMesh


def bcc_lattice(origin: Sequence[float], cell_size: float, cubes: Sequence[int]) -> TetMesh:
    """Return the tetrahedra of a body-centred cubic lattice: four around every face that two cubes share.

    All are congruent: two opposite edges of length a = `cell_size` with dihedral angles of 90 degrees, four of length a sqrt(3) / 2 with
    60 degrees, volume a^3 / 12. Vertices and tetrahedra lie along Morton curves.

    Args:
        origin: lowest corner, m.
        cell_size: edge of the cubes, m.
        cubes: their number along each axis, at least 1; a single one has no tetrahedra.

    Raises:
        TypeError, ValueError: other arguments, or too many cubes.

    Source: Molino, Bridson, Teran and Fedkiw, "A crystalline, red green strategy for meshing highly deformable objects with
    tetrahedra", 2003; Lee 2018, section 2.3.1.
    """
    if not isinstance(cubes, (Sequence, np.ndarray)) or np.shape(cubes) != (3,):
        raise ValueError(f"cubes must have three values, not {cubes!r}")
    counts = [_checks.integer("cubes", n, at_least=1) for n in cubes]
    x, t = _mesh.bcc_lattice(_checks.vector("origin", origin, 3), _checks.positive("cell_size", cell_size), counts)
    return TetMesh(x, t)


def red_green(mesh: TetMesh, sizes: Callable[[Floats], Floats], *, levels: int = 16) -> TetMesh:
    """Return a mesh refined where its edges are longer than wanted, conforming and without bad angles.

    A red tetrahedron is cut into 8 along the shortest diagonal of its inner octahedron; green tetrahedra (one edge, two opposite edges, or
    the edges of one face cut) join the levels; all other tetrahedra between levels are also cut red. Of a BCC lattice all dihedral angles
    are in [30, 116.57] degrees.

    Args:
        mesh: coarse; its tetrahedra are those that are cut.
        sizes: called with vertices (n, 3), m; returns the wanted edge length (n,) at each, m, positive. A tetrahedron is refined while its
            longest edge is above the least of the sizes at its corners.
        levels: largest number of refinements.

    Raises:
        TypeError, ValueError: other arguments, sizes that are not positive float64 (n,).

    Source: Molino, Bridson, Teran and Fedkiw 2003; Bey, "Tetrahedral grid refinement", 1995.
    """
    mesh = _checks.one_of_type("mesh", own_mesh(mesh), TetMesh)
    rounds = _checks.integer("levels", levels, at_least=0)
    _checks.function("sizes", sizes)

    def checked(points: Floats) -> Floats:
        return np.ascontiguousarray(sizes(points), np.float64)

    return TetMesh(*_mesh.red_green(mesh.vertices, mesh.tets, checked, rounds))
