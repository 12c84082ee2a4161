"""Vorticity, energies, spectra and vorticity confinement."""

import math
from typing import Any

import numpy as np
import pytest
from support.build import components, grid_of, random_velocity, same_bits

import meniscus as ms
from meniscus.fluids import add_vorticity_confinement, energy_spectrum, enstrophy, kinetic_energy, vorticity


def from_function(grid: ms.Grid, f: Any, dtype: Any = np.float64, boundary: Any = None) -> ms.MacField:
    """A velocity whose component d is f(x)[d] at the centres of its faces."""
    velocity = ms.MacField(grid, dtype, boundary)
    for d in range(grid.dimension):
        x = np.broadcast_arrays(*grid.face_centers(d))
        velocity.component(d)[...] = f(*x)[d]
    return velocity


def prescribed(f: Any) -> ms.Prescribed:
    """The same function beyond the sides."""
    return ms.Prescribed(lambda x, t: np.stack(f(*x.T), axis=1))


def linear(matrix: np.ndarray) -> Any:
    def f(*x: np.ndarray) -> list[np.ndarray]:
        return [0.3 + sum(matrix[a, b] * x[b] for b in range(len(x))) for a in range(len(x))]

    return f


def curl_arrays(velocity: ms.MacField, **options: Any) -> list[np.ndarray]:
    w = vorticity(velocity, **options)
    return [c.array for c in (w if isinstance(w, tuple) else (w,))]


def test_the_curl_of_linear_velocities_is_exact(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    m = rng.uniform(-1, 1, (dimension, dimension))
    exact = [m[1, 0] - m[0, 1]] if dimension == 2 else [m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]
    f = linear(m)
    v = from_function(grid_of(dimension), f, dtype, prescribed(f))
    tolerance = 40 * np.finfo(dtype).eps / v.grid.spacing * 3
    for w, e in zip(curl_arrays(v), exact, strict=True):
        np.testing.assert_allclose(w, e, rtol=0, atol=tolerance)


def test_the_curl_of_smooth_velocities_is_second_order(dimension: int) -> None:
    def abc(*x: np.ndarray) -> list[np.ndarray]:
        if len(x) == 2:
            return [np.cos(x[1]) + 0 * x[0], np.sin(2 * x[0]) + 0 * x[1]]
        a, b, c = 1.0, 0.7, 0.4
        return [a * np.sin(x[2]) + c * np.cos(x[1]), b * np.sin(x[0]) + a * np.cos(x[2]), c * np.sin(x[1]) + b * np.cos(x[0])]

    errors = []
    for n in (32, 64, 128):
        g = ms.Grid((n,) * dimension, 2 * math.pi / n, periodic=True)
        w = curl_arrays(from_function(g, abc))
        x = g.cell_centers()
        # The 3-D flow is Beltrami's: its curl is itself.
        exact = [2 * np.cos(2 * x[0]) + np.sin(x[1])] if dimension == 2 else abc(*x)
        errors.append(max(np.abs(a - e).max() for a, e in zip(w, exact, strict=True)))
    orders = np.log2(np.array(errors[:-1]) / errors[1:])
    assert (np.abs(orders - 2) < 0.05).all()
    # A central difference of means of two: the leading error is (1/6 + 1/8) h^2 times the third derivative of each term (16 in 2-D,
    # with 1 from the other), at most.
    assert errors[-1] < (1 / 6 + 1 / 8) * (2 * math.pi / 128) ** 2 * (17 if dimension == 2 else 2.0)


def test_vorticity_takes_the_place_that_it_is_given(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    v = random_velocity(grid_of(dimension, periodic=True), dtype, rng)
    expected = curl_arrays(v)
    n = 1 if dimension == 2 else 3
    fields = tuple(ms.CellField(v.grid, dtype) for _ in range(n))
    result = vorticity(v, out=fields if n == 3 else fields[0])
    assert result == fields if n == 3 else result is fields[0]
    assert same_bits([f.array for f in fields], expected)
    with pytest.raises(ValueError, match="out must be"):
        vorticity(v, out=fields[:2] if n == 3 else (fields[0], fields[0]))
    other = tuple(ms.CellField(grid_of(dimension), dtype) for _ in range(n))
    with pytest.raises(ValueError, match="out must have the grid of the velocity"):
        vorticity(v, out=other if n == 3 else other[0])
    if n == 3:
        wrong = tuple(ms.CellField(v.grid, np.float32 if dtype is np.float64 else np.float64) for _ in range(n))
        with pytest.raises(TypeError, match="out must be of dtype"):
            vorticity(v, out=wrong)
    with pytest.raises(TypeError, match="velocity must be a MacField"):
        vorticity(fields[0])


def test_energies_are_the_integrals(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    for periodic in (True, False):
        v = random_velocity(grid_of(dimension, periodic=periodic), dtype, rng, ms.ZeroGradient())
        volume = v.grid.spacing**dimension
        w = curl_arrays(v)
        assert enstrophy(v) == pytest.approx(0.5 * volume * sum(float((c.astype(float) ** 2).sum()) for c in w), rel=1e-12)
        energy = 0.0
        for d in range(dimension):
            squares = np.moveaxis(v.component(d).astype(float) ** 2, d, 0)
            energy += squares[1:].sum() if periodic else squares[1:-1].sum() + 0.5 * (squares[0].sum() + squares[-1].sum())
        assert kinetic_energy(v) == pytest.approx(0.5 * volume * energy, rel=1e-12)


def test_energies_of_known_flows() -> None:
    g = ms.Grid((32, 32), 2 * math.pi / 32, periodic=True)
    v = from_function(g, lambda x, y: [np.sin(x) * np.cos(y), -np.cos(x) * np.sin(y)])
    assert kinetic_energy(v) == pytest.approx(math.pi**2, rel=1e-12)
    # The difference quotient of sin over 2 h and the mean of two faces damp each derivative by this factor.
    h = g.spacing
    damping = math.sin(h) / h * math.cos(h / 2)
    assert enstrophy(v) == pytest.approx(2 * math.pi**2 * damping**2, rel=1e-12)
    uniform = from_function(ms.Grid((5, 4, 3), 0.5), lambda *x: [np.full_like(c, s) for c, s in zip(x, (1.0, 2.0, -1.0), strict=True)])
    assert kinetic_energy(uniform) == pytest.approx(3.0 * math.prod(uniform.grid.extent), rel=1e-14)


def test_the_spectrum_holds_all_energy(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    v = random_velocity(grid_of(dimension, periodic=True), dtype, rng)
    k, energies = energy_spectrum(v)
    assert k[1] == pytest.approx(2 * math.pi / max(v.grid.extent))
    assert energies.sum() * k[1] == pytest.approx(kinetic_energy(v) / math.prod(v.grid.extent), rel=1e-12)


def test_the_spectrum_shows_single_waves() -> None:
    g = ms.Grid((32, 16, 16), 2 * math.pi / 32, periodic=True)
    v = from_function(g, lambda x, y, z: [0 * x, 3 * np.sin(5 * x), np.cos(4 * y) + 0 * x])
    _, energies = energy_spectrum(v)
    expected = np.zeros_like(energies)
    expected[5], expected[4] = 9 / 4, 1 / 4
    np.testing.assert_allclose(energies, expected, atol=1e-14)


def test_the_spectrum_of_a_box_is_windowed() -> None:
    g = ms.Grid((64, 64), 2 * math.pi / 64)
    v = from_function(g, lambda x, y: [0 * x, np.sin(10.5 * x) + 0 * y], boundary=ms.ZeroGradient())
    k, energies = energy_spectrum(v)
    assert energies.sum() * k[1] == pytest.approx(0.25, rel=0.01)
    # Without a window the wave that does not fit would leak a tenth of its energy this far.
    assert energies[(k < 7.5) | (k > 13.5)].sum() < 1e-3 * energies.sum()
    with pytest.raises(TypeError, match="velocity must be a MacField"):
        energy_spectrum(v.u)


def confined(v: ms.MacField, dt: float = 1.0, epsilon: float = 1.0, **options: Any) -> list[np.ndarray]:
    """Return the change by confinement."""
    w = v.copy()
    add_vorticity_confinement(w, dt, epsilon, **options)
    return [a - b for a, b in zip(components(w), components(v), strict=True)]


@pytest.mark.parametrize("flow", ["rigid rotation", "uniform", "strain", "shear"])
def test_no_force_where_the_vorticity_is_flat(flow: str, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    m = rng.uniform(-1, 1, (dimension, dimension))
    matrices = {"rigid rotation": m - m.T, "uniform": 0 * m, "strain": m + m.T, "shear": np.triu(m, 1)}
    f = linear(matrices[flow])
    g = ms.Grid((23, 17, 12)[:dimension], 0.37, (-3.0, 1.0, 0.5)[:dimension])
    v = from_function(g, f, dtype, prescribed(f))
    assert not any(c.any() for c in confined(v))


def test_no_force_in_an_irrotational_flow(dimension: int) -> None:
    """A discrete gradient has no discrete curl, however rough it is."""
    rng = np.random.default_rng(5)
    g = ms.Grid((12, 10, 8)[:dimension], 0.25, periodic=True)
    v = ms.MacField(g)
    potential = rng.uniform(-1, 1, g.shape)
    for d in range(dimension):
        slope = (potential - np.roll(potential, 1, d)) / g.spacing
        v.component(d)[...] = np.concatenate([slope, np.take(slope, [0], d)], axis=d)
    assert max(np.abs(w).max() for w in curl_arrays(v)) < 1e-13 * 2 / g.spacing**2
    assert max(np.abs(c).max() for c in confined(v)) < 1e-12


def reference(v: ms.MacField, solid: np.ndarray | None = None) -> list[np.ndarray]:
    """h (N x omega) at cell centres and averaged to faces, on a periodic grid, in NumPy."""
    g = v.grid
    n, h = g.dimension, g.spacing
    u = [0.5 * (np.delete(v.component(d), -1, d) + np.delete(v.component(d), 0, d)).astype(float) for d in range(n)]

    def slope(a: np.ndarray, axis: int) -> np.ndarray:
        return (np.roll(a, -1, axis) - np.roll(a, 1, axis)) / (2 * h)

    w3 = [np.zeros(g.shape)] * 2 if n == 2 else [slope(u[2], 1) - slope(u[1], 2), slope(u[0], 2) - slope(u[2], 0)]
    w = np.stack([*w3, slope(u[1], 0) - slope(u[0], 1)])
    size = np.sqrt((w**2).sum(axis=0))
    gradient = np.zeros((3, *g.shape))
    for d in range(n):
        ahead, behind = np.roll(size, -1, d), np.roll(size, 1, d)
        if solid is not None:
            ahead = np.where(np.roll(solid, -1, d), size, ahead)
            behind = np.where(np.roll(solid, 1, d), size, behind)
        gradient[d] = (ahead - behind) / (2 * h)
    steepness = np.sqrt((gradient**2).sum(axis=0))
    force = h * np.cross(gradient / np.where(steepness > 0, steepness, 1), w, axis=0)
    free = np.ones(g.shape) if solid is None else ~solid * 1.0
    result = []
    for d in range(n):
        count = np.maximum(free + np.roll(free, 1, d), 1)
        face = (free * force[d] + np.roll(free * force[d], 1, d)) / count
        result.append(np.concatenate([face, np.take(face, [0], d)], axis=d))
    return result


def test_the_force_is_the_formula(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=True, shape=(9, 7, 6)[:dimension])
    v = random_velocity(g, dtype, rng)
    tolerance = 1e-11 if dtype is np.float64 else 1e-3
    for change, expected in zip(confined(v, 0.5, 0.7), reference(v), strict=True):
        np.testing.assert_allclose(change, 0.35 * expected, atol=tolerance)
        assert np.abs(expected).max() > 0.1


def test_solids_do_not_act(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    g = grid_of(dimension, periodic=True, shape=(9, 8, 7)[:dimension])
    v = random_velocity(g, dtype, rng)
    center = np.array(g.origin) + 0.5 * np.array(g.extent)
    phi = ms.NodeField(g)
    ms.surface.Sphere(tuple(center), 0.6).sample(phi)
    corners = [phi.array]
    for d in range(dimension):
        corners = [half for c in corners for half in (np.delete(c, -1, d), np.delete(c, 0, d))]
    solid = np.mean(corners, axis=0) <= 0
    assert 8 <= solid.sum() < solid.size / 2
    tolerance = 1e-11 if dtype is np.float64 else 1e-3
    for change, expected in zip(confined(v, 1.0, 1.0, solid=phi), reference(v, solid), strict=True):
        np.testing.assert_allclose(change, expected, atol=tolerance)
    by_shape = confined(v, 1.0, 1.0, solid=ms.surface.Sphere(tuple(center), 0.6))
    for a, b in zip(by_shape, confined(v, 1.0, 1.0, solid=phi), strict=True):
        np.testing.assert_allclose(a, b, atol=tolerance)


def gaussian_vortex(n: int, dimension: int, dtype: Any = np.float64) -> tuple[ms.MacField, Any]:
    """A vortex of unit core and unit vorticity in the middle of a box, along z; and its vorticity as a function of the radius."""
    g = ms.Grid((n, n, 4)[:dimension], 8.0 / n, (-4.0, -4.0, 0.0)[:dimension], (False, False, True)[:dimension])

    def f(*x: np.ndarray) -> list[np.ndarray]:
        squared = x[0] ** 2 + x[1] ** 2
        rate = -np.expm1(-squared) / np.maximum(2 * squared, 1e-30)
        return [-rate * x[1], rate * x[0], 0 * x[0]][: len(x)]

    return from_function(g, f, dtype, ms.ZeroGradient()), lambda r: np.exp(-(r**2))


def test_a_gaussian_vortex_is_spun_up(dimension: int, dtype: type) -> None:
    """N points to the axis, so N x omega is azimuthal, along the flow, and as large as h times the vorticity."""
    v, omega = gaussian_vortex(64, dimension, dtype)
    change = confined(v, 1.0, 0.5)
    h = v.grid.spacing
    x, y = (a for a in v.grid.face_centers(0)[:2])
    r = np.sqrt(x**2 + y**2)
    expected = 0.5 * h * omega(r) * -y / np.maximum(r, 1e-9)
    near = np.broadcast_to((r > 4 * h) & (r < 2), change[0].shape)
    scale = 0.5 * h
    assert np.abs(change[0] - expected)[near].max() < 0.02 * scale
    assert np.abs(change[0])[near].max() > 0.5 * scale
    energy = kinetic_energy(v)
    add_vorticity_confinement(v, 1.0, 0.5)
    assert kinetic_energy(v) > 1.01 * energy
    # An isolated vortex is not pushed anywhere.
    for c in change:
        assert abs(c.sum(dtype=float)) <= (1e-12 if dtype is np.float64 else 2e-4) * np.abs(c).sum()


def test_the_force_vanishes_with_the_spacing() -> None:
    largest = [np.abs(confined(gaussian_vortex(n, 2)[0], 1.0, 1.0)[0]).max() for n in (64, 128, 256)]
    ratios = np.array(largest[:-1]) / largest[1:]
    assert (np.abs(ratios - 2) < 0.2).all()
    assert abs(ratios[1] - 2) < abs(ratios[0] - 2)


def test_given_faces_keep_their_velocity(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    boundary = {"x-": ms.Wall(), "x+": ms.Prescribed((0.5, 0.0, 0.0)[:dimension]), "y-": ms.Open(), "y+": ms.ZeroGradient()}
    v = random_velocity(grid_of(dimension), dtype, rng, boundary)
    change = confined(v)
    assert not change[0][0].any()
    assert not change[0][-1].any()
    assert change[0][1].any()
    assert change[1][:, 0].any()
    assert change[1][:, -1].any()
    if dimension == 3:
        assert not change[2][:, :, [0, -1]].any()


def test_periodic_faces_are_one_unknown(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    v = random_velocity(grid_of(dimension, periodic=True), dtype, rng)
    add_vorticity_confinement(v, 1.0, 0.5)
    for d in range(dimension):
        c = np.moveaxis(v.component(d), d, 0)
        assert same_bits(c[0], c[-1])


def test_too_large_an_epsilon_is_unstable() -> None:
    """Selle 2008, Figure 3.2 (d)."""
    energies = {}
    for epsilon in (0.0, 0.3, 100.0):
        v, _ = gaussian_vortex(32, 2)
        before = kinetic_energy(v)
        for _ in range(20):
            add_vorticity_confinement(v, 0.1, epsilon)
        energies[epsilon] = kinetic_energy(v) / before
    assert energies[0.0] == 1.0
    assert 1.0 < energies[0.3] < 2.0
    assert energies[100.0] > 100.0


def test_repeated_confinement_allocates_nothing(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    v = random_velocity(grid_of(dimension), dtype, rng)
    phi = ms.NodeField(v.grid)
    phi.array = 1.0
    workspace = ms.core.Workspace()
    add_vorticity_confinement(v, 0.1, 0.1, solid=phi, workspace=workspace)
    allocations = ms.core.block_allocations()
    add_vorticity_confinement(v, 0.1, 0.1, solid=phi, workspace=workspace)
    assert ms.core.block_allocations() == allocations


def test_confinement_refuses(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    v = random_velocity(grid_of(dimension), dtype, rng)
    with pytest.raises(TypeError, match="velocity must be a MacField"):
        add_vorticity_confinement(v.u, 0.1, 0.1)
    for name in ("dt", "epsilon"):
        with pytest.raises(ValueError, match=f"{name} must be finite"):
            add_vorticity_confinement(v, **{"dt": 0.1, "epsilon": 0.1, name: math.nan})
    with pytest.raises(ValueError, match="solid must have the grid of the velocity"):
        add_vorticity_confinement(v, 0.1, 0.1, solid=ms.NodeField(grid_of(dimension, periodic=True)))
    with pytest.raises(TypeError, match="solid must be"):
        add_vorticity_confinement(v, 0.1, 0.1, solid=ms.CellField(v.grid))
    v.component(1)[2, 3] = np.nan
    before = components(v)
    with pytest.raises(ValueError, match="must be finite"):
        add_vorticity_confinement(v, 0.1, 0.1)
    assert same_bits(components(v), before)
