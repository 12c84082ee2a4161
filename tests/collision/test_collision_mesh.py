"""Detection over meshes: the same pairs as testing every candidate on its own, with all filters and on all threads."""

import math
import threading

import numpy as np
import pytest
from support.build import same_bits
from support.collision import FRAMES, Scene, brute_force, cloth, edges_of, public_frames, soup
from support.variants import slow_but

import meniscus as ms
from meniscus.collision import CollisionMesh, edge_edge, edge_triangle, time_of_impact_edge_edge, time_of_impact_vertex_face, vertex_face

MODES = ("any", "parity")


def quadruples(scene: Scene, vf: np.ndarray, ee: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Positions at both ends of the step of vertex-face and of edge-edge pairs."""
    rows = [
        np.concatenate([vf[:, :1], scene.triangles[vf[:, 1]]], axis=1),
        np.concatenate([scene.edges[ee[:, 0]], scene.edges[ee[:, 1]]], axis=1),
    ]
    return [(scene.start[r], scene.end[r]) for r in rows]


def one_by_one(scene: Scene, mode: str) -> list[np.ndarray]:
    """The colliding ones of all candidates of brute force."""
    candidates = brute_force(scene)
    tests = (vertex_face, edge_edge)
    return [c[t(*q, mode=mode)] for c, q, t in zip(candidates, quadruples(scene, *candidates), tests, strict=True)]


def earliest(scene: Scene, tolerance: float) -> float:
    candidates = quadruples(scene, *brute_force(scene))
    times = [f(*q, tolerance=tolerance) for f, q in zip((time_of_impact_vertex_face, time_of_impact_edge_edge), candidates, strict=True)]
    return float(min(np.min(t, initial=math.inf) for t in times))


def separate(rng: np.random.Generator) -> Scene:
    """Two sheets, the upper of which falls far enough to touch the lower one in places."""
    s = cloth(14, 2, 0.3)
    end = s.start.copy()
    end[len(end) // 2 :, 2] -= rng.uniform(0.1, 0.3, len(end) // 2)
    return s._replace(end=end)


def fast_and_parallel(rng: np.random.Generator) -> Scene:
    """A separate scene that flies far within the step: nearly all boxes overlap."""
    s = separate(rng)
    return s._replace(end=s.end + np.array([30, 50, -20]))


SCENES = {
    "soup": lambda rng: soup(150, rng),
    "separate": separate,
    "fast": fast_and_parallel,
    "huge": lambda rng: (lambda s: s._replace(start=1.2e308 * s.start - 1e308, end=1.2e308 * s.end - 1e308))(soup(60, rng)),
    "tiny": lambda rng: (lambda s: s._replace(start=1e-318 * s.start, end=1e-318 * s.end))(soup(60, rng)),
}


@pytest.mark.parametrize("name", SCENES)
def test_collisions_are_the_candidates_that_collide(name: str, rng: np.random.Generator) -> None:
    scene = SCENES[name](rng)
    mesh = CollisionMesh(scene.edges, scene.triangles)
    for mode in MODES:
        expected = one_by_one(scene, mode)
        assert sum(map(len, expected)) > 10
        for moving_frame in (True, False):
            found = mesh.collisions(scene.start, scene.end, mode, moving_frame=moving_frame)
            for f, e in zip(found, expected, strict=True):
                assert f.dtype == np.int32
                assert np.array_equal(f, e), (mode, moving_frame)
            assert mesh.collides(scene.start, scene.end, mode, moving_frame=moving_frame)


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("tolerance", [0.5, 1e-3, 1e-6, 1e-300])
def test_the_time_of_impact_is_the_least_of_all_pairs(name: str, tolerance: float, rng: np.random.Generator) -> None:
    scene = SCENES[name](rng)
    mesh = CollisionMesh(scene.edges, scene.triangles)
    expected = earliest(scene, tolerance)
    assert expected <= 1
    if name in ("separate", "fast"):
        assert expected > 0 or tolerance == 0.5
    for moving_frame in (True, False):
        assert mesh.time_of_impact(scene.start, scene.end, tolerance, moving_frame=moving_frame) == expected


def test_a_mesh_that_stays_apart_does_not_collide() -> None:
    s = cloth(20, 3, 0.3)
    mesh = CollisionMesh(s.edges, s.triangles)
    # At rest, as it falls, and with a common motion in which nearly all boxes overlap.
    for end in (s.start, s.end, s.start + np.array([0, 0, 1e3]), s.start + np.array([1e3, -2e3, 5e3])):
        assert not mesh.collides(s.start, end)
        assert mesh.time_of_impact(s.start, end) == math.inf
        assert [len(p) for p in mesh.collisions(s.start, end)] == [0, 0]


def test_even_contacts_count_in_one_mode_only() -> None:
    # In the plane y = 0 the face is a segment from (-1, 1/2 - t) to (1 + t, 3 t / 2 - 11/16), which passes the origin when
    # (t - 1/4) (t - 3/4) = 0.
    triangles = np.array([(0, 1, 2)], np.int32)
    start = np.array([(-1, -5, 0.5), (-1, 5, 0.5), (1, 0, -11 / 16), (0, 0, 0)])
    end = np.array([(-1, -5, -0.5), (-1, 5, -0.5), (2, 0, 13 / 16), (0, 0, 0)])
    mesh = CollisionMesh(None, triangles)
    assert mesh.collides(start, end, "any")
    assert not mesh.collides(start, end, "parity")
    assert mesh.collisions(start, end, "any").vertex_face.tolist() == [[3, 0]]
    assert mesh.collisions(start, end, "parity").vertex_face.tolist() == []
    assert 0.25 - 1e-9 <= mesh.time_of_impact(start, end, 1e-9) <= 0.25
    # Half of the step has one of the contacts.
    assert mesh.collides(start, 0.5 * (start + end), "parity")


def test_only_pairs_with_a_changed_vertex_are_tested(rng: np.random.Generator) -> None:
    scene = soup(200, rng)
    mesh = CollisionMesh(scene.edges, scene.triangles)
    whole = mesh.collisions(scene.start, scene.end)
    for share in (0.0, 0.01, 0.2, 1.0):
        changed = rng.random(len(scene.start)) < share
        vf, ee = whole
        of_vf = changed[vf[:, 0]] | changed[scene.triangles[vf[:, 1]]].any(axis=1)
        of_ee = changed[scene.edges[ee[:, 0]]].any(axis=1) | changed[scene.edges[ee[:, 1]]].any(axis=1)
        found = mesh.collisions(scene.start, scene.end, changed=changed)
        assert np.array_equal(found.vertex_face, vf[of_vf])
        assert np.array_equal(found.edge_edge, ee[of_ee])
        assert mesh.collides(scene.start, scene.end, changed=changed) == bool(of_vf.any() or of_ee.any())
        pairs = quadruples(scene, vf[of_vf], ee[of_ee])
        times = [f(*q) for f, q in zip((time_of_impact_vertex_face, time_of_impact_edge_edge), pairs, strict=True)]
        least = min(np.min(t, initial=math.inf) for t in times)
        assert mesh.time_of_impact(scene.start, scene.end, changed=changed) == least
    # The flags of one call do not outlive it.
    assert same_bits(list(mesh.collisions(scene.start, scene.end)), list(whole))


@pytest.mark.parametrize("degenerate", ["counts", "does not count"])
def test_self_intersections_are_those_of_all_pairs(degenerate: str, rng: np.random.Generator) -> None:
    scenes = [soup(100, rng), soup(150, rng)]
    rounded = np.round(8 * scenes[1].start) / 8  # coplanar, collinear, coinciding
    scenes[1] = scenes[1]._replace(start=rounded)
    for k, s in enumerate(scenes):
        e, t = (a.ravel() for a in np.meshgrid(np.arange(len(s.edges)), np.arange(len(s.triangles)), indexing="ij"))
        apart = (s.edges[e][:, :, None] != s.triangles[t][:, None, :]).all(axis=(1, 2))
        e, t = e[apart], t[apart]
        hit = edge_triangle(s.start[s.edges[e]], s.start[s.triangles[t]], degenerate)
        expected = np.stack([e[hit], t[hit]], axis=1)
        assert len(expected) > 5 or (k == 1 and degenerate != "counts")
        found = CollisionMesh(s.edges, s.triangles).self_intersections(s.start, degenerate)
        assert found.dtype == np.int32
        assert np.array_equal(found, expected)


def test_detection_does_not_depend_on_threads_vectors_or_history(rng: np.random.Generator) -> None:
    scene = separate(rng)
    other = soup(100, rng)
    new = rng.permutation(len(scene.start)).astype(np.int32)
    start, end = np.empty_like(scene.start), np.empty_like(scene.end)
    start[new], end[new] = scene.start, scene.end
    triangles = np.ascontiguousarray(new[scene.triangles])
    changed = rng.random(len(start)) < 0.3
    used = CollisionMesh(None, triangles)
    used.candidates(*(np.ascontiguousarray(np.resize(x, start.shape)) for x in (other.start, other.end)), 0.1)

    def run(mesh: CollisionMesh) -> list[np.ndarray]:
        results = [*mesh.collisions(start, end), *mesh.collisions(start, end, "parity"), *mesh.collisions(start, end, changed=changed)]
        times = [mesh.time_of_impact(start, end, t) for t in (1e-2, 1e-6, 1e-12)]
        return [*results, mesh.self_intersections(end), np.array([*times, mesh.collides(start, end, "parity")])]

    threads, level = ms.core.num_threads(), ms.core.simd_level()
    try:
        ms.set_num_threads(1)
        plain = run(CollisionMesh(None, triangles))
        for n in (1, 2, 3, 5, 8):
            ms.set_num_threads(n)
            assert same_bits(run(CollisionMesh(None, triangles)), plain), n
            assert same_bits(run(used), plain), n
        for other_level in ("baseline", "avx2")[: ("baseline", "avx2", "avx512").index(level)]:
            ms.core.set_simd_level(other_level)
            assert same_bits(run(used), plain), other_level
    finally:
        ms.set_num_threads(threads)
        ms.core.set_simd_level(level)


def test_calls_from_several_threads_wait_for_each_other(rng: np.random.Generator) -> None:
    scenes = [soup(200, rng)]
    scenes.append(scenes[0]._replace(start=scenes[0].end, end=scenes[0].start + 0.3))
    mesh = CollisionMesh(scenes[0].edges, scenes[0].triangles)
    expected = [list(mesh.candidates(s.start, s.end)) for s in scenes]
    wrong = []

    def call(k: int) -> None:
        for _ in range(20):
            if not same_bits(list(mesh.candidates(scenes[k].start, scenes[k].end)), expected[k]) or mesh.nbytes == 0:
                wrong.append(k)

    threads = [threading.Thread(target=call, args=(i % 2,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_results_outlive_the_mesh(rng: np.random.Generator) -> None:
    scene = soup(100, rng)
    mesh = CollisionMesh(scene.edges, scene.triangles)
    first = mesh.candidates(scene.start, scene.end)
    copies = [p.copy() for p in first]
    mesh.candidates(scene.end, scene.start, 0.2)
    assert mesh.nbytes > 0
    del mesh
    assert same_bits(list(first), copies)


def test_nothing_at_all() -> None:
    no_triangles, no_edges = np.empty((0, 3), np.int32), np.empty((0, 2), np.int32)
    points = np.random.default_rng(1).random((5, 3))
    for positions in (np.empty((0, 3)), points):
        for mesh in (CollisionMesh(None, no_triangles), CollisionMesh(no_edges, no_triangles)):
            for method in ("tree", "grid", "brute-force"):
                assert [p.shape for p in mesh.candidates(positions, positions, 1.0, method=method)] == [(0, 2), (0, 2)]
            assert not mesh.collides(positions, positions)
            assert [p.shape for p in mesh.collisions(positions, positions, changed=np.zeros(len(positions), bool))] == [(0, 2), (0, 2)]
            assert mesh.time_of_impact(positions, positions) == math.inf
            assert mesh.self_intersections(positions).shape == (0, 2)
    one = CollisionMesh(None, np.array([(0, 1, 2)], np.int32))
    # Vertices 3 and 4 belong to nothing, and are there all the same.
    found = one.candidates(points, points + np.array([0.0, 0, 9]), 9.0)
    assert found.vertex_face.tolist() == [[3, 0], [4, 0]]
    assert one.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    mutual = one.candidates_with(CollisionMesh(None, no_triangles), points, points, np.empty((0, 3)), np.empty((0, 3)))
    assert [p.shape for p in mutual] == [(0, 2)] * 3


def test_degenerate_triangles_have_the_edges_they_have() -> None:
    triangles = np.array([(4, 4, 2), (1, 1, 1), (0, 1, 2), (2, 1, 0)], np.int32)
    mesh = CollisionMesh(None, triangles)
    assert mesh.edges.tolist() == [[0, 1], [0, 2], [1, 2], [2, 4]]
    assert np.array_equal(mesh.triangles, triangles)
    assert np.array_equal(edges_of(triangles), mesh.edges)


def test_what_is_refused(rng: np.random.Generator) -> None:
    triangles = np.array([(0, 1, 2)], np.int32)
    mesh = CollisionMesh(None, triangles)
    x = rng.random((4, 3))
    calls = {
        "candidates": lambda a, b: mesh.candidates(a, b),
        "collides": lambda a, b: mesh.collides(a, b),
        "collisions": lambda a, b: mesh.collisions(a, b),
        "time of impact": lambda a, b: mesh.time_of_impact(a, b),
    }
    for call in calls.values():
        with pytest.raises(TypeError, match="start must be of dtype float64, not float32"):
            call(x.astype(np.float32), x)
        with pytest.raises(TypeError, match="end must be C-contiguous"):
            call(x, np.asfortranarray(x))
        with pytest.raises(ValueError, match=r"start must have shape \(n, 3\), not \(3,\)"):
            call(x[0], x)
        with pytest.raises(ValueError, match="start and end must hold the same number of positions, not 4 and 3"):
            call(x, x[:3].copy())
        with pytest.raises(ValueError, match="indices of the 2 vertices, but one is 2"):
            call(x[:2].copy(), x[:2].copy())
        for value in (np.nan, -np.inf):
            bad = x.copy()
            bad[2, 1] = bad[3, 0] = value
            with pytest.raises(ValueError, match=rf"end must be finite, but \[2, 1\] is {value}"):
                call(x, bad)
            with pytest.raises(ValueError, match=rf"start must be finite, but \[2, 1\] is {value}"):
                call(bad, x)
    with pytest.raises(ValueError, match="positions must be finite"):
        mesh.self_intersections(np.full((4, 3), np.nan))
    with pytest.raises(ValueError, match="inflation must not be negative, but is -1"):
        mesh.candidates(x, x, -1.0)
    with pytest.raises(ValueError, match="inflation must be finite"):
        mesh.candidates(x, x, math.inf)
    with pytest.raises(ValueError, match="method must be one of 'tree', 'grid', 'brute-force', not 'hash'"):
        mesh.candidates(x, x, method="hash")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="mode must be one of"):
        mesh.collides(x, x, "both")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="tolerance must be positive"):
        mesh.time_of_impact(x, x, 0.0)
    with pytest.raises(ValueError, match="degenerate must be one of"):
        mesh.self_intersections(x, "maybe")  # type: ignore[arg-type]
    for count in (0, 3, 5):
        with pytest.raises(ValueError, match=f"changed must have one flag per position, 4, not {count}"):
            mesh.collides(x, x, changed=np.zeros(count, bool))
    with pytest.raises(TypeError, match="changed must be of dtype bool, not int64"):
        mesh.collides(x, x, changed=np.zeros(4, np.int64))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="other must be a CollisionMesh"):
        mesh.candidates_with(triangles, x, x, x, x)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="one of triangle 1 is -1"):
        CollisionMesh(None, np.array([(0, 1, 2), (0, -1, 2)], np.int32))
    with pytest.raises(ValueError, match="one of edge 0 is -7"):
        CollisionMesh(np.array([(3, -7)], np.int32), triangles)
    with pytest.raises(TypeError, match="edges must hold integers, not float64"):
        CollisionMesh(np.array([(3.0, 1.0)]), triangles)
    with pytest.raises(ValueError, match=r"edges must have shape \(m, 2\), not \(1, 3\)"):
        CollisionMesh(triangles, triangles)
    with pytest.raises(TypeError, match="triangles must hold integers, not float64"):
        CollisionMesh(None, triangles.astype(float))


@pytest.mark.parametrize("name", slow_but(FRAMES, "cloth-funnel"))
def test_public_frames(name: str) -> None:
    """Every pair that is known to collide is found, and no other."""
    frames = public_frames(name)
    scene = frames.scene
    mesh = CollisionMesh(scene.edges, scene.triangles)
    found = mesh.collisions(scene.start, scene.end)
    for kind, pairs in zip(("vertex_face", "edge_edge"), found, strict=True):
        true = frames.listed[kind][frames.collides[kind]]
        true = np.unique(true, axis=0)
        assert np.array_equal(pairs, true)
    odd = mesh.collisions(scene.start, scene.end, "parity")
    expected = {"cloth-funnel": (27, 106), "cloth-ball": (18_744, 92_305)}[name]
    assert tuple(len(p) for p in odd) == expected
    rest = mesh.collisions(scene.start, scene.end, moving_frame=False)
    assert same_bits(list(rest), list(found))
