"""Cells near a thickened surface, and visibility between cell centres."""

import numpy as np
from support.build import same_bits
from support.meshes import torus

from meniscus.collision import VISIBLE, ThickSurface

ONE = np.array([[0, 1, 2]], np.int32)
LOW, SPACING, SHAPE = (-1.5, -1.55, -0.6), 0.13, (23, 24, 10)


def test_segments_near_unmarked_cells_are_visible(rng: np.random.Generator) -> None:
    surface = ThickSurface(*torus(), 1e-3)
    for reach in (0.0, 0.07, 0.26):
        marked = surface.near_cells(LOW, SPACING, SHAPE, reach)
        assert marked.shape == SHAPE
        assert 0 < marked.sum() < 0.96 * marked.size
        cells = np.argwhere(~marked)[rng.integers(0, (~marked).sum(), 20000)]
        low, high = np.array(LOW) + SPACING * cells - reach, np.array(LOW) + SPACING * (cells + 1) + reach
        ends = [
            np.where(rng.random(low.shape) < 0.3, np.where(rng.random(low.shape) < 0.5, low, high), rng.uniform(low, high))
            for _ in range(2)
        ]
        assert (surface.classify(*ends) == VISIBLE).all()
        # Cells that hold a part of the surface are marked.
        v, t = torus()
        on = np.einsum("nk,nkd->nd", rng.dirichlet(np.ones(3), 20000), v[t[rng.integers(0, len(t), 20000)]])
        assert marked[tuple(np.floor((on - LOW) / SPACING).astype(int).T)].all()


def test_marked_cells_grow_like_the_area() -> None:
    v = np.array([(0.1, 0.1, 0.1), (0.9, 0.2, 0.8), (0.3, 0.9, 0.7)])  # one slanted triangle
    surface = ThickSurface(v, ONE, 1e-4)
    counts = np.array([surface.near_cells((0, 0, 0), 1 / n, (n, n, n), 1 / n).sum() for n in (16, 32, 64, 128)])
    assert (counts[1:] / counts[:-1] < 4.3).all()
    assert counts[-1] / 128**2 < 6 * 3


def test_cells_on_the_way_are_marked(rng: np.random.Generator) -> None:
    v, t = torus(n=20, m=10)
    end = v + np.array([0.0, 0.0, 0.4]) + 0.02 * rng.normal(size=v.shape)
    surface = ThickSurface(v, t, 1e-3)
    marked = surface.near_cells(LOW, SPACING, SHAPE, 0.0, end_vertices=end)
    swept = np.zeros(SHAPE, bool)
    for s in np.linspace(0, 1, 17):
        there = ThickSurface((1 - s) * v + s * end, t, 1e-3)
        near = there.near_cells(LOW, SPACING, SHAPE, 0.0)
        assert marked[near].all()
        swept |= near
    # Nothing else is marked, but for neighbours of these: boxes around the ways of triangles are larger than the ways.
    around = np.pad(swept, 1)
    around = np.any([around[i : i + SHAPE[0], j : j + SHAPE[1], k : k + SHAPE[2]] for i, j, k in np.ndindex(3, 3, 3)], axis=0)
    assert around[marked].all()
    assert marked.sum() < 0.8 * marked.size


def test_visible_faces(rng: np.random.Generator) -> None:
    v, t = torus()
    velocities = rng.normal(size=v.shape)
    surface = ThickSurface(v, t, 0.02)
    guarded = surface.visible_faces(LOW, SPACING, SHAPE, velocities=velocities)
    plain = surface.visible_faces(LOW, SPACING, SHAPE, guarded=False, velocities=velocities)
    assert same_bits([*guarded[:5], *guarded.hits], [*plain[:5], *plain.hits])
    blocked = []
    for axis, clear in enumerate(guarded[:3]):
        step = np.eye(3)[axis]
        faces = np.ascontiguousarray(np.argwhere(np.ones(clear.shape, bool)))
        after = np.array(LOW) + SPACING * (faces + 0.5)
        before = np.array(LOW) + SPACING * (faces - step + 0.5)
        assert same_bits(clear.ravel(), surface.classify(before, after) == VISIBLE)
        blocked.append(faces[~clear.ravel()])
        assert 0.05 < clear.mean() < 0.95
    assert (guarded.faces == np.concatenate(blocked)).all()
    assert (guarded.axes == np.repeat([0, 1, 2], [len(b) for b in blocked])).all()
    after = np.array(LOW) + SPACING * (guarded.faces + 0.5)
    before = np.array(LOW) + SPACING * (guarded.faces - np.eye(3)[guarded.axes] + 0.5)
    assert same_bits(list(guarded.hits), list(surface.cast(before, after, velocities)))
    assert np.abs(guarded.hits.velocities).max() > 0
