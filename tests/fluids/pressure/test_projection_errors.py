"""Errors of projections; a failed projection changes nothing."""

from typing import Any

import numpy as np
import pytest
from support.build import components, random_velocity, same_bits, scalar_types
from support.projection import cells, nodes

import meniscus as ms
from meniscus.fluids import PressureSolver, divergence, project


@pytest.fixture
def grid(dimension: int) -> ms.Grid:
    return ms.Grid((14, 11, 9)[:dimension], 0.1, periodic=(False, True, False)[:dimension])


@pytest.fixture
def velocity(grid: ms.Grid, dtype: type) -> ms.MacField:
    return random_velocity(grid, dtype, np.random.default_rng(0), {"x+": ms.Open(3.0)})


def refused(velocity: ms.MacField, error: type[Exception], words: str, dt: Any = 0.1, **options: Any) -> Exception:
    before, pressure = components(velocity), options.get("pressure")
    kept = pressure.array.copy() if isinstance(pressure, ms.CellField) else None
    with pytest.raises(error, match=words) as raised:
        project(velocity, dt, **options)
    assert same_bits(components(velocity), before)
    assert kept is None or same_bits(pressure.array, kept)
    return raised.value


@pytest.mark.parametrize(
    ("dt", "error"), [(0, ValueError), (-1.0, ValueError), (np.nan, ValueError), (np.inf, ValueError), ("1", TypeError)]
)
def test_dt(velocity: ms.MacField, dt: Any, error: type[Exception]) -> None:
    refused(velocity, error, "dt must be", dt)


def test_samples_that_are_not_finite(velocity: ms.MacField) -> None:
    for bad in (np.nan, np.inf):
        velocity.v[(3,) * velocity.grid.dimension] = bad
        refused(velocity, ValueError, r"must be finite, but .*\[3, 3")


@pytest.mark.parametrize("bad", [0.0, -1.0, np.nan, np.inf])
def test_densities(velocity: ms.MacField, bad: float) -> None:
    refused(velocity, ValueError, "density must be", density=bad)
    density = cells(velocity.grid, lambda *x: 1 + x[0], velocity.dtype)
    density.array[(2,) * velocity.grid.dimension] = bad
    refused(velocity, ValueError, "density must be positive and finite everywhere", density=density)


def test_other_grids_and_types(velocity: ms.MacField) -> None:
    grid, dtype = velocity.grid, velocity.dtype
    other = ms.Grid(grid.shape, 0.2, periodic=grid.periodic)
    for name in ("density", "liquid", "target_divergence"):
        refused(velocity, ValueError, f"{name} must have the grid", **{name: ms.CellField(other, dtype)})
        for wrong in (t for t in scalar_types(grid.dimension) if t != dtype):
            refused(velocity, TypeError, f"{name} must be of dtype", **{name: ms.CellField(grid, wrong)})
    refused(velocity, ValueError, "warm_start needs pressure", warm_start=True)
    refused(velocity, ValueError, "solid must have the grid", solid=ms.NodeField(other))
    if grid.dimension == 3:
        refused(velocity, TypeError, "pressure must be of dtype float64", pressure=ms.CellField(grid, np.float32))
        refused(velocity, TypeError, "level set of the solid must be of dtype float64", solid=ms.NodeField(grid, np.float32))
    refused(velocity, TypeError, "solid must be", solid=ms.CellField(grid))
    refused(velocity, TypeError, "liquid must be of dtype bool", liquid=np.ones(grid.shape))
    refused(velocity, ValueError, "liquid must have shape", liquid=np.ones((3,) * grid.dimension, bool))
    refused(velocity, ValueError, "flux_correction must be one of 'volume', 'walls', not 'both'", flux_correction="both")
    refused(velocity, ValueError, "method must be one of", method="jacobi")
    refused(velocity, ValueError, "tolerance must be", tolerance=0.0)
    refused(velocity, ValueError, "max_iterations must be", max_iterations=0)
    refused(velocity, ValueError, "air_pressure must be finite", air_pressure=np.nan)
    holed = ms.CellField(grid, velocity.dtype)
    holed.array[(1,) * grid.dimension] = np.nan
    refused(velocity, ValueError, "the target divergence", target_divergence=holed)
    refused(velocity, ValueError, "solver must have the grid", solver=PressureSolver(other))
    refused(velocity, TypeError, "solver must be", solver="multigrid")
    with pytest.raises(TypeError, match="velocity must be"):
        project(ms.CellField(grid), 0.1)  # type: ignore[arg-type]


def test_too_few_iterations(velocity: ms.MacField) -> None:
    """The error says which region is worst, and why; asked to, the projection takes what was reached."""
    grid = velocity.grid
    plates = nodes(grid, lambda x, *y: np.abs(x - 0.52) - 0.06)
    pressure = cells(grid, lambda *x: x[0])
    words = r"after 1 iterations .*the limit of iterations was reached.*worst is region \d of 2, (open|closed), \d+ cells from \("
    error = refused(velocity, ms.ConvergenceError, words, solid=plates, max_iterations=1, tolerance=1e-13, pressure=pressure)
    info = error.info  # type: ignore[attr-defined]
    assert not info.converged
    assert [r.closed for r in info.regions] == [True, False]
    assert np.linalg.norm([r.residual for r in info.regions]) == pytest.approx(info.residual, rel=1e-6)
    before = components(velocity)
    taken = project(velocity, 0.1, plates, max_iterations=1, tolerance=1e-13, raise_on_failure=False)
    assert taken.residual == info.residual
    assert not same_bits(components(velocity), before)


def test_a_solver_survives_failures(velocity: ms.MacField) -> None:
    """After errors of every kind a kept solver gives what a new one does."""
    grid, solver = velocity.grid, PressureSolver(velocity.grid)
    density = cells(grid, lambda *x: 1 + x[0], velocity.dtype)
    refused(velocity, ms.ConvergenceError, "did not converge", density=density, max_iterations=1, tolerance=1e-13, solver=solver)
    refused(velocity, ValueError, "density", density=-1.0, solver=solver)
    bad = density.copy()
    bad.array[(0,) * grid.dimension] = np.nan
    refused(velocity, ValueError, "density", density=bad, solver=solver)
    kept, fresh = velocity.copy(), velocity.copy()
    project(kept, 0.1, density=density, solver=solver)
    project(fresh, 0.1, density=density)
    assert same_bits(components(kept), components(fresh))


def test_divergence_checks_its_arguments(velocity: ms.MacField) -> None:
    grid = velocity.grid
    other = ms.Grid(grid.shape, 0.2, periodic=grid.periodic)
    with pytest.raises(TypeError, match="velocity must be"):
        divergence(ms.CellField(grid))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="out must have the grid"):
        divergence(velocity, out=ms.CellField(other, velocity.dtype))
    with pytest.raises(ValueError, match="solid must have the grid"):
        divergence(velocity, ms.NodeField(other))
    out = ms.CellField(grid, velocity.dtype)
    assert divergence(velocity, out=out) is out


def test_divergence_is_the_flux_out_per_volume(velocity: ms.MacField) -> None:
    expected = sum(np.diff(velocity.component(d).astype(np.float64), axis=d) for d in range(velocity.grid.dimension)) / 0.1
    assert np.abs(divergence(velocity).array - expected).max() < 40 * np.finfo(velocity.dtype).eps / 0.1
