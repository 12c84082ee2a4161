"""Strain rates, eddy viscosity, cumulants, and steps of another length."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids.lattice.options import LatticeOptions
from meniscus.grid import Grid


def vortex(n: int, speed: float, nu: float, options: LatticeOptions | None = None, **named: Any) -> ms.fluids.LatticeBoltzmann:
    """Taylor-Green vortex with spacing 1 and steps of about 1."""
    k = 2 * math.pi / n
    given = LatticeOptions(lattice_speed=speed) if options is None else options
    grid = Grid((n, n), 1.0, periodic=True)
    flow = ms.fluids.LatticeBoltzmann(grid, nu, speed, options=given, **named)
    x, y = grid.cell_centers()
    flow.set_flow(
        np.stack(np.broadcast_arrays(-np.cos(k * x) * np.sin(k * y), np.sin(k * x) * np.cos(k * y))) * speed,
        -0.25 * speed**2 * (np.cos(2 * k * x) + np.cos(2 * k * y)),
    )
    return flow


@pytest.mark.parametrize("smagorinsky", [0.0, 0.1])
def test_strain_rate_of_the_populations_is_that_of_differences(smagorinsky: float) -> None:
    n, speed = 64, 0.04
    flow = vortex(n, speed, 0.02, LatticeOptions(lattice_speed=speed, smagorinsky=smagorinsky))
    for _ in range(200):
        flow.step()
    u = flow.velocity
    difference = lambda f, a: 0.5 * (np.roll(f, -1, a) - np.roll(f, 1, a))  # noqa: E731
    gradient = np.array([[difference(u[a], b) for b in range(2)] for a in range(2)])
    strain = 0.5 * (gradient + gradient.transpose(1, 0, 2, 3))
    norm = np.sqrt((strain**2).sum(axis=(0, 1)))
    assert np.abs(flow.strain_rate - norm).max() < 0.01 * norm.max()
    expected = 0.02 + smagorinsky**2 * norm
    assert np.abs(flow.total_viscosity - expected).max() < 0.01 * smagorinsky**2 * norm.max() + 1e-15


@pytest.mark.parametrize(("viscosity", "factor"), [(0.05, 12.0), (0.02, 23.0)])
def test_the_printed_eddy_viscosity_is_many_times_too_large(viscosity: float, factor: float) -> None:
    speed = 0.04
    adds = []
    for form in ("consistent", "printed"):
        flow = vortex(32, speed, viscosity, LatticeOptions(lattice_speed=speed, smagorinsky=0.1, eddy_viscosity=form))
        flow.step()
        adds.append(float((flow.total_viscosity - viscosity).mean()))
    assert adds[1] / adds[0] == pytest.approx(factor, rel=0.3)


def shear_layers(steps: int, collision: str, smagorinsky: float, form: str) -> float:
    """Largest speed of two shear layers (tanh 80) of speed 0.1, perturbed by 5 %, at omega 1.9995 on 128^2; infinite when it diverges."""
    n, speed, omega = 128, 0.1, 1.9995
    options = LatticeOptions(lattice_speed=speed, smagorinsky=smagorinsky, eddy_viscosity=form)
    grid = Grid((n, n), 1.0, periodic=True)
    flow = ms.fluids.LatticeBoltzmann(grid, (1 / omega - 0.5) / 3, speed, collision=collision, options=options)
    x, y = (c / n for c in grid.cell_centers())
    u = np.where(y <= 0.5, np.tanh(80 * (y - 0.25)), np.tanh(80 * (0.75 - y)))
    flow.set_flow(speed * np.stack(np.broadcast_arrays(u, 0.05 * np.sin(2 * math.pi * (x + 0.25)))))
    try:
        for _ in range(steps):
            flow.step()
    except ValueError:
        return math.inf
    return float(np.abs(flow.velocity).max())


@pytest.mark.parametrize("smagorinsky", [0.0, 0.03])
def test_thin_shear_layers_diverge_without_enough_eddy_viscosity(smagorinsky: float) -> None:
    assert shear_layers(1000, "bgk", smagorinsky, "consistent") == math.inf


@pytest.mark.slow
@pytest.mark.parametrize(("smagorinsky", "form"), [(0.1, "consistent"), (0.03, "printed")])
def test_thin_shear_layers_end_with_enough_eddy_viscosity(smagorinsky: float, form: str) -> None:
    assert shear_layers(10_000, "bgk", smagorinsky, form) < 0.15


@pytest.mark.parametrize("ratio", [0.5, 0.8, 1.25])
def test_steps_of_another_length_keep_the_decay(ratio: float) -> None:
    n, speed, nu = 32, 0.04, 0.05
    flow = vortex(n, speed, nu)
    k = 2 * math.pi / n
    for _ in range(200):
        flow.step()
    velocity, pressure, strain = flow.velocity.copy(), flow.pressure, flow.strain_rate
    flow.dt = ratio * flow.dt
    assert np.abs(flow.velocity - velocity).max() < 1e-14
    assert np.abs(flow.pressure - pressure).max() < 1e-14
    assert np.abs(flow.strain_rate - strain).max() < 1e-12 * strain.max() + 2e-2 * strain.max()
    start, energy = flow.time, float((velocity**2).sum())
    for _ in range(200):
        flow.step()
    rate = -math.log(float((flow.velocity**2).sum()) / energy) / (flow.time - start)
    assert rate == pytest.approx(4 * nu * k * k, rel=0.01)


def test_advance_takes_steps_that_end_at_the_time() -> None:
    flow = vortex(16, 0.05, 0.02)
    reports = flow.advance(10.3)
    assert len(reports) == 11
    assert flow.time == pytest.approx(10.3, abs=1e-12)
    assert flow.dt == pytest.approx(10.3 / 11)


def test_cumulants_decay_with_the_viscosity_in_a_moving_frame() -> None:
    """A shear wave in a stream decays as one at rest: cumulants do not see the frame."""
    n, nu, k = 32, 0.01, 2 * math.pi / 32
    rates = []
    for stream in (0.0, 0.15):
        grid = Grid((n, 3, 3), 1.0, periodic=True)
        flow = ms.fluids.LatticeBoltzmann(grid, nu, 0.15, lattice="D3Q27", collision="cumulant", storage="float64")
        u = np.zeros((3, *grid.shape))
        u[0] = stream
        u[1] = 0.01 * np.sin(k * grid.cell_centers()[0])
        flow.set_flow(u)
        size = lambda: abs(np.fft.fft(flow.velocity[1, :, 0, 0])[1])  # noqa: E731, B023
        start = size()
        for _ in range(300):
            flow.step()
        rates.append(-math.log(size() / start) / flow.time / (nu * k * k))
    assert rates[0] == pytest.approx(1, abs=0.01)
    assert rates[1] == pytest.approx(1, abs=0.03)


def test_cumulants_keep_mass_and_momentum() -> None:
    rng = np.random.default_rng(5)
    grid = Grid((6, 5, 9), 1.0, periodic=True)
    flow = ms.fluids.LatticeBoltzmann(grid, 0.01, 0.2, lattice="D3Q27", collision="cumulant", storage="float64")
    flow.set_flow(rng.uniform(-0.1, 0.1, (3, *grid.shape)), rng.uniform(-0.01, 0.01, grid.shape))
    mass, momentum = flow.mass, flow.momentum
    for _ in range(20):
        flow.step()
    assert abs(flow.mass - mass) < 1e-13 * 270
    assert np.abs(flow.momentum - momentum).max() < 1e-13 * 270
