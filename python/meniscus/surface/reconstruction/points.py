"""Points that stand for water in tetrahedra, for surfaces that are made from particles."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.surface.reconstruction.inputs import WaterInDrops, WaterInTets

Floats = npt.NDArray[np.float64]


def water_points(tets: WaterInTets, spacing: float, *, drops: WaterInDrops | None = None, seed: int = 0) -> tuple[Floats, Floats]:
    """Return random points (n, 3) in the tetrahedra, m, and the velocities (n, 3) there, m/s: one for each cube of water of a spacing.

    What remains of the water of a tetrahedron is a point with that probability.

    Args:
        tets: the water.
        spacing: m.
        drops: also these, each as one point.
        seed: of the random numbers.

    Raises:
        TypeError, ValueError: other arguments.

    Source: Lee 2018, section 3.4.2 (particles in wet tetrahedra).
    """
    t = _checks.one_of_type("tets", tets, WaterInTets)
    share = t.volume / _checks.positive("spacing", spacing) ** 3
    random = np.random.default_rng(_checks.integer("seed", seed, 0))
    count = np.floor(share + random.random(len(share))).astype(np.int64)
    owner = np.repeat(np.arange(len(count)), count)
    weights = random.dirichlet(np.ones(4), len(owner))
    points: Floats = np.einsum("nk,nkd->nd", weights, t.positions[t.tets[owner]])
    velocities = t.velocity[owner]
    if drops is not None:
        d = _checks.one_of_type("drops", drops, WaterInDrops)
        points, velocities = np.concatenate([points, d.positions]), np.concatenate([velocities, d.velocity])
    return points, velocities
