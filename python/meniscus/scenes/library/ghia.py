"""Reference data for the lid-driven cavity (Ghia, Ghia and Shin 1982): velocities on the two centrelines.

Ghia, Ghia and Shin 1982, High-Re solutions for incompressible flow using the Navier-Stokes equations and a multigrid method, Journal of
Computational Physics 48, 387-411, Tables I and II, for a cavity of side 1 under a lid of speed 1. The ends of the lines are left out,
because the boundary conditions give the velocity there. Also left out is the value of v at x = 0.9063 for Re 400, printed as -0.23827: it
does not lie on a smooth curve through its neighbours and is generally considered a misprint.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

REYNOLDS = (100, 400, 1000)
"""Reynolds numbers of the tables here."""

# y, then u on x = 1/2 for each Reynolds number.
_U = (
    (0.9766, 0.84123, 0.75837, 0.65928),
    (0.9688, 0.78871, 0.68439, 0.57492),
    (0.9609, 0.73722, 0.61756, 0.51117),
    (0.9531, 0.68717, 0.55892, 0.46604),
    (0.8516, 0.23151, 0.29093, 0.33304),
    (0.7344, 0.00332, 0.16256, 0.18719),
    (0.6172, -0.13641, 0.02135, 0.05702),
    (0.5000, -0.20581, -0.11477, -0.06080),
    (0.4531, -0.21090, -0.17119, -0.10648),
    (0.2813, -0.15662, -0.32726, -0.27805),
    (0.1719, -0.10150, -0.24299, -0.38289),
    (0.1016, -0.06434, -0.14612, -0.29730),
    (0.0703, -0.04775, -0.10338, -0.22220),
    (0.0625, -0.04192, -0.09266, -0.20196),
    (0.0547, -0.03717, -0.08186, -0.18109),
)

# x, then v on y = 1/2.
_V = (
    (0.9688, -0.05906, -0.12146, -0.21388),
    (0.9609, -0.07391, -0.15663, -0.27669),
    (0.9531, -0.08864, -0.19254, -0.33714),
    (0.9453, -0.10313, -0.22847, -0.39188),
    (0.9063, -0.16914, math.nan, -0.51550),
    (0.8594, -0.22445, -0.44993, -0.42665),
    (0.8047, -0.24533, -0.38598, -0.31966),
    (0.5000, 0.05454, 0.05186, 0.02526),
    (0.2344, 0.17527, 0.30174, 0.32235),
    (0.2266, 0.17507, 0.30203, 0.33075),
    (0.1563, 0.16077, 0.28124, 0.37095),
    (0.0938, 0.12317, 0.22965, 0.32627),
    (0.0781, 0.10890, 0.20920, 0.30353),
    (0.0703, 0.10091, 0.19713, 0.29012),
    (0.0625, 0.09233, 0.18360, 0.27485),
)


def centerlines(reynolds: float) -> tuple[tuple[Floats, Floats], tuple[Floats, Floats]] | None:
    """Return (y, u) on the vertical and (x, v) on the horizontal centreline, or None for a Reynolds number that is not in the tables."""
    if reynolds not in REYNOLDS:
        return None
    column = 1 + REYNOLDS.index(int(reynolds))
    lines = []
    for table in (np.array(_U), np.array(_V)):
        known = ~np.isnan(table[:, column])
        lines.append((table[known, 0], table[known, column]))
    return lines[0], lines[1]
