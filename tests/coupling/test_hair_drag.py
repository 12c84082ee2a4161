"""Hair in the cells of a grid, and its drag."""

from __future__ import annotations

import math

import numpy as np
import pytest

import meniscus as ms
from meniscus.coupling import HairDrag, HairVolume, cylinder_drag, exchange_momentum
from meniscus.fluids import project
from meniscus.solids import Groom


def tangle(count: int = 20, points: int = 30, seed: int = 0) -> Groom:
    rng = np.random.default_rng(seed)
    x = np.cumsum(rng.normal(scale=0.06, size=(count, points, 3)), axis=1) + 0.5
    return Groom(x.reshape(-1, 3), np.arange(count + 1) * points, radius=rng.uniform(1e-3, 2e-3, count))


def test_all_hair_is_in_cells() -> None:
    groom = tangle()
    inside = groom.points.min(axis=0) - 0.01, groom.points.max(axis=0) + 0.01
    h = 0.07
    grid = ms.Grid(tuple(int(n) for n in np.ceil((inside[1] - inside[0]) / h)), spacing=h, origin=tuple(inside[0]))
    velocities = np.random.default_rng(1).standard_normal(groom.points.shape)
    hair = HairVolume(grid)
    hair.set(groom, groom.points, velocities)
    lengths = np.linalg.norm(np.diff(groom.points, axis=0), axis=1)
    lengths[groom.offsets[1:-1] - 1] = 0
    area = math.pi * np.repeat(groom.radius, 30)[:-1] ** 2
    assert hair.outside == 0
    assert hair.volume.sum() == pytest.approx((area * lengths).sum(), rel=1e-12)
    momentum = (area * lengths)[:, None] * 0.5 * (velocities[:-1] + velocities[1:])
    assert (hair.volume[..., None] * hair.velocity).sum(axis=(0, 1, 2)) == pytest.approx(
        momentum.sum(axis=0), abs=1e-12 * np.abs(momentum).sum()
    )
    full = hair.volume > 0
    assert np.trace(hair.direction[full], axis1=1, axis2=2) == pytest.approx(1.0, rel=1e-12)
    # Half of the grid: what is beyond is told.
    half = HairVolume(ms.Grid((grid.shape[0], grid.shape[1], grid.shape[2] // 2), spacing=h, origin=grid.origin))
    half.set(groom, groom.points)
    assert half.volume.sum() + half.outside == pytest.approx(hair.volume.sum(), rel=1e-12)
    assert np.array_equal(half.volume, hair.volume[:, :, : grid.shape[2] // 2])


def test_pieces_are_those_of_dense_samples() -> None:
    groom = tangle(3, 5, seed=4)
    grid = ms.Grid((20, 20, 20), spacing=0.1, origin=(-0.5, -0.5, -0.5))
    hair = HairVolume(grid)
    hair.set(groom, groom.points)
    counted = np.zeros(grid.shape)
    n = 20000
    part = (np.arange(n) + 0.5) / n
    for s in range(3):
        for i in range(groom.offsets[s], groom.offsets[s + 1] - 1):
            a, b = groom.points[i], groom.points[i + 1]
            cells = np.floor((a + part[:, None] * (b - a) + 0.5) / 0.1).astype(int)
            np.add.at(counted, tuple(cells.T), math.pi * groom.radius[s] ** 2 * np.linalg.norm(b - a) / n)
    assert hair.volume == pytest.approx(counted, abs=2e-4 * counted.max())


@pytest.mark.parametrize("k_dt", [0.1, 1.0, 5.0, 20.0])
def test_a_falling_head_obeys_darcys_law(k_dt: float) -> None:
    grid = ms.Grid((2, 2, 16), spacing=1 / 16)
    k, g, rho = 200.0, 9.81, 1000.0
    drag, dt = HairDrag(grid), k_dt / 200.0
    drag.rate[...] = k
    head, velocity, time = 1.0, np.zeros((*grid.shape[:2], 17)), 0.0
    end = min(10.0, 2.0 * k_dt)
    while time < end:
        u = ms.MacField(grid, boundary={"z+": ms.Open(rho * g * head), "z-": ms.Open()})
        u.w[...] = velocity
        drag.relax(u, (0.0, 0.0, 0.0), dt)
        project(u, dt, density=drag.density(rho, dt), tolerance=1e-12)
        velocity = u.w.copy()
        head += float(velocity.mean()) * dt
        time += dt
    slow = 0.5 * (k - math.sqrt(k**2 - 4 * g))
    assert head == pytest.approx(math.exp(-g * time / k), rel=4e-3)
    assert head == pytest.approx(math.exp(-slow * time), rel=4e-3)


def test_drag_ends_at_the_hair_and_two_halves_are_a_whole() -> None:
    grid = ms.Grid((4, 4, 4), spacing=0.25)
    drag = HairDrag(grid)
    drag.rate[...] = 30.0
    drag.hair_velocity[...] = (1.0, -2.0, 0.5)
    rng = np.random.default_rng(2)
    start = [rng.standard_normal(ms.MacField(grid).component(k).shape) for k in range(3)]

    def run(steps: int, time: float) -> list[np.ndarray]:
        u = ms.MacField(grid)
        for k in range(3):
            u.component(k)[...] = start[k]
        for _ in range(steps):
            drag.relax(u, (0.0, 0.0, 0.0), time / steps)
        return [np.array(u.component(k)) for k in range(3)]

    for one, two in zip(run(1, 0.04), run(2, 0.04), strict=True):
        assert one == pytest.approx(two, abs=1e-14)
    for a, v in zip(run(1, 1e3), (1.0, -2.0, 0.5), strict=True):
        assert a == pytest.approx(v, abs=1e-14)
    drag.rate[...] = 0.0
    for a, b in zip(run(1, 0.04), start, strict=True):
        assert np.array_equal(a, b)
    assert np.array_equal(drag.density(1000.0, 0.1).array, np.full(grid.shape, 1000.0))


def test_loose_hair_and_water_keep_their_momentum() -> None:
    rng = np.random.default_rng(3)
    u, v = rng.standard_normal((2, 50, 3))
    m, n, k = rng.uniform(0.1, 2, 50), rng.uniform(0.01, 1, 50), rng.uniform(0, 50, 50)
    before, apart = m[:, None] * u + n[:, None] * v, u - v
    exchange_momentum(u, v, (m, n), k, 0.03)
    assert m[:, None] * u + n[:, None] * v == pytest.approx(before, abs=1e-12)
    assert u - v == pytest.approx(np.exp(-k * (1 + m / n) * 0.03)[:, None] * apart, abs=1e-10)


def test_arrays_of_cylinders() -> None:
    along, across = cylinder_drag([0.0, 1e-4, 0.1, 0.5], 4e-5)
    assert along[0] == across[0] == 0
    assert (np.diff(along) > 0).all()
    assert across[1] / along[1] == pytest.approx(2.0, rel=0.15)  # slender bodies
    with pytest.raises(ValueError, match="fraction must be within"):
        cylinder_drag(0.95, 4e-5)
    with pytest.raises(ValueError, match="three dimensions"):
        HairVolume(ms.Grid((4, 4), spacing=0.1))
