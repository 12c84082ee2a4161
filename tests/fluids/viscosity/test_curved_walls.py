"""Viscosity beside curved solids without slip: of second order, at rest, in rotation, on any place of the grid."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import diffuse
from meniscus.surface import KinematicSolid, Pose, Sphere

RADIUS, STEEP, SPREAD = 0.2, 60.0, 0.01


def error(n: int, centre: tuple[float, float], rate: float) -> float:
    """Largest error outside of a disc that turns at a rate, beside a flow that turns with it there and decays away from it.

    The flow is rate * (-y, x) * f with f = exp(-STEEP (r^2 - RADIUS^2)), whose Laplacian has the factor 4 STEEP^2 r^2 - 8 STEEP; without
    rotation f - 1 takes the place of f, which is zero on the disc.
    """
    grid = ms.Grid((n, n), 1 / n, periodic=True)
    solid = KinematicSolid(Sphere((0.0, 0.0), RADIUS), lambda t: Pose(centre, rate * t))
    velocity, expected, outside = ms.MacField(grid), [], []
    for d in range(2):
        x, y = (a - c for a, c in zip(np.meshgrid(*grid.coordinates((int(d == 0), int(d == 1))), indexing="ij"), centre, strict=True))
        squared = x * x + y * y
        f = np.exp(-STEEP * (squared - RADIUS**2))
        if rate:
            arm = -rate * y if d == 0 else rate * x
            exact, laplacian = arm * f, arm * f * (4 * STEEP**2 * squared - 8 * STEEP)
        else:
            exact, laplacian = f - 1, f * (4 * STEEP**2 * squared - 4 * STEEP)
        velocity.component(d)[...] = exact - SPREAD * laplacian
        expected.append(exact)
        outside.append(squared > RADIUS**2)
    diffuse(velocity, SPREAD, 1.0, solid=solid, tolerance=1e-11)
    return max(float(np.abs(velocity.component(d) - expected[d])[outside[d]].max()) for d in range(2))


@pytest.mark.parametrize("rate", [0.0, 2.0])
@pytest.mark.parametrize("centre", [(0.5, 0.5), (0.513, 0.4871)])
def test_second_order(centre: tuple[float, float], rate: float) -> None:
    """In the maximum norm; with the velocity of the solid at the next face in it, which is what there was, of first order."""
    sizes = (32, 64, 128, 256)
    errors = [error(n, centre, rate) for n in sizes]
    orders = np.polyfit(np.log(1 / np.array(sizes)), np.log(errors), 1)
    assert orders[0] > 1.8, errors
