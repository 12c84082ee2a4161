"""Public stages refuse a duration that is none before they change anything."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meniscus as ms

GRID = ms.Grid((8, 6), 0.125)


def smoke() -> Any:
    made = ms.fluids.SmokeSolver(GRID, emitters=[ms.fluids.Emitter(ms.surface.Sphere((0.5, 0.3), 0.15), density=1.0)])
    made.density.array[2:4, 2:4] = 1.0
    return made


def water() -> Any:
    made = ms.fluids.LiquidSolver(GRID, sources=[ms.fluids.LiquidSource(ms.surface.Sphere((0.7, 0.6), 0.15), velocity=(0.0, -1.0))])
    made.fill(ms.surface.Box((0, 0), (0.5, 0.4)))
    return made


def drops() -> Any:
    made = ms.fluids.ParticleLiquidSolver(GRID)
    made.fill(ms.surface.Box((0, 0), (0.5, 0.4)))
    return made


def bits(value: Any) -> list[bytes]:
    if isinstance(value, dict):
        return [x for key in sorted(value) for x in bits(value[key])]
    if isinstance(value, (tuple, list)):
        return [x for item in value for x in bits(item)]
    return [b"" if value is None else np.asarray(value).tobytes()]


@pytest.mark.parametrize("make", [smoke, water, drops])
@pytest.mark.parametrize("dt", [0, -0.1, float("nan"), float("inf"), 10**400, "x", None])
def test_nothing_changes(make: Any, dt: Any) -> None:
    solver = make()
    solver.step(0.01)
    before = bits(solver.snapshot())
    for name in solver.stages:
        if dt == 0 and name == "extend":
            continue  # of the velocity as it is
        with pytest.raises((TypeError, ValueError), match="dt must"):
            getattr(solver, name)(dt)
        assert bits(solver.snapshot()) == before, name
