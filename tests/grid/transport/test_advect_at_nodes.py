"""A velocity carried at nodes while its faces persist: no step, no change; exact solutions; loss of energy; bits."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.build import components, grid_of, random_velocity, same_bits, scalar_types
from support.same_bits import everywhere, problem

import meniscus as ms
from meniscus.fluids import SmokeOptions, SmokeSolver, TransportOptions, kinetic_energy
from meniscus.grid import Visibility, advect_at_nodes

BOUNDARIES: list[Any] = [
    (False, None),
    (True, None),
    ((True, False, True), {"y-": ms.Open(), "y+": ms.Wall((0.3, 0.0, 0.1), "no-slip")}),
    (False, ms.Prescribed(lambda x, t: np.sin(x))),
]


def around(samples: np.ndarray, axis: int, step: int) -> np.ndarray:
    """The neighbours along an axis that closes."""
    return np.take(samples, range(step, step + samples.shape[axis]), axis, mode="wrap")


@pytest.mark.parametrize("method", ["semi-lagrangian", "maccormack"])
def test_a_step_without_motion_changes_no_bit(method: Any, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for periodic, boundary in BOUNDARIES:
        if isinstance(boundary, dict) and dimension == 2:
            boundary = {**boundary, "y+": ms.Wall((0.3, 0.0), "no-slip")}
        g = grid_of(dimension, periodic=periodic if isinstance(periodic, bool) else periodic[:dimension])
        velocity = random_velocity(g, dtype, rng, boundary)
        before = components(velocity)
        advect_at_nodes(velocity, 1e-30, method=method)
        assert same_bits(components(velocity), before)


def test_a_uniform_velocity_stays_to_the_bit(dimension: int, dtype: type) -> None:
    g = grid_of(dimension, periodic=True)
    velocity = ms.MacField(g, dtype)
    for d in range(dimension):
        velocity.component(d)[...] = 0.7 + d
    before = components(velocity)
    advect_at_nodes(velocity, 0.61)
    assert same_bits(components(velocity), before)


def test_against_a_step_in_plain_arrays(rng: np.random.Generator) -> None:
    """Means, straight paths, bilinear interpolation and increments, on a domain that closes."""
    n, dt = (9, 7), 0.8
    g = grid_of(2, periodic=True, shape=n)
    velocity = random_velocity(g, np.float64, rng)
    u, v = velocity.u[:-1].copy(), velocity.v[:, :-1].copy()
    nodes = np.stack([(u + around(u, 1, -1)) / 2, (v + around(v, 0, -1)) / 2])
    place = np.stack(np.meshgrid(*map(np.arange, n), indexing="ij")) - dt / g.spacing * nodes
    cell = np.floor(place).astype(int)
    f = place - cell
    gained = -nodes
    for i in (0, 1):
        for j in (0, 1):
            weight = (f[0] if i else 1 - f[0]) * (f[1] if j else 1 - f[1])
            gained += weight * nodes[:, (cell[0] + i) % n[0], (cell[1] + j) % n[1]]
    advect_at_nodes(velocity, dt, method="semi-lagrangian", trace="euler")
    assert np.abs(velocity.u[:-1] - u - (gained[0] + around(gained[0], 1, 1)) / 2).max() < 1e-13
    assert np.abs(velocity.v[:, :-1] - v - (gained[1] + around(gained[1], 0, 1)) / 2).max() < 1e-13


@pytest.mark.parametrize(("method", "order"), [("semi-lagrangian", 0.9), ("maccormack", 1.95)])
def test_the_order_of_accuracy_in_a_smooth_flow(method: Any, order: float) -> None:
    """A wave of one component that the other, which is uniform, carries: no error but that of the nodes and of the scheme."""
    errors = []
    for n in (32, 64):
        g = ms.Grid((6, n), 2 * np.pi / n, periodic=(True, True))

        def wave(x: np.ndarray, t: float) -> np.ndarray:
            y = x[:, 1] - 0.9 * t
            return np.stack([np.sin(y) + 0.3 * np.cos(2 * y), np.full(len(x), 0.9)], axis=1)

        velocity, after = (ms.MacField.from_function(g, wave, time=t, dtype=np.float64) for t in (0.0, 1.5))
        for _ in range(n // 4):
            advect_at_nodes(velocity, 6 / n, method=method, limiter="none")
        errors.append(np.abs(velocity.u - after.u).max())
    assert np.log2(errors[0] / errors[1]) > order


def vortices(method: Any, samples: Any, steps: int, *, smooth: bool = False) -> float:
    """The part of the energy of vortices that are at rest, Taylor's and Green's, that is lost after a second."""
    n = 24
    g = ms.Grid((n, n), 2 * np.pi / n, periodic=(True, True))
    solver = SmokeSolver(
        g, SmokeOptions(transport=TransportOptions(method=method, velocity_samples=samples), tolerance=1e-9), dtype=np.float64
    )
    flow = ms.MacField.from_function(
        g, lambda x, t: np.stack([np.sin(x[:, 0]) * np.cos(x[:, 1]), -np.cos(x[:, 0]) * np.sin(x[:, 1])], axis=1), dtype=np.float64
    )
    solver.velocity.assign(flow)
    for _ in range(steps):
        if smooth:
            # The mean of a face over its nodes is this mean of faces.
            for d, u in enumerate(components(solver.velocity)):
                cut = tuple(slice(None, -1) if a == d else slice(None) for a in range(2))
                w = u[cut]
                solver.velocity.component(d)[cut] = (around(w, 1 - d, -1) + 2 * w + around(w, 1 - d, 1)) / 4
        solver.step(1 / steps)
    return 1 - kinetic_energy(solver.velocity) / kinetic_energy(flow)


@pytest.mark.parametrize("method", ["semi-lagrangian", "maccormack"])
def test_nodes_lose_no_more_energy_than_faces_whatever_the_length_of_the_step(method: Any) -> None:
    """Where a velocity is averaged to the nodes and back, the loss goes with the number of steps."""
    nodes = [vortices(method, "nodes", steps) for steps in (10, 20, 40)]
    assert nodes[1] < vortices(method, "faces", 20)
    assert nodes[2] < 1.06 * nodes[1]
    naive = [vortices(method, "nodes", steps, smooth=True) for steps in (10, 20, 40)]
    assert naive[1] > nodes[1] + 0.3
    assert naive[2] - naive[1] > 0.1


def test_masks_and_what_does_not_go_with_nodes(dimension: int, rng: np.random.Generator) -> None:
    velocity = random_velocity(grid_of(dimension, periodic=(True, False, False)[:dimension]), np.float64, rng, ms.Open())
    plain, corrected, still = velocity.copy(), velocity.copy(), velocity.copy()
    shapes = [velocity.component(d).shape for d in range(dimension)]
    advect_at_nodes(plain, 0.3, method="semi-lagrangian")
    advect_at_nodes(corrected, 0.3, visibility=Visibility(first_order=[np.ones(s, bool) for s in shapes]))
    assert same_bits(components(plain), components(corrected))
    active = [rng.random(s) < 0.5 for s in shapes]
    advect_at_nodes(still, 0.3, method="semi-lagrangian", visibility=Visibility(active=active))
    for d, mask in enumerate(active):
        assert same_bits(still.component(d)[mask], plain.component(d)[mask])
        assert same_bits(still.component(d)[~mask], velocity.component(d)[~mask])
    with pytest.raises(ValueError, match="method must be"):
        advect_at_nodes(velocity, 0.3, method="bfecc")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="velocity_samples='nodes' goes with"):
        SmokeOptions(transport=TransportOptions(velocity_samples="nodes", method="bfecc"))


@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_the_same_bits_on_all_threads(interpolation: Any, dimension: int, default_parallelism: None) -> None:
    _, velocity = problem(dimension, scalar_types(dimension)[0], True)

    def run() -> list[np.ndarray]:
        v = velocity.copy()
        advect_at_nodes(v, 0.22, interpolation=interpolation, first_order_near="walls")
        return components(v)

    everywhere(run)


@pytest.mark.parametrize("seen", [Visibility(hidden_value="own"), Visibility(replacement=0.0), Visibility(visible=[np.ones(3, bool)] * 2)])
def test_nodes_refuse_what_only_samples_have(seen: Visibility) -> None:
    velocity = ms.MacField(ms.Grid((6, 5), 0.1))
    with pytest.raises(ValueError, match="transport at nodes goes with active, first_order and walls of a visibility only"):
        advect_at_nodes(velocity, 0.1, visibility=seen)
