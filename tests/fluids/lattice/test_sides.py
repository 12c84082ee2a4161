"""Sides of lattice Boltzmann flows: given velocities and pressures, outflows, the driven cavity."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids.lattice.options import LatticeOptions
from meniscus.grid import Grid, Open, Prescribed, Wall, ZeroGradient
from meniscus.scenes.library.ghia import centerlines

STILL = Wall(slip="no-slip")


def test_pressures_at_both_ends_drive_the_flow_of_a_channel() -> None:
    """The pressure falls linearly between the ends, and the profile is the parabola that belongs to it."""
    n, length, nu, drop = 12, 20, 0.1, 1e-4
    sides = {"x-": Open(drop), "x+": Open(0.0), "y-": STILL, "y+": STILL}
    flow = ms.fluids.LatticeBoltzmann(Grid((length, n), 1.0), nu, 0.1, boundary=sides)
    for _ in range(3000):
        flow.step()
    y = np.arange(n) + 0.5
    exact = drop / length / (2 * nu) * y * (n - y)
    assert np.abs(flow.velocity[0] - exact).max() < 0.02 * exact.max()
    assert np.allclose(flow.pressure[:, n // 2], drop * (1 - (np.arange(length) + 0.5) / length), atol=0.01 * drop)


def test_a_given_velocity_enters_and_leaves_at_the_pressure() -> None:
    n, length, nu, top = 12, 24, 0.05, 0.02

    def profile(x: np.ndarray, time: float) -> np.ndarray:
        return np.stack([4 * top * x[:, 1] * (n - x[:, 1]) / n**2, np.zeros(len(x))], axis=1)

    sides = {"x-": Prescribed(profile), "x+": Open(0.0), "y-": STILL, "y+": STILL}
    flow = ms.fluids.LatticeBoltzmann(Grid((length, n), 1.0), nu, 0.1, boundary=sides)
    for _ in range(2500):
        flow.step()
    exact = profile(np.stack([np.zeros(n), np.arange(n) + 0.5], axis=1), 0.0)[:, 0]
    assert np.abs(flow.velocity[0] - exact).max() < 0.03 * top
    assert np.abs(flow.velocity[0, 6:] - exact).max() < 0.01 * top
    slope = (flow.pressure[4, n // 2] - flow.pressure[-4, n // 2]) / (length - 8)
    assert slope == pytest.approx(8 * nu * top / n**2, rel=0.02)


def pulse_left(side: Any) -> float:
    """Energy that a sound pulse leaves in a tube after it has met the side, relative to that before."""
    n = 200
    sides = {"x-": STILL, "x+": side}
    flow = ms.fluids.LatticeBoltzmann(Grid((n, 3), 1.0, periodic=(False, True)), 0.002, 0.1, boundary=sides)
    x = np.arange(n) + 0.5
    p = 1e-4 * np.exp(-(((x - 100) / 8) ** 2))[:, None] * np.ones(3)
    u = np.zeros((2, n, 3))
    u[0] = p * math.sqrt(3)  # moves to the right: u = p / (rho c)
    flow.set_flow(u, p)
    before = float((flow.velocity**2).sum() + 3 * (flow.pressure**2).sum())
    for _ in range(300):
        flow.step()
    return float((flow.velocity**2).sum() + 3 * (flow.pressure**2).sum()) / before


def test_an_outflow_lets_waves_out_that_a_pressure_reflects() -> None:
    assert pulse_left(ZeroGradient()) < 3e-3
    assert pulse_left(Open(0.0)) > 0.8
    assert pulse_left(STILL) > 0.8


def test_an_outflow_returns_to_the_pressure_far_away() -> None:
    sides = {"x-": Prescribed((0.05, 0.0)), "x+": ZeroGradient()}
    flow = ms.fluids.LatticeBoltzmann(Grid((40, 3), 1.0, periodic=(False, True)), 0.01, 0.1, boundary=sides)
    for _ in range(4000):
        flow.step()
    assert np.abs(flow.velocity[0] - 0.05).max() < 1e-4
    assert np.abs(flow.pressure).max() < 1e-4


def cavity_errors(reynolds: int, cells: int, lattice_speed: float, end: float, **named: Any) -> tuple[float, float]:
    """Largest deviations from the tables of Ghia, Ghia and Shin, times the speed of the lid."""
    sides = {"x-": STILL, "x+": STILL, "y-": STILL, "y+": Wall((1.0, 0.0), slip="no-slip")}
    options = LatticeOptions(lattice_speed=lattice_speed)
    flow = ms.fluids.LatticeBoltzmann(Grid((cells, cells), 1.0 / cells), 1.0 / reynolds, 1.0, boundary=sides, options=options, **named)
    while flow.time < end:
        flow.step()
    lines = centerlines(reynolds)
    assert lines is not None
    s = (np.arange(cells) + 0.5) / cells
    half = cells // 2
    u = 0.5 * (flow.velocity[0, half - 1] + flow.velocity[0, half])
    v = 0.5 * (flow.velocity[1, :, half - 1] + flow.velocity[1, :, half])
    return tuple(float(np.abs(np.interp(at, s, values) - expected).max()) for (at, expected), values in zip(lines, (u, v), strict=True))


def test_a_small_driven_cavity() -> None:
    assert max(cavity_errors(100, 32, 0.15, 12.0)) < 0.02


@pytest.mark.slow
@pytest.mark.parametrize(("reynolds", "cells", "end"), [(100, 128, 20.0), (1000, 256, 60.0)])
def test_driven_cavities(reynolds: int, cells: int, end: float) -> None:
    assert max(cavity_errors(reynolds, cells, 0.15, end)) < 0.01


def test_sides_that_a_lattice_does_not_have_are_refused() -> None:
    grid = Grid((8, 8), 1.0)
    with pytest.raises(ValueError, match="must not slip freely where it moves"):
        ms.fluids.LatticeBoltzmann(grid, 0.1, 0.1, boundary={"x-": Wall((0.0, 0.1))})
    with pytest.raises(ValueError, match="velocity of 2 numbers"):
        ms.fluids.LatticeBoltzmann(grid, 0.1, 0.1, boundary={"x-": Prescribed(0.1)})
    with pytest.raises(ValueError, match="rows of 2 finite numbers"):
        ms.fluids.LatticeBoltzmann(grid, 0.1, 0.1, boundary={"x-": Prescribed(lambda x, t: np.zeros(len(x)))})
