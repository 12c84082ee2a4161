"""Sample points of tetrahedra with equal weights, and quadrature rules."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import mesh as _mesh
from meniscus._options import CoreOption

Floats = npt.NDArray[np.float64]
RandomTetSampling = Literal["stratified", "independent"]
TetSampling = Literal["fixed", "quadrature", "stratified", "independent"]
RANDOM_TET_SAMPLING = CoreOption(RandomTetSampling, _mesh.RandomTetSampling)


def tet_samples(
    kind: TetSampling = "stratified",
    count: int = 10,
    *,
    elements: npt.ArrayLike = (0,),
    seed: int = 0,
    step: int = 0,
) -> Floats:
    """Return barycentric coordinates of equally weighted sample points of tetrahedra.

    Args:
        kind: 'fixed': sets strictly inside, exact for linear functions, of 4, 10, 20 or 35 points (lattices), 1 (the centroid), 5 (the
            centroid and 4), 8 or 64 (centroids of one or two red subdivisions). All are invariant under the 24 symmetries of the
            tetrahedron but the last two, which the diagonal of the octahedron leaves 8.
            'quadrature': the points of `tet_quadrature`: 1, 4, 8, 14, 24, 35, 46, 61, 81 or 109, with all 24 symmetries.
            'stratified': a lattice of low discrepancy, shifted randomly. 'independent': uniform random points.
        count: number of points.
        elements: numbers (k,) of the elements, from 0, for random points.
        seed: of the random numbers, from 0 to 2^64 - 1.
        step: of the random numbers, from 0 to 2^32 - 1.

    Returns:
        (count, 4) if 'fixed' or 'quadrature', else (k, count, 4), which depend on seed, element and step alone; the four sum to 1.

    Raises:
        TypeError, ValueError: wrong arguments, or a count that no set has.

    Source: Lee 2018, sections 3.3.1, 3.3.2; Zhang, Cui and Liu 2009; Rocchini and Cignoni 2000.
    """
    _checks.choice("kind", kind, TetSampling)
    n = _checks.integer("count", count, at_least=1, below=2**31)
    if kind == "fixed":
        return _mesh.fixed_tet_samples(n)
    if kind == "quadrature":
        return _mesh.quadrature_tet_samples(n)
    ids: Any = np.asarray(elements)
    if ids.dtype.kind not in "iu" or ids.ndim != 1:
        raise TypeError(f"elements must be one row of integers, not of dtype {ids.dtype} and shape {ids.shape}")
    if (ids < 0).any():
        raise ValueError(f"elements must not be negative, but one is {ids.min()}")
    return _mesh.random_tet_samples(
        RANDOM_TET_SAMPLING("kind", kind),
        n,
        np.ascontiguousarray(ids, np.int64),
        _checks.integer("seed", seed, at_least=0, below=2**64),
        _checks.integer("step", step, at_least=0, below=2**32),
    )


def tet_quadrature(degree: int) -> tuple[Floats, Floats]:
    """Return the smallest symmetric rule that integrates polynomials up to a degree, from 0 to 11, exactly over tetrahedra.

    Returns:
        points: (k, 4), barycentric, strictly inside; the set has the 24 symmetries of the tetrahedron.
        weights: (k,), positive, parts of the volume.

    Raises:
        TypeError, ValueError: another degree.

    Source: Zhang, Cui and Liu, "A set of symmetric quadrature rules on triangles and tetrahedra", 2009.
    """
    return _mesh.tet_rule(_checks.integer("degree", degree, at_least=0, below=12))
