"""Force of vortex particles on the grid."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.build import components, grid_of, random_velocity, same_bits, scalar_types, share_periodic

import meniscus as ms
from meniscus.fluids import (
    PressureSolver,
    VortexParticles,
    add_vortex_forces,
    advance,
    advance_vortices,
    energy_spectrum,
    enstrophy,
    kinetic_energy,
    seed_vortices,
    vorticity,
)
from meniscus.surface import Box

PERIODIC = {2: (True, False), 3: (False, True, True)}


def force(
    grid: ms.Grid,
    position: Any,
    w: Any,
    radius: float,
    dtype: Any = np.float64,
    *,
    boundary: Any = None,
    **options: Any,
) -> list[np.ndarray]:
    """Return the velocity that one particle adds to a fluid at rest, with dt = epsilon = 1."""
    v = ms.MacField(grid, dtype, boundary)
    p = VortexParticles(np.array([position], dtype), w, radius)
    add_vortex_forces(v, p, 1.0, 1.0, **options)
    return components(v)


def kernel_of(kind: str, d: np.ndarray, r: float, dimension: int) -> np.ndarray:
    if kind == "gaussian":
        value = np.exp(-(d**2) / (2 * r**2)) / (r**dimension * (2 * math.pi) ** (dimension / 2))
    else:
        value = 3 / (math.pi * r**dimension) * (1 - d / r)
    return np.where(d <= r, value, 0.0)


def formula(grid: ms.Grid, position: Any, w: Any, r: float, kind: str, balance: bool) -> list[np.ndarray]:
    """F = N x kernel * w at the faces, in NumPy; walls keep their faces, on periodic axes the nearest image acts."""
    result = []
    n = grid.dimension
    for axis in range(n):
        delta = [position[d] - x for d, x in enumerate(np.broadcast_arrays(*grid.face_centers(axis)))]
        for d in range(n):
            if grid.periodic[d]:
                delta[d] = delta[d] - grid.extent[d] * np.rint(delta[d] / grid.extent[d])
        distance = np.sqrt(sum(x**2 for x in delta))
        xi = kernel_of(kind, distance, r, n)
        offset = np.stack([*delta, 0 * xi][:3])
        curl = np.cross(offset / np.maximum(distance, 1e-30), np.array([0, 0, w] if n == 2 else w), axis=0, axisb=0)
        f = xi * curl[axis]
        free = np.ones_like(xi)
        if not grid.periodic[axis]:
            np.moveaxis(free, axis, 0)[[0, -1]] = 0
        once = free.copy()
        if grid.periodic[axis]:
            np.moveaxis(once, axis, 0)[0] = 0
        if balance:
            f = f - xi * (once * f).sum() / (once * xi).sum()
        result.append(free * f)
    return result


def cases(dimension: int, rng: np.random.Generator) -> tuple[ms.Grid, np.ndarray, Any]:
    g = grid_of(dimension, periodic=PERIODIC[dimension], shape=(14, 12, 13)[:dimension])
    x = np.array(g.origin) + rng.uniform(0.02, 0.98, dimension) * g.extent
    return g, x, rng.normal(size=3) if dimension == 3 else float(rng.normal())


@pytest.mark.parametrize("kind", ["gaussian", "tent"])
@pytest.mark.parametrize("balance", [False, True])
def test_the_force_is_the_formula(kind: Any, balance: bool, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for cells in (0.8, 1.7, 3.3, 5.6):
        g, x, w = cases(dimension, rng)
        x = x.astype(dtype).astype(float)
        r = float(dtype(cells * g.spacing))
        w = np.asarray(w, dtype).astype(float)
        got = force(g, x, tuple(w) if dimension == 3 else float(w), r, dtype, kernel=kind, balance=balance)
        expected = formula(g, x, w, r, kind, balance)
        scale = max(np.abs(e).max() for e in expected)
        assert scale > 0
        for a, e in zip(got, expected, strict=True):
            np.testing.assert_allclose(a, e, rtol=0, atol=(1e-13 if dtype is np.float64 else 2e-6) * scale)


def test_kernel_constants() -> None:
    """The numbers of the printed kernel: 0.06349 / r^3 at the centre, 0.03851 / r^3 at the edge, mass 0.199; the tent has mass one."""
    g = ms.Grid((40, 40, 40), 0.05)
    # Faces across y that are level with the particle, at distances d in x: there N x w is the unit vector in y.
    r, position, d = 1.0, (1.0, 1.0, 1.025), 0.05 * (np.arange(20) + 0.5)
    kernel = {kind: force(g, position, (0.0, 0.0, 1.0), r, kernel=kind, balance=False)[1][20:, 20, 20] for kind in ("gaussian", "tent")}
    assert kernel["gaussian"][0] == pytest.approx(0.06349 * math.exp(-(d[0] ** 2) / 2), rel=1e-4)
    assert kernel["gaussian"][-1] == pytest.approx(0.03851 * math.exp((1 - d[-1] ** 2) / 2), rel=2e-4)
    np.testing.assert_allclose(kernel["tent"], 3 / math.pi * (1 - d), rtol=1e-13)
    for kind, mass in (("gaussian", 0.19875), ("tent", 1.0)):
        assert 0.05 * (4 * math.pi * d**2 * kernel[kind]).sum() == pytest.approx(mass, rel=3e-3)


def test_support_radius(dimension: int, dtype: type) -> None:
    """Faces at most r away feel the force, all others nothing: exact also where a face lies on the edge."""
    g = ms.Grid((16,) * dimension, 0.25)
    position = np.full(dimension, 2.125)
    w = (0.0, 0.0, 1.0) if dimension == 3 else 1.0
    for r in (0.25, 0.625, 1.0, 1.25):
        for axis, c in enumerate(force(g, position, w, r, dtype, balance=False)):
            if axis == 2:
                assert not c.any()
                continue
            x = np.broadcast_arrays(*g.face_centers(axis))
            distance = np.sqrt(sum((a - p) ** 2 for a, p in zip(x, position, strict=True)))
            other = np.abs(x[1 - axis] - position[1 - axis]) > 1e-12
            np.testing.assert_array_equal(c != 0, (distance <= r) & other)


def test_the_force_is_azimuthal_and_zero_on_the_axis() -> None:
    g = ms.Grid((20, 20, 20), 0.1)
    for component in range(3):
        w = np.zeros(3)
        w[component] = 2.0
        f = force(g, (1.03, 0.98, 1.01), tuple(w), 0.45, balance=False)
        assert not f[component].any()
        a, b = (component + 1) % 3, (component + 2) % 3
        # At the faces across a, above the axis in b, the flow goes against a.
        position = (1.03, 0.98, 1.01)
        side = np.broadcast_to(g.face_centers(a)[b] - position[b], f[a].shape)
        touched = f[a] != 0
        assert touched.any()
        assert (np.sign(f[a][touched]) == -np.sign(side[touched])).all()
    # Face centres that lie on the axis.
    assert not force(g, (1.0, 1.0, 1.05), (2.0, 0.0, 0.0), 0.45, balance=False)[1][:, 10, 10].any()
    assert not force(g, (1.0, 1.05, 1.0), (2.0, 0.0, 0.0), 0.45, balance=False)[2][:, 10, 10].any()
    grid2 = ms.Grid((20, 20), 0.1)
    centre = force(grid2, (1.0, 1.05), 1.0, 0.45, balance=False)[0]
    assert centre[10, 10] == 0.0
    assert centre[10, 11] < 0 < centre[10, 9]


@given(
    offset=st.tuples(*[st.floats(0, 1)] * 3),
    cells=st.floats(0.6, 6.5),
    w=st.tuples(*[st.floats(-5, 5)] * 3),
    kind=st.sampled_from(["gaussian", "tent"]),
)
def test_no_net_force(offset: Any, cells: float, w: Any, kind: Any, dimension: int, dtype: type) -> None:
    g = grid_of(dimension, periodic=PERIODIC[dimension], shape=(15, 14, 16)[:dimension])
    x = np.array(g.origin) + g.extent * np.array(offset[:dimension])
    strength = w if dimension == 3 else w[0]
    # Where a small kernel reaches few faces, nothing but rounding errors of the literal force may be left.
    f, literal = (force(g, x, strength, cells * g.spacing, dtype, kernel=kind, balance=b) for b in (True, False))
    for d, (c, printed) in enumerate(zip(f, literal, strict=True)):
        own = np.delete(c, 0, d) if g.periodic[d] else c
        total = np.abs(own).sum(dtype=float) + np.abs(printed).sum(dtype=float)
        assert abs(own.sum(dtype=float)) <= 40 * np.finfo(dtype).eps * total


def test_many_particles_have_no_net_force_but_literal_ones_do(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=True, shape=(12, 13, 14)[:dimension])
    x = (np.array(g.origin) + rng.random((200, dimension)) * g.extent).astype(dtype)
    w = rng.normal(size=(200, 3) if dimension == 3 else 200).astype(dtype)
    net = {}
    for balance in (True, False):
        v = ms.MacField(g, dtype)
        add_vortex_forces(v, VortexParticles(x, w, 0.6), 0.1, 2.0, balance=balance)
        total = [np.delete(v.component(d), 0, d).astype(float) for d in range(dimension)]
        net[balance] = max(abs(t.sum()) / np.abs(t).sum() for t in total)
    assert net[True] < 20 * np.finfo(dtype).eps
    assert net[False] > 1e-5


def test_symmetric_positions_need_no_balance(dimension: int) -> None:
    """The printed kernel sums to zero where the sampling is symmetric, so that balancing changes nothing."""
    g = ms.Grid((12,) * dimension, 0.25)
    w = (1.0, -2.0, 0.5) if dimension == 3 else 1.0
    for position in (np.full(dimension, 1.5), np.full(dimension, 1.625)):
        literal = force(g, position, w, 0.8, balance=False)
        for c in literal:
            assert abs(c.sum()) < 1e-14 * np.abs(c).sum()
        for a, b in zip(force(g, position, w, 0.8), literal, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-13)


def test_particles_spin_up_the_flow(dimension: int, dtype: type) -> None:
    g = ms.Grid((24, 24, 16)[:dimension], 0.125)
    v = ms.MacField(g, dtype)
    w = (0.0, 0.0, 3.0) if dimension == 3 else 3.0
    p = VortexParticles(np.full((1, dimension), 1.03, dtype), w, 0.5)
    add_vortex_forces(v, p, 0.1, 1.0)
    first = enstrophy(v)
    omega = vorticity(v)
    z = omega[2] if isinstance(omega, tuple) else omega
    cell = tuple(int(1.03 / 0.125) for _ in range(dimension))
    assert z.array[cell] > 0
    assert kinetic_energy(v) > 0
    add_vortex_forces(v, p, 0.1, 1.0)
    assert enstrophy(v) == pytest.approx(4 * first, rel=1e-5)


def test_forces_are_linear_in_everything(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, shape=(12, 10, 9)[:dimension])
    start = random_velocity(g, dtype, rng)
    x = (np.array(g.origin) + rng.random((30, dimension)) * g.extent).astype(dtype)
    w = rng.normal(size=(30, 3) if dimension == 3 else 30).astype(dtype)

    def change(scale: float, dt: float, epsilon: Any) -> list[np.ndarray]:
        v = start.copy()
        add_vortex_forces(v, VortexParticles(x, w * dtype(scale), 0.7), dt, epsilon)
        return components(v)

    expected = change(1.0, 0.5, 1.0)
    assert same_bits(change(2.0, 0.25, 1.0), expected)
    assert same_bits(change(1.0, 0.25, 2.0), expected)
    assert same_bits(change(1.0, 0.5, np.ones(30)), expected)
    assert same_bits(change(1.0, 0.5, 0.0), components(start))
    some = np.where(np.arange(30) < 11, 1.0, 0.0)
    fewer = start.copy()
    add_vortex_forces(fewer, VortexParticles(x[:11], w[:11], 0.7), 0.5, 1.0)
    assert same_bits(change(1.0, 0.5, some), components(fewer))


def test_periodic_images(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    """Particles moved by whole cells act on the faces moved likewise, and those outside act like their images."""
    n = (10, 12, 9)[:dimension]
    g = ms.Grid(n, 0.25, periodic=True)
    w = (0.3, -1.0, 0.7) if dimension == 3 else 1.0
    position = rng.integers(0, 64, dimension) / 64 * 0.25 + 1.0
    shift = (3, -7, 5)[:dimension]
    # Reaches around the whole domain.
    for r in (0.6, 2.5):
        base = force(g, position, w, r, dtype)
        for d, moved in enumerate(force(g, position + 0.25 * np.array(shift), w, r, dtype)):
            own = np.delete(base[d], 0, d)
            expected = np.roll(own, shift, tuple(range(dimension)))
            tolerance = 30 * np.finfo(dtype).eps * np.abs(own).max()
            np.testing.assert_allclose(np.delete(moved, 0, d), expected, rtol=0, atol=tolerance)
            assert same_bits(np.take(moved, 0, d), np.take(moved, -1, d))


def test_given_faces_keep_their_velocity(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    boundary = {"x-": ms.Wall(), "x+": ms.Open(), "y-": ms.Prescribed((0.5, 0.25, 0.0)[:dimension]), "y+": ms.ZeroGradient()}
    g = grid_of(dimension)
    v = random_velocity(g, dtype, rng, boundary)
    before = components(v)
    w = (1.0, -2.0, 0.5) if dimension == 3 else 1.0
    corners = np.array([np.array(g.origin) + 0.1, np.array(g.origin) + np.array(g.extent) - 0.1]).astype(dtype)
    add_vortex_forces(v, VortexParticles(corners, w, 0.6), 1.0, 1.0)
    change = [a - b for a, b in zip(components(v), before, strict=True)]
    assert not change[0][0].any()
    assert change[0][-1].any()
    assert not change[1][:, 0].any()
    assert change[1][:, -1].any()
    if dimension == 3:
        assert not change[2][:, :, [0, -1]].any()


def test_missing_vorticity(dimension: int, dtype: type) -> None:
    """Selle 2008, section 3.4.2, alternative: only what the grid does not have yet is added."""
    g = ms.Grid((12,) * dimension, 0.25, (-1.5,) * dimension)
    spin = np.array([0.5, -1.0, 2.0]) if dimension == 3 else np.array([2.0])

    def rotation(x: np.ndarray, t: float) -> np.ndarray:
        if dimension == 2:
            return np.stack([-x[:, 1], x[:, 0]], axis=1) * (0.5 * spin[0])
        return np.cross(0.5 * spin, x)

    v = ms.MacField(g, dtype, ms.Prescribed(rotation))
    for d in range(dimension):
        x = np.stack(np.broadcast_arrays(*g.face_centers(d)), axis=-1)
        v.component(d)[...] = rotation(x.reshape(-1, dimension), 0.0)[:, d].reshape(x.shape[:-1])
    start = components(v)
    # Of the same sign and stronger; weaker, which flips; and against the grid.
    own = np.array([1.5, -0.25, -1.0])[: len(spin)]
    missing = np.array([1.0, 0.0, -3.0]) if dimension == 3 else np.array([0.0])
    position = np.full((1, dimension), 0.13, dtype)

    def change(w: np.ndarray, **options: Any) -> list[np.ndarray]:
        u = v.copy()
        p = VortexParticles(position, tuple(float(c) for c in w) if dimension == 3 else float(w[0]), 0.7)
        add_vortex_forces(u, p, 1.0, 1.0, **options)
        assert same_bits(p.vorticity.ravel(), w.astype(dtype))
        return [a - b for a, b in zip(components(u), start, strict=True)]

    tolerance = 1e-13 if dtype is np.float64 else 3e-6
    for a, b in zip(change(own, reduce=True), change(missing), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)
    if dimension == 2:
        for a, b in zip(change(np.array([-1.0]), reduce=True), change(np.array([-3.0])), strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=tolerance)
            assert np.abs(b).max() > 0.01


def test_a_particle_on_a_face_centre_is_harmless(dimension: int, dtype: type) -> None:
    g = ms.Grid((8,) * dimension, 0.25)
    w = (1.0, 1.0, 1.0) if dimension == 3 else 1.0
    position = np.full(dimension, 1.125)
    position[0] = 1.0
    for near in (0.0, 1e-6):
        f = force(g, position + near, w, 0.5, dtype, balance=False)
        assert np.isfinite(np.concatenate([c.ravel() for c in f])).all()
        assert f[0][(4,) * dimension] == 0.0


def test_particles_out_of_reach_do_nothing(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    w = (1.0, 1.0, 1.0) if dimension == 3 else 1.0
    low = np.array(g.origin)
    for away in (0.31, 1e6, 1e37):
        position = low + 0.5
        position[1] = low[1] - away
        assert not any(c.any() for c in force(g, position, w, 0.3, dtype))
    position[1] = low[1] - 0.2
    assert any(c.any() for c in force(g, position, w, 0.6, dtype))
    v = random_velocity(g, dtype, rng)
    before = components(v)
    none = VortexParticles(np.empty((0, dimension), dtype), np.empty((0, 3) if dimension == 3 else 0, dtype), 1.0)
    add_vortex_forces(v, none, 0.1, 1.0, reduce=True)
    assert same_bits(components(v), before)


def test_flows_with_particles_are_rougher() -> None:
    """Same seeds, with and without: more enstrophy, a fuller middle of the spectrum, no momentum (Selle 2008, section 3.5)."""
    g = ms.Grid((24, 24, 24), 1 / 24, periodic=True)

    def run(epsilon: float | None) -> ms.MacField:
        v = ms.MacField(g)
        v.u = np.broadcast_to(np.sin(2 * math.pi * g.face_centers(0)[1]), v.u.shape).copy()
        v.v = np.broadcast_to(np.sin(2 * math.pi * g.face_centers(1)[2]), v.v.shape).copy()
        v.w = np.broadcast_to(np.sin(2 * math.pi * g.face_centers(2)[0]), v.w.shape).copy()
        p = VortexParticles(np.empty((0, 3)), np.empty((0, 3)), 1.0)
        seed_vortices(p, Box((0.0, 0.0, 0.0), (1.0, 1.0, 1.0)), rate=100.0, dt=1.0, strength=10.0, radius=3 / 24)
        solver, workspace = PressureSolver(g), ms.core.Workspace()
        for _ in range(8):
            if epsilon is not None:
                add_vortex_forces(v, p, 0.02, epsilon, workspace=workspace)
                advance_vortices(p, v, 0.02, workspace=workspace)
            advance(v, 0.02, splitting="projection", tolerance=1e-6, solver=solver, workspace=workspace)
        return v

    plain, idle, driven = run(None), run(0.0), run(0.02)
    assert same_bits(components(idle), components(plain))
    assert enstrophy(driven) > 1.1 * enstrophy(plain)
    middle = slice(4, 10)
    assert energy_spectrum(driven)[1][middle].sum() > 3 * energy_spectrum(plain)[1][middle].sum()
    for d in range(3):
        own = np.delete(driven.component(d), 0, d)
        reference = np.delete(plain.component(d), 0, d)
        assert abs(own.mean() - reference.mean()) < 0.01 * np.sqrt((own**2).mean())


def test_refusals_leave_the_velocity_alone(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension)
    v = random_velocity(g, dtype, rng)
    before = components(v)
    one = (1.0, 2.0, 3.0) if dimension == 3 else 1.0

    def particles(**change: Any) -> VortexParticles:
        p = VortexParticles((np.array(g.origin) + rng.random((5, dimension))).astype(dtype), one, 0.3)
        for name, value in change.items():
            getattr(p, name)[3] = value
        return p

    def refused(error: type[Exception], words: str, p: Any, dt: float = 0.1, epsilon: Any = 1.0, **options: Any) -> None:
        with pytest.raises(error, match=words):
            add_vortex_forces(v, p, dt, epsilon, **options)
        assert same_bits(components(v), before)

    refused(TypeError, "particles must be a VortexParticles", ms.Particles(np.zeros((1, dimension), dtype)))
    for other in (t for t in scalar_types(dimension) if t is not dtype):
        refused(TypeError, "particles must be of dtype", VortexParticles(np.zeros((1, dimension), other), one, 1.0))
    refused(ValueError, "dt must be finite", particles(), dt=math.nan)
    refused(ValueError, "epsilon must be finite", particles(), epsilon=math.inf)
    refused(ValueError, "epsilon must have shape", particles(), epsilon=np.ones(4))
    refused(TypeError, "epsilon must be of dtype float64", particles(), epsilon=np.ones(5, np.float32))
    refused(ValueError, "kernel must be one of 'gaussian', 'tent'", particles(), kernel="box")
    refused(ValueError, "positions must be finite, but that of particle 3", particles(positions=math.nan))
    refused(ValueError, "vorticities must be finite, but that of particle 3", particles(vorticity=math.inf))
    refused(ValueError, "radii must be positive and finite, but that of particle 3 is 0", particles(radius=0.0))
    refused(ValueError, "radii must be at most the longest side of the domain", particles(radius=1e9))


def test_repeated_forces_allocate_nothing(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=True)
    v = random_velocity(g, dtype, rng)
    one = (1.0, 2.0, 3.0) if dimension == 3 else 1.0
    p = VortexParticles((np.array(g.origin) + rng.random((50, dimension))).astype(dtype), one, 0.3)
    workspace = ms.core.Workspace()
    add_vortex_forces(v, p, 0.1, 0.1, reduce=True, workspace=workspace)
    allocations = ms.core.block_allocations()
    add_vortex_forces(v, p, 0.1, 0.1, reduce=True, workspace=workspace)
    assert ms.core.block_allocations() == allocations
    for d in range(dimension):
        c = v.component(d).copy()
        share_periodic(c, g, tuple(int(a == d) for a in range(dimension)))
        assert same_bits(c, v.component(d))
