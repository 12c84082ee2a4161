"""Masks of solids: which cells and faces they name, and what they do to fields."""

import itertools

import numpy as np
import pytest
from support.build import grid_of, random_scalar, random_velocity, same_bits

import meniscus as ms
from meniscus.core import Workspace
from meniscus.fluids.pressure.solid_masks import SolidMasks
from meniscus.surface import SolidSample, Sphere


def corners(phi: np.ndarray, axes: list[int]) -> np.ndarray:
    """Values at the corners of cells (all axes) or faces (all but one), the first axis."""
    values = []
    for ends in itertools.product((0, 1), repeat=len(axes)):
        index = [slice(None)] * phi.ndim
        for a, e in zip(axes, ends, strict=True):
            index[a] = slice(e, phi.shape[a] - 1 + e)
        values.append(phi[tuple(index)])
    return np.array(values)


@pytest.mark.parametrize("periodic", [False, True])
def test_masks_follow_from_the_corners(periodic: bool, dimension: int, rng: np.random.Generator) -> None:
    phi = random_scalar("node", grid_of(dimension, periodic=periodic), np.float64, rng)
    masks = SolidMasks(phi)
    axes = list(range(dimension))
    assert (masks.outside_cells == (corners(phi.array, axes).mean(axis=0) > 0)).all()
    for d in axes:
        across = corners(phi.array, [a for a in axes if a != d])
        assert (masks.inside_faces[d] == (across.mean(axis=0) <= 0)).all()
        assert (masks.open_faces[d] == (across > 0).any(axis=0)).all()


def test_an_update_takes_no_new_arrays(dimension: int, rng: np.random.Generator) -> None:
    grid = grid_of(dimension)
    first, second = (random_scalar("node", grid, np.float64, rng) for _ in range(2))
    masks, fresh = SolidMasks(first), SolidMasks(second)
    arrays = [masks.outside_cells, *masks.open_faces, *masks.inside_faces]
    masks.update(second)
    for mine, its in zip(arrays, [fresh.outside_cells, *fresh.open_faces, *fresh.inside_faces], strict=True):
        assert (mine == its).all()


def test_velocities_inside(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    grid = ms.Grid((8,) * dimension, 1 / 8)
    velocity = random_velocity(grid, dtype, rng)
    sample = SolidSample(grid, dtype)
    Sphere((0.5,) * dimension, 0.3).sample(sample.levelset)
    masks = SolidMasks(sample.levelset)
    for d in range(dimension):
        sample.velocity.component(d)[...] = d + 1
    before = [velocity.component(d).copy() for d in range(dimension)]
    masks.prepare_velocity(velocity, sample.velocity, "no-slip", Workspace())
    for d, u in enumerate(before):
        assert masks.inside_faces[d].any()
        assert same_bits(velocity.component(d), np.where(masks.inside_faces[d], dtype(d + 1), u))
    masks.set_velocity_inside(velocity, None)
    for d, u in enumerate(before):
        assert same_bits(velocity.component(d), np.where(masks.inside_faces[d], dtype(0), u))
    other = np.float64 if dtype is np.float32 else np.float32
    with pytest.raises(TypeError, match="velocity of the solid must be of dtype"):
        masks.set_velocity_inside(velocity, ms.MacField(grid, other))
