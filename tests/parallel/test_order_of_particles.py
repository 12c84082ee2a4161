"""Bits and ids do not depend on the order in which ranks store particles, nor on the place from which a block answers for a point."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver, VortexParticles, add_vortex_forces
from meniscus.numerics import order_free_sums
from meniscus.surface import Box


def spun(shape: tuple[int, ...], dtype: type, migrate: bool) -> list[bytes]:
    """Return a velocity after the forces of vortex particles that do not come in the order of their cells."""
    grid, dimension = ms.Grid(shape, 0.1, periodic=(True, *[False] * (len(shape) - 1))), len(shape)
    rng = np.random.default_rng(70)
    x = (rng.random((60, dimension)) * grid.extent).astype(dtype)
    w = rng.normal(size=(60, 3) if dimension == 3 else 60).astype(dtype)
    vortices = VortexParticles(x, w, 0.35, replicated=True, grid=grid)
    if migrate:
        vortices.migrate(grid)
    velocity = ms.MacField(grid, dtype)
    add_vortex_forces(velocity, vortices, 0.1, 0.5)
    whole = velocity.gather()
    return [] if whole is None else [component.tobytes() for component in whole]


@pytest.mark.parametrize("shape", [(23, 17), (13, 12, 9)])
def test_vortex_particles_act_in_the_order_of_their_ids(shape: tuple[int, ...], dtype: type) -> None:
    expected = spun(shape, dtype, False)
    assert spun(shape, dtype, True) == expected
    for count in (2, 3):
        assert ms.parallel.run_threads(count, spun, shape, dtype, True)[0] == expected, count


def test_points_just_below_a_sample_and_beyond_a_period() -> None:
    """In float32 the place in the cell is one, and the block of the image, far away, answers by its slow path."""
    points = np.array([[12.000001, 2.0], [12.000001, 5.5], [-1e-6, 7.0], [11.5, 4.0], [12.000001, 0.0]], np.float32)

    def run() -> bytes:
        # Less than the rounding unit of float32 beside 1: the points are 2 - 2e-8 cells from the origin, and so on.
        grid = ms.Grid((12, 8), 1.0, periodic=True, origin=(0.0, 2e-8))
        u = ms.MacField.from_function(grid, lambda p, t: np.sin(7 * p + p[:, ::-1] ** 2), dtype=np.float32)
        q = ms.CellField.from_function(grid, lambda a, b: np.sin(7 * a + b**2), dtype=np.float32)
        n = ms.NodeField.from_function(grid, lambda a, b: np.sin(7 * a + b**2), dtype=np.float32)
        return b"".join(ms.grid.sample(f, points).tobytes() for f in (u, q, n))

    alone = run()
    assert ms.parallel.run_threads(2, run) == [alone] * 2


def poured() -> tuple[list[int], list[list[float]]]:
    """Return ids and places of markers after drops from two cells, which came in another order, have filled a third one."""
    grid = ms.Grid((16, 12), 0.1)
    options = LiquidOptions(gravity=(0.0, 0.0), gather=True, tolerance=1e-9, drift_correction=False)
    solver = LiquidSolver(grid, options)
    solver.fill(Box((-1.0, -1.0), (3.0, 0.3)))
    rng = np.random.default_rng(71)
    count = 24
    left = np.arange(count) >= count // 2
    x = np.where(left[:, None], [0.75, 0.85], [0.95, 0.85]) + 0.02 * rng.random((count, 2))
    v = np.where(left[:, None], [1.3, 0.0], [-0.7, 0.0])
    volumes = np.full(count, 1.5 * 0.01 / count)
    solver.add_drops(x, v, volumes)
    assert solver.particles is not None
    solver.particles.spray.migrate(grid)  # sorts on one rank: the drops of the left cell, which have the larger ids, come first
    for _ in range(3):
        solver.step(0.05)
    assert len(solver.particles.spray) == 0
    p = solver.particles.particles
    parts = grid.comm.gather((p.ids.tolist(), p.positions.tolist()))
    ids, places = (np.concatenate([np.asarray(part[k]) for part in parts if part[0]]) for k in (0, 1))
    order = np.argsort(ids)
    return ids[order].tolist(), places[order].tolist()


def test_drops_that_fill_a_cell_are_numbered_by_cell_and_id() -> None:
    with order_free_sums():
        alone = poured()
    for count in (2, 4):
        assert ms.parallel.run_threads(count, poured)[0] == alone, count
