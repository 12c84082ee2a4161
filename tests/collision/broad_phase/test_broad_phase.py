"""Candidates of the broad phase: equal to those of brute force in every kind of scene and on a public set of collision queries."""

from collections.abc import Callable

import numpy as np
import pytest
from support.build import same_bits
from support.collision import FRAMES, Scene, brute_force, cloth, edges_of, public_frames, soup
from support.variants import slow_but

import meniscus as ms
from meniscus.collision import CollisionMesh

METHODS = ("tree", "grid", "brute-force")
LEVELS = ("baseline", "avx2", "avx512")


def flat(rng: np.random.Generator) -> Scene:
    """All in one plane at whole-numbered places, so that most boxes touch exactly."""
    s = soup(250, rng)
    start, end = (np.round(12 * x) for x in (s.start, s.end))
    start[:, 1] = end[:, 1] = 3
    return s._replace(start=start, end=end)


def at_one_point(rng: np.random.Generator) -> Scene:
    s = soup(40, rng)
    return s._replace(start=np.full_like(s.start, 0.7), end=np.full_like(s.end, 0.7))


def clustered(rng: np.random.Generator) -> Scene:
    s = soup(300, rng)
    where = rng.integers(0, 4, len(s.start))
    shift = np.array([(0, 0, 0), (1e5, 0, 0), (1e5, 1e-3, 7), (0, -400, 3)])[where]
    return s._replace(start=1e-4 * s.start + shift, end=1e-4 * s.end + shift)


def one_giant(rng: np.random.Generator) -> Scene:
    s = soup(300, rng, size=0.01, motion=0.003)
    start, end = s.start.copy(), s.end.copy()
    start[s.triangles[7]] = [(-500, -500, 0.4), (500, -500, 0.5), (0, 500, 0.6)]
    end[s.triangles[7]] = start[s.triangles[7]]
    return s._replace(start=start, end=end)


def scaled(scale: float) -> Callable[[np.random.Generator], Scene]:
    def make(rng: np.random.Generator) -> Scene:
        s = soup(200, rng)
        return s._replace(start=scale * (s.start - 0.5), end=scale * (s.end - 0.5))

    return make


def huge_and_tiny(rng: np.random.Generator) -> Scene:
    s = soup(250, rng)
    powers = 10.0 ** rng.integers(-320, 308, s.start.shape)
    return s._replace(start=powers * (s.start - 0.5), end=powers * (s.end - 0.5))


def signed_zeros(rng: np.random.Generator) -> Scene:
    s = soup(200, rng)

    def few_values(x: np.ndarray) -> np.ndarray:
        return np.array([-5e-324, -0.0, 0.0, 5e-324])[rng.integers(0, 4, x.shape)]

    return s._replace(start=few_values(s.start), end=few_values(s.end))


def nearly_touching(rng: np.random.Generator) -> Scene:
    """Differences below the resolution of float32: only the test in double precision tells them apart."""
    s = soup(250, rng)
    return s._replace(start=1 + 1e-12 * s.start, end=1 + 1e-12 * s.end)


def broken_topology(rng: np.random.Generator) -> Scene:
    """Repeated corners, repeated triangles, triangles without area, repeated and reversed edges, edges without length."""
    s = soup(120, rng)
    t = s.triangles.copy()
    t[10:20, 1] = t[10:20, 0]
    t[20:25] = t[20:25, :1]
    t = np.concatenate([t, t[30:50], t[50:60, ::-1]])
    start = s.start.copy()
    start[t[60:70, 2]] = 0.5 * (start[t[60:70, 0]] + start[t[60:70, 1]])
    edges = np.concatenate([s.edges, s.edges[:15], s.edges[20:30, ::-1], [[5, 5], [7, 7]]]).astype(np.int32)
    return Scene(start, s.end, np.ascontiguousarray(edges), np.ascontiguousarray(t))


SCENES: dict[str, Callable[[np.random.Generator], Scene]] = {
    "random": lambda rng: soup(300, rng),
    "at rest": lambda rng: (lambda s: s._replace(end=s.start.copy()))(soup(300, rng)),
    "cloth": lambda rng: cloth(13, 3),
    "flat": flat,
    "one point": at_one_point,
    "clustered": clustered,
    "one giant": one_giant,
    "huge": scaled(1.5e308),
    "1e300": scaled(1e300),
    "subnormal": scaled(1e-321),
    "huge and tiny": huge_and_tiny,
    "zeros": signed_zeros,
    "nearly touching": nearly_touching,
    "broken topology": broken_topology,
}


@pytest.mark.parametrize("name", SCENES)
def test_candidates_are_those_of_brute_force(name: str, rng: np.random.Generator) -> None:
    scene = SCENES[name](rng)
    span = float(min(np.ptp(0.5 * scene.start), 1e307))
    mesh = CollisionMesh(scene.edges, scene.triangles)
    for inflation in (0.0, 0.02 * span, 5e-324):
        expected = brute_force(scene, inflation)
        assert len(expected[0]) > 20
        assert len(expected[1]) > 20
        for method in METHODS:
            found = mesh.candidates(scene.start, scene.end, inflation, method=method)
            for f, e in zip(found, expected, strict=True):
                assert f.dtype == np.int32
                assert f.shape == e.shape, (method, inflation)
                assert np.array_equal(f, e), (method, inflation)


def test_every_small_number_of_elements(rng: np.random.Generator) -> None:
    for n in (*range(1, 20), 63, 64, 65, 129, 511, 513):
        scene = soup(n, rng, size=0.5)
        mesh = CollisionMesh(None, scene.triangles)
        assert np.array_equal(mesh.edges, scene.edges)
        expected = brute_force(scene)
        for method in METHODS[:2]:
            found = mesh.candidates(scene.start, scene.end, method=method)
            assert all(np.array_equal(f, e) for f, e in zip(found, expected, strict=True)), (n, method)


def test_long_lists_of_partners_are_sorted_too(rng: np.random.Generator) -> None:
    # One vertex and one edge that meet thousands of elements, in an order that has nothing to do with their places.
    start = rng.random((3000, 3))
    triangles = rng.permutation(2998)[:, None].astype(np.int32) + np.arange(3, dtype=np.int32)
    end = start.copy()
    start[5], end[5] = -10, 20
    scene = Scene(start, end, edges_of(triangles)[:2500], np.ascontiguousarray(triangles[:2500]))
    found = CollisionMesh(scene.edges, scene.triangles).candidates(scene.start, scene.end)
    expected = brute_force(scene)
    assert np.bincount(expected[0][:, 0]).max() > 2000
    assert np.bincount(expected[1][:, 0]).max() > 2000
    assert all(np.array_equal(f, e) for f, e in zip(found, expected, strict=True))


def test_a_tree_that_follows_finds_what_a_new_one_finds(rng: np.random.Generator) -> None:
    scene = soup(400, rng)
    kept = CollisionMesh(scene.edges, scene.triangles)
    x = scene.start
    for step in range(12):
        # First nothing but small motion; then vertices change places, so that the tree has to be built anew.
        y = x + rng.uniform(-0.03, 0.03, x.shape) if step < 6 else x[rng.permutation(len(x))]
        moved = scene._replace(start=x, end=x + 0.1 * (y - x))
        expected = brute_force(moved, 0.001)
        new = CollisionMesh(scene.edges, scene.triangles)
        for mesh in (kept, new):
            found = mesh.candidates(moved.start, moved.end, 0.001)
            assert all(np.array_equal(f, e) for f, e in zip(found, expected, strict=True)), step
        x = y


def test_the_number_of_positions_may_change(rng: np.random.Generator) -> None:
    scene = soup(50, rng)
    mesh = CollisionMesh(scene.edges, scene.triangles)
    for extra in (0, 30, 7, 0):
        more = rng.random((extra, 3))
        wider = scene._replace(start=np.concatenate([scene.start, more]), end=np.concatenate([scene.end, more]))
        found = mesh.candidates(wider.start, wider.end)
        assert all(np.array_equal(f, e) for f, e in zip(found, brute_force(wider), strict=True))


@pytest.mark.parametrize("inflation", [0.0, 0.01])
def test_pairs_of_two_meshes(inflation: float, rng: np.random.Generator) -> None:
    a, b = soup(150, rng), soup(90, rng)
    shifted = len(a.start)
    both = Scene(*(np.concatenate(x) for x in zip(a, b._replace(edges=b.edges + shifted, triangles=b.triangles + shifted), strict=True)))
    vf, ee = brute_force(both, inflation)
    nv, ne, nf = len(a.start), len(a.edges), len(a.triangles)
    mine = vf[(vf[:, 0] < nv) & (vf[:, 1] >= nf)] - [0, nf]
    theirs = vf[(vf[:, 0] >= nv) & (vf[:, 1] < nf)][:, ::-1] - [0, nv]
    theirs = theirs[np.lexsort((theirs[:, 1], theirs[:, 0]))]
    edges = ee[(ee[:, 0] < ne) & (ee[:, 1] >= ne)] - [0, ne]
    first, second = CollisionMesh(a.edges, a.triangles), CollisionMesh(b.edges, b.triangles)
    found = first.candidates_with(second, a.start, a.end, b.start, b.end, inflation)
    for f, e in zip(found, (mine, theirs, edges), strict=True):
        assert len(e) > 100
        assert np.array_equal(f, e)
    back = second.candidates_with(first, b.start, b.end, a.start, a.end, inflation)
    assert {tuple(p) for p in back.vertex_face} == {(v, f) for f, v in found.face_vertex.tolist()}
    with pytest.raises(ValueError, match="pairs of a mesh with itself are those of `candidates`"):
        first.candidates_with(first, a.start, a.end, a.start, a.end)


@pytest.mark.slow
def test_candidates_do_not_depend_on_threads_or_vectors(rng: np.random.Generator) -> None:
    scene = cloth(70, 4, 0.01)
    # Vertices in no order, so that places in memory and in space have nothing in common.
    new = rng.permutation(len(scene.start)).astype(np.int32)
    start, end = np.empty_like(scene.start), np.empty_like(scene.end)
    start[new], end[new] = scene.start, scene.end
    triangles = np.ascontiguousarray(new[scene.triangles][rng.permutation(len(scene.triangles))])
    shift = np.array([0, 0, 0.005])
    other_start, other_end = start + shift, end + shift

    def run() -> list[np.ndarray]:
        mesh, other = CollisionMesh(None, triangles), CollisionMesh(None, triangles)
        results = [*mesh.candidates(start, end, 1e-3), *mesh.candidates(end, start), *mesh.candidates(start, end, method="grid")]
        return [*results, *mesh.candidates_with(other, start, end, other_start, other_end)]

    threads, level = ms.core.num_threads(), ms.core.simd_level()
    try:
        ms.set_num_threads(1)
        plain = run()
        assert all(len(p) > 1000 for p in plain)
        for n in (2, 3, 5, 8):
            ms.set_num_threads(n)
            assert same_bits(run(), plain), n
        for other_level in LEVELS[: LEVELS.index(level)]:
            ms.core.set_simd_level(other_level)
            assert same_bits(run(), plain), other_level
    finally:
        ms.set_num_threads(threads)
        ms.core.set_simd_level(level)


COUNTS = {"cloth-funnel": (7_319, 33_770), "cloth-ball": (1_655_541, 5_197_332)}


@pytest.mark.parametrize("name", slow_but(FRAMES, "cloth-funnel"))
def test_public_frames(name: str) -> None:
    frames = public_frames(name)
    scene = frames.scene
    mesh = CollisionMesh(scene.edges, scene.triangles)
    found = mesh.candidates(scene.start, scene.end)
    assert tuple(len(p) for p in found) == COUNTS[name]
    for kind, pairs in zip(("vertex_face", "edge_edge"), found, strict=True):
        keys = pairs[:, 0].astype(np.int64) << 32 | pairs[:, 1]
        assert (np.diff(keys) > 0).all()
        listed = frames.listed[kind]
        assert frames.collides[kind].sum() > 20
        assert np.isin(listed[:, 0] << 32 | listed[:, 1], keys).all()
    if name == "cloth-funnel":
        assert same_bits(list(mesh.candidates(scene.start, scene.end, method="grid")), list(found))
