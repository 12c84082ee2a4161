"""Spatial hash: vertices in tetrahedra and overlapping boxes, against brute force."""

import itertools

import numpy as np
import pytest
from support.build import same_bits
from support.tets import holders, jittered, special_points

import meniscus as ms
from meniscus.collision import cell_buckets, overlapping_boxes, vertices_in_tets

HASHES = ("corrected", "printed", "teschner")


def all_pairs(v: np.ndarray, t: np.ndarray, bits: int, points: np.ndarray | None = None) -> np.ndarray:
    rows = np.arange(len(v)) if points is None else np.unique(points)
    inside = holders((v, t), v[rows], bits)
    inside &= ~(t[None, :, :] == rows[:, None, None]).any(axis=2)
    vertex, tet = np.nonzero(inside)
    return np.stack([rows[vertex], tet], axis=1)


def test_the_printed_hash_uses_as_many_buckets_as_a_row_has_cells() -> None:
    block = np.array(list(itertools.product(range(-8, 8), repeat=3)))

    def load(buckets: int, name: str) -> tuple[int, int]:
        where = cell_buckets(block, buckets, name)  # type: ignore[arg-type]
        assert 0 <= where.min() <= where.max() < buckets
        counts = np.bincount(where)
        return int((counts > 0).sum()), int(counts.max())

    sizes = (1999, 2048, 10007)
    assert [load(n, "printed") for n in sizes] == [(16, 256)] * 3
    assert [load(n, "corrected") for n in sizes] == [(1412, 11), (1626, 8), (2192, 9)]
    assert [load(n, "teschner")[0] for n in sizes] == [1464, 1590, 2166]


def test_1000_random_scenes(rng: np.random.Generator) -> None:
    total = 0
    for scene in range(1000):
        bits = int(rng.integers(0, 6))
        n, m = int(rng.integers(4, 30)), int(rng.integers(1, 16))
        v = np.round(rng.uniform(-4, 4, (n, 3)) * 2**bits) / 2**bits
        if scene % 4 == 0:
            v[:, 2] = np.round(v[:, 2])  # many flat tetrahedra, many touches
        t = np.array([rng.choice(n, 4, replace=False) for _ in range(m)], np.int32)
        if scene % 5 == 0:
            t[0, 1] = t[0, 0]
        expected = all_pairs(v, t, bits)
        cell = None if scene % 3 else float(rng.uniform(0.05, 9))
        found = vertices_in_tets(v, t, cell_size=cell, hash=HASHES[scene % 3])
        assert found.dtype == np.int32
        assert (found == expected).all() if found.shape == expected.shape else False
        total += len(found)
    assert total > 1200


def test_several_bodies_and_chosen_points(rng: np.random.Generator) -> None:
    v, t = jittered(3, rng)
    v = np.concatenate([v, v - (1.5, 1.25, 0.5), v / 4 + 0.25]) - 2
    t = np.concatenate([t, t + 64, t + 128]).astype(np.int32)
    expected = all_pairs(v, t, 8)
    found = vertices_in_tets(v, t)
    assert len(found) > 100
    assert (found == expected).all()
    points = rng.permutation(len(v))[:70].astype(np.int32)
    assert (vertices_in_tets(v, t, points) == all_pairs(v, t, 8, points)).all()


def test_vertices_exactly_on_faces_count(rng: np.random.Generator) -> None:
    v, t = jittered(2, rng)
    extra = special_points((v, t), 300, rng)
    w = np.concatenate([v, extra])
    found = vertices_in_tets(w, t)
    assert (found == all_pairs(w, t, 10)).all()
    assert len(found) > 600


def test_tetrahedra_of_all_sizes(rng: np.random.Generator) -> None:
    sizes = 2.0 ** rng.integers(-6, 7, 300)
    centers = np.round(rng.uniform(-64, 64, (300, 1, 3)) * 64) / 64
    v = np.round((centers + sizes[:, None, None] * rng.uniform(-1, 1, (300, 4, 3))) * 1024) / 1024
    t = np.arange(1200, dtype=np.int32).reshape(-1, 4)
    expected = all_pairs(v.reshape(-1, 3), t, 10)
    assert len(expected) > 100
    for cell in (None, 0.01, 1.0, 500.0):
        for name in HASHES:
            assert (vertices_in_tets(v.reshape(-1, 3), t, cell_size=cell, hash=name) == expected).all()


def brute_force_boxes(boxes: np.ndarray) -> np.ndarray:
    low, high = boxes[:, 0], boxes[:, 1]
    real = (low <= high).all(axis=1)
    meet = (low[:, None] <= high[None]).all(axis=2) & (low[None] <= high[:, None]).all(axis=2) & real[:, None] & real[None]
    return np.argwhere(np.triu(meet, 1))


@pytest.mark.parametrize("kind", ["like", "sizes", "touching", "points", "empty", "far", "same"])
def test_overlapping_boxes(kind: str, rng: np.random.Generator) -> None:
    for _ in range(20):
        n = int(rng.integers(0, 200))
        low = rng.uniform(-3, 3, (n, 3))
        side = rng.uniform(0, 1, (n, 3))
        if kind == "sizes":
            side *= 10.0 ** rng.uniform(-6, 1.5, (n, 1))
        if kind in ("touching", "points"):
            low, side = np.round(low), np.round(side) if kind == "touching" else 0 * side
        if kind == "empty":
            side[::3, rng.integers(0, 3)] = -1e-9
        if kind == "far":
            low[::2] *= 1e300
            side[::5] *= 1e200
        if kind == "same":
            low[:], side[:] = 0.25, 0.5
        boxes = np.ascontiguousarray(np.stack([low, low + side], axis=1))
        expected = brute_force_boxes(boxes)
        for cell in (None, 0.07, 20.0):
            found = overlapping_boxes(boxes, cell_size=cell, hash=HASHES[int(rng.integers(3))])
            assert found.dtype == np.int32
            assert found.shape == expected.shape
            assert (found == expected).all()


def test_threads_do_not_matter(rng: np.random.Generator) -> None:
    v, t = jittered(8, rng)
    v = np.concatenate([v, v - (3.5, 2.25, 0.5)])
    t = np.concatenate([t, t + 729]).astype(np.int32)
    corners = v[t]
    boxes = np.ascontiguousarray(np.stack([corners.min(axis=1), corners.max(axis=1)], axis=1))
    before = ms.core.num_threads()
    results = []
    try:
        for n in (1, 2, 3, 5, 8):
            ms.core.set_num_threads(n)
            results.append([vertices_in_tets(v, t), overlapping_boxes(boxes)])
    finally:
        ms.core.set_num_threads(before)
    assert len(results[0][0]) > 300
    assert all(same_bits(r, results[0]) for r in results[1:])


def test_nothing_to_find() -> None:
    v = np.zeros((0, 3))
    t = np.zeros((0, 4), np.int32)
    assert vertices_in_tets(v, t).shape == (0, 2)
    assert vertices_in_tets(np.zeros((3, 3)), t).shape == (0, 2)
    assert overlapping_boxes(np.zeros((0, 2, 3))).shape == (0, 2)
    assert cell_buckets(np.zeros((0, 3), np.int64), 5).shape == (0,)


def test_what_is_refused() -> None:
    v, t = np.zeros((4, 3)), np.array([[0, 1, 2, 3]], np.int32)
    with pytest.raises(ValueError, match="hash must be one of 'corrected', 'printed', 'teschner', not 'md5'"):
        vertices_in_tets(v, t, hash="md5")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="cell_size must be positive, not 0"):
        vertices_in_tets(v, t, cell_size=0)
    with pytest.raises(ValueError, match=r"points must hold indices of the 4 vertices, but \[1\] is 4"):
        vertices_in_tets(v, t, np.array([0, 4], np.int32))
    with pytest.raises(TypeError, match="points must be of dtype int32, not int64"):
        vertices_in_tets(v, t, np.array([0, 4]))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"tets must hold indices of the 4 vertices, but \[0, 3\] is -1"):
        vertices_in_tets(v, np.array([[0, 1, 2, -1]], np.int32))
    with pytest.raises(ValueError, match=r"vertices must be finite, but \[0, 0\] is nan"):
        vertices_in_tets(v + np.nan, t)
    with pytest.raises(ValueError, match=r"boxes must have shape \(n, 2, 3\), not \(4, 3\)"):
        overlapping_boxes(v)
    with pytest.raises(ValueError, match="boxes must be finite, but box 1 is not"):
        overlapping_boxes(np.array([np.zeros((2, 3)), np.full((2, 3), np.inf)]))
    with pytest.raises(TypeError, match="cells must be an array of dtype int64, not int32"):
        cell_buckets(t[:, :3], 7)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="buckets must be at least 1, not 0"):
        cell_buckets(np.zeros((1, 3), np.int64), 0)
