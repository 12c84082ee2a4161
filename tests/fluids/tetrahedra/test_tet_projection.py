"""Pressure projection on tetrahedral meshes against exact solutions and its own equations."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from support.same_bits import everywhere

import meniscus as ms
from meniscus.fluids import TetPressureSolver
from meniscus.numerics.solve import ConvergenceError

DT, TIGHT = 0.02, 1e-12
FACES = ((1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1))


def turned(seed: int) -> np.ndarray:
    """A rotation."""
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))
    return np.asarray(q if np.linalg.det(q) > 0 else -q)


def graded() -> ms.mesh.TetMesh:
    """Red and green tetrahedra, edges from 1/4 to 1/32."""
    coarse = ms.mesh.bcc_lattice((0.0, 0.0, 0.0), 0.25, (4, 4, 4))
    return ms.mesh.red_green(coarse, lambda p: 0.03 + 0.3 * np.linalg.norm(p - [0.3, 0.4, 0.8], axis=1))


def lattice(n: int) -> ms.mesh.TetMesh:
    return ms.mesh.bcc_lattice((0.0, 0.0, 0.0), 1 / n, (n, n, n))


def block(n: int) -> ms.mesh.TetMesh:
    return ms.mesh.tet_block(n, n, n)


MESHES = {"lattice": lambda: lattice(8), "graded": graded, "block": lambda: block(8)}


def on(mesh: ms.mesh.TetMesh, values: np.ndarray) -> np.ndarray:
    """Values of all tetrahedra."""
    return np.ascontiguousarray(np.broadcast_to(values, (len(mesh.tets), *np.shape(values)))).copy()


def everything(mesh: ms.mesh.TetMesh, value: bool = True) -> np.ndarray:
    return np.full(len(mesh.tets), value)


def weighted_gradients(mesh: ms.mesh.TetMesh, x: np.ndarray) -> np.ndarray:
    """V grad N of the four corners of each tetrahedron."""
    p = x[mesh.tets]
    return np.stack([-np.cross(p[:, b] - p[:, a], p[:, c] - p[:, a]) / 6 for a, b, c in FACES], axis=1)


def fluxes(mesh: ms.mesh.TetMesh, x: np.ndarray, velocity: np.ndarray) -> np.ndarray:
    """The sum of V grad N_i . velocity at each vertex."""
    values = np.einsum("mkd,md->mk", weighted_gradients(mesh, x), velocity)
    return np.bincount(mesh.tets.ravel(), values.ravel(), len(x))


def gradient(mesh: ms.mesh.TetMesh, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    g = weighted_gradients(mesh, x)
    return np.einsum("mkd,mk->md", g, p[mesh.tets]) / volumes(mesh, x)[:, None]


def volumes(mesh: ms.mesh.TetMesh, x: np.ndarray) -> np.ndarray:
    a = x[mesh.tets]
    return np.linalg.det(a[:, 1:] - a[:, :1]) / 6


def boundary_vertices(mesh: ms.mesh.TetMesh) -> np.ndarray:
    inside = np.zeros(len(mesh.vertices), bool)
    inside[np.unique(mesh.faces[mesh.boundary_faces])] = True
    return inside


def touched(mesh: ms.mesh.TetMesh, tets: np.ndarray) -> np.ndarray:
    result = np.zeros(len(mesh.vertices), bool)
    result[np.unique(mesh.tets[tets])] = True
    return result


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
    settings: Any = {"wet": wet, "open_fraction": c, "object_velocity": v, "enabled": enabled, "boundary": boundary, "pressure": p}
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
    TetPressureSolver(mesh).project(x, u, DT, wet=wet, open_fraction=c, boundary="wall", pressure=p, tolerance=TIGHT)
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
        TetPressureSolver(mesh).project(x, u, 1.0, wet=everything(mesh), open_fraction=c, density=1.0, pressure=p)
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
    TetPressureSolver(mesh).project(x, u, DT, wet=wet, open_fraction=c, object_velocity=v, boundary="wall", tolerance=TIGHT)
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
    info = TetPressureSolver(mesh).project(x, u, DT, wet=everything(mesh), enabled=enabled, object_velocity=v, boundary="open")
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
        info = TetPressureSolver(mesh).project(x, u, DT, wet=everything(mesh), boundary=boundary, min_aspect=limit)
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
    info = solver.project(x, both, DT, wet=left | right, open_fraction=c, pressure=p, tolerance=TIGHT)
    assert [(r.closed, abs(r.flux) < 1e-14) for r in info.regions] == [(True, True)] * 2
    for pool in (left, right):
        alone = u0.copy()
        solver.project(x, alone, DT, wet=pool, open_fraction=c * pool, tolerance=TIGHT)
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
    info = TetPressureSolver(mesh).project(x, u, DT, wet=left | right, open_fraction=f, object_velocity=v, tolerance=TIGHT)
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
    info = TetPressureSolver(mesh).project(x, u, DT, wet=wet, enabled=wet, object_velocity=on(mesh, motion), tolerance=TIGHT)
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
    info = TetPressureSolver(mesh).project(x, u, DT, wet=everything(mesh), open_fraction=c, boundary=top, pressure=p, tolerance=1e-10)
    assert [r.closed for r in info.regions] == [False]
    assert info.iterations < 25
    assert np.linalg.norm(fluxes(mesh, x, c[:, None] * u)[~top]) < 1e-9


def test_iterations_do_not_grow_with_the_mesh() -> None:
    for n in (12, 24):
        mesh = lattice(n)
        x = np.ascontiguousarray(mesh.vertices @ turned(2).T)
        rng = np.random.default_rng(n)
        inner = ~boundary_vertices(mesh)
        x[inner] += rng.uniform(-0.12, 0.12, (inner.sum(), 3)) / n
        solver, top = TetPressureSolver(mesh), mesh.vertices[:, 2] == mesh.vertices[:, 2].max()
        for boundary in ("open", "wall", top):
            for u in (rng.normal(size=(len(mesh.tets), 3)), np.sin(3 * x[mesh.tets].mean(axis=1))):
                info = solver.project(x, u, DT, wet=everything(mesh), boundary=boundary)
                assert info.iterations <= 12
                assert info.operator_complexity < 1.5


@pytest.mark.slow
@pytest.mark.parametrize("family", [lattice, block])
def test_iterations_on_a_million_tetrahedra(family: Any) -> None:
    mesh = family(44 if family is lattice else 55)
    x = np.array(mesh.vertices)
    info = TetPressureSolver(mesh).project(x, np.sin(3 * x[mesh.tets].mean(axis=1)), DT, wet=everything(mesh), boundary="wall")
    assert info.iterations <= 15


def scene(mesh: ms.mesh.TetMesh) -> tuple[np.ndarray, dict[str, Any]]:
    rng = np.random.default_rng(21)
    x = np.ascontiguousarray(mesh.vertices @ turned(2).T)
    m = len(mesh.tets)
    c = np.clip(rng.uniform(-0.1, 3, m), 0, 1)
    height = x[mesh.tets].mean(axis=1)[:, 1]
    return x, {"wet": height < np.quantile(height, 0.8), "open_fraction": c, "object_velocity": rng.normal(size=(m, 3))}


def test_same_bits_on_any_number_of_threads() -> None:
    mesh = lattice(14)
    x, settings = scene(mesh)
    u0 = np.random.default_rng(2).normal(size=(len(mesh.tets), 3))

    def run() -> Any:
        u, p = u0.copy(), np.zeros(len(x))
        info = TetPressureSolver(mesh).project(x, u, DT, boundary="wall", pressure=p, **settings)
        return u, p, np.array(info.history)

    everywhere(run)


def test_result_depends_on_the_arguments_alone() -> None:
    """Not on the projections before with other water, positions and settings; nor on pickling."""
    mesh = graded()
    x, settings = scene(mesh)
    rng = np.random.default_rng(3)
    u0 = rng.normal(size=(len(mesh.tets), 3))
    used = TetPressureSolver(mesh)
    for fraction in (1.0, 0.3, 0.0, 0.7):
        used.project(x * 1.3, rng.normal(size=u0.shape), 0.3, wet=rng.random(len(u0)) < fraction, boundary="wall", raise_on_failure=False)
    results = []
    for solver in (used, TetPressureSolver(mesh), pickle.loads(pickle.dumps(used))):
        u, p = u0.copy(), np.zeros(len(x))
        solver.project(x, u, DT, pressure=p, **settings)
        results.append((u, p))
    for u, p in results[1:]:
        np.testing.assert_array_equal(u, results[0][0])
        np.testing.assert_array_equal(p, results[0][1])


def test_memory_of_a_repeated_projection_stays() -> None:
    mesh = lattice(8)
    x, settings = scene(mesh)
    solver = TetPressureSolver(mesh)
    solver.project(x, np.ones((len(mesh.tets), 3)), DT, **settings)
    held = solver.nbytes
    solver.project(x, np.ones((len(mesh.tets), 3)), DT, **settings)
    assert solver.nbytes == held < 320 * len(mesh.tets)


def test_scales_of_length_time_and_density_do_not_matter() -> None:
    mesh = graded()
    x, settings = scene(mesh)
    u0 = np.random.default_rng(4).normal(size=(len(mesh.tets), 3))
    plain, p0 = u0.copy(), np.zeros(len(x))
    solver = TetPressureSolver(mesh)
    info = solver.project(x, plain, DT, pressure=p0, **settings)
    for length in (1e-6, 1e6):
        u, p = u0.copy(), np.zeros(len(x))
        other = solver.project(x * length, u, 3.0, density=2.0, pressure=p, **settings)
        assert other.iterations == info.iterations
        np.testing.assert_allclose(u, plain, atol=1e-6)
        np.testing.assert_allclose(p, p0 * (2 / 3 * DT / 1000) * length, atol=1e-6 * np.abs(p0).max() * (DT / 1500) * length)


def test_warm_start() -> None:
    mesh = lattice(10)
    x, settings = scene(mesh)
    u0 = np.random.default_rng(4).normal(size=(len(mesh.tets), 3))
    cold, p = u0.copy(), np.zeros(len(x))
    solver = TetPressureSolver(mesh)
    first = solver.project(x, cold, DT, pressure=p, tolerance=1e-10, **settings)
    u = u0.copy()
    info = solver.project(x, u, DT, pressure=p, warm_start=True, **settings)
    assert info.iterations == 0 < first.iterations
    np.testing.assert_allclose(u, cold, atol=1e-12)
    u, p = u0.copy(), 1.001 * p
    info = solver.project(x, u, DT, pressure=p, warm_start=True, **settings)
    assert 0 < info.iterations < first.iterations
    np.testing.assert_allclose(u, cold, atol=1e-6)


@pytest.mark.parametrize("boundary", ["open", "wall"])
def test_warm_start_from_nonsense(boundary: Any) -> None:
    """What is left to remove is round-off, and the start is a million times as large as it need be."""
    mesh = lattice(10)
    x, wet = np.array(mesh.vertices), everything(mesh)
    u, solver = np.ones((len(mesh.tets), 3)), TetPressureSolver(mesh)
    for _ in range(3):
        solver.project(x, u, DT, wet=wet, boundary=boundary)
    before = u.copy()
    for size in (1e-3, 1e6):
        p = np.random.default_rng(4).normal(size=len(x)) * size
        solver.project(x, u, DT, wet=wet, boundary=boundary, pressure=p, warm_start=True)
        np.testing.assert_allclose(u, before, atol=1e-13)


def test_failure_changes_nothing() -> None:
    mesh = lattice(8)
    x, settings = scene(mesh)
    u0, p0 = np.random.default_rng(4).normal(size=(len(mesh.tets), 3)), np.full(len(x), 7.0)
    u, p = u0.copy(), p0.copy()
    solver = TetPressureSolver(mesh)
    with pytest.raises(ConvergenceError, match=r"after 2 iterations .* limit of iterations .* open, \d+ vertices from \d+") as failure:
        solver.project(x, u, DT, pressure=p, max_iterations=2, **settings)
    assert failure.value.info.iterations == 2
    assert not failure.value.info.converged
    np.testing.assert_array_equal(u, u0)
    np.testing.assert_array_equal(p, p0)
    info = solver.project(x, u, DT, pressure=p, max_iterations=2, raise_on_failure=False, **settings)
    assert not info.converged
    assert np.abs(u - u0).max() > 0.1


def test_nothing_wet_and_nothing_at_all() -> None:
    mesh = lattice(3)
    x = np.array(mesh.vertices)
    u, p = np.ones((len(mesh.tets), 3)), np.ones(len(x))
    info = TetPressureSolver(mesh).project(x, u, DT, wet=everything(mesh, False), pressure=p)
    assert info.converged
    assert info.wet_tets == 0
    assert (u == 1).all()
    assert (p == 0).all()
    empty = ms.mesh.TetMesh(np.zeros((0, 3)), np.zeros((0, 4), np.int32))
    assert TetPressureSolver(empty).project(np.zeros((0, 3)), np.zeros((0, 3)), DT, wet=np.zeros(0, bool)).converged


WRONG: list[tuple[dict[str, Any], type[Exception], str]] = [
    ({"dt": 0.0}, ValueError, "dt must be positive"),
    ({"dt": np.nan}, ValueError, "dt must be finite"),
    ({"density": -1.0}, ValueError, "density must be positive"),
    ({"wet": [1, 0]}, TypeError, "wet must be of dtype bool"),
    ({"wet": np.ones(3, bool)}, ValueError, "wet must have shape"),
    ({"enabled": np.ones(3, bool)}, ValueError, "enabled must have shape"),
    ({"boundary": "closed"}, ValueError, "boundary must be one of 'open', 'wall'"),
    ({"boundary": np.ones(3, bool)}, ValueError, "boundary must have shape"),
    ({"open_fraction": np.float32(1)}, TypeError, "open_fraction must be a NumPy array"),
    ({"warm_start": True}, ValueError, "warm_start needs pressure"),
    ({"tolerance": 1.0}, ValueError, "tolerance must be below 1"),
    ({"min_open": 0.0}, ValueError, "min_open must be above 0"),
    ({"min_aspect": 1.0}, ValueError, "min_aspect must be in"),
    ({"max_iterations": 0}, ValueError, "max_iterations must be at least 1"),
    ({"velocity": np.ones((5, 3))}, ValueError, "velocity must have shape"),
    ({"positions": np.ones((5, 3))}, ValueError, "positions must have shape"),
    ({"pressure": np.ones(5)}, ValueError, "pressure must have shape"),
]


@pytest.mark.parametrize(("change", "kind", "message"), WRONG, ids=[m for _, _, m in WRONG])
def test_wrong_arguments(change: dict[str, Any], kind: type[Exception], message: str) -> None:
    mesh = lattice(2)
    arguments: dict[str, Any] = {"positions": np.array(mesh.vertices), "velocity": np.ones((len(mesh.tets), 3)), "dt": DT}
    arguments |= {"wet": everything(mesh)} | change
    with pytest.raises(kind, match=message):
        TetPressureSolver(mesh).project(**arguments)


@pytest.mark.parametrize("name", ["positions", "velocity", "object_velocity", "open_fraction", "pressure"])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite(name: str, bad: float) -> None:
    mesh = lattice(2)
    m, n = len(mesh.tets), len(mesh.vertices)
    arrays = {"positions": np.array(mesh.vertices), "velocity": np.ones((m, 3)), "object_velocity": np.ones((m, 3))}
    arrays |= {"open_fraction": np.ones(m), "pressure": np.zeros(n)}
    arrays[name].ravel()[5] = bad
    velocity = arrays["velocity"].copy()
    with pytest.raises(ValueError, match=name):
        TetPressureSolver(mesh).project(dt=DT, wet=everything(mesh), warm_start=True, **arrays)
    np.testing.assert_array_equal(arrays["velocity"], velocity)


def test_other_kinds_of_meshes_are_refused() -> None:
    with pytest.raises(TypeError, match="mesh must be a TetMesh"):
        TetPressureSolver(ms.mesh.icosphere(1))  # type: ignore[arg-type]
    apexes = [[0, 0, 1], [0, 0, 2], [0, 0, 3]]
    with pytest.raises(ValueError, match="face"):
        TetPressureSolver(ms.mesh.TetMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], *apexes], [[0, 1, 2, 3], [0, 1, 2, 4], [0, 1, 2, 5]]))
