"""Particle liquids that are filled through sides of the domain: exact rates, restarts, ranks."""

from typing import Any

import numpy as np
import pytest
from support.particle_liquid import FAR, TRANSFERS, below, state

import meniscus as ms
from meniscus.fluids import LiquidParticles, ParticleLiquidOptions, ParticleLiquidSolver
from meniscus.numerics import order_free_sums
from meniscus.surface import Box

SPEED, HALF, LOW = 0.6, 0.1, 0.15  # m/s; m, half of the width of an inlet, and its height in a wall


def inlet(side: str, dimension: int, low: float = LOW, speed: float = SPEED, centre: float = 0.5) -> ms.Prescribed:
    """A square opening in a side, with walls around it; in a wall it is low, under the water."""
    axis = "xyz".index(side[0])

    def value(points: np.ndarray, _time: float) -> np.ndarray:
        inside = np.ones(len(points), bool)
        for d in range(dimension):
            if d != axis:
                middle = low if d == dimension - 1 else centre
                inside &= np.abs(points[:, d] - middle) < HALF + 1e-9
        v = np.zeros_like(points)
        v[inside, axis] = speed if side[1] == "-" else -speed
        return v

    return ms.Prescribed(value)


def pool(dimension: int, n: int, side: str, transfer: Any = "flip", depth: float = 0.35, grid: Any = None, **of_inlet: Any) -> Any:
    shape = (n,) * (dimension - 1) + (n * 6 // 5,)
    grid = ms.Grid(shape, 1 / n) if grid is None else grid(shape, 1 / n)
    s = ParticleLiquidSolver(grid, ParticleLiquidOptions(transfer=transfer), boundary={side: inlet(side, dimension, **of_inlet)})
    s.fill(below(dimension, depth))
    return s


def entered(s: ParticleLiquidSolver, end: float, dt: float | None = None) -> float:
    """Volume of the new particles, relative to the exact one."""
    before = len(s.particles)
    if dt is None:
        s.advance(end)
    while s.time < end - 1e-9:
        assert dt is not None
        s.step(dt)
    report = s.volume_report()
    assert report.expected == pytest.approx(s.particle_volume * len(s.particles), rel=1e-12)
    exact = (2 * HALF) ** (s.grid.dimension - 1) * SPEED * s.time
    assert report.inflow == pytest.approx(exact, rel=0.01)
    return float((len(s.particles) - before) * s.particle_volume / exact)


@pytest.mark.fast_cases("None-floor-2", "0.02-x+-2", "0.02-floor-3")
@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("side", ["floor", "x-", "x+"])
@pytest.mark.parametrize("dt", [None, 0.004, 0.02])
def test_an_inlet_under_water_adds_what_flows_through_it(dimension: int, side: str, dt: float | None) -> None:
    s = pool(dimension, 40 if dimension == 2 else 20, "xyz"[dimension - 1] + "-" if side == "floor" else side)
    wet = s.volume_report().liquid
    assert entered(s, 0.6, dt) == pytest.approx(1.0, abs=0.01)
    # The surface has risen with them.
    gain = s.volume_report().liquid - wet
    assert gain == pytest.approx(s.volume_report().inflow, abs=0.002 * wet)


@pytest.mark.parametrize("transfer", TRANSFERS)
def test_every_transfer_keeps_eight_particles_a_cell_in_the_jet(transfer: str) -> None:
    s = pool(2, 30, "y-", transfer, depth=0.7)
    assert entered(s, 0.4) == pytest.approx(1.0, abs=0.01)
    above = (np.abs(s.particles.positions[:, 0] - 0.5) < 0.09) & (s.particles.positions[:, 1] < 0.1)
    assert above.sum() / (0.18 * 0.1 * 30**2) == pytest.approx(4.0, rel=0.15)
    assert s.particles["velocity"][above, 1].mean() == pytest.approx(SPEED, rel=0.25)


def test_an_inlet_in_the_ceiling() -> None:
    s = ParticleLiquidSolver(ms.Grid((40, 20), 1 / 20), ParticleLiquidOptions(gravity=(0, 0)), boundary={"y+": inlet("y+", 2)})
    s.fill(Box((-FAR, -FAR), (1.0, FAR)))
    assert entered(s, 1.0) == pytest.approx(1.0, abs=0.01)


def test_a_wall_that_moves_inwards_brings_liquid_in() -> None:
    s = ParticleLiquidSolver(ms.Grid((16, 24), 1 / 16), boundary={"y-": ms.Wall(velocity=(0.0, 0.25))})
    s.fill(below(2, 0.5))
    s.advance(1.0)
    assert s.volume_report().inflow == pytest.approx(0.25, rel=0.01)


def test_air_enters_where_the_inlet_is_dry() -> None:
    s = pool(2, 20, "x-", low=0.7)
    s.advance(0.3)
    assert s.volume_report().inflow == 0.0


def test_faces_between_walls_and_inlets_let_no_particle_out() -> None:
    s = pool(2, 24, "y-")
    for _ in range(40):
        s.step(0.01)
    assert s.volume_report().outflow == 0.0


def test_lengths_of_steps_do_not_change_the_numbers() -> None:
    numbers = []
    for dt in (0.1, 0.05, 0.0125):
        s = pool(2, 20, "y-", depth=0.6)
        entered(s, 0.4, dt)
        numbers.append(len(s.particles))
    assert len(set(numbers)) == 1


def test_a_restart_goes_on_with_what_each_face_has_counted() -> None:
    one, other = pool(2, 20, "y-"), pool(2, 20, "y-")
    for _ in range(7):
        one.step(0.007)
    other.restore(one.snapshot())
    for s in (one, other):
        for _ in range(7):
            s.step(0.007)
    assert all(np.array_equal(a, b) for a, b in zip(state(one), state(other), strict=True))
    assert np.array_equal(one.inflow.v, other.inflow.v)


@pytest.mark.fast_cases("2")
@pytest.mark.parametrize("dimension", [2, 3])
def test_ranks_have_the_bits_of_one(dimension: int) -> None:
    side = "xyz"[dimension - 1] + "-"

    def run(grid: Any = ms.Grid) -> Any:
        s = ParticleLiquidSolver(
            grid((12,) * dimension, 1 / 12),
            ParticleLiquidOptions(particles=LiquidParticles(density_correction=False)),
            boundary={side: inlet(side, dimension)},
        )
        s.fill(below(dimension, 0.4))
        for _ in range(8):
            s.step(0.02)
        found = s.grid.comm.gather((np.array(s.particles.ids), np.array(s.particles.positions)))
        _, positions = (np.concatenate(c) for c in zip(*found, strict=True))
        order = np.lexsort(positions.T)
        return s.volume_report().inflow, positions[order]

    with order_free_sums():
        inflow, positions = run()
        on_ranks = ms.parallel.run_threads(2, lambda: run(lambda n, h: ms.Grid(n, h, blocks=(2,) + (1,) * (dimension - 1))))[0]
    assert inflow > 0.0
    assert on_ranks[0] == inflow
    assert np.array_equal(on_ranks[1], positions)
