"""Options of the transport in a liquid solver, and solids of another precision."""

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver, TransportOptions
from meniscus.surface import KinematicSolid, LevelSet, Sphere


@pytest.mark.parametrize("cfl", [0.5, 2.0])
def test_the_first_order_band_is_as_wide_as_the_motion(cfl: float) -> None:
    """Of the step that is taken, not of the one that `max_dt` would take."""
    grid = ms.Grid((16, 16), 1 / 16, periodic=(True, False))
    solver = LiquidSolver(grid, LiquidOptions(gravity=(0.0, 0.0), surface_order="first", cfl=cfl, tracking="level-set"))
    solver.fill(LevelSet.from_function(grid, lambda x, y: y - 0.5 + 0 * x, "cells"))
    solver.velocity.u[...] = 2.0
    widths = []
    near = solver.faces.near_surface
    solver.faces.near_surface = lambda levelset, distance: widths.append(distance) or near(levelset, distance)  # type: ignore
    solver.step(0.01)
    assert widths == [pytest.approx(0.02, rel=1e-12)]


def test_where_transport_is_of_first_order_is_an_option() -> None:
    """Beside the floor, 'walls' leaves the correction out and 'nothing' does not."""
    results = []
    for near in ("nothing", "walls"):
        grid = ms.Grid((16, 16), 1 / 16, periodic=(True, False))
        solver = LiquidSolver(grid, LiquidOptions(gravity=(0.0, 0.0), transport=TransportOptions(first_order_near=near)))  # type: ignore[arg-type]
        solver.fill(LevelSet.from_function(grid, lambda x, y: y - 0.5 + 0 * x, "cells"))
        solver.velocity.u[...] = 1.0 + 0.3 * np.sin(2 * np.pi * np.arange(17) / 16)[:, None]
        solver.transport(0.02)
        results.append(solver.velocity.u.copy())
    assert np.abs(results[0] - results[1])[:, 0].max() > 1e-4
    assert np.abs(results[0] - results[1])[:, 6].max() == 0.0


@pytest.mark.parametrize("dimension", [3])
def test_a_solid_sampled_in_double_serves_a_flow_in_single(dimension: int) -> None:
    """With the bits of a solid that is sampled in single precision; what its owner writes later counts."""
    n = 12
    grid = ms.Grid((n,) * dimension, 1 / n)
    moving = KinematicSolid(Sphere((0.5,) * dimension, 0.2), lambda t: (0.3 * t,) + (0.0,) * (dimension - 1))
    double, single = moving.sample(grid, 0.0), moving.sample(grid, 0.0, dtype=np.float32)
    solvers = [LiquidSolver(grid, LiquidOptions(per_cell=4), dtype=np.float32, solid=s) for s in (double, single)]
    for speed in (None, 0.5):
        for sample in (double, single):
            if speed is not None:
                sample.velocity.u[...] = speed
        for solver in solvers:
            if speed is None:
                solver.fill(LevelSet.from_function(grid, lambda *x: sum(0 * c for c in x) + x[-1] - 0.6, "cells", dtype=np.float32))
            solver.step(0.005)
        np.testing.assert_array_equal(solvers[0].velocity.u, solvers[1].velocity.u)
