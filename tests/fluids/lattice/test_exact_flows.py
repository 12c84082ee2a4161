"""Lattice Boltzmann flows with known solutions: channels, vortices, rest, closed boxes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids.lattice.options import LatticeOptions
from meniscus.grid import Grid, Wall

STILL = Wall(slip="no-slip")


def channel(tau: float, cells: int, **named: Any) -> ms.fluids.LatticeBoltzmann:
    """Channel between walls at y = 0 and y = cells, with spacing 1 and dt = 1; its top speed is 0.01."""
    nu = (tau - 0.5) / 3.0
    push = 8.0 * nu * 0.01 / cells**2
    options = LatticeOptions(acceleration=(push, 0.0), lattice_speed=0.1)
    grid = Grid((3, cells), 1.0, periodic=(True, False))
    return ms.fluids.LatticeBoltzmann(grid, nu, 0.1, boundary=STILL, options=options, **named)


def profile_error(tau: float, cells: int, **named: Any) -> float:
    """Largest error of the steady channel flow, relative to its top."""
    flow = channel(tau, cells, **named)
    assert flow.dt == pytest.approx(1.0)
    assert flow.tau == pytest.approx(tau)
    y = np.arange(cells) + 0.5
    exact = 4.0 * 0.01 * y * (cells - y) / cells**2
    flow.set_flow(np.stack([np.broadcast_to(exact, (3, cells)), np.zeros((3, cells))]))
    last = np.inf
    for _ in range(200):
        for _ in range(max(20, int(0.5 * cells**2 / ((tau - 0.5) / 3) / 20))):
            flow.step()
        now = float(flow.velocity[0, 1].max())
        if abs(now - last) < 1e-15:
            break
        last = now
    return float(np.abs(flow.velocity[0, 1] - exact).max() / exact.max())


@pytest.mark.parametrize(
    ("tau", "cells", "expected"),
    [
        (0.6, 8, 1.50e-2),
        (0.6, 16, 3.71e-3),
        (0.8, 8, 8.25e-3),
        (0.8, 16, 2.04e-3),
        (1.0, 8, 5.29e-3),
        (1.0, 16, 1.31e-3),
        (1.5, 8, 6.88e-2),
    ],
)
def test_one_relaxation_time_slips_in_a_channel_as_the_theory_says(tau: float, cells: int, expected: float) -> None:
    assert profile_error(tau, cells, collision="bgk") == pytest.approx(expected, rel=6e-3)


@pytest.mark.parametrize("tau", [0.55, 0.6, 0.8, 1.0, 2.0])
def test_two_relaxation_times_are_exact_in_a_channel(tau: float) -> None:
    assert profile_error(tau, 8) < 1e-10


def taylor_green(cells: int, speed: float, **named: Any) -> tuple[float, float]:
    """Relative L2 error and viscosity over the true one, after half of the life of a vortex, in units of the lattice."""
    tau = 0.65
    nu, k = (tau - 0.5) / 3.0, 2 * math.pi / cells
    grid = Grid((cells, cells), 1.0, periodic=True)
    options = LatticeOptions(lattice_speed=speed)
    flow = ms.fluids.LatticeBoltzmann(grid, nu, speed, options=options, **named)
    x, y = grid.cell_centers()
    u = np.stack(np.broadcast_arrays(-np.cos(k * x) * np.sin(k * y), np.sin(k * x) * np.cos(k * y))) * speed
    flow.set_flow(u, -0.25 * speed**2 * (np.cos(2 * k * x) + np.cos(2 * k * y)))
    steps = round(math.log(2) / (2 * nu * k * k))
    for _ in range(steps):
        flow.step()
    exact = u * math.exp(-2 * nu * k * k * steps)
    error = np.linalg.norm(flow.velocity - exact) / np.linalg.norm(exact)
    amplitude = (flow.velocity * u).sum() / (u * u).sum()
    return float(error), -math.log(amplitude) / steps / (2 * nu * k * k)


@pytest.mark.parametrize(("collision", "constant"), [("bgk", 1e-4), ("trt", 4.4e-4)])
def test_a_vortex_decays_with_the_viscosity_in_second_order(collision: str, constant: float) -> None:
    (coarse, _), (fine, ratio) = taylor_green(32, 0.04, collision=collision), taylor_green(64, 0.02, collision=collision)
    assert fine < constant
    assert coarse / fine > 3.8
    assert abs(ratio - 1) < 1e-3


@pytest.mark.parametrize(
    ("lattice", "storage"),
    [("D2Q9", "float64"), ("D2Q9", "float32"), ("D3Q15", "float32"), ("D3Q19", "float32"), ("D3Q19", "int16"), ("D3Q27", "float64")],
)
@pytest.mark.parametrize("streaming", ["in-place", "two-lattices"])
def test_fluid_at_rest_stays_at_rest_to_the_bit(lattice: str, storage: str, streaming: str) -> None:
    shape = (7, 9) if lattice.startswith("D2") else (5, 7, 11)
    options = LatticeOptions(streaming=streaming)
    flow = ms.fluids.LatticeBoltzmann(Grid(shape, 0.1), 0.01, 1.0, lattice=lattice, storage=storage, boundary=STILL, options=options)
    for _ in range(5):
        flow.step()
    assert not flow.velocity.any()
    assert (flow.density == 1.0).all()


def stirred(seed: int = 3, shape: tuple[int, ...] = (9, 6, 13), streaming: str = "in-place", **named: Any) -> ms.fluids.LatticeBoltzmann:
    """Flow in a box under a lid that moves, from a random start."""
    n = len(shape)
    lid = Wall((1.0,) + (0.5,) * (n - 2) + (0.0,), slip="no-slip")
    sides = {"x-": STILL, "x+": STILL, "y-": STILL, "y+": STILL, "xyz"[n - 1] + "+": lid, "xyz"[n - 1] + "-": STILL}
    grid = named.pop("grid", Grid(shape, 0.1))
    options = LatticeOptions(streaming=streaming, acceleration=(0.3,) * n, **named.pop("options", {}))
    flow = ms.fluids.LatticeBoltzmann(grid, 0.002, 2.0, boundary=named.pop("boundary", sides), options=options, **named)
    rng = np.random.default_rng(seed)
    flow.set_flow(rng.uniform(-0.3, 0.3, (n, *shape)), rng.uniform(-0.1, 0.1, shape))
    return flow


CASES = [
    {"lattice": "D3Q15"},
    {"lattice": "D3Q19"},
    {"lattice": "D3Q19", "storage": "float64", "collision": "bgk"},
    {"lattice": "D3Q19", "storage": "int16"},
    {"lattice": "D3Q27"},
    {"lattice": "D2Q9", "shape": (12, 17)},
    {"grid": Grid((9, 6, 13), 0.1, periodic=(True, False, True))},
    {"grid": Grid((9, 6, 13), 0.1, periodic=True)},
    {"boundary": None},
    {"boundary": {"x-": STILL, "z+": ms.grid.Open(0.02), "y-": ms.grid.ZeroGradient()}},
    {"options": {"smagorinsky": 0.1}},
]


@pytest.mark.parametrize("case", CASES)
def test_in_place_and_two_lattices_give_the_same_bits(case: dict[str, Any]) -> None:
    one, two = stirred(**case), stirred(streaming="two-lattices", **case)
    for _ in range(15):
        one.step()
        two.step()
    assert np.abs(one.velocity).max() > 0.1
    assert np.array_equal(one.populations, two.populations)
    assert two.flow.nbytes > 1.8 * one.flow.nbytes


def moved(flow: ms.fluids.LatticeBoltzmann) -> np.ndarray:
    """Populations after one step of a flow in which nothing collides, on axes that close, by NumPy."""
    f = flow.populations
    return np.stack([np.roll(f[k], tuple(e), tuple(range(flow.grid.dimension))) for k, e in enumerate(flow.directions)])


@pytest.mark.parametrize("lattice", ["D2Q9", "D3Q15", "D3Q19", "D3Q27"])
def test_populations_stream_as_in_numpy(lattice: str) -> None:
    shape = (5, 6) if lattice == "D2Q9" else (5, 6, 9)
    # At an enormous relaxation time nothing relaxes.
    flow = ms.fluids.LatticeBoltzmann(Grid(shape, 1.0, periodic=True), 1e14, 0.1, lattice=lattice, collision="bgk", storage="float64")
    rng = np.random.default_rng(1)
    flow.populations = flow.weights.reshape((-1,) + (1,) * len(shape)) * (1 + 0.05 * rng.uniform(-1, 1, (len(flow.weights), *shape)))
    for _ in range(3):
        expected = moved(flow)
        flow.step()
        assert np.abs(flow.populations - expected).max() < 1e-14


@pytest.mark.parametrize("lattice", ["D2Q9", "D3Q15", "D3Q19", "D3Q27"])
def test_weights_are_isotropic(lattice: str) -> None:
    shape = (4, 4) if lattice == "D2Q9" else (4, 4, 4)
    flow = ms.fluids.LatticeBoltzmann(Grid(shape, 1.0), 0.1, 0.1, lattice=lattice)
    w, e = flow.weights, flow.directions.astype(float)
    n = len(shape)
    assert w.sum() == pytest.approx(1, abs=1e-15)
    assert np.abs(np.einsum("k,ka->a", w, e)).max() < 1e-16
    assert np.allclose(np.einsum("k,ka,kb->ab", w, e, e), np.eye(n) / 3, atol=1e-15)
    d = np.eye(n)
    fourth = np.einsum("ab,cd->abcd", d, d) + np.einsum("ac,bd->abcd", d, d) + np.einsum("ad,bc->abcd", d, d)
    assert np.allclose(np.einsum("k,ka,kb,kc,kd->abcd", w, e, e, e, e), fourth / 9, atol=1e-15)
    assert np.array_equal(e[1::2], -e[2::2])
    printed = np.array([1 / 3] + [1 / 18] * 8)  # the weights in the pseudocode of the notes lose two ninths of the mass
    assert lattice != "D2Q9" or printed.sum() == pytest.approx(7 / 9)


@pytest.mark.parametrize(("storage", "bar"), [("float64", 1e-12), ("float32", 1e-5)])
def test_a_closed_box_keeps_its_mass(storage: str, bar: float) -> None:
    flow = stirred(storage=storage)
    start = flow.mass
    for _ in range(500):
        flow.step()
    assert abs(flow.mass - start) < bar * np.prod(flow.grid.shape) * 0.1**3


@pytest.mark.slow
def test_a_closed_box_keeps_its_mass_for_ten_thousand_steps() -> None:
    flow = stirred(shape=(24, 31), lattice="D2Q9", options={"smagorinsky": 0.17})
    start = flow.mass
    for _ in range(10_000):
        flow.step()
    assert abs(flow.mass - start) < 1e-12 * np.prod(flow.grid.shape) * 0.1**2


@pytest.mark.parametrize("case", [{"options": {"smagorinsky": 0.1}}, {"boundary": {"x-": ms.grid.Open(0.02)}}])
def test_threads_give_the_same_bits(case: dict[str, Any]) -> None:
    results = []
    before = ms.core.num_threads()
    try:
        for threads in (1, 2, 3, 5, 8):
            ms.core.set_num_threads(threads)
            flow = stirred(shape=(24, 25, 33), **case)
            reports = [flow.step() for _ in range(4)]
            results.append((flow.populations, [r.max_speed for r in reports], flow.mass))
    finally:
        ms.core.set_num_threads(before)
    for populations, speeds, mass in results[1:]:
        assert np.array_equal(populations, results[0][0])
        assert (speeds, mass) == results[0][1:]


def test_free_slip_mirrors_the_flow() -> None:
    """Half of a symmetric flow between sides that slip is the flow in the whole."""
    rng = np.random.default_rng(2)
    n = 8
    half = rng.uniform(-0.2, 0.2, (2, n, n))
    flip = np.array([1.0, -1.0]).reshape(2, 1, 1)
    whole = np.concatenate([half, flip * half[:, :, ::-1]], axis=2)
    flows = []
    for u, shape, closed in ((half, (n, n), (True, False)), (whole, (n, 2 * n), True)):
        flow = ms.fluids.LatticeBoltzmann(Grid(shape, 1.0, periodic=closed), 0.05, 1.0)
        flow.set_flow(u)
        flows.append(flow)
    flows[0].populations = np.ascontiguousarray(flows[1].populations[:, :, :n])
    for flow in flows:
        for _ in range(30):
            flow.step()
    assert np.abs(flows[0].velocity).max() > 0.01
    assert np.abs(flows[0].velocity - flows[1].velocity[:, :, :n]).max() < 1e-14


def test_a_lid_drags_the_fluid_linearly() -> None:
    sides = {"y-": STILL, "y+": Wall((0.3, 0.0), slip="no-slip")}
    flow = ms.fluids.LatticeBoltzmann(Grid((2, 10), 0.1, periodic=(True, False)), 0.5, 1.0, boundary=sides)
    for _ in range(3000):
        flow.step()
    assert np.abs(flow.velocity[0, 0] - 0.3 * (np.arange(10) + 0.5) / 10).max() < 1e-9


def duct_error(cells: int) -> float:
    """Largest error of the flow through a square duct against its series, relative to its top."""
    nu, top = 0.1, 0.02
    y = (np.arange(cells) + 0.5) / cells - 0.5
    n = np.arange(1, 80, 2)
    shape = np.zeros((cells, cells))
    for k in n:
        along = 1 - np.cosh(k * math.pi * y) / np.cosh(k * math.pi / 2)
        shape += np.outer(np.cos(k * math.pi * y), along) * (-1) ** ((k - 1) // 2) / k**3
    exact = shape * 4 / math.pi**3  # times push / nu times cells^2
    push = top * nu / (exact.max() * cells**2)
    grid = Grid((1, cells, cells), 1.0, periodic=(True, False, False))
    options = LatticeOptions(acceleration=(push, 0.0, 0.0))
    flow = ms.fluids.LatticeBoltzmann(grid, nu, 0.1, boundary=STILL, storage="float64", options=options)
    for _ in range(8 * cells**2):
        flow.step()
    return float(np.abs(flow.velocity[0, 0] / top - exact / exact.max()).max())


def test_flow_through_a_square_duct_is_of_second_order() -> None:
    coarse, fine = duct_error(8), duct_error(16)
    assert coarse < 0.01
    assert 3.4 < coarse / fine < 4.6
