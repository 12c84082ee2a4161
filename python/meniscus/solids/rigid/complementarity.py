"""Linear complementarity problems."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids

Floats = npt.NDArray[np.float64]


def solve_lcp(matrix: npt.ArrayLike, u: npt.ArrayLike) -> Floats:
    """Return p (n,) with p >= 0, A p + u >= 0 and p (A p + u) = 0, by Lemke's method: dense, for up to some hundred unknowns.

    Args:
        matrix: A (n, n), symmetric and positive semidefinite: how relative velocities follow from impulses, 1/kg.
        u: (n,), relative velocities without impulses, m/s.

    Raises:
        ValueError: other shapes, values that are not finite, no solution.

    Source: Müller, Stam, James and Thürey 2008, section 6.4; Cottle, Pang and Stone 1992, section 4.4.
    """
    a, b = (np.ascontiguousarray(_checks.numbers(name, value)) for name, value in (("matrix", matrix), ("u", u)))
    if a.ndim != 2 or a.shape[0] != a.shape[1] or b.shape != a.shape[:1]:
        raise ValueError(f"the matrix must be square, and u of its length, but they have shapes {a.shape} and {b.shape}")
    _checks.require_finite("matrix", a)
    _checks.require_finite("u", b)
    p: Floats | None = _solids.solve_lcp(a, b, 50 * len(b) + 100)
    if p is None:
        raise ValueError("the linear complementarity problem has no solution, or the matrix is not positive semidefinite")
    return p
