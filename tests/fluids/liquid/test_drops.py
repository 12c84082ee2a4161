"""Drops that fall back into a liquid: their momentum arrives, wherever the surface lies in its cell."""

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.grid import MacField
from meniscus.surface import ParticleLevelSet, Sphere


def face_volumes(n: int, centre: np.ndarray, radius: float) -> list[np.ndarray]:
    """Volume of a ball around the faces of each axis, m^dim, by eight points per cell and axis."""
    dim, m = len(centre), 8
    at = (np.arange(n * m) + 0.5) / (n * m)
    square = sum(((at - c) ** 2).reshape([-1 if e == d else 1 for e in range(dim)]) for d, c in enumerate(centre))
    wet = (square < radius**2) / float(m * n) ** dim
    volumes = []
    for d in range(dim):
        part = wet
        for e in range(dim):
            part = part.reshape(*part.shape[:e], -1, m // 2 if e == d else m, *part.shape[e + 1 :]).sum(e + 1)
        part = np.pad(part, [(1, 1) if e == d else (0, 0) for e in range(dim)])
        volumes.append(part.reshape(*part.shape[:d], -1, 2, *part.shape[d + 1 :]).sum(d + 1))
    return volumes


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_momentum_of_drops_arrives(dimension: int, seed: int, dtype: Any) -> None:
    """Drops join a ball of liquid that floats freely, from all sides. Faces without liquid keep none of it: given to the faces of a
    drop's own cell, 2 to 60 % would be lost."""
    rng = np.random.default_rng(seed)
    n = {2: 32, 3: 16}[dimension]
    solver = LiquidSolver(ms.Grid((n,) * dimension, 1 / n), LiquidOptions(gravity=(0.0,) * dimension, seed=seed), dtype=dtype)
    centre, radius, r = rng.uniform(0.45, 0.55, dimension), 0.27, 0.2 / n
    solver.fill(Sphere(centre, radius))
    solver.step(1e-5)
    assert solver.particles is not None
    directions = rng.normal(size=(6, dimension))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    velocities = rng.normal(size=dimension) - 0.5 * directions
    solver.particles.spray.append(
        (centre + (radius + 0.5 * r) * directions).astype(dtype), velocity=velocities.astype(dtype), radius=np.full(6, r, dtype)
    )
    faces = face_volumes(n, centre, radius)

    def momentum() -> np.ndarray:
        """Of the liquid, per density."""
        return np.array([(f * solver.velocity.component(d)).sum() for d, f in enumerate(faces)])

    before = momentum()
    volume = np.pi * r**2 if dimension == 2 else 4 / 3 * np.pi * r**3
    given = volume * velocities.sum(axis=0)
    solver.spray(1e-6)
    assert solver.surface.drops == 0
    assert np.linalg.norm(momentum() - before - given) < 0.03 * np.linalg.norm(volume * velocities)
    solver.project(1e-6)
    assert np.linalg.norm(momentum() - before - given) < 0.03 * np.linalg.norm(volume * velocities)


def test_drops_as_fast_as_the_liquid_leave_it_alone(dimension: int) -> None:
    """Others draw it towards their velocity, however many there are."""
    grid = ms.Grid((8,) * dimension, 0.125, periodic=(True, *(False,) * (dimension - 1)))
    rng = np.random.default_rng(11)
    for speed in (1.0, 3.0):
        p = ParticleLevelSet(grid)
        p.levelset.array = np.broadcast_to(p.levelset.field.coordinates()[-1] - 0.6, grid.shape).copy()
        velocity = MacField(grid)
        for d in range(dimension):
            velocity.component(d)[...] = 1.0
        x = rng.random((4000, dimension))
        x[:, -1] *= 0.6
        p.spray.append(x, velocity=np.full((4000, dimension), speed), radius=np.full(4000, 0.03))
        assert p.reincorporate(velocity, deposit="liquid").spray.count == 4000
        for d in range(dimension):
            c = velocity.component(d)
            assert ((c >= 1.0) & (c <= speed)).all()
            if speed > 1:
                assert c.max() > 1.5
            if d == 0:
                np.testing.assert_array_equal(c[0], c[-1])
