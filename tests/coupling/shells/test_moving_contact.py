"""Contact of ways with moving meshes, without code of the collision room, against that room's exact test."""

from __future__ import annotations

import numpy as np
import pytest
from support.shells import sheet

from meniscus.collision.continuous.detection import vertex_face
from meniscus.coupling.shells.moving_contact import paths_that_meet


@pytest.mark.parametrize("way", [1e-3, 0.3])
def test_random_triangles_and_ways_as_the_exact_test_of_the_collision_room(way: float) -> None:
    rng = np.random.default_rng(int(1e4 * way))
    x0, t = rng.random((150, 3)), np.arange(150, dtype=np.int32).reshape(-1, 3)
    begins = rng.random((120, 3))
    x1, ends = x0 + way * rng.normal(size=x0.shape), begins + way * rng.normal(size=begins.shape)
    point, triangle = (a.ravel() for a in np.meshgrid(np.arange(120), np.arange(50), indexing="ij"))
    pairs = [np.ascontiguousarray(np.concatenate([p[point][:, None], x[t[triangle]]], axis=1)) for p, x in ((begins, x0), (ends, x1))]
    assert np.array_equal(paths_that_meet(x0, x1, t, begins, ends), np.unique(point[vertex_face(*pairs)]))


def test_segments_in_the_plane_as_strips_in_space() -> None:
    rng = np.random.default_rng(5)
    x0, begins = rng.random((80, 2)), rng.random((60, 2))
    x1, ends = x0 + 0.2 * rng.normal(size=x0.shape), begins + 0.2 * rng.normal(size=begins.shape)
    s = np.arange(80, dtype=np.int32).reshape(-1, 2)
    lifted = [np.concatenate([np.column_stack([x, np.full(80, z)]) for z in (-1.0, 1.0)]) for x in (x0, x1)]
    strips = np.concatenate([np.column_stack([s, s[:, 1] + 80]), np.column_stack([s[:, 0], s[:, 1] + 80, s[:, 0] + 80])]).astype(np.int32)
    flat = [np.column_stack([p, np.zeros(60)]) for p in (begins, ends)]
    found = paths_that_meet(x0, x1, s, begins, ends)
    assert len(found) > 10
    assert np.array_equal(found, paths_that_meet(*lifted, strips, *flat))


def test_what_only_touches_or_stays_within_rounding_counts() -> None:
    """A point that comes to lie on a sheet, glides in it, or is passed at an edge; not one that stays a hair before it."""
    x, t = sheet((0.1, 0.1, 0.3), (0.7, 0.0, 0.0), (0.0, 0.7, 0.0), 2)
    begins = np.array([[0.3, 0.3, 0.7], [0.2, 0.25, 0.3], [0.45, 0.45, 0.5], [0.3, 0.3, 0.7], [0.9, 0.2, 0.4]])
    ends = np.array([[0.3, 0.3, 0.3], [0.6, 0.5, 0.3], [0.45, 0.45, 0.1], [0.3, 0.3, np.nextafter(0.3, 1.0)], [0.9, 0.2, 0.2]])
    assert paths_that_meet(x, x, t, begins, ends).tolist() == [0, 1, 2]
    # The same when all moves along: only what is relative counts.
    away = np.array([1.0, -2.0, 4.0])
    assert paths_that_meet(x, x + away, t, begins[[0, 2, 4]], (ends + away)[[0, 2, 4]]).tolist() == [0, 1]
    assert len(paths_that_meet(x, x, t, begins[:0], ends[:0])) == 0
