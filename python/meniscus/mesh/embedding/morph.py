"""Harmonic morphs: the motion of some vertices carried through a tetrahedral mesh."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import mesh as _mesh
from meniscus.mesh.simplices import FLOAT64, Floats, check_out
from meniscus.mesh.tet_mesh import TetMesh

Ints = npt.NDArray[np.int32]


class HarmonicMorph:
    """Harmonic interpolation of displacements of given nodes to all vertices of a mesh: one matrix, three right-hand sides.

    Each component solves the Laplace equation with linear finite elements on the mesh at rest. Affine motions are reproduced. Where no
    dihedral angle of the mesh is obtuse (`obtuse_edges` is 0), displacements stay within the range of those given; elsewhere linear
    elements may leave it slightly.

    Args:
        mesh: with positive volumes.
        nodes: (k,) int32, the vertices whose displacements will be given; every part of the mesh needs one.

    Raises:
        TypeError, ValueError: other arguments, nodes out of range or twice, a part without one, a tetrahedron without a positive volume.

    Source: Lee 2018, section 2.3.1; Ali-Hamadi et al., "Anatomy transfer", 2013.
    """

    def __init__(self, mesh: TetMesh, nodes: Ints) -> None:
        self._mesh = _checks.one_of_type("mesh", mesh, TetMesh)
        given = np.asarray(nodes)
        if given.dtype != np.int32 or given.ndim != 1:
            raise TypeError(f"nodes must be int32 of shape (k,), not {given.dtype} of shape {given.shape}")
        self._core: Any = _mesh.HarmonicMorph(mesh.vertices, mesh.tets, np.ascontiguousarray(given))
        self._nodes: Ints = given.copy()
        self._iterations = (0, 0, 0)

    @property
    def mesh(self) -> TetMesh:
        """The mesh at rest."""
        return self._mesh

    @property
    def nodes(self) -> Ints:
        """A copy of the vertices whose displacements are given."""
        copy: Ints = self._nodes.copy()
        return copy

    @property
    def obtuse_edges(self) -> int:
        """Number of edges with a positive entry in the matrix, which obtuse dihedral angles cause: at 0 the maximum principle holds."""
        return int(self._core.positive_edges())

    @property
    def iterations(self) -> tuple[int, int, int]:
        """Iterations of the conjugate gradients that the last solve took for x, y and z."""
        return self._iterations

    def displacements(self, given: Floats, *, tolerance: float = 1e-12, start: Floats | None = None, out: Floats | None = None) -> Floats:
        """Return the displacements (n, 3) of all vertices, m.

        Args:
            given: (k, 3) float64, displacements of the nodes, m.
            tolerance: of the residual, relative to that of the right-hand side; where round-off allows no smaller one, that is taken.
            start: (n, 3) float64, initial guess, such as the displacements of the previous frame; default: zero.
            out: (n, 3) float64 to write to; a new array by default.

        Raises:
            TypeError, ValueError: other arrays, values that are not finite.
            RuntimeError: no convergence.
        """
        d = _checks.points("given", given, FLOAT64, 3)
        n = len(self._mesh.vertices)
        result: Floats = np.zeros((n, 3)) if out is None else check_out("out", out, (n, 3))
        if start is not None:
            first = _checks.points("start", start, FLOAT64, 3)
            if len(first) != n:
                raise ValueError(f"start must have shape ({n}, 3), not {first.shape}")
            result[...] = first
        self._iterations = self._core.solve(d, _checks.positive("tolerance", tolerance), start is not None, result)
        return result


def harmonic_morph(mesh: TetMesh, nodes: Ints, displacements: Floats, *, tolerance: float = 1e-12) -> Floats:
    """Return the displacements (n, 3) of all vertices of a mesh from those of given nodes, m; see `HarmonicMorph`.

    Args:
        mesh: with positive volumes.
        nodes: (k,) int32.
        displacements: (k, 3) float64, m.
        tolerance: relative.

    Raises:
        TypeError, ValueError, RuntimeError: as `HarmonicMorph` and its `displacements`.

    Source: Lee 2018, section 2.3.1.
    """
    return HarmonicMorph(mesh, nodes).displacements(displacements, tolerance=tolerance)
