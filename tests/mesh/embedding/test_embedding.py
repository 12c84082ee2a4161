"""Embedded points: affine motions, the transpose, masses, and points outside of the mesh."""

import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from support.build import same_bits
from support.simplices import THREADS, affine, bcc, delaunay

import meniscus as ms
from meniscus.collision import embed
from meniscus.mesh import Embedding, SubdivisionHierarchy, TetMesh, TriangleMesh, cloth_mesh, icosphere, tet_block


def random_embedding(
    columns: int, rng: np.random.Generator, n: int = 500, nodes: int = 60, dtype: type = np.float64
) -> tuple[np.ndarray, np.ndarray]:
    parents = np.array([rng.permutation(nodes)[:columns] for _ in range(n)], np.int32)
    weights = rng.dirichlet(np.ones(columns), n)
    weights[::7] = 2 * weights[::7] - 1 / columns  # also outside of the element
    return parents, weights.astype(dtype)


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_weighted_sums(columns: int, dtype: type, rng: np.random.Generator) -> None:
    parents, weights = random_embedding(columns, rng, dtype=dtype)
    e = Embedding(parents, weights)
    y = rng.normal(size=(e.nodes, 3))
    expected = (weights.astype(float)[..., None] * y[parents]).sum(axis=1)
    assert e.evaluate(y) == pytest.approx(expected, abs=1e-15)
    assert same_bits(e.positions(y), e.velocities(y))
    out = np.empty((len(e), 3))
    assert e.positions(y, out) is out
    assert np.shares_memory(e.weights, weights)
    assert np.shares_memory(Embedding(e.parents, weights).parents, e.parents)
    parents[0] = 2**31 - 1  # an array of the caller is copied: what has been checked does not change
    assert same_bits(e.positions(y), out)
    assert not e.weights.flags.writeable


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_affine_motions_are_followed(columns: int, rng: np.random.Generator) -> None:
    parents, weights = random_embedding(columns, rng)
    e = Embedding(parents, weights)
    y = rng.normal(size=(e.nodes, 3))
    a, b = affine(rng)
    assert e.positions(np.ascontiguousarray(y @ a.T + b)) == pytest.approx(e.positions(y) @ a.T + b, abs=1e-13)


@pytest.mark.parametrize("columns", [2, 3, 4])
def test_forces_on_points_are_the_transpose(columns: int, dtype: type, rng: np.random.Generator) -> None:
    parents, weights = random_embedding(columns, rng, dtype=dtype)
    e = Embedding(parents, weights, 70)
    f, v = rng.normal(size=(len(e), 3)), rng.normal(size=(70, 3))
    on_nodes = e.spread_forces(f)
    # <f, W v> = <W^T f, v>, entry by entry as well.
    assert (f * e.velocities(v)).sum() == pytest.approx((on_nodes * v).sum(), rel=1e-12)
    expected = np.zeros((70, 3))
    for i in range(len(e)):
        for k in range(columns):
            expected[parents[i, k]] += float(weights[i, k]) * f[i]
    assert on_nodes == pytest.approx(expected, abs=1e-12)
    assert (on_nodes[60:] == 0).all()
    # Force and moment stay.
    scale = 1e-6 if dtype == np.float32 else 1e-11
    assert on_nodes.sum(axis=0) == pytest.approx(f.sum(axis=0), abs=10 * scale)
    x = rng.normal(size=(70, 3))
    assert np.cross(x, on_nodes).sum(axis=0) == pytest.approx(np.cross(e.positions(x), f).sum(axis=0), abs=10 * scale)
    total = np.ones((70, 3))
    assert e.spread_forces(f, total) is total
    assert total == pytest.approx(1 + on_nodes, abs=1e-12)


def test_masses(rng: np.random.Generator) -> None:
    parents, weights = random_embedding(4, rng)
    weights = np.abs(weights)
    weights /= weights.sum(axis=1, keepdims=True)
    e = Embedding(parents, weights)
    m = rng.uniform(0.5, 2, len(e))
    nodes = e.spread_masses(m)
    assert math.fsum(nodes) == pytest.approx(math.fsum(m), rel=1e-14)
    assert nodes == pytest.approx(np.bincount(parents.ravel(), (weights * m[:, None]).ravel(), e.nodes), rel=1e-12)
    assert e.effective_masses(nodes) == pytest.approx(1 / (weights**2 / nodes[parents]).sum(axis=1), rel=1e-14)
    # An impulse changes the velocity of the point by impulse / effective mass.
    i = 17
    impulse = np.zeros((len(e), 3))
    impulse[i] = rng.normal(size=3)
    change = e.velocities(e.spread_forces(impulse) / nodes[:, None])
    assert change[i] == pytest.approx(impulse[i] / e.effective_masses(nodes)[i], rel=1e-13)


def test_effective_masses_at_the_limits() -> None:
    parents = np.array([(0, 1), (1, 2), (2, 2), (0, 0), (3, 1)], np.int32)
    weights = np.array([(0.5, 0.5), (0.25, 0.75), (0.5, 0.5), (1.0, 0.0), (0.0, 1.0)])
    e = Embedding(parents, weights)
    m = np.array([2.0, np.inf, 4.0, 0.0])
    assert e.effective_masses(m).tolist() == [8.0, 4 / 0.5625, 4.0, 2.0, np.inf]
    assert e.effective_masses(np.array([0.0, 1, 1, 1]))[0] == 0
    for bad in (-1.0, np.nan):
        with pytest.raises(ValueError, match=r"masses must not be negative, but \[2\] is"):
            e.effective_masses(np.array([1.0, 1.0, bad, 1.0]))


def test_weights_at_rest_against_exact_arithmetic(rng: np.random.Generator) -> None:
    m = delaunay(30, rng)
    x = np.ascontiguousarray(rng.dirichlet(np.ones(4), 40)[:, None, :] @ m.vertices[m.tets[:40]])[:, 0]
    e = embed(m, x)
    for i in range(len(x)):
        p = [[Fraction(float(c)) for c in m.vertices[j]] for j in e.parents[i]]
        w = [Fraction(float(v)) for v in e.weights[i]]
        for d in range(3):
            assert abs(float(sum(a * q[d] for a, q in zip(w, p, strict=True))) - x[i, d]) < 1e-14


def test_points_in_a_mesh_stay_where_they_are(rng: np.random.Generator) -> None:
    for m in (delaunay(200, rng), tet_block(4, 3, 2), bcc(3)):
        w = rng.dirichlet(np.ones(4), 3000)
        t = rng.integers(0, len(m.tets), 3000)
        x = np.concatenate([(w[..., None] * m.vertices[m.tets[t]]).sum(axis=1), m.vertices[m.used_vertices]])
        e = embed(m, x, tolerance=1e-12)
        assert (e.weights >= 0).all()
        assert e.weights.sum(axis=1) == pytest.approx(np.ones(len(e)), abs=1e-15)
        assert e.positions(m.vertices) == pytest.approx(x, abs=1e-13)
        a, b = affine(rng)
        assert e.positions(np.ascontiguousarray(m.vertices @ a.T + b)) == pytest.approx(x @ a.T + b, abs=1e-12)


def test_motions_are_continuous_across_faces(rng: np.random.Generator) -> None:
    m = delaunay(40, rng)
    inner = np.flatnonzero(m.face_tets[:, 1] >= 0)
    w = rng.dirichlet(np.ones(3), len(inner))
    x = (w[..., None] * m.vertices[m.faces[inner]]).sum(axis=1)
    y = rng.normal(size=m.vertices.shape)
    expected = (w[..., None] * y[m.faces[inner]]).sum(axis=1)
    fat = m.quality().aspect[m.face_tets[inner]].min(axis=1) > 0.02
    assert embed(m, x, tolerance=1e-12).positions(y)[fat] == pytest.approx(expected[fat], abs=1e-11)


def test_points_outside(rng: np.random.Generator) -> None:
    m = tet_block(2, 2, 2)
    x = np.array([(0.5, 0.25, 0.75), (1.5, 0.25, 0.6), (-1.0, -1.0, -1.0), (0.3, 0.4, 1.25)])
    with pytest.raises(ValueError, match=r"but 3 do not; the first is point 1, 0\.5 m away"):
        embed(m, x)
    with pytest.raises(ValueError, match=r"but 2 do not; the first is point 1, 0\.5 m away"):
        embed(m, x, tolerance=0.25)
    near = embed(m, x, "nearest")
    assert near.positions(m.vertices) == pytest.approx(np.clip(x, 0, 1), abs=1e-15)
    assert (near.weights >= 0).all()
    far = embed(m, x, "extrapolate")
    assert far.positions(m.vertices) == pytest.approx(x, abs=1e-14)
    assert far.weights.min() < 0
    a, b = affine(rng)
    assert far.positions(np.ascontiguousarray(m.vertices @ a.T + b)) == pytest.approx(x @ a.T + b, abs=1e-13)
    tets = {tuple(t) for t in m.tets.tolist()}
    assert {tuple(p) for p in near.parents.tolist()} <= tets


def test_points_on_a_surface(rng: np.random.Generator) -> None:
    s = icosphere(2)
    w = rng.dirichlet(np.ones(3), 200)
    t = rng.integers(0, len(s.triangles), 200)
    x = (w[..., None] * s.vertices[s.triangles[t]]).sum(axis=1)
    e = embed(s, x, tolerance=1e-14)
    assert (e.parents == s.triangles[t]).all()
    assert e.weights == pytest.approx(w, abs=1e-12)
    lifted = embed(s, 1.5 * x, "nearest")
    assert len(lifted) == 200
    with pytest.raises(ValueError, match="all points must lie in the mesh, but 200 do not"):
        embed(s, 1.5 * x)
    with pytest.raises(ValueError, match="cannot be extrapolated"):
        embed(s, x, "extrapolate")


def test_hairs_on_a_refined_mesh(rng: np.random.Generator) -> None:
    # Points hang on the fine mesh, which hangs on the coarse one: the same as on the coarse one directly.
    m = tet_block(2, 2, 2)
    h = SubdivisionHierarchy(m, 2)
    x = rng.random((300, 3))
    fine, coarse = embed(h.mesh(2), x), embed(m, x)
    a, b = affine(rng)
    y = np.ascontiguousarray(m.vertices @ a.T + b)
    assert fine.positions(h.positions(y, 2)) == pytest.approx(coarse.positions(y), abs=1e-13)


def test_pickles_and_empty_ones(rng: np.random.Generator) -> None:
    parents, weights = random_embedding(3, rng, n=4)
    e = Embedding(parents, weights, 80)
    copy = pickle.loads(pickle.dumps(e))
    assert same_bits(copy.weights, weights)
    assert copy.nodes == 80
    assert repr(e) == "<Embedding: 4 points with 3 parents each among 80 nodes, float64>"
    none = Embedding(np.empty((0, 4), np.int32), np.empty((0, 4)))
    assert none.evaluate(np.empty((0, 3))).shape == (0, 3)
    assert none.spread_forces(np.empty((0, 3))).shape == (0, 3)
    assert len(embed(cloth_mesh(1, 1), np.empty((0, 3)))) == 0
    assert len(embed(tet_block(1, 1, 1), np.empty((0, 3)))) == 0
    y = rng.normal(size=(60, 3))
    kept = Embedding(parents.copy(), weights.copy(), 60)._core  # arrays live as long as what uses them
    out = np.empty((4, 3))
    kept.evaluate(y, out)
    assert same_bits(out, Embedding(parents, weights, 60).evaluate(y))


def test_the_same_on_any_number_of_threads(default_parallelism: None, rng: np.random.Generator) -> None:
    n = 20000
    parents = rng.integers(0, 9000, (n, 4)).astype(np.int32)
    weights = rng.dirichlet(np.ones(4), n)
    f, y, m = rng.normal(size=(n, 3)), rng.normal(size=(9000, 3)), rng.random(n)

    def run() -> list[np.ndarray]:
        e = Embedding(parents, weights, 9000)
        masses = e.spread_masses(m)
        return [e.evaluate(y), e.spread_forces(f), masses, e.effective_masses(masses + 1)]

    ms.set_num_threads(1)
    plain = run()
    for threads in THREADS:
        ms.set_num_threads(threads)
        assert same_bits(run(), plain), f"{threads} threads"


def test_what_is_refused(rng: np.random.Generator) -> None:
    parents, weights = random_embedding(4, rng, n=5, nodes=9)
    for p, w, error, text in [
        (parents.astype(float), weights, TypeError, "parents must hold integers, not float64"),
        (parents, weights.astype(np.float16), TypeError, "dtype must be float32 or float64, not float16"),
        (parents, weights[:4], ValueError, r"weights must have shape \(5, 4\), not \(4, 4\)"),
        (parents, np.ascontiguousarray(weights[:, :3]), ValueError, r"weights must have shape \(n, 4\)"),
        (np.zeros((5, 5), np.int32), weights, ValueError, r"parents must have shape \(n, 2\), \(n, 3\) or \(n, 4\), not \(5, 5\)"),
        (np.where(np.arange(20).reshape(5, 4) == 6, -1, parents).astype(np.int32), weights, ValueError, r"9 nodes, but \[1, 2\] is -1"),
    ]:
        with pytest.raises(error, match=text):
            Embedding(p, w, 9)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="parents must hold indices of the 3 nodes"):
        Embedding(parents, weights, 3)
    bad = weights.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"weights must be finite, but \[3, 1\] is nan"):
        Embedding(parents, bad)
    bad[3, 1] = weights[3, 1] + 1e-6
    with pytest.raises(ValueError, match="the weights of a point must sum to 1, but those of point 3 sum to 1"):
        Embedding(parents, bad)
    e = Embedding(parents, weights, 9)
    with pytest.raises(ValueError, match=r"node_values must have shape \(9, 3\), not \(8, 3\)"):
        e.evaluate(np.zeros((8, 3)))
    with pytest.raises(ValueError, match="forces must have shape"):
        e.spread_forces(np.zeros((4, 3)))
    with pytest.raises(ValueError, match=r"masses must not be negative, but \[2\] is -1"):
        e.spread_masses(np.array([1.0, 1, -1, 1, 1]))
    y = np.zeros((9, 3))
    with pytest.raises(ValueError, match="out must not overlap node_values"):
        e.evaluate(y, y[:5])
    with pytest.raises(ValueError, match=r"points must be finite, but \[1, 2\] is nan"):
        embed(tet_block(1, 1, 1), np.array([(0, 0, 0), (0, 0, np.nan)], float))
    with pytest.raises(ValueError, match="outside must be one of 'error', 'nearest', 'extrapolate', not 'keep'"):
        embed(tet_block(1, 1, 1), np.zeros((1, 3)), "keep")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="mesh must be a TetMesh or TriangleMesh, not tuple"):
        embed((0, 1), np.zeros((1, 3)))  # type: ignore[arg-type]
    empty = TetMesh(np.eye(3), np.empty((0, 4), np.int32))
    with pytest.raises(ValueError, match="a mesh without elements"):
        embed(empty, np.zeros((1, 3)), "nearest")
    with pytest.raises(ValueError, match="a mesh without elements"):
        embed(TriangleMesh(np.eye(3), np.empty((0, 3), np.int32)), np.zeros((1, 3)), "nearest")
