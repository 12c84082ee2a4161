"""Pressure projection on tetrahedral meshes against exact solutions and its own equations."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.fluids.tet_flows import MESHES, block, boundary_vertices, everything, fluxes, gradient, lattice, on, touched, turned, volumes

import meniscus as ms
from meniscus.fluids import TetPressureSolver, TetSolid

DT, TIGHT = 0.02, 1e-12


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("boundary", ["open", "wall"])
def test_velocity_is_orthogonal_to_the_hat_functions_of_free_vertices(name: str, boundary: Any) -> None:
    mesh = MESHES[name]()
    rng = np.random.default_rng(3)
    x = np.ascontiguousarray(mesh.vertices @ turned(1).T)
    c, v = rng.uniform(0, 1, len(mesh.tets)), rng.normal(size=(len(mesh.tets), 3))
    c[c < 0.2], c[c > 0.6] = 0, 1
    before = rng.normal(size=(len(mesh.tets), 3))
    height = x[mesh.tets].mean(axis=1)[:, 2]
    wet, enabled = height < np.quantile(height, 0.7), rng.random(len(mesh.tets)) < 0.98
    u, p = before.copy(), np.full(len(x), np.nan)
    settings: Any = {"wet": wet, "solid": TetSolid(c, v, enabled), "boundary": boundary, "pressure": p}
    info = TetPressureSolver(mesh).project(x, u, DT, density=800.0, **settings)
    solid = ~enabled | (c == 0)
    water, air = wet & ~solid, ~wet & ~solid
    assert info.wet_tets == water.sum()
    assert info.excluded_tets == 0
    free = touched(mesh, water) & ~touched(mesh, air)
    if boundary == "open":
        free[np.unique(mesh.faces[mesh.boundary_faces][~solid[mesh.face_tets[mesh.boundary_faces, 0]]])] = False
    assert sum(r.vertices for r in info.regions) == free.sum()
    open_part = np.where(water, c, 0)[:, None]
    closed = any(r.closed and abs(r.flux) > 0 for r in info.regions)
    after, first = (fluxes(mesh, x, open_part * w + (1 - open_part) * v * ~air[:, None])[free] for w in (u, before))
    if not closed:
        assert np.linalg.norm(after) <= 1.01e-8 * np.linalg.norm(first)
    np.testing.assert_array_equal(u[~water], before[~water])
    assert (p[~free] == 0).all()
    np.testing.assert_allclose(u[water], (before - DT / 800 * gradient(mesh, x, p))[water], atol=1e-12 * np.abs(u).max())

    again = u.copy()
    TetPressureSolver(mesh).project(x, again, DT, **{**settings, "pressure": None})
    assert np.abs(again - u).max() < 1e-6 * np.abs(before).max()


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("seed", [1, 2])
def test_water_at_rest_has_a_linear_pressure(name: str, seed: int) -> None:
    """Of density 700: walls of any shape all around, where pressure zero is known in one plane across gravity, or not at all."""
    mesh, turn = MESHES[name](), turned(seed)
    x = np.ascontiguousarray(mesh.vertices @ turn.T)
    solver, scale = TetPressureSolver(mesh), 700 * 9.81
    down = -turn[:, 2]
    depth = x @ down
    top = depth < depth.min() + 1e-9
    p, u = np.zeros(len(x)), on(mesh, 9.81 * DT * down)
    solver.project(x, u, DT, wet=everything(mesh), boundary=top, density=700.0, pressure=p, tolerance=TIGHT)
    assert np.abs(u).max() < 1e-8 * 9.81 * DT
    np.testing.assert_allclose(p, scale * (depth - depth.min()), atol=1e-8 * scale * np.ptp(depth))

    tilted = np.array([0.48, -0.6, 0.64])
    u = on(mesh, 9.81 * DT * tilted)
    info = solver.project(x, u, DT, wet=everything(mesh), boundary="wall", density=700.0, pressure=p, tolerance=TIGHT)
    assert np.abs(u).max() < 1e-8 * 9.81 * DT
    assert [r.closed for r in info.regions] == [True]
    np.testing.assert_allclose(p, scale * (x @ tilted - (x @ tilted).mean()), atol=1e-8 * scale)


def test_water_below_air_is_at_rest() -> None:
    """The free surface is a layer of vertices; the deformed bottom is cut by an object at rest."""
    mesh = ms.mesh.tet_block(6, 7, 12, (0.6, 0.7, 1.2))
    rng = np.random.default_rng(8)
    rest, turn = np.array(mesh.vertices), turned(5)
    wet = rest[mesh.tets].mean(axis=1)[:, 2] < 0.8
    inner = (rest[:, 2] < 0.75) & ~boundary_vertices(mesh)
    rest[inner] += rng.uniform(-0.02, 0.02, (inner.sum(), 3))
    c = np.where(rest[mesh.tets].mean(axis=1)[:, 2] < 0.3, rng.uniform(0, 1, len(mesh.tets)), 1.0)
    x = np.ascontiguousarray(rest @ turn.T)
    p, u = np.zeros(len(x)), on(mesh, -9.81 * DT * turn[:, 2])
    TetPressureSolver(mesh).project(x, u, DT, wet=wet, solid=TetSolid(open_fraction=c), boundary="wall", pressure=p, tolerance=TIGHT)
    assert np.abs(u[wet]).max() < 1e-8 * 9.81 * DT
    np.testing.assert_allclose(p, np.maximum(0, 9810 * (0.8 - rest[:, 2])), atol=1e-8 * 7848)


def waves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A pressure and its gradient."""
    k = np.array([2.1, -1.3, 1.7])
    phase, other = x @ k + 0.4, x[:, 0] * x[:, 1]
    return np.sin(phase) + other, np.cos(phase)[:, None] * k + np.stack([x[:, 1], x[:, 0], 0 * other], axis=1)


@pytest.mark.parametrize("family", [lattice, block])
def test_gradients_are_removed_with_second_order_pressure(family: Any) -> None:
    """A velocity that is the gradient of a potential in a closed region comes to rest: errors of order h^2 and h."""
    pressure_errors, velocity_errors = [], []
    for n in (4, 8, 16):
        mesh = family(n)
        rng = np.random.default_rng(n)
        x = np.array(mesh.vertices)
        inner = ~boundary_vertices(mesh)
        x[inner] += rng.uniform(-0.1, 0.1, (inner.sum(), 3)) / n
        x = np.ascontiguousarray(x @ turned(7).T)
        u, p = waves(x[mesh.tets].mean(axis=1))[1] * DT / 1000, np.zeros(len(x))
        scale = np.sqrt((u**2).sum(axis=1).mean())
        TetPressureSolver(mesh).project(x, u, DT, wet=everything(mesh), boundary="wall", pressure=p, tolerance=TIGHT)
        w = np.bincount(mesh.tets.ravel(), np.repeat(volumes(mesh, x) / 4, 4), len(x))
        difference = p - waves(x)[0]
        difference -= (w @ difference) / w.sum()
        pressure_errors.append(np.sqrt(w @ difference**2 / w.sum()))
        velocity_errors.append(np.sqrt((u**2).sum(axis=1) @ volumes(mesh, x) / w.sum()) / scale)
    p_order, u_order = (np.log2(e[1] / e[2]) for e in (pressure_errors, velocity_errors))
    assert p_order > 1.85
    assert pressure_errors[2] < 0.55 / 16**2
    assert u_order > 0.9
    assert velocity_errors[2] < 0.9 / 16


def past_sphere(x: np.ndarray, radius: float) -> np.ndarray:
    """Potential flow of unit speed along (0.6, 0, 0.8)."""
    e, r = np.array([0.6, 0, 0.8]), np.linalg.norm(x, axis=1)[:, None]
    along = (x @ e)[:, None]
    return np.asarray(e + 0.5 * radius**3 / r**3 * (e - 3 * along * x / r**2))


def open_fractions(phi: np.ndarray) -> np.ndarray:
    """The part of each tetrahedron where the linear interpolant of phi (m, 4) is positive, from 20^3 points or so."""
    i = np.array([(a, b, c, 17 - a - b - c) for a in range(18) for b in range(18 - a) for c in range(18 - a - b)])
    return np.asarray((phi @ ((i + 0.25) / 18).T > 0).mean(axis=1))


def test_flow_past_a_sphere_in_cut_cells() -> None:
    """The sphere is an open fraction. Pressure: order h^2; velocity: order h."""
    radius, far = 0.45, 0.9
    pressure_errors, velocity_errors = [], []
    for n in (16, 32):
        mesh = ms.mesh.bcc_lattice((-1.0, -1.0, -1.0), 2 / n, (n, n, n))
        x, t = np.array(mesh.vertices), mesh.tets
        centre = x[t].mean(axis=1)
        r = np.linalg.norm(centre, axis=1)
        k = np.pi / (far - radius)
        phi = (np.linalg.norm(x, axis=1) - radius)[t]
        c = (phi.min(axis=1) >= 0).astype(float)
        cut = (phi.min(axis=1) < 0) & (phi.max(axis=1) > 0)
        c[cut] = open_fractions(phi[cut])
        slope = np.where((r > radius) & (r < far), -0.5 * k * np.sin(k * (r - radius)), 0)
        exact = past_sphere(np.maximum(radius / r, 1)[:, None] * centre, radius)
        u = exact + (slope / r)[:, None] * centre
        p = np.zeros(len(x))
        TetPressureSolver(mesh).project(x, u, 1.0, wet=everything(mesh), solid=TetSolid(open_fraction=c), density=1.0, pressure=p)
        s = np.linalg.norm(x, axis=1)
        true = np.where(s < far, np.cos(0.5 * k * (np.maximum(s, radius) - radius)) ** 2, 0)
        outside = s > radius
        pressure_errors.append(np.sqrt(((p - true)[outside] ** 2).mean()))
        w = c * volumes(mesh, x)
        velocity_errors.append(np.sqrt(w @ ((u - exact) ** 2).sum(axis=1) / w.sum()))
    assert np.log2(pressure_errors[0] / pressure_errors[1]) > 1.9
    assert pressure_errors[1] < 0.5 / 32**2
    assert np.log2(velocity_errors[0] / velocity_errors[1]) > 0.95
    assert velocity_errors[1] < 3.6 / 32


def test_rising_plate_lifts_the_water() -> None:
    """A plate in cut cells of any open fraction, whose motion is that of the water above it."""
    mesh = ms.mesh.tet_block(5, 4, 12, (0.5, 0.4, 1.2))
    rng = np.random.default_rng(0)
    turn = turned(4)
    z = mesh.vertices[mesh.tets].mean(axis=1)[:, 2]
    c = np.where(z < 0.3, 0.0, np.where(z < 0.4, rng.uniform(0, 1, len(z)), 1.0))
    wet = z < 1.0
    x, lift = np.ascontiguousarray(mesh.vertices @ turn.T), 0.7 * turn[:, 2]
    u = np.zeros((len(z), 3))
    v = on(mesh, lift)
    v[c == 1] = np.nan_to_num(rng.normal(size=(int((c == 1).sum()), 3)) * 1e3)
    TetPressureSolver(mesh).project(x, u, DT, wet=wet, solid=TetSolid(open_fraction=c, object_velocity=v), boundary="wall", tolerance=TIGHT)
    water = wet & (c > 1e-6)
    np.testing.assert_allclose(u[water], on(mesh, lift)[water], atol=1e-8)


@pytest.mark.parametrize("name", MESHES)
def test_uniform_motion_of_everything_stays(name: str) -> None:
    """With disabled, inverted and flat tetrahedra, whose place is that of an object which moves along; away from the boundary."""
    mesh = MESHES[name]()
    rng = np.random.default_rng(11)
    x = np.ascontiguousarray(mesh.vertices @ turned(9).T)
    m, inner = len(mesh.tets), ~boundary_vertices(mesh)
    free = inner.copy()
    free[np.unique(mesh.tets[(~inner)[mesh.tets].any(axis=1)])] = False
    # A vertex of a few tetrahedra goes into the plane of the face beyond it, or farther.
    for moved, t in enumerate(rng.permutation(np.flatnonzero(free[mesh.tets].any(axis=1)))[:6]):
        k = int(np.flatnonzero(free[mesh.tets[t]])[0])
        corners = x[mesh.tets[t]]
        x[mesh.tets[t][k]] += (1.0 + 0.3 * (moved % 2)) * (np.delete(corners, k, axis=0).mean(axis=0) - corners[k])
    enabled = rng.random(m) < 0.95
    motion = np.array([0.3, -2.0, 0.7])
    u, v = on(mesh, motion), on(mesh, motion)
    info = TetPressureSolver(mesh).project(
        x, u, DT, wet=everything(mesh), solid=TetSolid(enabled=enabled, object_velocity=v), boundary="open"
    )
    assert info.excluded_tets >= 4
    assert np.abs(u - motion).max() < 1e-10


@pytest.mark.parametrize("boundary", ["open", "wall"])
@pytest.mark.parametrize("height", [1e-2, 1.1e-3])
def test_nearly_flat_tetrahedra(height: float, boundary: Any) -> None:
    """Vertices close to the middle of a face; just above the limit they count as water, and below it as solid."""
    mesh = lattice(8)
    rng = np.random.default_rng(1)
    x, inner, seen = np.array(mesh.vertices), ~boundary_vertices(mesh), np.zeros(len(mesh.vertices), bool)
    squeezed = []
    for t in rng.permutation(np.flatnonzero(inner[mesh.tets].all(axis=1)))[:200]:
        if not seen[mesh.tets[t]].any():
            seen[mesh.tets[t]] = True
            corners = x[mesh.tets[t]]
            x[mesh.tets[t][0]] += (1 - height * 2**0.5) * (corners[1:].mean(axis=0) - corners[0])
            squeezed.append(t)
    x = np.ascontiguousarray(x @ turned(1).T)
    u0 = rng.normal(size=(len(mesh.tets), 3))
    for limit, flat in ((1e-3, 0), (0.02, len(squeezed))):
        u = u0.copy()
        info = TetPressureSolver(mesh).project(x, u, DT, wet=everything(mesh), boundary=boundary, solid=TetSolid(min_aspect=limit))
        assert info.excluded_tets >= flat
        assert info.iterations < 45
        energy, before = ((w**2).sum(axis=1) @ volumes(mesh, x) for w in (u, u0))
        assert energy < before


def pools() -> tuple[ms.mesh.TetMesh, np.ndarray, np.ndarray]:
    """Two closed pools in a block of solid, and the boxes' tetrahedra."""
    mesh = ms.mesh.tet_block(12, 6, 6, (2.0, 1.0, 1.0))
    c = mesh.vertices[mesh.tets].mean(axis=1)
    inside = (np.abs(c[:, 1:] - 0.5) < 1 / 3).all(axis=1)
    left = inside & (c[:, 0] > 1 / 6) & (c[:, 0] < 5 / 6)
    right = inside & (c[:, 0] > 1) & (c[:, 0] < 11 / 6)
    return mesh, left, right


def test_closed_pools_are_solved_for_separately() -> None:
    """Between them one layer of solid, whose vertices all belong to one or the other."""
    mesh, left, right = pools()
    rng = np.random.default_rng(1)
    x, solver = np.array(mesh.vertices), TetPressureSolver(mesh)
    u0 = rng.normal(size=(len(mesh.tets), 3))
    both, p = u0.copy(), np.zeros(len(x))
    c = np.where(left | right, 1.0, 0.0)
    info = solver.project(x, both, DT, wet=left | right, solid=TetSolid(open_fraction=c), pressure=p, tolerance=TIGHT)
    assert [(r.closed, abs(r.flux) < 1e-14) for r in info.regions] == [(True, True)] * 2
    for pool in (left, right):
        alone = u0.copy()
        solver.project(x, alone, DT, wet=pool, solid=TetSolid(open_fraction=c * pool), tolerance=TIGHT)
        np.testing.assert_allclose(both[pool], alone[pool], atol=1e-9)
        assert abs(p[np.unique(mesh.tets[pool])].mean()) < 1e-9 * np.abs(p).max()
    assert np.abs(fluxes(mesh, x, np.where((left | right)[:, None], both, 0))).max() < 1e-12


def test_walls_that_push_into_closed_pools() -> None:
    """One wall moves in, or out; the water takes the flux as a uniform divergence, and each pool its own."""
    mesh, left, right = pools()
    x = np.array(mesh.vertices)
    c = x[mesh.tets].mean(axis=1)
    v = np.zeros((len(c), 3))
    behind = (np.abs(c[:, 1:] - 0.5) < 1 / 3).all(axis=1)
    v[behind & (c[:, 0] < 1 / 6), 0] = 0.5
    v[behind & (c[:, 0] > 11 / 6), 0] = 0.3
    u = np.zeros_like(v)
    f = np.where(left | right, 1.0, 0.0)
    info = TetPressureSolver(mesh).project(x, u, DT, wet=left | right, solid=TetSolid(open_fraction=f, object_velocity=v), tolerance=TIGHT)
    area = (4 / 6) ** 2
    np.testing.assert_allclose([info.regions[0].flux, info.regions[1].flux], [-0.5 * area, 0.3 * area], rtol=1e-12)
    for pool, flux in zip((left, right), (info.regions[0].flux, info.regions[1].flux), strict=True):
        vertices = np.unique(mesh.tets[pool])
        rest = fluxes(mesh, x, np.where(pool[:, None], u, v * (f == 0)[:, None]))[vertices]
        volume = np.bincount(mesh.tets[pool].ravel(), np.repeat(volumes(mesh, x)[pool] / 4, 4), len(x))[vertices]
        np.testing.assert_allclose(rest, -flux * volume / volume.sum(), atol=1e-12)


def test_islands_of_one_tetrahedron() -> None:
    """In air nothing happens to them; in solid they move with it."""
    mesh = lattice(6)
    rng = np.random.default_rng(5)
    x, m = np.ascontiguousarray(mesh.vertices @ turned(3).T), len(mesh.tets)
    islands, used = [], boundary_vertices(mesh)
    for t in rng.permutation(m):
        if not used[mesh.tets[t]].any():
            islands.append(t)
            used[mesh.tets[t]] = True
    wet = everything(mesh, False)
    wet[islands] = True
    assert wet.sum() > 20
    u0 = rng.normal(size=(m, 3))
    u = u0.copy()
    info = TetPressureSolver(mesh).project(x, u, DT, wet=wet)
    assert info.regions == ()
    assert info.converged
    np.testing.assert_array_equal(u, u0)
    motion = np.array([1.0, 2.0, 3.0])
    info = TetPressureSolver(mesh).project(
        x, u, DT, wet=wet, solid=TetSolid(enabled=wet, object_velocity=on(mesh, motion)), tolerance=TIGHT
    )
    assert len(info.regions) == wet.sum()
    assert all(r.closed and r.vertices == 4 for r in info.regions)
    assert np.abs(u[wet] - motion).max() < 1e-10
    np.testing.assert_array_equal(u[~wet], u0[~wet])


@pytest.mark.parametrize("link", [1.0, 1e-3, 1e-5])
def test_pool_that_is_nearly_closed(link: float) -> None:
    """The only way out of a pool leads through tetrahedra that are open by a small fraction."""
    mesh = ms.mesh.tet_block(6, 6, 12, (1.0, 1.0, 2.0))
    x = np.ascontiguousarray(mesh.vertices @ turned(6).T)
    z = mesh.vertices[mesh.tets].mean(axis=1)[:, 2]
    c = np.where((z > 1.0) & (z < 1.17), link, 1.0)
    u = np.random.default_rng(0).normal(size=(len(z), 3))
    p = np.zeros(len(x))
    top = mesh.vertices[:, 2] > 2 - 1e-9
    info = TetPressureSolver(mesh).project(
        x, u, DT, wet=everything(mesh), solid=TetSolid(open_fraction=c), boundary=top, pressure=p, tolerance=1e-10
    )
    assert [r.closed for r in info.regions] == [False]
    assert info.iterations < 25
    assert np.linalg.norm(fluxes(mesh, x, c[:, None] * u)[~top]) < 1e-9
