"""Visibility against thickened surfaces: hits, first hits, and clear segments."""

import numpy as np
import pytest
from support.build import same_bits
from support.meshes import box, brute_force_distance, join, random_points, sphere_like, torus
from support.segments import aimed_segments, dyadic, nearest, segment_distances, segment_segment
from support.variants import slow_but

import meniscus as ms
from meniscus.collision import INSIDE, OCCLUDED, VISIBLE, ThickSurface

ONE = np.array([[0, 1, 2]], np.int32)


@pytest.mark.parametrize("name", slow_but(["box", "torus", "sphere"], "box"))
def test_against_distances_of_all_triangles(name: str, rng: np.random.Generator) -> None:
    mesh = {"box": box, "torus": lambda: torus(n=14, m=9), "sphere": lambda: sphere_like(5, rng)}[name]()
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
