"""Point location in tetrahedral meshes: every point belongs to exactly one, whatever the degeneracy and the hint."""

from fractions import Fraction

import numpy as np
import pytest
from support.build import same_bits
from support.tets import TetMesh, holders, jittered, lattice, special_points
from support.variants import slow

import meniscus as ms
from meniscus.collision import TetLocator

BITS = 10


def dyadic_points(low: float, high: float, n: int, rng: np.random.Generator) -> np.ndarray:
    return np.round(rng.uniform(low, high, (n, 3)) * 2**BITS) / 2**BITS


def expected_tets(mesh: TetMesh, points: np.ndarray, ranks: np.ndarray | None = None) -> np.ndarray:
    """The lowest rank, then the lowest number among those that hold a point."""
    inside = holders(mesh, points, BITS)
    keys = np.arange(len(mesh[1]), dtype=np.int64)
    if ranks is not None:
        keys += ranks.astype(np.int64) * len(keys)
        inside &= ranks >= 0
    found = np.where(inside, keys, np.iinfo(np.int64).max)
    return np.where(inside.any(axis=1), found.argmin(axis=1), -1).astype(np.int32)


def exact_weights(corners: np.ndarray, point: np.ndarray) -> list[Fraction]:
    x = [[Fraction(float(c)) - Fraction(float(p)) for c, p in zip(row, point, strict=True)] for row in corners]

    def triple(a: list[Fraction], b: list[Fraction], c: list[Fraction]) -> Fraction:
        return sum((a[i] * (b[i - 2] * c[i - 1] - b[i - 1] * c[i - 2]) for i in range(3)), Fraction(0))

    volumes = [triple(x[1], x[2], x[3]), -triple(x[0], x[2], x[3]), triple(x[0], x[1], x[3]), -triple(x[0], x[1], x[2])]
    return [v / sum(volumes) for v in volumes]


def check_weights(mesh: TetMesh, points: np.ndarray, tets: np.ndarray, weights: np.ndarray, tolerance: float = 1e-13) -> None:
    found = tets >= 0
    assert (weights >= 0).all()
    assert not weights[~found].any()
    assert np.abs(weights[found].sum(axis=1) - 1).max() <= 4e-16
    again = np.einsum("nk,nkd->nd", weights[found], mesh[0][mesh[1][tets[found]]])
    assert np.abs(again - points[found]).max() <= tolerance * np.abs(mesh[0]).max()


@pytest.mark.parametrize("count", [5000, slow(50_000)])
def test_every_point_belongs_to_exactly_one(count: int, rng: np.random.Generator) -> None:
    mesh = jittered(3, rng)
    points = np.concatenate([dyadic_points(-0.5, 3.5, count, rng), special_points(mesh, count, rng)])
    expected = expected_tets(mesh, points)
    for overlapping in (True, False):
        tets, weights = TetLocator(*mesh, overlapping=overlapping).locate(points)
        assert (tets == expected).all()
        check_weights(mesh, points, tets, weights)
    on = holders(mesh, points[count : count + 5000], BITS).sum(axis=1)
    assert (on >= 1).all()  # special points are in the mesh, and most are shared
    assert (on > 1).mean() > 0.5
    assert 0.2 < (expected[:count] >= 0).mean() < 0.9


def test_barycentric_coordinates_against_fractions(rng: np.random.Generator) -> None:
    mesh = jittered(2, rng)
    points = np.concatenate([dyadic_points(0.2, 1.8, 200, rng), special_points(mesh, 200, rng)])
    tets, weights = TetLocator(*mesh).locate(points)
    for p, t, w in zip(points, tets, weights, strict=True):
        exact = exact_weights(mesh[0][mesh[1][t]], p)
        assert max(abs(Fraction(float(a)) - b) for a, b in zip(w, exact, strict=True)) <= 1e-14
        assert [a == 0 for a in w] == [b == 0 for b in exact]


@pytest.mark.parametrize("height", [2.0**-20, 2.0**-40, 2.0**-52, 2.0**-300, 2.0**-1074])
def test_slivers(height: float) -> None:
    v = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0.25, 0.25, height)])
    t = np.array([[0, 1, 2, 3]], np.int32)
    points = np.array([(0.25, 0.25, height), (0.25, 0.25, height / 2), (0.5, 0.25, 0), (0.25, 0.25, -height), (0.125, 0.125, height / 4)])
    tets, weights = TetLocator(v, t).locate(points)
    for p, found, w in zip(points, tets, weights, strict=True):
        exact = exact_weights(v, p)
        assert (found == 0) == all(x >= 0 for x in exact)
        if found == 0:
            assert max(abs(Fraction(float(a)) - b) for a, b in zip(w, exact, strict=True)) <= 1e-15


def test_flat_and_inverted(rng: np.random.Generator) -> None:
    v, t = jittered(2, rng)
    flat = np.array([(0, 1, 2, 2), (5, 5, 5, 5)], np.int32)
    plane = np.array([[len(v), len(v) + 1, len(v) + 2, len(v) + 3]], np.int32)
    v = np.concatenate([v, [(0.5, 0.5, 0.5), (1.5, 0.5, 0.5), (0.5, 1.5, 0.5), (1.5, 1.5, 0.5)]])
    mesh = (v, np.concatenate([flat, plane, t]))
    points = np.concatenate([dyadic_points(0, 2, 4000, rng), special_points((v, t), 4000, rng), v[-4:]])
    tets, _ = TetLocator(*mesh).locate(points)
    assert (tets == expected_tets(mesh, points)).all()
    assert (tets >= 3).sum() > 6000
    # One vertex pulled through its neighbours turns tetrahedra inside out; they overlap others.
    v[13] += (0.75, 0.5, 0.25)
    tets, weights = TetLocator(*mesh).locate(points)
    assert (tets == expected_tets(mesh, points)).all()
    check_weights(mesh, points, tets, weights)


def test_ranks_and_disabled_tetrahedra(rng: np.random.Generator) -> None:
    v, t = jittered(2, rng)
    mesh = (np.concatenate([v, v + np.array([0.5, 0.25, -0.5])]), np.concatenate([t, t + np.int32(len(v))]))
    points = np.concatenate([dyadic_points(-1, 3, 5000, rng), special_points(mesh, 5000, rng)])
    for ranks in (None, rng.integers(0, 3, len(mesh[1])).astype(np.int32), rng.integers(-1, 2, len(mesh[1])).astype(np.int32)):
        tets, _ = TetLocator(*mesh, ranks).locate(points)
        assert (tets == expected_tets(mesh, points, ranks)).all()


@pytest.mark.slow
def test_hints_change_nothing(rng: np.random.Generator) -> None:
    v, t = jittered(4, rng)
    keep = np.ones(len(t), bool)
    keep[np.linalg.norm(v[t].mean(axis=1) - (2.5, 2, 1.5), axis=1) < 1] = False  # a hollow
    keep[rng.integers(0, len(t), 20)] = False
    t = np.ascontiguousarray(t[keep])
    ranks = rng.integers(-1, 4, len(t)).astype(np.int32)
    points = np.concatenate([dyadic_points(-0.5, 4.5, 6000, rng), special_points((v, t), 6000, rng)])
    for r in (None, ranks):
        plain = TetLocator(v, t, r).locate(points)
        assert (plain.tets == expected_tets((v, t), points, r)).all()
        walking = TetLocator(v, t, r, overlapping=False)
        for hints in (None, plain.tets, rng.integers(-1, len(t), len(points)).astype(np.int32), np.zeros(len(points), np.int32)):
            assert same_bits(list(walking.locate(points, hints)), list(plain))


def test_moving(rng: np.random.Generator) -> None:
    v, t = jittered(3, rng)
    end, _ = jittered(3, rng)
    end = np.ascontiguousarray(end[:, [1, 2, 0]] - 1)
    points = np.concatenate([dyadic_points(-1.5, 2.5, 5000, rng), special_points((end, t), 5000, rng)])
    for overlapping in (True, False):
        locator = TetLocator(v, t, overlapping=overlapping)
        locator.move(end)
        found = locator.locate(points)
        assert (found.tets == expected_tets((end, t), points)).all()
        assert same_bits(list(found), list(TetLocator(end, t, overlapping=overlapping).locate(points)))
        bad = end.copy()
        bad[5, 2] = np.nan
        with pytest.raises(ValueError, match=r"vertices must be finite, but \[5, 2\] is nan"):
            locator.move(bad)
        assert same_bits(list(locator.locate(points)), list(found))


@pytest.mark.parametrize("exponent", [-1000, -400, 300, 1000])
def test_any_scale(exponent: int, rng: np.random.Generator) -> None:
    mesh = jittered(2, rng)
    points = np.concatenate([dyadic_points(-0.5, 2.5, 500, rng), special_points(mesh, 500, rng)])
    scale = 2.0**exponent
    for overlapping in (True, False):
        tets, weights = TetLocator(mesh[0] * scale, mesh[1], overlapping=overlapping).locate(points * scale)
        assert (tets == expected_tets(mesh, points)).all()
        plain = TetLocator(*mesh, overlapping=overlapping).locate(points)
        assert np.abs(weights - plain.barycentric).max() <= 1e-13


def test_faces_shared_by_three(rng: np.random.Generator) -> None:
    v = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, -1), (0.25, 0.25, 0.5)])
    t = np.array([(0, 1, 2, 3), (0, 1, 2, 4), (0, 1, 2, 5)], np.int32)
    points = np.concatenate([dyadic_points(-0.5, 1, 4000, rng), special_points((v, t), 1000, rng)])
    assert (TetLocator(v, t).locate(points).tets == expected_tets((v, t), points)).all()


def test_threads_do_not_matter(rng: np.random.Generator) -> None:
    mesh = jittered(4, rng)
    points = np.concatenate([dyadic_points(-0.5, 4.5, 3000, rng), special_points(mesh, 3000, rng)])
    before = ms.core.num_threads()
    results = []
    try:
        for n in (1, 2, 3, 5, 8):
            ms.core.set_num_threads(n)
            results.append([*TetLocator(*mesh).locate(points), *TetLocator(*mesh, overlapping=False).locate(points)])
    finally:
        ms.core.set_num_threads(before)
    assert all(same_bits(r, results[0]) for r in results[1:])


def test_nothing_to_find() -> None:
    v, t = lattice(1)
    empty = np.empty((0, 3))
    found = TetLocator(v, t).locate(empty)
    assert found.tets.shape == (0,)
    assert found.barycentric.shape == (0, 4)
    for overlapping in (True, False):
        assert TetLocator(empty, t[:0], overlapping=overlapping).locate(v).tets.tolist() == [-1] * 8


def test_what_is_refused() -> None:
    v, t = lattice(1)
    with pytest.raises(TypeError, match="tets must hold integers, not float64"):
        TetLocator(v, t.astype(float))
    with pytest.raises(ValueError, match=r"tets must have shape \(m, 4\), not \(6, 3\)"):
        TetLocator(v, np.ascontiguousarray(t[:, :3]))
    bad = t.copy()
    bad[2, 1] = 8
    with pytest.raises(ValueError, match=r"tets must hold indices of the 8 vertices, but \[2, 1\] is 8"):
        TetLocator(v, bad)
    with pytest.raises(ValueError, match=r"ranks must have shape \(6,\), not \(5,\)"):
        TetLocator(v, t, np.zeros(5, np.int32))
    locator = TetLocator(v, t)
    with pytest.raises(ValueError, match=r"hints must be -1 or numbers of the 6 tetrahedra, but \[1\] is 6"):
        locator.locate(v[:2], np.array([0, 6], np.int32))
    with pytest.raises(ValueError, match=r"points must be finite, but \[0, 2\] is inf"):
        locator.locate(np.array([(0, 0, np.inf)]))
    with pytest.raises(ValueError, match="vertices must have 8 rows, not 3"):
        locator.move(v[:3])
