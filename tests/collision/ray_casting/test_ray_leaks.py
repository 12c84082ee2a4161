"""Absence of leaks through closed thickened surfaces, wherever segments are aimed."""

import numpy as np
import pytest
from support.meshes import Mesh, box, random_points, real_mesh, sphere_like, torus
from support.segments import aimed_segments, dyadic, segment_distances
from support.variants import slow_but

import meniscus as ms
from meniscus.collision import VISIBLE, ThickSurface, edge_triangle

# Segments of the long leak test, in parts that may run at the same time.
SEGMENTS, PARTS = 100_000_000, 16


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
            # The exact middle of these is a point of the surface.
            assert not (surface.classify(*aimed_segments(m, k // 2, bits, rng)) == VISIBLE).any()
            a = random_points(m, k // 2, rng)
            b = np.where(rng.random((k // 2, 1)) < 0.5, random_points(m, k // 2, rng), a + 0.02 * rng.normal(size=a.shape))
            visible += check_no_leak(m, surface, solid, a, b)
        assert 0.1 * n < visible < 0.45 * n


@pytest.mark.slow
@pytest.mark.parametrize("thickness", [1e-6, 1e-3])
def test_nothing_leaks(thickness: float, rng: np.random.Generator) -> None:
    leak_run([box(), torus(n=24, m=12), sphere_like(6, rng), sphere_like(24, rng)], 120_000, thickness, rng)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_leaks_through_a_hundred_million_segments(part: int) -> None:
    """Exactly aimed at the surface: none is visible. At random: none that is visible changes sides, by an independent test of the sides."""
    rng = np.random.default_rng([20080601, part])
    meshes = [real_mesh("spot"), real_mesh("rocker-arm"), torus(n=9, m=5), sphere_like(60, rng)]
    leak_run([meshes[part % 4]], SEGMENTS // PARTS, [1e-6, 1e-4, 1e-9, 1e-12][part // 4], rng)


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


@pytest.mark.parametrize("thickness", slow_but([0.0, 1e-12, 1e-4], 0.0))
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


@pytest.mark.parametrize("thickness", [0.0, 1e-12])
def test_against_the_exact_test_of_edges_and_triangles(thickness: float, rng: np.random.Generator) -> None:
    """Arbitrary doubles, thin triangles, segments in the planes of triangles."""
    for squash in (1.0, 1e-4, 1e-9):
        mesh = sphere_like(4, rng)
        mesh[0][:, 2] *= squash
        corners = mesh[0][mesh[1]]
        p, q, r = (corners[rng.integers(0, len(corners), 600), k] for k in range(3))
        middle = p + rng.choice([0.0, 0.5, 0.25, 1.0], (600, 1)) * (q - p)
        way = rng.uniform(-1, 1, (600, 3)) * (1, 1, squash) * 2.0 ** -rng.integers(0, 12, (600, 1))
        way[::5] = (r - middle)[::5]
        a, b = middle - way, middle + way * rng.choice([0.0, 1.0], (600, 1))
        seen = ThickSurface(*mesh, thickness).classify(a, b) == VISIBLE
        edges = np.repeat(np.stack([a, b], axis=1), len(corners), axis=0)
        met = edge_triangle(edges, np.tile(corners, (600, 1, 1))).reshape(600, -1).any(axis=1)
        assert not (seen & met).any()
        assert met.sum() > 100
        for i in np.flatnonzero(~met & ~seen):
            assert segment_distances(mesh, a[i], b[i]).min() <= 0.5 * thickness + 1e-12
