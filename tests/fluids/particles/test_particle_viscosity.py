"""Viscosity of particle liquids: a surface that is free of traction, and walls that the liquid sticks to."""

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import ParticleLiquidOptions, ParticleLiquidSolver
from meniscus.surface import Box, Sphere


@pytest.mark.fast_cases("2d*")
@pytest.mark.parametrize("transfer", ["apic", "flip"])
def test_viscosity_does_not_slow_a_rigid_rotation(dimension: int, transfer: Any, request: pytest.FixtureRequest) -> None:
    """Of a drop without gravity. Where each component diffuses alone, the surface resists it, and less than 1 % is left."""
    if dimension == 3 and transfer == "apic":
        lost = "0.83 are left: more of the faces that APIC has smoothed are liquid, as the surface holds 92 % of the drop and not 89 %"
        request.applymarker(pytest.mark.xfail(strict=True, reason=lost))
    n = 24 if dimension == 2 else 16
    left = {}
    for viscosity in (0.0, 1.0):
        options = ParticleLiquidOptions(viscosity=viscosity, gravity=(0.0,) * dimension, transfer=transfer, flip_ratio=1.0)
        solver = ParticleLiquidSolver(ms.Grid((n,) * dimension, 1 / n), options)
        solver.fill(Sphere((0.5,) * dimension, 0.3))
        x, y = (solver.particles.positions[:, d] - 0.5 for d in range(2))
        solver.particles["velocity"][:, 0], solver.particles["velocity"][:, 1] = -2.0 * y, 2.0 * x
        if transfer == "apic":
            solver.particles["affine"][:, 1], solver.particles["affine"][:, dimension] = -2.0, 2.0
        for _ in range(20):
            solver.step(0.01)
        x, y = (solver.particles.positions[:, d] - 0.5 for d in range(2))
        u, v = solver.particles["velocity"][:, 0], solver.particles["velocity"][:, 1]
        left[viscosity] = float((x * v - y * u).sum())
    # APIC smooths the velocity at the surface of a drop of five cells, which its viscosity then sees.
    assert left[1.0] / left[0.0] == pytest.approx(1.0, abs=0.05 if dimension == 2 else 0.12)


def test_a_film_on_a_sticking_floor_keeps_its_parabola() -> None:
    """Carried by gravity along the floor, below air: for four seconds from the exact flow, to 1 %."""
    viscosity, along, height, n = 0.05, 1.3, 0.5, 16
    solver = ParticleLiquidSolver(
        ms.Grid((4, n), 1 / n, periodic=(True, False)),
        ParticleLiquidOptions(viscosity=viscosity, gravity=(along, -9.81), transfer="apic"),
        boundary={"y-": ms.Wall(slip="no-slip")},
    )
    solver.fill(Box((-1.0, -1.0), (2.0, height)))
    z = solver.particles.positions[:, 1]
    solver.particles["velocity"][:, 0] = along / (2 * viscosity) * z * (2 * height - z)
    solver.particles["affine"][:, 1] = along / viscosity * (height - z)
    for _ in range(200):
        solver.step(0.02)
    z = (np.arange(n // 2) + 0.5) / n
    exact = along / (2 * viscosity) * z * (2 * height - z)
    assert np.abs(solver.velocity.u[:, : n // 2] - exact).max() < 0.01 * exact.max()
