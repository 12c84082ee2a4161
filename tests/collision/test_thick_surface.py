"""Lines of sight past thickened surfaces: nothing leaks, and what is clear is seen."""

import os

import numpy as np
import pytest
from support.build import same_bits
from support.meshes import Mesh, box, brute_force_distance, join, random_points, real_mesh, sphere_like, torus

import meniscus as ms
from meniscus.collision import INSIDE, OCCLUDED, VISIBLE, ThickSurface

ONE = np.array([[0, 1, 2]], np.int32)
# Segments of the long leak test: 10^8 in all is a matter of minutes.
SEGMENTS = int(os.environ.get("MENISCUS_LEAK_SEGMENTS", "6000000"))


def segment_distances(mesh: Mesh, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Distance of one segment to each triangle: zero where it pierces, else reached at an end of the segment or on an edge."""
    corners = mesh[0][mesh[1]]
    one = np.arange(len(corners) * 3, dtype=np.int32).reshape(-1, 3)
    best = np.stack([triangle_distances((corners.reshape(-1, 3), one), p) for p in (a, b)]).min(axis=0)
    d = b - a
    for k in range(3):
        p, q = corners[:, k], corners[:, (k + 1) % 3]
        best = np.minimum(best, segment_segment(a, d, p, q - p))
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    h0, h1 = ((normal * (x - corners[:, 0])).sum(axis=1) for x in (a, b))
    sides = np.stack([(np.cross(corners[:, k] - a, corners[:, (k + 1) % 3] - a) * d).sum(axis=1) for k in range(3)])
    pierced = (h0 * h1 < 0) & ((sides > 0).all(axis=0) | (sides < 0).all(axis=0))
    return np.where(pierced, 0, best)


def triangle_distances(mesh: Mesh, point: np.ndarray) -> np.ndarray:
    corners = mesh[0][mesh[1]]
    best = np.full(len(corners), np.inf)
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    length = np.linalg.norm(normal, axis=1)
    above = length > 0
    for k in range(3):
        p, q = corners[:, k], corners[:, (k + 1) % 3]
        best = np.minimum(best, np.linalg.norm(point - p - nearest(p, q - p, point)[:, None] * (q - p), axis=1))
        above &= (np.cross(q - p, point - p) * normal).sum(axis=1) >= 0
    plane = np.abs(((point - corners[:, 0]) * normal).sum(axis=1)) / np.where(length > 0, length, 1)
    return np.where(above, np.minimum(best, plane), best)


def nearest(p: np.ndarray, e: np.ndarray, x: np.ndarray) -> np.ndarray:
    square = (e * e).sum(axis=-1)
    return np.clip(((x - p) * e).sum(axis=-1) / np.where(square > 0, square, 1), 0, 1)


def segment_segment(a: np.ndarray, d: np.ndarray, p: np.ndarray, e: np.ndarray) -> np.ndarray:
    """Distances of the segment a + s d to the segments p + t e, by the four ends and the inner solution."""
    best = np.full(len(p), np.inf)
    for x in (a, a + d):
        best = np.minimum(best, np.linalg.norm(p + nearest(p, e, x)[:, None] * e - x, axis=1))
    for x in (p, p + e):
        best = np.minimum(best, np.linalg.norm(a + nearest(a, d, x)[:, None] * d - x, axis=1))
    r, dd, ee, de = a - p, d @ d, (e * e).sum(axis=1), e @ d
    area = dd * ee - de * de
    with np.errstate(invalid="ignore", divide="ignore"):
        s = (de * (e * r).sum(axis=1) - ee * (r @ d)) / area
        t = (dd * (e * r).sum(axis=1) - de * (r @ d)) / area
    inner = (area > 1e-12 * dd * ee) & (s > 0) & (s < 1) & (t > 0) & (t < 1)
    gap = np.linalg.norm(r + np.where(inner, s, 0)[:, None] * d - np.where(inner, t, 0)[:, None] * e, axis=1)
    return np.where(inner, np.minimum(best, gap), best)


def dyadic(mesh: Mesh, bits: int) -> Mesh:
    """The mesh with coordinates in [0, 1] that are multiples of 2^-bits."""
    v = mesh[0] - mesh[0].min(axis=0)
    return np.round(v / v.max() * 2**bits) / 2**bits, mesh[1]


def aimed_segments(mesh: Mesh, n: int, bits: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Segments whose exact midpoint is a vertex, the middle of an edge, or a dyadic point of an edge; some along an edge's plane."""
    v, t = mesh
    rows = t[rng.integers(0, len(t), n)]
    k = rng.integers(0, 3, n)
    p, q, r = (v[rows[np.arange(n), (k + j) % 3]] for j in range(3))
    part = rng.choice([0.0, 0.5, 0.25, 0.375], n)[:, None]
    middle = p + part * (q - p)
    reach = 2.0 ** -rng.integers(0, 9, n)[:, None]
    way = np.round(rng.uniform(-1, 1, (n, 3)) * reach * 2**bits) / 2**bits
    flat = rng.random(n) < 0.1
    way[flat] = (r - middle)[flat]
    return middle - way, middle + way


def check_no_leak(mesh: Mesh, surface: ThickSurface, solid: ms.surface.MeshDistance, a: np.ndarray, b: np.ndarray) -> int:
    """No visible segment goes from outside to inside. Returns how many are visible."""
    seen = surface.classify(a, b) == VISIBLE
    assert (solid.contains(np.ascontiguousarray(a[seen])) == solid.contains(np.ascontiguousarray(b[seen]))).all()
    return int(seen.sum())


def leak_run(meshes: list[Mesh], n: int, thickness: float, rng: np.random.Generator) -> None:
    bits = 24
    for mesh in meshes:
        m = dyadic(mesh, bits)
        surface, solid = ThickSurface(*m, thickness), ms.surface.MeshDistance(*m)
        visible = 0
        for start in range(0, n, 500_000):
            k = min(500_000, n - start)
            visible += check_no_leak(m, surface, solid, *aimed_segments(m, k // 2, bits, rng))
            a = random_points(m, k // 2, rng)
            b = np.where(rng.random((k // 2, 1)) < 0.5, random_points(m, k // 2, rng), a + 0.02 * rng.normal(size=a.shape))
            visible += check_no_leak(m, surface, solid, a, b)
        assert 0.01 * n < visible < 0.9 * n


@pytest.mark.parametrize("thickness", [1e-6, 1e-3])
def test_nothing_leaks(thickness: float, rng: np.random.Generator) -> None:
    leak_run([box(), torus(n=24, m=12), sphere_like(6, rng), sphere_like(24, rng)], 120_000, thickness, rng)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["spot", "rocker-arm", "coarse", "fine"])
def test_nothing_leaks_through_many_segments(name: str, rng: np.random.Generator) -> None:
    made = {"coarse": [torus(n=9, m=5)], "fine": [sphere_like(60, rng)]}
    leak_run(made[name] if name in made else [real_mesh(name)], SEGMENTS // 4, 1e-6, rng)


def exactly_met(mesh: Mesh, a: np.ndarray, b: np.ndarray, bits: int) -> np.ndarray:
    """Whether each segment has a point in common with the triangles: integers of at most 2^13, so nothing is rounded."""
    v, x, y = (np.round(p * 2**bits).astype(np.int64) for p in (mesh[0], a, b))
    t = v[mesh[1]]

    def orient(p: np.ndarray, q: np.ndarray, r: np.ndarray, s: np.ndarray) -> np.ndarray:
        return np.sign((np.cross(q - p, r - p) * (s - p)).sum(axis=-1))

    result = np.zeros(len(x), bool)
    for i, (p, q) in enumerate(zip(x, y, strict=True)):
        s0, s1 = orient(t[:, 0], t[:, 1], t[:, 2], p), orient(t[:, 0], t[:, 1], t[:, 2], q)
        w = np.stack([orient(np.broadcast_to(p, t[:, 0].shape), q, t[:, k], t[:, (k + 1) % 3]) for k in range(3)])
        through = ((w >= 0).all(axis=0) | (w <= 0).all(axis=0)) & (s0 * s1 <= 0) & ((s0 != 0) | (s1 != 0))
        result[i] = through.any()
    return result


@pytest.mark.parametrize("thickness", [0.0, 1e-12, 1e-4])
def test_what_exactly_meets_the_surface_is_never_visible(thickness: float, rng: np.random.Generator) -> None:
    bits = 11
    for mesh in (box(), torus(n=10, m=6), sphere_like(4, rng)):
        m = dyadic(mesh, bits)
        a, b = aimed_segments(m, 1200, bits - 3, rng)
        a, b = np.round(a * 2**bits) / 2**bits, np.round(b * 2**bits) / 2**bits
        met = exactly_met(m, a, b, bits)
        seen = ThickSurface(*m, thickness).classify(a, b) == VISIBLE
        assert not (seen & met).any()
        assert met.sum() > 300
        assert (~met).sum() > 30
        for i in np.flatnonzero(~met & ~seen):  # what is not seen without being met is closer than the thickness
            assert segment_distances(m, a[i], b[i]).min() <= 0.5 * thickness + 1e-12


def test_against_distances_of_all_triangles(rng: np.random.Generator) -> None:
    for mesh in (box(), torus(n=14, m=9), sphere_like(5, rng)):
        radius = 0.03
        surface = ThickSurface(*mesh, 2 * radius)
        a, b = random_points(mesh, 250, rng, 0.3), random_points(mesh, 250, rng, 0.3)
        b[::2] = a[::2] + 0.2 * rng.normal(size=(125, 3))
        hits = surface.cast(a, b)
        assert same_bits(hits.classes, surface.classify(a, b))
        distance = np.array([segment_distances(mesh, p, q) for p, q in zip(a, b, strict=True)])
        target = brute_force_distance(mesh, b)
        expected = np.where(target <= radius, INSIDE, np.where(distance.min(axis=1) <= radius, OCCLUDED, VISIBLE))
        assert (hits.classes == expected).all()
        assert set(expected) == {VISIBLE, OCCLUDED, INSIDE}
        assert same_bits(surface.inside(b), expected == INSIDE)
        met = np.flatnonzero(expected != VISIBLE)
        assert (distance[met, hits.triangles[met]] <= radius * (1 + 1e-9)).all()
        at_entry = brute_force_distance(mesh, hits.positions[met])
        start = brute_force_distance(mesh, a[met])
        assert ((hits.fractions[met] == 0) == (start <= radius)).all()
        outside = start > radius
        assert np.abs(at_entry - radius)[outside].max() <= 1e-12
        for i in met[outside]:  # nothing is met earlier
            early = a[i] + np.linspace(0, hits.fractions[i], 40)[:-1, None] * (b[i] - a[i])
            assert brute_force_distance(mesh, early).min() > radius
        closest = ms.collision.closest_point(*mesh, hits.positions)
        nearest_point = (hits.barycentric[met][:, :, None] * mesh[0][mesh[1][hits.triangles[met]]]).sum(axis=1)
        assert np.abs(np.linalg.norm(nearest_point - hits.positions[met], axis=1) - closest.distances[met])[outside].max() <= 1e-12


def test_visibility_is_symmetric(rng: np.random.Generator) -> None:
    for thickness in (0.0, 1e-9, 1e-2):
        mesh = dyadic(torus(), 20)
        surface = ThickSurface(*mesh, thickness)
        a, b = aimed_segments(mesh, 20000, 20, rng)
        c, d = random_points(mesh, 20000, rng), random_points(mesh, 20000, rng)
        a, b = np.concatenate([a, c]), np.concatenate([b, d])
        assert same_bits(surface.classify(a, b) == VISIBLE, surface.classify(b, a) == VISIBLE)


def test_rigid_motions_change_nothing_beyond_round_off(rng: np.random.Generator) -> None:
    mesh = sphere_like(8, rng)
    a, b = random_points(mesh, 20000, rng), random_points(mesh, 20000, rng)
    rotation = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    shift = np.array([3.0, -5, 2])

    def moved(x: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(x @ rotation.T + shift)

    turned = ThickSurface(moved(mesh[0]), mesh[1], 0.02).classify(moved(a), moved(b))
    thin = ThickSurface(*mesh, 0.02 - 1e-10).classify(a, b)
    thick = ThickSurface(*mesh, 0.02 + 1e-10).classify(a, b)
    sure = thin == thick
    assert sure.mean() > 0.999
    assert (turned[sure] == thin[sure]).all()


@pytest.mark.parametrize("radius", [1e-2, 1e-6, 1e-9])
def test_grazing_the_rim(radius: float) -> None:
    v = np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0)])
    surface = ThickSurface(v, ONE, 2 * radius)
    for factor, expected in ((1 - 1e-3, OCCLUDED), (1 + 1e-3, VISIBLE)):
        r = factor * radius
        past = [
            ((0.5, -r, -1), (0.5, -r, 1)),  # beside an edge, across the plane
            ((-2, -r, 0), (3, -r, 0)),  # in the plane, along the edge
            ((-2, 0.25, r), (3, 0.25, r)),  # parallel to the face
            ((-r, -5, 0), (-r, 5, 0)),  # past a corner, in the plane
            ((1 + r, 1, 0.5), (1 + r, -1, -0.5)),  # past a corner, across the plane
            ((0.25, 0.25, 1), (0.25, 0.25, r)),  # ends above the face
            ((0.5 + r / np.sqrt(2), 0.5 + r / np.sqrt(2), -3), (0.5 + r / np.sqrt(2), 0.5 + r / np.sqrt(2), 3)),
            ((-1, -1 - 2 * r, 0), (1, 1 - 2 * r, 0)),  # across the corner at the origin
        ]
        for i, (p, q) in enumerate(past):
            want = INSIDE if i == 5 and expected == OCCLUDED else expected
            if i == 7:
                want = OCCLUDED
            a, b = np.array([p], float), np.array([q], float)
            assert surface.classify(a, b)[0] == want, (factor, i)


def test_starts_ends_and_points() -> None:
    v = np.array([(0.0, 0, 0), (1, 0, 0), (0, 1, 0)])
    surface = ThickSurface(v, ONE, 0.1)
    a = np.array([(0.25, 0.25, 0.02), (0.25, 0.25, 1), (0.25, 0.25, 1), (0.25, 0.25, 0.04), (0.25, 0.25, 0.0), (0.25, 0.25, 3)])
    b = np.array([(0.25, 0.25, 1.0), (0.25, 0.25, 1), (0.25, 0.25, 0.04), (0.25, 0.25, 0.04), (5, 5, 5), (0.25, 0.25, -1)])
    hits = surface.cast(a, b, np.array([(1.0, 0, 0), (0, 2, 0), (0, 0, 4)]))
    assert hits.classes.tolist() == [OCCLUDED, VISIBLE, INSIDE, INSIDE, OCCLUDED, OCCLUDED]
    assert hits.triangles.tolist() == [0, -1, 0, 0, 0, 0]
    assert np.abs(hits.fractions - [0, 1, 0.95 / 0.96, 0, 0, 2.95 / 4]).max() <= 1e-12
    assert np.abs(hits.positions[[2, 5]] - (0.25, 0.25, 0.05)).max() <= 1e-12
    assert np.abs(hits.barycentric[[0, 2, 5]] - (0.5, 0.25, 0.25)).max() <= 1e-15
    assert np.abs(hits.velocities[[0, 2, 5]] - (0.5, 0.5, 1)).max() <= 1e-15
    assert not hits.velocities[1].any()
    assert not hits.barycentric[1].any()
    assert (hits.positions[1] == b[1]).all()


def test_triangles_without_area_are_capsules_and_balls(rng: np.random.Generator) -> None:
    v = np.array([(0, 0, 0), (1, 2, 3), (3, 6, 9)], float) / 10
    long = np.stack([v[0], v[2]])
    a, b = rng.uniform(-0.5, 1.5, (4000, 3)), rng.uniform(-0.5, 1.5, (4000, 3))
    along = segment_distances((long, np.array([[0, 1, 1]], np.int32)), a[0], b[0])
    assert len(along) == 1
    capsule = np.array([segment_segment(p, q - p, long[:1], long[1:] - long[:1])[0] for p, q in zip(a, b, strict=True)])
    ball = np.linalg.norm(a + nearest(a, b - a, v[1])[:, None] * (b - a) - v[1], axis=1)
    for rows, distance in [((0, 1, 2), capsule), ((2, 0, 1), capsule), ((0, 2, 2), capsule), ((0, 0, 2), capsule), ((1, 1, 1), ball)]:
        seen = ThickSurface(v, np.array([rows], np.int32), 0.2).classify(a, b) == VISIBLE
        assert (seen == (distance > 0.1)).all()
        assert 0.3 < seen.mean() < 0.999
    needle = v.copy()
    needle[1] += (1e-13, -2e-13, 1e-13)
    seen = ThickSurface(needle, ONE, 0.2).classify(a, b) == VISIBLE
    assert (seen == (capsule > 0.1))[np.abs(capsule - 0.1) > 1e-12].all()


def test_results_do_not_depend_on_the_tree(rng: np.random.Generator) -> None:
    v, t = torus(n=20, m=12)
    a, b = random_points((v, t), 3000, rng), random_points((v, t), 3000, rng)
    hits = ThickSurface(v, t, 0.02).cast(a, b)
    order = rng.permutation(len(t))
    shuffled = ThickSurface(v, np.ascontiguousarray(t[order]), 0.02).cast(a, b)
    assert same_bits(hits.classes, shuffled.classes)
    assert same_bits(hits.fractions, shuffled.fractions)
    far = join((v, t), (v + 100.0, t))  # other boxes, other leaves; the same first hits
    scale = ThickSurface(*far, 0.02).cast(a, b)
    assert (scale.classes == hits.classes).all()
    assert np.abs(scale.fractions - hits.fractions).max() <= 1e-6


def test_moving_gives_a_new_surface(rng: np.random.Generator) -> None:
    v, t = torus()
    end = np.ascontiguousarray(5 * v[:, [2, 0, 1]] + rng.normal(size=v.shape) * 0.05)
    a, b = random_points((end, t), 5000, rng), random_points((end, t), 5000, rng)
    surface, new = ThickSurface(v, t, 0.01), ThickSurface(end, t, 0.01)
    surface.move(end)
    assert same_bits(list(surface.cast(a, b)), list(new.cast(a, b)))
    bad = end.copy()
    bad[3, 1] = np.inf
    with pytest.raises(ValueError, match=r"vertices must be finite, but \[3, 1\] is inf"):
        surface.move(bad)
    with pytest.raises(ValueError, match="vertices must have 960 rows, not 2"):
        surface.move(end[:2])
    assert same_bits(surface.classify(a, b), new.classify(a, b))


def test_several_bodies() -> None:
    near, far = box((0, 0, 0), (1, 1, 1)), box((3, 0, 0), (4, 1, 1))
    v, t = join(far, near)
    bodies = np.repeat(np.array([7, -3], np.int32), 12)
    hits = ThickSurface(v, t, 0.1, bodies).cast(
        np.array([(-1, 0.4, 0.3), (6, 0.4, 0.3), (2, -1, 0.3)]), np.array([(6, 0.4, 0.3), (-1, 0.4, 0.3), (2, 3, 0.3)])
    )
    assert hits.bodies.tolist() == [-3, 7, -1]
    assert np.abs(hits.fractions[:2] - [0.95 / 7, 1.95 / 7]).max() <= 1e-12
    assert ThickSurface(v, t, 0.1).cast(np.array([(-1, 0.4, 0.3)]), np.array([(6, 0.4, 0.3)])).bodies.tolist() == [0]


@pytest.mark.parametrize("exponent", [-1000, -300, 40, 400, 1000])
def test_any_scale(exponent: int, rng: np.random.Generator) -> None:
    mesh = sphere_like(6, rng)
    a, b = random_points(mesh, 4000, rng), random_points(mesh, 4000, rng)
    scale = 2.0**exponent
    plain = ThickSurface(*mesh, 0.01).cast(a, b)
    scaled = ThickSurface(mesh[0] * scale, mesh[1], 0.01 * scale).cast(a * scale, b * scale)
    assert same_bits(list(plain[:5]), list(scaled[:5]))
    assert same_bits(plain.positions * scale, scaled.positions)


def test_threads_do_not_matter(rng: np.random.Generator) -> None:
    mesh = torus()
    a, b = random_points(mesh, 5000, rng), random_points(mesh, 5000, rng)
    before = ms.core.num_threads()
    try:
        results = []
        for n in (1, 2, 3, 5, 8):
            ms.core.set_num_threads(n)
            s = ThickSurface(*mesh, 0.01)
            faces = s.visible_faces((-1.5, -1.5, -0.5), 0.11, (28, 28, 9))
            results.append(
                [*s.cast(a, b), s.classify(a, b), s.near_cells((-1.5, -1.5, -0.5), 0.11, (28, 28, 9), 0.05), *faces[:5], *faces.hits]
            )
    finally:
        ms.core.set_num_threads(before)
    assert all(same_bits(r, results[0]) for r in results[1:])


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
    for s in np.linspace(0, 1, 9):
        there = ThickSurface((1 - s) * v + s * end, t, 1e-3)
        assert marked[there.near_cells(LOW, SPACING, SHAPE, 0.0)].all()
    assert not marked.all()


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


def test_no_segments_no_triangles() -> None:
    surface = ThickSurface(*box(), 0.1)
    empty = np.empty((0, 3))
    assert surface.classify(empty, empty).shape == (0,)
    assert [a.shape for a in surface.cast(empty, empty)] == [(0,), (0,), (0,), (0,), (0, 3), (0, 3), (0, 3)]
    nothing = ThickSurface(empty, np.empty((0, 3), np.int32), 0.1)
    p = np.zeros((2, 3))
    assert nothing.classify(p, p + 1).tolist() == [VISIBLE, VISIBLE]
    assert not nothing.near_cells((0, 0, 0), 1.0, (2, 2, 2), 0.5).any()
    nothing.move(empty)


def test_what_is_refused() -> None:
    v, t = box()
    p = np.zeros((4, 3))
    with pytest.raises(ValueError, match="thickness must not be negative, but it is -1"):
        ThickSurface(v, t, -1)
    with pytest.raises(ValueError, match="thickness must be finite"):
        ThickSurface(v, t, np.nan)
    with pytest.raises(TypeError, match="bodies must be an array of dtype int32, not int64"):
        ThickSurface(v, t, 0.1, np.zeros(12, np.int64))  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"bodies must have shape \(12,\), not \(11,\)"):
        ThickSurface(v, t, 0.1, np.zeros(11, np.int32))
    with pytest.raises(ValueError, match=r"indices of the 8 vertices, but \[0, 2\] is 99"):
        ThickSurface(v, np.array([(0, 1, 99)], np.int32), 0.1)
    s = ThickSurface(v, t, 0.1)
    for query in (s.classify, s.cast):
        with pytest.raises(TypeError, match="origins must be of dtype float64, not float32"):
            query(p.astype(np.float32), p)
        with pytest.raises(TypeError, match="targets must be C-contiguous"):
            query(p, np.asfortranarray(p))
        with pytest.raises(ValueError, match="targets must have as many rows as origins, 4, not 3"):
            query(p, p[:3])
        bad = p.copy()
        bad[2, 1] = bad[3, 0] = np.nan
        with pytest.raises(ValueError, match=r"targets must be finite, but \[2, 1\] is nan"):
            query(p, bad)
    with pytest.raises(ValueError, match="velocities must have 8 rows, not 4"):
        s.cast(p, p, p)
    with pytest.raises(ValueError, match=r"shape\[1\] must be at least 1, not 0"):
        s.near_cells((0, 0, 0), 1.0, (2, 0, 2), 0.0)
    with pytest.raises(ValueError, match="spacing must be positive"):
        s.visible_faces((0, 0, 0), 0.0, (2, 2, 2))
    with pytest.raises(ValueError, match="reach must be finite and not negative, not -1"):
        s.near_cells((0, 0, 0), 1.0, (2, 2, 2), -1.0)
