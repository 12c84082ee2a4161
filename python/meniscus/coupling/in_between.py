"""Generated animations that lead from one pose of a surface to another."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus.numerics.axis_angle import axis_and_angle, rotation_about

Floats = npt.NDArray[np.float64]


def in_between(start: Floats, end: Floats, frames: int) -> list[Floats]:
    """Return positions (n, 3), m, of a surface on its way from one pose to another, the last of which is `end`.

    The rigid motion that fits best turns at a smoothly changing rate about a fixed axis; what it leaves is added in a straight line in the
    turning frame.

    Args:
        start, end: (n, 3), m.
        frames: at least 1.

    Source: Lee 2018, section 2.3.1, which leaves the motion open; Kabsch 1976 (rigid motion of best fit).
    """
    a, b = start.mean(axis=0), end.mean(axis=0)
    u, _, vt = np.linalg.svd((start - a).T @ (end - b))
    flip = np.diag([1.0, 1.0, np.sign(np.linalg.det(u @ vt)) or 1.0])
    turn = (u @ flip @ vt).T  # end - b is about turn (start - a)
    remainder = (end - b) @ turn - (start - a)
    axis, angle = axis_and_angle(turn)
    result = []
    for k in range(1, frames + 1):
        s = k / frames
        if k == frames:
            result.append(np.array(end))
            continue
        s = s * s * (3.0 - 2.0 * s)
        result.append(a + s * (b - a) + (start - a + s * remainder) @ rotation_about(axis, s * angle).T)
    return result
