"""Rotations and singular values of 3 x 3 matrices."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import numerics as _numerics
from meniscus._options import CoreOption

Floats = npt.NDArray[np.float64]
RotationMethod = Literal["polar", "svd", "quaternion", "newton", "gram-schmidt"]

ROTATION_METHOD = CoreOption(RotationMethod, _numerics.RotationMethod)


def polar_rotation(
    matrices: Floats,
    method: RotationMethod = "polar",
    *,
    start: Floats | None = None,
    max_iterations: int = 20,
    tolerance: float = 1e-9,
) -> Floats:
    """Return the rotation (n, 3, 3) of each of n matrices A: the rotation closest to A, unless another method is chosen.

    Also where A is singular or inverted: with A = U diag(s) V^T, where U and V are rotations and only the last and smallest s may be
    negative, it is U V^T. Where that is not unique, one of the closest is returned: for matrices of rank 1 that with the smallest angle,
    for the zero matrix the identity.

    Args:
        matrices: (n, 3, 3) float64, C-contiguous.
        method: "polar" is Newton's iteration, eight matrices at a time, and singular values where A is inverted or badly conditioned;
            "svd" is singular values everywhere; "quaternion" turns `start` step by step and is good enough where that is close, though it
            can stay at a stationary point on the far side; "newton" is the closest orthogonal matrix, a reflection where A is inverted;
            "gram-schmidt" keeps the direction of the first column and depends on the order of the axes.
        start: (n, 4) float64 unit quaternions (w, x, y, z) for "quaternion", updated in place; the identity if left out.
        max_iterations: of "quaternion".
        tolerance: of "quaternion", the angle of the last step, rad.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite, an unknown method, `start` for another
            method than "quaternion" or with a quaternion of length zero, `max_iterations` below 1, `tolerance` that is not positive.

    Source: Mueller et al., "Real time physics class notes", 2008, section 4.3.2; Higham, "Computing the polar decomposition", 1986;
    Irving et al., "Invertible finite elements", 2004; Mueller et al., "A robust method to extract the rotational part of deformations",
    2016.
    """
    a = _matrices(matrices)
    kind = ROTATION_METHOD("method", method)
    if start is not None:
        if method != "quaternion":
            raise ValueError(f"start is for the method 'quaternion', not {method!r}")
        _checks.points("start", start, np.dtype(np.float64), 4, writable=True)
        if len(start) != len(a):
            raise ValueError(f"start must have {len(a)} rows, not {len(start)}")
        _checks.require_finite("start", start)
        lengths = np.linalg.norm(start, axis=1)
        if not (lengths > 0).all():
            raise ValueError(f"quaternions of start must not be zero, but that of matrix {int(np.argmin(lengths))} is")
        start /= lengths[:, None]
    iterations = _checks.integer("max_iterations", max_iterations, at_least=1, below=2**31)
    return _numerics.rotations(a, kind, start, iterations, _checks.positive("tolerance", tolerance))


class SingularValues(NamedTuple):
    """n matrices as u diag(s) v^T.

    Attributes:
        u: (n, 3, 3), rotations, or orthogonal matrices where singular values without sign were asked for.
        s: (n, 3), descending in absolute value.
        v: (n, 3, 3), rotations.
    """

    u: Floats
    s: Floats
    v: Floats


def svd3(matrices: Floats, *, signed: bool = True) -> SingularValues:
    """Return the singular value decompositions of n matrices.

    Args:
        matrices: (n, 3, 3) float64, C-contiguous.
        signed: u and v are rotations, and the last and smallest singular value has the sign of the determinant; otherwise all are
            positive or zero, and u is a reflection where the determinant is negative.

    Raises:
        TypeError, ValueError: wrong dtype, shape or memory order, values that are not finite.

    Source: Hestenes, "Inversion of matrices by biorthogonalization", 1958 (Jacobi rotations of columns); Irving et al., "Invertible finite
    elements", 2004, section 4 (signs).
    """
    u, s, v = _numerics.signed_svds(_matrices(matrices))
    if not signed:
        inverted = s[:, 2] < 0
        u[inverted, :, 2] *= -1
        s[inverted, 2] *= -1
    return SingularValues(u, s, v)


def _matrices(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        raise TypeError(f"matrices must be a NumPy array, not {type(value).__name__}")
    if value.dtype != np.float64:
        raise TypeError(f"matrices must be of dtype float64, not {value.dtype}")
    if value.ndim != 3 or value.shape[1:] != (3, 3):
        raise ValueError(f"matrices must have shape (n, 3, 3), not {value.shape}")
    if not value.flags.c_contiguous:
        raise TypeError("matrices must be C-contiguous; pass np.ascontiguousarray(matrices)")
    _checks.require_finite("matrices", value)
    return value
