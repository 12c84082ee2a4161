"""Points swept over by a moving surface: all of them, also on shared edges, and no others."""

import numpy as np
import pytest
from support.build import same_bits
from support.meshes import box, brute_force_distance, random_points, sphere_like, torus

import meniscus as ms
from meniscus.collision import ThickSurface, vertex_face


def sheet(n: int, z: float) -> tuple[np.ndarray, np.ndarray]:
    """[0, 1]^2 at height z, in n x n squares of two triangles."""
    x, y = np.meshgrid(np.arange(n + 1) / n, np.arange(n + 1) / n, indexing="ij")
    number = np.arange((n + 1) ** 2).reshape(n + 1, n + 1)
    a, b, c, d = (number[i : n + i, j : n + j].ravel() for i, j in ((0, 0), (1, 0), (1, 1), (0, 1)))
    v = np.stack([x.ravel(), y.ravel(), np.full(x.size, z)], axis=1)
    return v, np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]).astype(np.int32)


@pytest.mark.parametrize("cells", [0.01, 0.5, 1.0, 3.7])
@pytest.mark.parametrize("thickness", [0.0, 1e-4])
def test_a_sheet_sweeps_the_nodes_between_its_planes(cells: float, thickness: float) -> None:
    h = 1 / 16
    nodes = np.stack(np.meshgrid(*[np.arange(17) / 16] * 3, indexing="ij"), axis=-1).reshape(-1, 3)  # many on edges and vertices
    for z in (0.25, 0.27, 0.3125):
        v, t = sheet(4, z)
        end = v + np.array([0, 0, cells * h])
        swept = ThickSurface(v, t, thickness).swept_points(nodes, end)
        low, high = z, end[0, 2]
        expected = (low <= nodes[:, 2]) & (nodes[:, 2] <= high)
        expected |= np.minimum(np.abs(nodes[:, 2] - low), np.abs(nodes[:, 2] - high)) <= thickness / 2
        assert (swept == expected).all()
        back = ThickSurface(end, t, thickness).swept_points(nodes, v)
        assert (back == expected).all()


def every_contact(mesh: tuple[np.ndarray, np.ndarray], end: np.ndarray, p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Whether each point meets a triangle on its way, from tests of all pairs."""
    v, t = mesh
    result = np.zeros(len(p), bool)
    for i in range(len(p)):
        start = np.concatenate([np.broadcast_to(p[i], (len(t), 1, 3)), v[t]], axis=1)
        stop = np.concatenate([np.broadcast_to(q[i], (len(t), 1, 3)), end[t]], axis=1)
        result[i] = vertex_face(start, stop, mode="any").any()
    return result


def motions(mesh: tuple[np.ndarray, np.ndarray], rng: np.random.Generator) -> list[np.ndarray]:
    v = mesh[0]
    turn = np.array([(0, -1, 0), (1, 0, 0), (0, 0, 1.0)])
    return [v + np.array([0.3, 0.1, -0.2]), np.ascontiguousarray(v @ turn.T), -v, v * 0.5, v + rng.normal(size=v.shape) * 0.3, v.copy()]


def test_against_all_pairs(rng: np.random.Generator) -> None:
    for mesh in (box((-1, -1, -1), (1, 1, 1)), sphere_like(3, rng)):
        for end in motions(mesh, rng):
            p = np.round(random_points(mesh, 150, rng, 0.5) * 16) / 16
            for q in (p, p + rng.normal(size=p.shape) * 0.2):
                surface = ThickSurface(*mesh, 0.01)
                swept = surface.swept_points(p, end, end_points=None if q is p else q)
                in_wedge = surface.inside(p) | ThickSurface(end, mesh[1], 0.01).inside(q)
                assert (swept == (every_contact(mesh, end, p, q) | in_wedge)).all()


@pytest.mark.slow
@pytest.mark.parametrize("part", range(10))
def test_no_contact_of_ten_million_pairs_is_missed(part: int) -> None:
    """Moving triangles and points, at rest or moving, against the exact test of every pair: general, on a lattice that puts points on
    edges and vertices, and in the plane of a face."""
    rng = np.random.default_rng([20080601, part])
    n, pairs, met_some = 4_000, 0, 0
    while pairs < 1_000_000 or met_some < 2000:
        mesh = [box((-1, -1, -1), (1, 1, 1)), sphere_like(3, rng), torus(n=6, m=4)][rng.integers(3)]
        v, t = np.round(mesh[0] * 16) / 16, mesh[1]
        ends = [*motions((v, t), rng), np.round(v * 4 + rng.integers(-2, 3, v.shape)) / 4]
        end = ends[rng.integers(len(ends))]
        p = random_points(mesh, n, rng, 0.5)
        p[: n // 2] = np.round(p[: n // 2] * 16) / 16
        q = [p, p + rng.normal(size=p.shape) * 0.2, np.round(p + rng.normal(size=p.shape) * 2) / 2][rng.integers(3)]
        surface = ThickSurface(v, t, 0.0)
        swept = surface.swept_points(p, end, end_points=None if q is p else q)
        met = np.zeros(n, bool)
        for corners in t:
            start, stop = (np.stack([x, *(np.broadcast_to(c, (n, 3)) for c in y[corners])], axis=1) for x, y in ((p, v), (q, end)))
            met |= vertex_face(start, stop, mode="any")
        assert (swept == met).all()
        pairs += n * len(t)
        met_some += int(met.sum())


def test_who_changes_sides_is_swept_over(rng: np.random.Generator) -> None:
    total = 0
    for mesh in (box((-1, -1, -1), (1, 1, 1)), sphere_like(6, rng), torus(n=20, m=10)):
        for end in [*motions(mesh, rng)[:4], mesh[0] + rng.normal(size=mesh[0].shape) * 0.01]:
            points = random_points(mesh, 4000, rng, 0.3)
            before = ms.surface.MeshDistance(*mesh).contains(points)
            after = ms.surface.MeshDistance(end, mesh[1]).contains(points)
            changed = before != after
            swept = ThickSurface(*mesh, 1e-6).swept_points(points, end)
            assert swept[changed].all()
            total += changed.sum()
    assert total > 2500


@pytest.mark.slow
def test_points_in_wedges_at_the_ends_count(rng: np.random.Generator) -> None:
    mesh = sphere_like(4, rng)
    end = mesh[0] + np.array([0, 0, 1e-3])
    points = random_points(mesh, 3000, rng)
    swept = ThickSurface(*mesh, 0.1).swept_points(points, end)
    near = (brute_force_distance(mesh, points) <= 0.05) | (brute_force_distance((end, mesh[1]), points) <= 0.05)
    assert (swept == near).all()
    assert 100 < near.sum() < 2900


def test_the_surface_stays_and_threads_do_not_matter(rng: np.random.Generator) -> None:
    mesh = torus()
    end = mesh[0] + (0.2, 0.1, 0.1)
    points = random_points(mesh, 3000, rng)
    surface = ThickSurface(*mesh, 1e-3)
    seen = surface.classify(points[:1500], points[1500:])
    before = ms.core.num_threads()
    results = []
    try:
        for n in (1, 2, 3, 5, 8):
            ms.core.set_num_threads(n)
            results.append(surface.swept_points(points, end))
    finally:
        ms.core.set_num_threads(before)
    assert all(same_bits(r, results[0]) for r in results[1:])
    assert same_bits(surface.classify(points[:1500], points[1500:]), seen)
    assert surface.swept_points(np.empty((0, 3)), end).shape == (0,)


def test_what_is_refused() -> None:
    v, t = box()
    surface = ThickSurface(v, t, 0.1)
    p = np.zeros((2, 3))
    with pytest.raises(ValueError, match="end_vertices must have 8 rows, not 2"):
        surface.swept_points(p, p)
    with pytest.raises(ValueError, match="end_points must have 2 rows, not 1"):
        surface.swept_points(p, v, end_points=p[:1])
    with pytest.raises(ValueError, match=r"end_vertices must be finite, but \[0, 0\] is nan"):
        surface.swept_points(p, v + np.nan)
