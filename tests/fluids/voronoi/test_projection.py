"""Pressure on Voronoi cells with embedded boundaries: orders of convergence, signs, faces in gaps."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus._meniscus import fluids as core
from meniscus._meniscus import mesh as core_mesh
from meniscus.numerics.solve import solve_options

LOW, HIGH = np.full(3, -1.0), np.full(3, 1.0)
CENTER = np.array([0.03, -0.02, 0.05])
RADIUS = 0.6


def lattice(n: int, jitter: float) -> np.ndarray:
    h = 2.0 / n
    corner = np.stack(np.meshgrid(*[-1 + h * (np.arange(n) + 0.25)] * 3, indexing="ij"), -1).reshape(-1, 3)
    sites = np.concatenate([corner, corner + h / 2])
    return np.clip(sites + jitter * h * np.random.default_rng(n).uniform(-0.5, 0.5, sites.shape), -0.999, 0.999)


def fine_sphere(n: int) -> ms.mesh.TriangleMesh:
    return ms.mesh.icosphere(int(np.ceil(np.log2(n))) + 1, RADIUS, tuple(CENTER))


def potential(x: np.ndarray) -> np.ndarray:
    return np.sin(2 * x[:, 0] + 0.3) * np.cos(1.5 * x[:, 1]) * np.exp(0.7 * x[:, 2])


def gradient(x: np.ndarray) -> np.ndarray:
    s, c = np.sin(2 * x[:, 0] + 0.3), np.cos(2 * x[:, 0] + 0.3)
    u, v, w = np.cos(1.5 * x[:, 1]), np.sin(1.5 * x[:, 1]), np.exp(0.7 * x[:, 2])
    return np.stack([2 * c * u * w, -1.5 * s * v * w, 0.7 * s * u * w], 1)


def solved(mesh: Any, cells: Any, velocity: np.ndarray, tolerance: float = 1e-11) -> tuple[np.ndarray, np.ndarray]:
    u = np.ascontiguousarray(np.repeat(velocity[:, None], 2, axis=1))
    p = np.zeros(len(mesh.sites))
    info, *_ = core.CellProjection().project(mesh, cells, u, p, None, 1.0, np.zeros(3), solve_options(tolerance, 300, "multigrid"))
    assert info.converged
    return u, p


@pytest.mark.parametrize("jitter", [0.0, 0.3, 0.8])
@pytest.mark.parametrize("sizes", [(8, 32), pytest.param((8, 16, 48), marks=pytest.mark.slow)])
def test_pressure_in_a_sphere_is_of_second_order(jitter: float, sizes: tuple[int, ...]) -> None:
    """The velocity is the gradient of a potential, which is given at the surface: the pressure is the potential."""
    mean, largest = [], []
    for n in sizes:
        mesh = core_mesh.VoronoiMesh(lattice(n, jitter), LOW, HIGH)
        ball = fine_sphere(n)
        hits = core.SurfaceHits(ball.vertices, ball.triangles)
        cells = core.LiquidCells(mesh, hits, potential(ball.vertices), 0.0, True, None, None)
        _, p = solved(mesh, cells, np.einsum("ij,ij->i", gradient(mesh.centroids), mesh.normals))
        error = np.abs(p - potential(mesh.sites))[cells.liquid]
        mean.append(np.sqrt((error**2).mean()))
        largest.append(error.max())
    doublings = np.log2(sizes[-1] / sizes[0])
    assert np.log2(mean[0] / mean[-1]) / doublings > 1.8, mean
    assert np.log2(largest[0] / largest[-1]) / doublings > 1.5, largest


@pytest.mark.slow
def test_flow_past_an_embedded_sphere_converges() -> None:
    """Potential flow around a solid ball, with its own velocity on the outer surface of the liquid."""
    radius = 0.3

    def flow(x: np.ndarray) -> np.ndarray:
        y = x - CENTER
        r = np.linalg.norm(y, axis=1)[:, None]
        return np.array([1.0, 0.0, 0.0]) - radius**3 / (2 * r**3) * (3 * y[:, :1] * y / r**2 - np.array([1.0, 0.0, 0.0]))

    def outer_potential(x: np.ndarray) -> np.ndarray:
        y = x - CENTER
        return y[:, 0] * (1 + radius**3 / (2 * np.linalg.norm(y, axis=1) ** 3))

    errors = []
    for n in (10, 20, 40):
        mesh = core_mesh.VoronoiMesh(lattice(n, 0.3), LOW, HIGH)
        ball = fine_sphere(n)
        hits = core.SurfaceHits(ball.vertices, ball.triangles)
        cells = core.LiquidCells(
            mesh, hits, -outer_potential(ball.vertices), 0.0, True, lambda x: np.linalg.norm(x - CENTER, axis=1) - radius, None
        )
        u, _ = solved(mesh, cells, np.zeros(len(mesh.faces)))
        beyond, _, _ = cells.sides
        ok = (beyond[:, 0] == 1) & (cells.open > 0.999)
        exact = np.einsum("ij,ij->i", flow(mesh.centroids), mesh.normals)
        errors.append(np.sqrt((mesh.areas[ok] * (u[ok, 0] - exact[ok]) ** 2).sum() / mesh.areas[ok].sum()))
    assert errors[-1] < 0.05, errors
    assert np.log2(errors[0] / errors[-1]) / 2 > 0.9, errors


def test_signs_are_those_of_exact_parity() -> None:
    """A ball with a bubble in it and a drop in that, and a film thinner than rounding makes differences of distances."""
    balls = [ms.mesh.icosphere(3, r) for r in (0.8, 0.5, 0.2)]
    film = ms.mesh.tet_block(1, 1, 1, (1.8, 0.05, 1.8), origin=(-0.9, -0.9, -0.9)).boundary
    x, t, first = [], [], 0
    for k, part in enumerate([*balls, film]):
        x.append(part.vertices)
        t.append((part.triangles if k != 1 else part.triangles[:, ::-1]) + np.int32(first))
        first += len(part.vertices)
    hits = core.SurfaceHits(np.concatenate(x), np.ascontiguousarray(np.concatenate(t)))
    points = np.random.default_rng(5).uniform(-1, 1, (4000, 3))
    points = np.concatenate([points, np.zeros((1, 3)), np.array(balls[0].vertices[:50]) * 0.7])
    r = np.linalg.norm(points, axis=1)
    clear = np.min([np.abs(r - s) for s in (0.8, 0.5, 0.2)], axis=0) > 0.02
    in_film = (np.abs(points[:, [0, 2]]) < 0.9).all(1) & (points[:, 1] > -0.9) & (points[:, 1] < -0.85)
    expected = ((r < 0.8) ^ (r < 0.5) ^ (r < 0.2)) ^ in_film
    np.testing.assert_array_equal(hits.inside(points)[clear], expected[clear])


def test_a_face_in_a_gap_is_open_to_the_air_on_both_sides() -> None:
    """Two slabs with a gap: apart, both see air at their own distance; closer than the limit they count as one."""
    sites = np.array([[0.0, -0.5, 0.0], [0.0, 0.5, 0.0]])
    mesh = core_mesh.VoronoiMesh(sites, LOW, HIGH)
    slabs = [ms.mesh.tet_block(1, 1, 1, (3.0, 1.4, 3.0), origin=(-1.5, y, -1.5)).boundary for y in (-1.5, 0.15)]
    x = np.concatenate([s.vertices for s in slabs])
    t = np.concatenate([slabs[0].triangles, slabs[1].triangles + np.int32(len(slabs[0].vertices))])
    hits = core.SurfaceHits(x, t)
    pressure = np.where(x[:, 1] > 0, 2.0, 1.0)
    face = int(np.flatnonzero(mesh.faces[:, 1] >= 0)[0])
    cells = core.LiquidCells(mesh, hits, pressure, 0.1, True, None, None)
    beyond, reach, at_surface = cells.sides
    assert beyond[face].tolist() == [2, 2]
    np.testing.assert_allclose(reach[face], [0.4, 0.35], atol=1e-14)
    np.testing.assert_allclose(at_surface[face], [1.0, 2.0])
    assert len(set(cells.part.tolist())) == 2
    merged = core.LiquidCells(mesh, hits, pressure, 0.3, True, None, None)
    assert merged.sides[0][face].tolist() == [1, 1]
    assert set(merged.part.tolist()) == {0}
