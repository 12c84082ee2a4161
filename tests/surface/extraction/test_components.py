"""Connected components of level sets against a flood fill, their numbers and volumes."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.build import same_bits
from support.surfaces import LOCATIONS, enclosed, level_set, noise, parts
from support.variants import SLOW_IN_SINGLE

import meniscus as ms
from meniscus.surface import LevelSet, components


def flood(inside: np.ndarray, periodic: tuple[bool, ...]) -> np.ndarray:
    """Labels by a flood fill from each sample in turn."""
    labels = np.zeros(inside.shape, np.int32)
    count = 0
    for start in zip(*np.nonzero(inside), strict=True):
        if labels[start]:
            continue
        count += 1
        open_ = [start]
        labels[start] = count
        while open_:
            at = open_.pop()
            for d in range(inside.ndim):
                for step in (-1, 1):
                    i = at[d] + step
                    if not 0 <= i < inside.shape[d]:
                        if not periodic[d]:
                            continue
                        i %= inside.shape[d]
                    to = (*at[:d], i, *at[d + 1 :])
                    if inside[to] and not labels[to]:
                        labels[to] = count
                        open_.append(to)
    return labels


def level_at_sides(values: np.ndarray, periodic: tuple[bool, ...]) -> None:
    """Let the two samples nearest to each side be equal."""
    for d, closes in enumerate(periodic):
        planes = np.moveaxis(values, d, 0)
        if not closes and len(planes) > 1:
            planes[1] = planes[0]
            planes[-2] = planes[-1]
            planes[0] = planes[1]  # of three or less there is one value


@pytest.mark.parametrize("location", LOCATIONS)
def test_what_no_sample_sees_at_a_side_is_of_no_part(location: str, dimension: int) -> None:
    """A film below the centres: part of the volume, and of no component."""
    grid = ms.Grid((5,) * dimension, 0.2)
    phi = LevelSet.from_function(grid, lambda *x: x[-1] - 0.06 + 0 * sum(x), location)
    assert phi.volume() == pytest.approx(0.06, rel=1e-12)
    found = phi.components()
    assert found.count == len(found.volumes) == (1 if location == "nodes" else 0)


@pytest.mark.parametrize("location", LOCATIONS)
@SLOW_IN_SINGLE
def test_equal_to_a_flood_fill(location: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for trial in range(60):
        shape = rng.integers(1, 12, dimension) + (location == "nodes")
        if trial % 4 == 0:
            shape[-1] = rng.integers(60, 140)
        periodic = tuple(bool(p) for p in rng.random(dimension) < 0.4)
        values = noise(rng, tuple(shape), dtype) + dtype(rng.uniform(-0.6, 0.6))
        if location == "cells":
            # Films and gaps below the centres at sides are seen by no sample: here are none, as the line to a side is level.
            level_at_sides(values, periodic)
        phi = level_set(values, location, periodic)
        found = phi.components(both=True)
        own = phi.array
        if location == "nodes":
            # The last node of a period is the one that counts.
            own = own[tuple(slice(1 if p else 0, None) for p in periodic)]
        inside, outside = flood(own <= 0, periodic), flood(own > 0, periodic)
        expected = inside - outside
        if location == "nodes":
            for d in range(dimension):
                if periodic[d]:
                    expected = np.concatenate([expected.take([-1], d), expected], axis=d)
        assert found.labels.dtype == np.int32
        assert np.array_equal(found.labels, expected)
        assert (found.count, found.air_count) == (inside.max(initial=0), outside.max(initial=0))
        assert (len(found.volumes), len(found.air_volumes)) == (found.count, found.air_count)
        only = phi.components()
        assert np.array_equal(only.labels, np.maximum(expected, 0))
        assert same_bits(only.volumes, found.volumes)
        assert (len(only.air_volumes), only.air_count) == (0, 0)
        labelled = phi.components(both=True, volumes=False)
        assert np.array_equal(labelled.labels, expected)
        assert (labelled.count, labelled.air_count) == (found.count, found.air_count)
        assert (len(labelled.volumes), len(labelled.air_volumes)) == (0, 0)
        whole = float(np.prod(phi.grid.extent))
        assert found.volumes.sum() == pytest.approx(phi.volume(), abs=1e-12 * whole)
        assert found.volumes.sum() + found.air_volumes.sum() == pytest.approx(whole, rel=1e-12)
        assert (found.volumes > 0).all()


def test_volumes_are_those_of_the_parts_of_the_mesh(dimension: int, rng: np.random.Generator) -> None:
    for _ in range(25):
        phi = level_set(rng.standard_normal((6, 5, 7)[:dimension]))
        found = phi.components()
        v, elements = phi.to_mesh()
        part = parts(elements, len(v))
        at = (v - np.array(phi.grid.origin)) / phi.grid.spacing
        label = np.maximum(found.labels[tuple(np.floor(at).astype(int).T)], found.labels[tuple(np.ceil(at).astype(int).T)])
        volumes = np.zeros(found.count)
        for p in np.unique(part):
            volumes[label[p] - 1] += enclosed(v, elements[part[elements[:, 0]] == p])
        assert np.abs(volumes - found.volumes).max() < 1e-13


def test_drops_and_bubbles() -> None:
    # A pool, a bubble in it, a drop above it, and a drop in a bubble.
    n = 48
    grid = ms.Grid((n, n, n), 1 / n)

    def water(x: Any, y: Any, z: Any) -> Any:
        def ball(a: float, b: float, c: float, r: float) -> Any:
            return np.sqrt((x - a) ** 2 + (y - b) ** 2 + (z - c) ** 2) - r

        pool = np.maximum(z - 0.6 + 0 * x + 0 * y, -ball(0.3, 0.5, 0.3, 0.2))
        return np.minimum(np.minimum(pool, ball(0.7, 0.5, 0.8, 0.1)), ball(0.3, 0.5, 0.3, 0.1))

    phi = LevelSet.from_function(grid, water, "cells")
    found = components(phi, both=True)
    drop, bubble = 4 / 3 * np.pi * 0.1**3, 4 / 3 * np.pi * 0.2**3
    assert found.labels[0, 0, 0] == 1
    assert found.volumes == pytest.approx([0.6 - bubble, drop, drop], rel=4e-2)
    assert sorted(found.air_volumes) == pytest.approx([bubble - drop, 0.4 - drop], rel=4e-2)
    assert found.labels[int(0.3 * n), n // 2, int(0.3 * n)] == 2  # the smaller x comes first
    assert found.labels[int(0.7 * n), n // 2, int(0.8 * n)] == 3


def test_labyrinths(rng: np.random.Generator) -> None:
    # One path, folded along every axis, is one part; a cut makes it two.
    inside = np.zeros((41, 43), bool)
    inside[::2] = True
    inside[1::4, 0] = inside[3::4, -1] = True
    phi = level_set(np.where(inside, -1.0, 1.0), "cells")
    assert phi.components().count == 1
    phi.array[20, 20] = 1
    assert phi.components().count == 2
    spiral = np.zeros((33, 33), bool)
    low, high = 0, 32
    while low < high:
        spiral[low, low : high + 1] = spiral[low : high + 1, high] = spiral[high, low : high + 1] = True
        spiral[low + 2 : high + 1, low] = True
        if low + 2 < high:
            spiral[low + 2, low : low + 2] = True
        low, high = low + 2, high - 2
    phi = level_set(np.where(spiral, -1.0, 1.0), "cells")
    assert np.array_equal(phi.components().labels, flood(spiral, (False, False)))
    board = np.indices((30, 31, 32)).sum(0) % 2
    phi = level_set(np.where(board, -1.0, 1.0), "cells")
    found = phi.components()
    assert found.count == board.sum()
    numbers = found.labels[board == 1]
    assert all(a < b for a, b in pairwise(numbers.tolist()))


def test_nothing_inside(dimension: int) -> None:
    phi = LevelSet(ms.Grid((3, 4, 5)[:dimension], 0.5), "cells")
    phi.array = 1.0
    found = phi.components(both=True)
    assert (found.count, len(found.volumes)) == (0, 0)
    assert found.air_volumes == pytest.approx([np.prod(phi.grid.extent)])
    assert (found.labels == -1).all()
    assert not phi.components().labels.any()


def test_out() -> None:
    phi = LevelSet(ms.Grid((3, 4), 0.5))
    labels = np.full((4, 5), 9, np.int32)
    found = phi.components(out=labels)
    assert found.labels is labels
    assert (labels == 1).all()
    with pytest.raises(ValueError, match=r"out must have shape \(4, 5\)"):
        phi.components(out=np.zeros((3, 4), np.int32))
    with pytest.raises(TypeError, match="labels must be of dtype int32"):
        phi.components(out=np.zeros((4, 5), np.int64))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="labels must be C-contiguous"):
        phi.components(out=np.zeros((5, 4), np.int32).T)


def test_mirrored_level_sets_have_equal_volumes_and_areas(rng: np.random.Generator) -> None:
    """The triangles of a cube follow its crossings, and no fixed choice, which differed by 1e-4 of the volume."""
    phi = level_set(rng.standard_normal((9, 8, 7)))
    for image in (phi.array[::-1], phi.array[:, ::-1], phi.array[:, :, ::-1]):
        other = level_set(np.ascontiguousarray(image))
        assert other.volume() == pytest.approx(phi.volume(), rel=1e-13)
        assert other.area() == pytest.approx(phi.area(), rel=1e-13)
        assert np.sort(other.components().volumes) == pytest.approx(np.sort(phi.components().volumes), rel=1e-12)
        assert other.volume_fractions().array.sum() == pytest.approx(phi.volume_fractions().array.sum(), rel=1e-13)
