"""Stages that a script calls by itself check the length of the step before they change anything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver, ParticleLiquidSolver, SmokeOptions, SmokeSolver
from meniscus.surface import Box

GRID = ms.Grid((8, 8), 0.125)


def solvers() -> list[Any]:
    smoke = SmokeSolver(GRID, SmokeOptions(density_weight=-1.0))
    smoke.density.array[2:5, 2:5] = 1.0
    liquids = [LiquidSolver(GRID), LiquidSolver(GRID, LiquidOptions(air="fluid", tracking="level-set")), ParticleLiquidSolver(GRID)]
    for liquid in liquids:
        liquid.fill(Box((0, 0), (0.4, 0.5)))
    return [smoke, *liquids]


def equal(a: Any, b: Any) -> bool:
    if isinstance(a, dict):
        return all(equal(a[k], b[k]) for k in a)
    if isinstance(a, (tuple, list)):
        return all(map(equal, a, b))
    return bool(np.array_equal(a, b)) if isinstance(a, np.ndarray) else a == b


@pytest.mark.parametrize("number", range(4))
def test_wrong_steps_are_refused_by_every_stage_and_change_nothing(number: int) -> None:
    solver = solvers()[number]
    before = solver.snapshot()
    for stage in solver.stages:
        for dt, error in (
            (np.nan, ValueError),
            (np.inf, ValueError),
            (-1.0, ValueError),
            (10**400, ValueError),
            ("1", TypeError),
            (None, TypeError),
        ):
            with pytest.raises(error, match="dt must"):
                getattr(solver, stage)(dt)
        assert equal(before, solver.snapshot()), stage
    for stage in solver.stages:
        getattr(solver, stage)(np.float32(0.01))
    assert not equal(before, solver.snapshot())


def test_a_solid_of_the_user_on_a_periodic_grid_is_one_solid() -> None:
    # A tilted plate over the seam: its values at the first and the last nodes, which are the same ones, differ.
    rng, failed = np.random.default_rng(0), 0
    for _ in range(60):
        grid = ms.Grid((61, 37), 1 / 61, periodic=True)
        center, angle = rng.uniform(0, 1, 2) * (1, 37 / 61), rng.uniform(0, np.pi)
        width, radius = rng.uniform(0.2, 1.5) / 61, rng.uniform(0.1, 0.3)

        def plate(x: Any, y: Any) -> Any:
            a, b = x - center[0], y - center[1]  # noqa: B023
            return np.maximum(np.abs(a * np.cos(angle) + b * np.sin(angle)) - width, np.hypot(a, b) - radius)  # noqa: B023

        velocity = ms.MacField(grid)
        for d in range(2):
            velocity.component(d)[...] = rng.uniform(-1, 1, velocity.component(d).shape)
        solid = ms.NodeField.from_function(grid, plate)
        info = ms.fluids.project(velocity, 0.01, solid, raise_on_failure=False)
        failed += not info.converged
    assert failed == 0
