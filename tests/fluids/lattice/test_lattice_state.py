"""State of lattice Boltzmann flows: snapshots, copies, pickles, errors, memory; bad input."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids.lattice.options import LatticeOptions
from meniscus.grid import Grid, Wall, ZeroGradient
from meniscus.surface import KinematicSolid, Sphere

STILL = Wall(slip="no-slip")


def travel(t: float) -> tuple[float, float, float]:
    """Motion of the ball."""
    return (0.3 * t, 0.02 * t, 0.0)


def flow_with_everything(**named: Any) -> ms.fluids.LatticeBoltzmann:
    """A ball that moves in a stream, an outflow, an eddy viscosity."""
    sides = {"x-": Wall((0.2, 0.0, 0.0), slip="no-slip"), "x+": ZeroGradient(), "y-": STILL}
    ball = KinematicSolid(Sphere((0.4, 0.42, 0.45), 0.22), travel)
    options = LatticeOptions(smagorinsky=0.1, acceleration=(0.0, 0.0, 0.2), **named)
    return ms.fluids.LatticeBoltzmann(Grid((17, 9, 10), 0.1), 0.005, 1.0, boundary=sides, solid=ball, options=options)


def run(flow: ms.fluids.LatticeBoltzmann, steps: int) -> ms.fluids.LatticeBoltzmann:
    for _ in range(steps):
        flow.step()
    return flow


@pytest.mark.parametrize("way", ["snapshot", "other streaming", "copy", "pickle", "assign"])
def test_a_flow_goes_on_bit_by_bit_from_a_copy(way: str) -> None:
    flow = run(flow_with_everything(), 37)
    if way == "snapshot":
        saved = flow.snapshot()
        again = run(flow_with_everything(), 3)
        again.restore(saved)
    elif way == "other streaming":
        again = flow_with_everything(streaming="two-lattices")
        again.restore(flow.snapshot())
    elif way == "copy":
        again = flow.copy()
    elif way == "pickle":
        again = pickle.loads(pickle.dumps(flow))
    else:
        again = run(flow_with_everything(), 50)
        again.assign(flow)
    assert again.time == flow.time
    one, two = run(flow, 25), run(again, 25)
    assert np.array_equal(one.populations, two.populations)
    assert np.array_equal(one.force_on(one.solid), two.force_on(two.solid))


def test_an_error_in_a_hook_leaves_the_last_step() -> None:
    flow = run(flow_with_everything(), 5)
    before, time = flow.populations, flow.time

    def fail(name: str, solver: Any) -> None:
        raise RuntimeError(name)

    with pytest.raises(RuntimeError, match="collide_and_stream"):
        flow.step(on_stage=fail)
    assert flow.time == time
    assert np.array_equal(flow.populations, before)


def test_a_flow_that_is_too_fast_says_so() -> None:
    flow = ms.fluids.LatticeBoltzmann(Grid((8, 8), 1.0, periodic=True), 1e-4, 0.1, options=LatticeOptions(acceleration=(0.05, 0.0)))
    with pytest.raises(ValueError, match="faster than the lattice allows"):
        run(flow, 100)
    assert np.isfinite(flow.populations).all()
    with pytest.raises(ValueError, match="populations must be finite"):
        flow.populations = np.full((9, 8, 8), np.nan)


def test_a_step_allocates_nothing() -> None:
    flow = ms.fluids.LatticeBoltzmann(Grid((16, 16, 16), 0.1), 0.01, 1.0, boundary=STILL)
    run(flow, 3)
    before = ms.core.block_allocations() if hasattr(ms.core, "block_allocations") else ms._meniscus.core.block_allocations()
    run(flow, 20)
    after = ms.core.block_allocations() if hasattr(ms.core, "block_allocations") else ms._meniscus.core.block_allocations()
    assert after == before


def test_memory_is_little_more_than_the_populations() -> None:
    flow = ms.fluids.LatticeBoltzmann(Grid((64, 64, 64), 0.1), 0.01, 1.0)
    assert flow.flow.nbytes <= 84 * 64**3


@pytest.mark.parametrize(
    ("named", "match"),
    [
        ({"viscosity": 0.0}, "viscosity must be positive"),
        ({"viscosity": 1e-12, "storage": "float32"}, "relaxation time above 1/2"),
        ({"viscosity": float("nan")}, "finite"),
        ({"max_speed": -1.0}, "max_speed must be positive"),
        ({"lattice": "D3Q19"}, "2 dimensions"),
        ({"lattice": "D2Q5"}, "must be one of"),
        ({"collision": "cumulant"}, "needs lattice 'D3Q27'"),
        ({"storage": "float16"}, "storage must be one of"),
    ],
)
def test_bad_input_gives_one_sentence(named: dict[str, Any], match: str) -> None:
    arguments = {"viscosity": 0.1, "max_speed": 1.0} | named
    with pytest.raises(ValueError, match=match):
        ms.fluids.LatticeBoltzmann(Grid((8, 8), 0.1), **arguments)


def test_bad_options_give_one_sentence() -> None:
    for bad in ({"lattice_speed": 0.4}, {"smagorinsky": -1.0}, {"magic": 0.0}, {"walls": "curved"}, {"outflow_relaxation": 2.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            LatticeOptions(**bad)
    flow = ms.fluids.LatticeBoltzmann(Grid((8, 8), 0.1), 0.1, 1.0)
    with pytest.raises(ValueError, match="dt must be at most"):
        flow.step(1.0)
    with pytest.raises(ValueError, match="below 1/3 of a cell per step"):
        flow.set_flow(np.full((2, 8, 8), 9.0))


def test_repr_tells_what_it_is() -> None:
    assert repr(ms.fluids.LatticeBoltzmann(Grid((8, 8), 0.1), 0.1, 1.0)).startswith("<LatticeBoltzmann 8x8 cells, D2Q9, t = 0 s, tau = ")
