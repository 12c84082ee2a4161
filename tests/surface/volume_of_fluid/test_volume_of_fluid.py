"""Volume of fluid: volumes of cut cells against exact ones, conservation and bounds in any flow, errors of standard flows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.same_bits import everywhere

import meniscus as ms
from meniscus.surface import Box, HalfSpace, LevelSet, Sphere, VolumeOfFluid


def unit_grid(cells: int, dimension: int = 2, **options: Any) -> ms.Grid:
    return ms.Grid((cells,) * dimension, 1 / cells, **options)


def from_stream_function(grid: ms.Grid, psi: np.ndarray) -> ms.MacField:
    """The velocity of values at the nodes, free of divergence to rounding."""
    velocity = ms.MacField(grid)
    velocity.component(0)[...] = np.diff(psi, axis=1) / grid.spacing
    velocity.component(1)[...] = -np.diff(psi, axis=0) / grid.spacing
    return velocity


def closed_random_velocity(grid: ms.Grid, seed: int, dtype: type = np.float64) -> ms.MacField:
    """Random on every face, none through the sides."""
    rng = np.random.default_rng(seed)
    velocity = ms.MacField(grid, dtype)
    for d in range(grid.dimension):
        faces = np.moveaxis(velocity.component(d), d, 0)
        faces[...] = rng.normal(size=faces.shape)
        faces[[0, -1]] = 0
    return velocity


@pytest.mark.parametrize("dimension", [2, 3])
def test_films_on_slopes_have_their_volume(dimension: int) -> None:
    """Between a solid and a surface along it, of 0.3 to 3 cells, at any angle: exact, as both are planes."""
    rng = np.random.default_rng(dimension)
    grid = unit_grid(16, dimension)
    for _ in range(12):
        normal = rng.normal(size=dimension)
        normal /= np.linalg.norm(normal)
        point = rng.uniform(0.4, 0.6, dimension)
        solid = LevelSet.from_shape(grid, HalfSpace(point, normal), "nodes")
        liquid = HalfSpace(point + rng.uniform(0.02, 0.2) * normal, normal)
        film, wet, rock = VolumeOfFluid(grid, solid=solid), VolumeOfFluid(grid), VolumeOfFluid(grid)
        film.fill(liquid)
        wet.fill(liquid)
        rock.fill(solid)
        assert film.volume() == pytest.approx(wet.volume() - rock.volume(), abs=1e-12)


def test_volume_of_a_ball_is_of_second_order() -> None:
    errors = []
    for cells in (16, 32):
        for dimension, exact in ((2, np.pi * 0.09), (3, 4 / 3 * np.pi * 0.027)):
            liquid = VolumeOfFluid(unit_grid(cells, dimension))
            liquid.fill(Sphere((0.52, 0.47, 0.49)[:dimension], 0.3))
            errors.append(abs(liquid.volume() / exact - 1) * cells**2)
    # Chords of a circle of r cells leave out some 1 / (6 r^2) of its area, which is 1.9 / n^2 here; planes in a ball three times that.
    assert max(errors[0], errors[2]) < 2.1
    assert max(errors[1], errors[3]) < 6.0
    assert errors[2] < 1.3 * errors[0]
    assert errors[3] < 1.3 * errors[1]


def test_levelset_has_the_surface() -> None:
    for cells in (32, 64):
        grid = unit_grid(cells)
        liquid, ball = VolumeOfFluid(grid), Sphere((0.52, 0.47), 0.3)
        liquid.fill(ball)
        found, exact = liquid.levelset(band=0.2), LevelSet.from_shape(grid, ball, "cells")
        near = np.abs(exact.array) < 3 / cells
        assert np.abs(found.array - exact.array)[near].max() < 0.25 / cells
        assert found.volume() == pytest.approx(liquid.volume(), rel=5 / cells**2)


@pytest.mark.parametrize("dimension", [2, 3])
def test_a_box_is_carried_exactly_along_an_axis(dimension: int) -> None:
    """By 4.3 cells and back, across a period: planes along the axes are found exactly."""
    grid = unit_grid(16, dimension, periodic=(True,) * dimension)
    liquid = VolumeOfFluid(grid)
    edges = np.array((0.13, 0.2, 0.31)[:dimension]), np.array((0.42, 0.55, 0.61)[:dimension])

    def box(shift: float) -> np.ndarray:
        """Fractions of the box after a shift along the first axis: products of what it covers along each."""
        parts = np.ones((1,) * dimension)
        for d in range(dimension):
            start, end = (16 * (e[d] + (shift if d == 0 else 0.0)) for e in edges)
            low = np.arange(32)
            covered = np.clip(end - low, 0, 1) - np.clip(start - low, 0, 1)
            parts = parts * (covered[:16] + covered[16:]).reshape([-1 if e == d else 1 for e in range(dimension)])
        return parts

    liquid.fractions.array[...] = box(0.0)
    velocity = ms.MacField(grid)
    velocity.component(0)[...] = 1.0
    for shift, sign in ((4.3 / 16, 1.0), (0.0, -1.0)):
        velocity.component(0)[...] = sign
        liquid.advect(velocity, 4.3 / 16)
        wrong = np.abs(liquid.fractions.array - box(shift))
        # Edges of the box across the flow are rounded; faces away from them are exact.
        assert wrong[(slice(None), slice(5, 7), slice(6, 8))[:dimension]].max() < 1e-12


@pytest.mark.parametrize("dimension", [2, 3])
@pytest.mark.parametrize("solid", [None, Sphere((0.45, 0.45, 0.45), 0.23)], ids=["free", "ball"])
def test_any_velocity_conserves_the_volume(dimension: int, solid: Any) -> None:
    """Random on every face, through the solid and compressing, up to five cells a step: no liquid is lost, and none is negative."""
    grid = unit_grid(20 if dimension == 2 else 10, dimension)
    if solid is not None and dimension == 2:
        solid = Sphere((0.45, 0.45), 0.23)
    liquid = VolumeOfFluid(grid, solid=solid)
    liquid.fill(Sphere((0.6,) * dimension, 0.25))
    before = liquid.volume()
    for k in range(20 if dimension == 2 else 6):
        done = liquid.advect(closed_random_velocity(grid, k), 0.05 if dimension == 2 else 0.1)
        assert done.outflow == 0
    assert liquid.volume() == pytest.approx(before, rel=1e-14)
    assert liquid.fractions.array.min() > -1e-12
    assert liquid.fractions.array.max() <= 1 + done.overfull + 1e-12


def test_outflow_is_what_is_missing() -> None:
    """A drop leaves through an open side, and liquid comes in through another one that is full."""
    grid = ms.Grid((24, 16), 1 / 16)
    liquid = VolumeOfFluid(grid, boundary={"y-": ms.Prescribed(1.0)})
    liquid.fill(Sphere((0.6, 0.5), 0.3))
    start, total = liquid.volume(), 0.0
    velocity = ms.MacField(grid)
    velocity.component(1)[...] = 1.0
    for _ in range(13):
        total += liquid.advect(velocity, 0.11).outflow
        assert liquid.volume() == pytest.approx(start - total, abs=1e-13)
    assert liquid.fractions.array.min() > 1 - 1e-12  # 1.43 m of inflow fill 1 m
    assert liquid.volume() == pytest.approx(1.5, rel=1e-12)


@pytest.mark.parametrize(
    ("cells", "bar"), [(32, 0.08), pytest.param(64, 0.0125, marks=pytest.mark.slow), pytest.param(128, 0.0014, marks=pytest.mark.slow)]
)
def test_reversed_vortex(cells: int, bar: float) -> None:
    """A disc that a vortex winds up and unwinds, T = 15: mean error by Basilisk 5.77e-2, 1.10e-2, 1.45e-3 at 32, 64, 128 cells.

    Ours: 7.5e-2, 1.15e-2, 1.30e-3. The thread that winds up is thinner than cells of 32.
    """
    grid, refined = unit_grid(cells), 8
    fine = LevelSet.from_shape(unit_grid(refined * cells), Sphere((0.3, 0.263662), 0.2), "nodes").volume_fractions().array
    start = fine.reshape(cells, refined, cells, refined).mean((1, 3))
    liquid = VolumeOfFluid(grid)
    liquid.fractions.array = start
    before = liquid.volume()
    sine = np.sin(np.pi * np.linspace(0, 1, cells + 1))
    steady = from_stream_function(grid, 1.5 / np.pi * sine[:, None] * sine[None, :])
    velocity = ms.MacField(grid)
    steps = int(15 * 1.5 * cells / 0.8)
    most = 0.0
    for k in range(steps):
        for d in range(2):
            np.multiply(steady.component(d), np.sin(2 * np.pi * (k + 0.5) / steps), out=velocity.component(d))
        most = max(most, liquid.advect(velocity, 15 / steps).overfull)
    error = np.abs(liquid.fractions.array - start).mean()
    print(f"{cells} cells: mean error {error:.3g}, volume {liquid.volume() / before - 1:.2g}")
    assert error < bar
    assert liquid.volume() == pytest.approx(before, rel=1e-13)
    assert most < 1e-12
    assert liquid.fractions.array.min() > -1e-12


def turned_in_a_vessel(cells: int) -> tuple[float, float, float]:
    """Error, change of volume and overfull cells of half a vessel of liquid that turns as a whole, once."""
    grid, radius = unit_grid(cells), 0.41
    x = np.arange(cells + 1) / cells - 0.5
    away = np.hypot(x[:, None], x[None, :])
    vessel = LevelSet.from_function(grid, lambda x, y: radius - np.hypot(x - 0.5, y - 0.5))
    liquid = VolumeOfFluid(grid, solid=vessel)
    liquid.fill(HalfSpace((0.53, 0.5), (np.cos(0.3), np.sin(0.3))))
    start, before = liquid.fractions.array.copy(), liquid.volume()
    flux = from_stream_function(grid, -np.pi * np.minimum(away, radius) ** 2)
    depth = radius - away
    for d in range(2):
        a, b = (depth[:, :-1], depth[:, 1:]) if d == 0 else (depth[:-1], depth[1:])
        open_part = np.where((a > 0) & (b > 0), 1.0, 0.0)
        cut = (a > 0) != (b > 0)
        open_part[cut] = (np.maximum(a, b)[cut]) / np.abs(a - b)[cut]
        speed = flux.component(d)
        speed[...] = np.where(open_part > 1e-4, speed / np.maximum(open_part, 1e-4), 0.0)
    steps = int(np.ceil(2 * np.pi * radius * cells))
    most = max(liquid.advect(flux, 1 / steps).overfull for _ in range(steps))
    return float(np.abs(liquid.fractions.array - start).mean() / before), liquid.volume() / before - 1, most


def test_liquid_turns_in_a_vessel_that_cuts_cells() -> None:
    """Slivers of cells hold less than flows through them in a step. Order 1.7 at least, with its constant."""
    errors = []
    for cells in (24, 48):
        error, change, most = turned_in_a_vessel(cells)
        errors.append(error)
        assert abs(change) < 1e-13
        assert most < 1e-12
    assert errors[0] < 0.005
    assert errors[1] < errors[0] / 3.2


@pytest.mark.parametrize("slope", [0.4, 1.0, 1.7, 2.3])
def test_flow_along_a_slope_keeps_cells_within_bounds(slope: float) -> None:
    """Groups of cells beside a slanted wall: neither more liquid nor more air leaves than there is."""
    grid = unit_grid(12)
    wall = HalfSpace((0.5, 0.4), (-slope, 1.0))
    depth = LevelSet.from_shape(grid, wall, "nodes").array
    velocity = from_stream_function(grid, np.clip(depth, 0.0, None))
    for d in range(2):
        a, b = (depth[:, :-1], depth[:, 1:]) if d == 0 else (depth[:-1], depth[1:])
        speed = velocity.component(d)
        part = np.clip(np.maximum(a, b) / np.maximum(np.abs(a - b), 1e-300), 0.0, 1.0)
        part[np.maximum(a, b) <= 0] = 0.0
        speed[...] = np.where(part > 1e-4, speed / np.maximum(part, 1e-4), 0.0)
    liquid = VolumeOfFluid(grid, solid=wall)
    liquid.fill(HalfSpace((0.5, 0.55), (0.2, 1.0)))
    for _ in range(40):
        assert liquid.advect(velocity, 0.4 / 12).overfull < 1e-9
        assert liquid.fractions.array.min() > -1e-12


@pytest.mark.parametrize("dimension", [2, 3])
def test_fill_from_cells(dimension: int) -> None:
    """From samples on cells as from those on nodes, to second order."""
    grid, ball = unit_grid(16, dimension), Sphere((0.52, 0.47, 0.49)[:dimension], 0.3)
    liquid = VolumeOfFluid(grid)
    liquid.fill(ball)
    volume = liquid.volume()
    liquid.fill(LevelSet.from_shape(grid, ball, "cells"))
    assert liquid.volume() == pytest.approx(volume, rel=0.02 * (dimension - 1))  # corners are means


@pytest.mark.parametrize("part", [0.3, 0.9, 1.0])
def test_inflow_is_as_full_as_prescribed(part: float) -> None:
    grid = unit_grid(8)
    liquid = VolumeOfFluid(grid, boundary={"x-": ms.Prescribed(part)})
    velocity = ms.MacField(grid)
    velocity.component(0)[...] = 1.0
    for dt in (0.01, 0.05, 0.25):
        assert liquid.advect(velocity, dt).outflow == pytest.approx(-part * dt, rel=1e-12)


def test_overfull_cells_at_a_side_do_not_multiply() -> None:
    grid = unit_grid(8)
    liquid = VolumeOfFluid(grid)
    liquid.fill(HalfSpace((0.5, 2.0), (0.0, 1.0)))
    velocity = ms.MacField(grid)
    velocity.component(0)[0] = 0.1
    for _ in range(100):
        liquid.advect(velocity, 0.1)
    assert liquid.volume() == pytest.approx(2.0, rel=1e-12)


def test_nothing_moves_without_a_velocity() -> None:
    grid = unit_grid(24)
    liquid = VolumeOfFluid(grid, solid=Sphere((0.5, 0.5), 0.2))
    liquid.fill(HalfSpace((0.0, 0.45), (0.2, 1.0)))
    before = liquid.fractions.array.copy()
    assert liquid.advect(ms.MacField(grid), 1.0).substeps == 0
    assert np.array_equal(liquid.fractions.array, before)


def test_same_bits_on_any_threads(dimension: int, dtype: type) -> None:
    grid = ms.Grid((61, 45) if dimension == 2 else (19, 14, 23), 0.05, periodic=(False, True, True)[:dimension])
    velocity = closed_random_velocity(grid, 3, dtype)
    liquid = VolumeOfFluid(grid, solid=Sphere((1.0, 0.9, 0.5)[:dimension], 0.3))
    liquid.fill(Box((0.2,) * dimension, (1.7, 1.4, 0.6)[:dimension]))

    def run() -> np.ndarray:
        moved = liquid.copy()
        moved.advect(velocity, 0.03)
        return moved.fractions.array.copy()

    everywhere(run, (2, 3))


def test_mirrored_flows_give_mirrored_liquid() -> None:
    grid, x = unit_grid(24), np.linspace(0, 1, 25)
    psi = (np.sin(np.pi * x) ** 2)[:, None] * (np.sin(2 * np.pi * x) + 0.4 * np.sin(np.pi * x))[None, :] * (0.3 + x)[:, None]
    velocity, mirrored = from_stream_function(grid, psi), from_stream_function(grid, -psi[::-1])
    first, second = VolumeOfFluid(grid), VolumeOfFluid(grid)
    first.fill(Sphere((0.35, 0.4), 0.25))
    second.fill(Sphere((0.65, 0.4), 0.25))
    for _ in range(12):
        first.advect(velocity, 0.02)
        second.advect(mirrored, 0.02)
    np.testing.assert_allclose(first.fractions.array[::-1], second.fractions.array, atol=1e-13)


def test_refusals_change_nothing() -> None:
    grid = unit_grid(8)
    liquid = VolumeOfFluid(grid)
    liquid.fill(Sphere((0.5, 0.5), 0.3))
    before = liquid.fractions.array.copy()
    velocity = ms.MacField(grid)
    velocity.component(0)[3, 3] = np.nan
    with pytest.raises(ValueError, match="velocity u must be finite"):
        liquid.advect(velocity, 0.1)
    with pytest.raises(ValueError, match="dt must be positive"):
        liquid.advect(ms.MacField(grid), -0.1)
    with pytest.raises(ValueError, match="velocity must be on"):
        liquid.advect(ms.MacField(unit_grid(9)), 0.1)
    with pytest.raises(TypeError, match="region"):
        liquid.fill(0.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="solid must be on nodes"):
        VolumeOfFluid(grid, solid=LevelSet(grid, "cells"))
    velocity.component(0)[3, 3] = 1e20
    with pytest.raises(ValueError, match="more than half a million"):
        liquid.advect(velocity, 0.1)
    gaps = LevelSet(grid, "nodes")
    gaps.array[3, 3] = 1.0
    gaps.field.array[3, 4] = np.nan
    for refused in (lambda: liquid.fill(gaps), lambda: VolumeOfFluid(grid, solid=gaps)):
        with pytest.raises(ValueError, match="must be finite"):
            refused()
    assert np.array_equal(liquid.fractions.array, before)
    assert repr(liquid) == f"<VolumeOfFluid 8x8 cells, {liquid.volume():.6g} m^2>"
