"""Lid-driven cavity against Ghia, Ghia and Shin 1982, tables I and II (129 x 129 cells, multigrid, stream function and vorticity)."""

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import (
    LiquidViscositySolver,
    PressureSolver,
    SmokeOptions,
    SmokeSolver,
    TransportOptions,
    ViscositySolver,
    diffuse,
    diffuse_liquid,
    project,
)
from meniscus.grid import advect, sample

# y and u on the vertical line through the middle, by Reynolds number.
Y = (0.9766, 0.9688, 0.9609, 0.9531, 0.8516, 0.7344, 0.6172, 0.5, 0.4531, 0.2813, 0.1719, 0.1016, 0.0703, 0.0625, 0.0547)
U = {
    100: (0.84123, 0.78871, 0.73722, 0.68717, 0.23151, 0.00332, -0.13641, -0.20581, -0.21090, -0.15662, -0.10150, -0.06434,
          -0.04775, -0.04192, -0.03717),
    400: (0.75837, 0.68439, 0.61756, 0.55892, 0.29093, 0.16256, 0.02135, -0.11477, -0.17119, -0.32726, -0.24299, -0.14612,
          -0.10338, -0.09266, -0.08186),
    1000: (0.65928, 0.57492, 0.51117, 0.46604, 0.33304, 0.18719, 0.05702, -0.06080, -0.10648, -0.27805, -0.38289, -0.29730,
           -0.22220, -0.20196, -0.18109),
}  # fmt: skip
# x and v where v is largest and smallest on the horizontal line through the middle.
V = {100: ((0.2344, 0.17527), (0.8047, -0.24533)), 1000: ((0.1563, 0.37095), (0.9063, -0.51550))}


def cavity(reynolds: float, n: int, cfl: float, seconds: float, *, full_stress: bool = False) -> tuple[ms.MacField, float]:
    """Run from rest; return the velocity and how fast it still changes, per second."""
    grid = ms.Grid((n, n), 1 / n)
    wall = ms.Wall(slip="no-slip")
    v = ms.MacField(grid, boundary={"x-": wall, "x+": wall, "y-": wall, "y+": ms.Wall((1.0, 0.0), "no-slip")})
    pressure, viscous, workspace = PressureSolver(grid), ViscositySolver(grid), ms.core.Workspace()
    stress = LiquidViscositySolver(grid)
    dt, p = cfl / n, ms.CellField(grid)
    before = v.u.copy()
    for _ in range(round(seconds / dt)):
        before = v.u.copy()
        advect(v, v, dt, limiter="none", first_order_near="nothing", workspace=workspace)
        if full_stress:
            diffuse_liquid(v, dt, 1 / reynolds, solver=stress, tolerance=1e-7)
        else:
            diffuse(v, dt, 1 / reynolds, solver=viscous, tolerance=1e-7)
        project(v, dt, tolerance=1e-6, solver=pressure, pressure=p, warm_start=True)
    return v, float(np.abs(v.u - before).max()) / dt


def check(v: ms.MacField, reynolds: int, tolerance: float) -> None:
    v.fill_ghosts()
    middle = np.stack([np.full(len(Y), 0.5), np.array(Y)], axis=1)
    assert np.abs(sample(v, middle)[:, 0] - U[reynolds]).max() < tolerance
    for x, value in V.get(reynolds, ()):
        assert abs(sample(v, np.array([[x, 0.5]]))[0, 1] - value) < tolerance


@pytest.mark.slow
@pytest.mark.parametrize("full_stress", [False, True])
def test_reynolds_100(full_stress: bool) -> None:
    """Without a free surface both forms of viscosity are one."""
    v, change = cavity(100, 64, 1.0, 16.0, full_stress=full_stress)
    assert change < 2e-3
    check(v, 100, 0.01)


@pytest.mark.slow
@pytest.mark.parametrize(("reynolds", "seconds"), [(400, 40.0), (1000, 55.0)])
def test_higher_reynolds_numbers(reynolds: int, seconds: float) -> None:
    v, change = cavity(reynolds, 128, 0.5, seconds)
    assert change < 2e-3
    check(v, reynolds, 0.02)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reynolds", "n", "seconds", "error"), [(100, 64, 20.0, 0.02), (400, 64, 30.0, 0.025), (400, 128, 30.0, 0.01), (1000, 128, 45.0, 0.01)]
)
def test_least_velocity_by_flow_maps(reynolds: int, n: int, seconds: float, error: float) -> None:
    """Relative to the table. At Re 1000 and 64 cells, central differences of second order on the same faces are 4.6 % off."""
    wall = ms.Wall(slip="no-slip")
    sides = {"x-": wall, "x+": wall, "y-": wall, "y+": ms.Wall((1.0, 0.0), "no-slip")}
    options = SmokeOptions(viscosity=1 / reynolds, slip="no-slip", splitting="trapezoid", transport=TransportOptions(method="flow-map"))
    smoke = SmokeSolver(ms.Grid((n, n), 1 / n), options, boundary=sides)
    for _ in range(round(seconds * n)):
        smoke.step(1 / n)
    low = np.array(smoke.velocity.u[n // 2])
    i = int(low.argmin())
    a, b, c = low[i - 1 : i + 2]
    assert b - (a - c) ** 2 / (8 * (a - 2 * b + c)) == pytest.approx(min(U[reynolds]), rel=error)
