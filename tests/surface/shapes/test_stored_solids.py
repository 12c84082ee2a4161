"""Solids from stored level sets: a ball that moves and turns around nothing, between frames and beyond."""

import pickle

import numpy as np
import pytest

import meniscus as ms
from meniscus.surface import LevelSet, StoredSolid

SPEED = 0.5
TIMES = [0.0, 0.4, 1.0]


def stored() -> StoredSolid:
    grid = ms.Grid((48, 24, 24), 1 / 24)
    frames, velocities = [], []
    for t in TIMES:
        x = 0.6 + SPEED * t
        frames.append(LevelSet.from_function(grid, lambda a, b, c, x=x: np.sqrt((a - x) ** 2 + (b - 0.5) ** 2 + (c - 0.5) ** 2) - 0.2))
        v = ms.MacField(grid, boundary={side: ms.Open() for side in ("x-", "x+", "y-", "y+", "z-", "z+")})
        v.u[...] = SPEED
        velocities.append(v)
    return StoredSolid(TIMES, frames, velocities)


@pytest.mark.parametrize("time", [0.0, 0.13, 0.4, 0.7, 1.0, 2.0])
def test_distances_normals_and_velocities_between_frames(time: float) -> None:
    solid = stored()
    centre = np.array([0.6 + SPEED * min(time, 1.0), 0.5, 0.5])
    way = np.random.default_rng(1).normal(size=(200, 3))
    way /= np.linalg.norm(way, axis=1, keepdims=True)
    x = centre + 0.21 * way
    assert np.abs(solid.signed_distance(x, time) - 0.01).max() < 4e-3
    assert np.abs(solid.normals(x, time) - way).max() < 0.05
    v = solid.velocity(x, time, -1e-3 if time <= 1 else 1e-3)
    inside = 0 < time <= 1
    assert np.allclose(v, [SPEED if inside else 0.0, 0, 0], rtol=0, atol=1e-12)


def test_it_pushes_a_node_along_and_pickles() -> None:
    solid = pickle.loads(pickle.dumps(stored()))
    body = ms.solids.DeformableBody(np.array([[0.85, 0.5, 0.5]]), masses=1.0)
    world = ms.solids.World()
    world.add(body)
    world.add_obstacle(solid, friction=0.0)
    for _ in range(50):
        world.step(0.02)
    assert body.positions[0, 0] == pytest.approx(0.8 + SPEED, abs=5e-3)
    assert body.velocities[0, 0] == pytest.approx(SPEED, abs=1e-9)


def test_samples_on_a_grid() -> None:
    solid = stored()
    sampled = solid.sample(ms.Grid((24, 24, 24), 1 / 24, origin=(0.3, 0, 0)), 0.7)
    assert np.abs(sampled.velocity.u - SPEED).max() < 1e-12
    assert (sampled.levelset.array < 0).any()


def test_frames_must_fit() -> None:
    solid = stored()
    grid = ms.Grid((4, 4, 4), 1.0)
    phi, v = LevelSet(grid), ms.MacField(grid)
    with pytest.raises(ValueError, match="ascend"):
        StoredSolid([0.0, 0.0], [phi, phi], [v, v])
    with pytest.raises(ValueError, match="2 level sets"):
        StoredSolid([0.0, 1.0], [phi], [v, v])
    with pytest.raises(ValueError, match="same samples"):
        StoredSolid([0.0, 1.0], [phi, solid._levelsets[0]], [v, v])
