"""Pressures that are known exactly, and closed regions with a net flux."""

from typing import Any

import numpy as np
import pytest
from support.build import components, random_velocity, same_bits
from support.projection import cells, fluid_parts, nodes, set_faces

import meniscus as ms
from meniscus.fluids import divergence, project
from meniscus.surface import SolidSample

G = 9.81


def down(dimension: int, dt: float) -> tuple[float, ...]:
    return (0.0, -G * dt, 0.0)[:dimension]


def grid_of(dimension: int, **options: Any) -> ms.Grid:
    return ms.Grid((12, 20, 9)[:dimension], 0.05, **options)


def test_two_layers_at_rest(dimension: int) -> None:
    """Gravity's pull on a heavy layer below a light one: all of it goes into the pressure, which is linear in each."""
    grid, dt = grid_of(dimension), 0.01
    velocity, pressure = set_faces(ms.MacField(grid), lambda *x: down(dimension, dt)), ms.CellField(grid)
    density = cells(grid, lambda x, y, *z: np.where(y < 0.5, 1000.0, 1.0))
    project(velocity, dt, density=density, pressure=pressure, tolerance=1e-11)
    assert max(np.abs(c).max() for c in components(velocity)) < 1e-10
    exact = cells(grid, lambda x, y, *z: np.where(y < 0.5, -1000 * G * (y - 0.5), -G * (y - 0.5))).array
    assert np.abs(pressure.array - (exact - exact.mean())).max() < 1e-10 * np.abs(exact).max()


@pytest.mark.parametrize("slope", [0.0, 0.3])
@pytest.mark.parametrize("air", [0.0, 250.0])
def test_hydrostatic_pressure_below_a_free_surface(dimension: int, slope: float, air: float) -> None:
    """Gravity at right angles to a surface that is tilted against the grid; the ghost fluid's pressure is exact for linear ones."""
    grid, dt = grid_of(dimension), 0.01
    normal = np.array((slope, 1.0, 0.0)[:dimension])
    normal /= np.linalg.norm(normal)
    phi = cells(grid, lambda *x: sum(n * c for n, c in zip(normal, x, strict=True)) - 0.613)
    pressure = ms.CellField(grid)
    velocity = set_faces(ms.MacField(grid, boundary=ms.Prescribed((0.0,) * dimension)), lambda *x: tuple(-G * dt * normal))
    project(velocity, dt, density=800.0, liquid=phi, air_pressure=air, pressure=pressure, tolerance=1e-13)
    in_liquid = phi.array <= 0
    exact = air - 800.0 * G * phi.array
    assert np.abs(pressure.array - exact)[in_liquid].max() < 1e-10 * np.abs(exact).max()
    assert np.all(pressure.array[~in_liquid] == air)
    for d in range(dimension):
        c = velocity.component(d)
        n = grid.shape[d]
        wide = np.pad(in_liquid, [(1, 1) if k == d else (0, 0) for k in range(dimension)])
        touching = wide.take(range(n + 1), axis=d) | wide.take(range(1, n + 2), axis=d)
        assert np.abs(c[touching]).max() < 1e-11


def test_a_mask_puts_the_surface_into_the_air_cell_centres(dimension: int) -> None:
    grid, dt = grid_of(dimension), 0.01
    mask = cells(grid, lambda x, y, *z: y < 0.6).array.astype(bool)
    velocity, pressure = set_faces(ms.MacField(grid), lambda *x: down(dimension, dt)), ms.CellField(grid)
    project(velocity, dt, density=1000.0, liquid=mask, pressure=pressure, tolerance=1e-13)
    exact = cells(grid, lambda x, y, *z: np.maximum(0.0, 1000 * G * (0.625 - y))).array
    assert np.abs(pressure.array - exact).max() < 1e-10 * exact.max()


@pytest.mark.parametrize("solid", [False, True])
def test_pressure_driven_flow_through_a_channel(dimension: int, solid: bool) -> None:
    """u' = -dp/dx / rho, everywhere the same; along walls inside the domain too."""
    length, rho, dt = 12 * 0.05, 1.3, 0.02
    grid = grid_of(dimension)
    boundary = {"x-": ms.Open(7.0), "x+": ms.Open(-2.0)}
    velocity, pressure = ms.MacField(grid, boundary=boundary), ms.CellField(grid)
    walls = nodes(grid, lambda x, y, *z: np.minimum(y - 0.213, 0.777 - y)) if solid else None
    project(velocity, dt, walls, density=rho, pressure=pressure, tolerance=1e-14)
    expected = dt * (7.0 - -2.0) / length / rho
    u = velocity.u
    inside = np.broadcast_to(np.abs(u) > 0, u.shape)
    y = np.meshgrid(*grid.face_centers(0), indexing="ij")[1]
    assert np.all(inside == ((y > 0.19) & (y < 0.81) if solid else y > 0))
    assert np.abs(u[inside] - expected).max() < 1e-12 * expected
    x = np.meshgrid(*ms.CellField(grid).coordinates(), indexing="ij")[0]
    in_liquid = pressure.array != 0
    assert np.abs(pressure.array - (7.0 - 9.0 * x / length))[in_liquid].max() < 1e-11


def test_pressure_scales_with_density_over_time(dimension: int) -> None:
    grid = grid_of(dimension)
    start, pressures = random_velocity(grid, np.float64, np.random.default_rng(2)), []
    for dt, rho in ((1.0, 1.0), (0.25, 3.0)):
        velocity, p = start.copy(), ms.CellField(grid)
        project(velocity, dt, density=rho, pressure=p, tolerance=1e-12)
        pressures.append(p.array.copy())
    assert np.allclose(pressures[1], 12 * pressures[0], rtol=1e-12, atol=1e-12)
    assert abs(pressures[0].mean()) < 1e-13


def test_warm_starts(dimension: int) -> None:
    grid = grid_of(dimension)
    solid = nodes(grid, lambda *x: np.sqrt(sum((c - 0.25) ** 2 for c in x)) - 0.12)
    start, pressure = random_velocity(grid, np.float64, np.random.default_rng(2)), ms.CellField(grid)
    velocity = start.copy()
    cold = project(velocity, 0.1, solid, pressure=pressure, tolerance=1e-10)
    again = start.copy()
    warm = project(again, 0.1, solid, pressure=pressure, warm_start=True, tolerance=1e-10)
    assert warm.iterations == 0 < cold.iterations
    assert all(np.abs(a - b).max() < 1e-9 for a, b in zip(components(again), components(velocity), strict=True))
    # A start that is farther off than none is not used.
    pressure.array = 1e3 * np.random.default_rng(3).uniform(-1, 1, grid.shape)
    far = project(velocity := start.copy(), 0.1, solid, pressure=pressure, warm_start=True, tolerance=1e-10)
    assert (far.iterations, far.residual) == (cold.iterations, cold.residual)
    project(again := start.copy(), 0.1, solid, tolerance=1e-10)
    assert same_bits(components(again), components(velocity))


def piston(grid: ms.Grid, dtype: Any, speeds: dict[float, float]) -> SolidSample:
    """Plates across x, each moving along x at its own speed."""
    sample = SolidSample(grid, dtype)
    places = np.array(list(speeds))
    sample.levelset.array = nodes(grid, lambda x, *y: np.min([np.abs(x - p) - 0.055 for p in places], axis=0)).array
    set_faces(
        sample.velocity, lambda x, *y: (np.array(list(speeds.values()))[np.abs(x[..., None] - places).argmin(-1)], 0.0, 0.0)[: x.ndim]
    )
    return sample


def area(dimension: int) -> float:
    return 1.0 if dimension == 2 else 1.0 * 9 * 0.05


@pytest.mark.parametrize("fix", ["volume", "walls"])
def test_regions_with_opposite_flux_are_corrected_independently(fix: Any, dimension: int) -> None:
    """A plate moves through a box: one side loses what the other gains, and each has to bear it alone."""
    grid = grid_of(dimension)
    velocity = ms.MacField(grid)
    body = piston(grid, np.float64, {0.24: 0.5})
    info = project(velocity, 0.1, body, flux_correction=fix, tolerance=1e-12)
    left, right = info.regions
    assert (left.closed, right.closed) == (True, True)
    # Out of the left region flows nothing, its wall recedes: outflow through the wall of speed 0.5 over the cross-section.
    assert left.flux == pytest.approx(0.5 * area(dimension), rel=1e-12)
    assert right.flux == pytest.approx(-0.5 * area(dimension), rel=1e-12)
    assert left.first_cell == (0,) * dimension
    d = divergence(velocity, body).array
    x = np.meshgrid(*ms.CellField(grid).coordinates(), indexing="ij")[0]
    volume = grid.spacing**dimension
    for region, cells_of in ((left, x < 0.2), (right, x > 0.25)):
        assert region.cells == cells_of.sum()
        assert (d * volume)[cells_of].sum() == pytest.approx(region.flux, rel=1e-10)
        if fix == "volume":
            share = fluid_parts(grid, body.levelset)[cells_of]  # so that cells which the plate cuts take less
            assert np.abs(d[cells_of] - region.flux * share / (share.sum() * volume)).max() < 1e-9
    if fix == "walls":
        # In proportion to the wall's area: none inside, and twice as much in the corners of a 2-D box as beside one wall.
        inside = d[7:11, 3:-3] if dimension == 2 else d[7:11, 3:-3, 3:-3]
        assert np.abs(inside).max() < 1e-9
        corner, edge = (d[-1, 0], d[-1, 9]) if dimension == 2 else (d[-1, 0, 4], d[-1, 9, 4])
        assert corner == pytest.approx(2 * edge, rel=1e-9)


def test_a_collapsing_pocket(dimension: int) -> None:
    """Two plates that close on each other: 2 x 0.5 m/s of flux into the gap, none in the regions behind that walls stop."""
    grid = ms.Grid((20, 20, 9)[:dimension], 0.05)
    velocity = ms.MacField(grid)
    info = project(velocity, 0.1, piston(grid, np.float64, {0.24: 0.5, 0.74: -0.5}), tolerance=1e-12)
    assert [r.flux for r in info.regions] == pytest.approx(np.array([0.5, -1.0, 0.5]) * area(dimension), rel=1e-12)
    assert all(r.closed for r in info.regions)


def test_target_divergence_is_part_of_the_flux(dimension: int) -> None:
    """Sources that a receding wall makes room for: nothing is left to spread."""
    grid = grid_of(dimension)
    boundary = {"x+": ms.Wall((0.4, 0.0, 0.0)[:dimension])}
    length = 12 * 0.05
    velocity, target = ms.MacField(grid, boundary=boundary), cells(grid, lambda *x: 0.4 / length + 0 * x[0])
    info = project(velocity, 0.1, target_divergence=target, tolerance=1e-13)
    assert abs(info.regions[0].flux) < 1e-13
    x = np.meshgrid(*grid.face_centers(0), indexing="ij")[0]
    assert np.abs(velocity.u - 0.4 * x / length).max() < 1e-12
    info = project(ms.MacField(grid, boundary=boundary), 0.1)
    assert info.regions[0].flux == pytest.approx(0.4 * area(dimension), rel=1e-13)


@pytest.mark.parametrize("periodic", [False, True])
def test_pressure_given_along_a_free_surface(dimension: int, periodic: bool) -> None:
    """A surface pressure that is linear in space, below which the pressure is, too: a uniform acceleration takes all of it."""
    grid, dt, density, air = grid_of(dimension, periodic=(False, False, periodic)[:dimension]), 0.01, 800.0, 40.0
    normal = np.array((0.3, 1.0, 0.0)[:dimension]) / np.hypot(0.3, 1.0)
    slope = np.array((700.0, -300.0, 0.0 if periodic else 150.0)[:dimension])
    phi = cells(grid, lambda *x: sum(n * c for n, c in zip(normal, x, strict=True)) - 0.613)
    jump = cells(grid, lambda *x: 90.0 + sum(a * c for a, c in zip(slope, x, strict=True)))
    pressure = ms.CellField(grid)
    velocity = set_faces(ms.MacField(grid, boundary=ms.Prescribed((0.0,) * dimension)), lambda *x: tuple(dt / density * slope))
    project(velocity, dt, density=density, liquid=phi, air_pressure=air, surface_pressure=jump, pressure=pressure, tolerance=1e-13)
    in_liquid = phi.array <= 0
    assert np.abs(pressure.array - (jump.array + air))[in_liquid].max() < 1e-10 * np.abs(jump.array).max()
    assert np.all(pressure.array[~in_liquid] == air)
    for d in range(dimension):
        wide = np.pad(in_liquid, [(1, 1) if k == d else (0, 0) for k in range(dimension)])
        n = grid.shape[d]
        touching = wide.take(range(n + 1), axis=d) | wide.take(range(1, n + 2), axis=d)
        assert np.abs(velocity.component(d)[touching]).max() < 1e-11


@pytest.mark.parametrize("offset", [0.0, 1e-15, -1e-15, 1e-7, -1e-7])
def test_a_surface_through_cell_centres(dimension: int, offset: float) -> None:
    """The pressure is exact however close to its samples the surface lies."""
    grid, dt = grid_of(dimension), 0.01
    height = 0.575 + offset
    phi = cells(grid, lambda x, y, *z: y - height)
    velocity, pressure = set_faces(ms.MacField(grid), lambda *x: down(dimension, dt)), ms.CellField(grid)
    project(velocity, dt, density=1000.0, liquid=phi, pressure=pressure, tolerance=1e-13)
    exact = np.where(phi.array <= 0, -1000 * G * phi.array, 0.0)
    assert np.abs(pressure.array - exact).max() < 1e-11 * exact.max()
