"""A bubble that rises in a viscous liquid, against the published benchmark.

Source: Hysing, Turek, Kuzmin, Parolini, Burman, Ganesan and Tobiska 2009, "Quantitative benchmark computations of two-dimensional bubble
dynamics": three codes agree within 0.2 % on the first case. In the second the bubble draws skirts, and they differ by 1.2 % in its height.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.surface import LevelSet, extract

RADIUS = 0.25
# Density and viscosity (dynamic) of the bubble, surface tension; those of the liquid are 1000 and 10.
CASES = {1: (100.0, 1.0, 24.5), 2: (1.0, 0.1, 1.96)}


@dataclass
class Rise:
    """Largest speed of rise and its time, height at t = 3, least circularity and its time, largest error of the area."""

    speed: float
    speed_time: float
    height: float
    circularity: float
    circularity_time: float
    area_error: float


def rise(case: int, n: int, tracking: Any) -> Rise:
    """The bubble, with n cells across the tank."""
    density, viscosity, tension = CASES[case]
    grid = ms.Grid((n, 2 * n), 1 / n)
    options = LiquidOptions(
        gravity=(0.0, -0.98),
        viscosity=0.01,
        air="fluid",
        air_density=density,
        air_viscosity=viscosity / density,
        surface_tension=tension,
        tracking=tracking,
    )
    sides = {"y-": ms.Wall(slip="no-slip"), "y+": ms.Wall(slip="no-slip")}
    solver = LiquidSolver(grid, options, boundary=sides)
    solver.fill(LevelSet.from_function(grid, lambda x, y: RADIUS - np.hypot(x - 0.5, y - 0.5), "cells"))
    y = (np.arange(2 * n) + 0.5) / n
    rows = []
    while solver.time < 3 - 1e-9:
        solver.step(min(solver.max_dt(), 3 - solver.time))
        assert solver.air is not None
        part = np.clip(0.5 + n * solver.levelset.array, 0, 1)
        area, v = part.sum() / n**2, solver.air.velocity.component(1)
        vertices, edges = extract(solver.levelset, sides="open", positions="cubic")
        ends = vertices[edges]
        length = float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).sum())
        height, speed = (part * y).sum() / part.sum(), (part * (v[:, 1:] + v[:, :-1])).sum() / (2 * part.sum())
        rows.append((solver.time, speed, height, 2 * np.sqrt(np.pi * area) / length, abs(area / (np.pi * RADIUS**2) - 1)))
    t, speeds, heights, circularity, error = np.array(rows).T
    fast, flat = speeds.argmax(), circularity.argmin()
    return Rise(speeds[fast], t[fast], heights[-1], circularity[flat], t[flat], error.max())


@pytest.mark.slow
@pytest.mark.parametrize("tracking", ["level-set", "particle-level-set"])
@pytest.mark.parametrize("n", [40, 80, 160])
def test_an_ellipsoidal_bubble(n: int, tracking: Any, request: pytest.FixtureRequest) -> None:
    """Case 1, density ratio 10: 0.2417 at 0.921, 1.081, 0.9013 at 1.90."""
    if n >= 80 and tracking == "particle-level-set":
        request.applymarker(pytest.mark.xfail(strict=True, reason="the maximum is flat, and found at 0.971"))
    r = rise(1, n, tracking)
    assert r.speed == pytest.approx(0.2417, rel={40: 0.012, 80: 0.011, 160: 0.006}[n])
    assert r.height == pytest.approx(1.0813, rel={40: 0.012, 80: 0.008, 160: 0.005}[n])
    assert r.circularity == pytest.approx(0.9013, abs={40: 0.01, 80: 0.005, 160: 0.004}[n])
    assert r.speed_time == pytest.approx(0.921, abs=0.05)
    assert r.area_error < 0.005


@pytest.mark.parametrize("tracking", slow_but(["level-set", "particle-level-set"], "level-set"))
@pytest.mark.parametrize("n", [40, pytest.param(80, marks=pytest.mark.slow), pytest.param(160, marks=pytest.mark.slow)])
def test_a_skirted_bubble(n: int, tracking: Any) -> None:
    """Case 2, density ratio 1000: 0.2502 to 0.2524 at 0.728 to 0.733; 1.1249 to 1.1380."""
    r = rise(2, n, tracking)
    assert r.speed == pytest.approx(0.2513, rel={40: 0.025, 80: 0.012, 160: 0.008}[n])
    assert r.height == pytest.approx(1.1335, rel={40: 0.015, 80: 0.012, 160: 0.01}[n])
    assert r.speed_time == pytest.approx(0.73, abs=0.04)
