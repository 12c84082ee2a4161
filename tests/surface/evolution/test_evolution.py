"""Motion of level sets: orders of the stencils, exact solutions, the three terms, bits, bands, sides, arguments."""

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from support.build import same_bits
from support.same_bits import everywhere
from support.surfaces import LOCATIONS

import meniscus as ms
from meniscus.fluids import rotation, single_vortex
from meniscus.grid import advect
from meniscus.scenes.library.zalesak import slotted_disc_distance
from meniscus.surface import LevelSet, Sphere, evolve


def order(errors: list[float]) -> list[float]:
    return [float(np.log2(a / b)) for a, b in pairwise(errors)]


def uniform(grid: ms.Grid, velocity: tuple[float, ...], dtype: Any = np.float64) -> ms.MacField:
    field = ms.MacField(grid, dtype)
    for d, v in enumerate(velocity):
        field.component(d)[...] = v
    return field


def rough(shape: tuple[int, ...], dtype: Any, rng: np.random.Generator, location: str = "cells", periodic: Any = False) -> LevelSet:
    """A level set with kinks, and with a surface that meets the sides."""
    grid = ms.Grid(shape, 0.1, periodic=periodic)
    phases = rng.uniform(0, 2 * np.pi, len(shape))
    extent = grid.extent

    def level(*x: np.ndarray) -> Any:
        waves = (np.sin(2 * np.pi * a / e + p) for a, e, p in zip(x, extent, phases, strict=True))
        return 0.3 * np.abs(sum(waves)) - 0.2

    return LevelSet.from_function(grid, level, location, dtype=dtype)


@pytest.mark.parametrize("location", LOCATIONS)
@pytest.mark.parametrize("velocity", [(1.0, 0.0), (-1.0, 0.5)])
def test_transport_of_waves_is_of_fifth_order(location: Any, velocity: tuple[float, float]) -> None:
    errors = []
    for n in (16, 32, 64):
        grid = ms.Grid((n, n), 1 / n, periodic=True)

        def wave(x: Any, y: Any, t: float = 0.0) -> Any:
            return np.sin(2 * np.pi * (x - velocity[0] * t)) + np.cos(2 * np.pi * (y - velocity[1] * t))

        phi = LevelSet.from_function(grid, wave, location)
        # The error in time is of third order: steps shrink with h^(5/3).
        evolve(phi, 0.25, velocity=uniform(grid, velocity), cfl=0.5 * (16 / n) ** (2 / 3))
        errors.append(float(np.abs(phi.array - wave(*phi.field.coordinates(), 0.25)).max()))
    print(errors, order(errors))
    assert min(order(errors)) > 4.7
    assert errors[-1] < 3e-6


def test_steps_are_of_third_order() -> None:
    grid = ms.Grid((64, 1), 1 / 64, periodic=True)
    start = LevelSet.from_function(grid, lambda x, y: np.sin(2 * np.pi * x) + 0 * y)
    results = []
    for cfl in (1.0, 0.5, 0.25, 0.125):
        phi = start.copy()
        steps = phi.evolve(1.0, velocity=uniform(grid, (1.0, 0.0)), cfl=cfl)
        assert steps == round(64 / cfl)
        results.append(phi.array.copy())
    changes = [float(np.abs(a - b).max()) for a, b in pairwise(results)]
    print(changes, order(changes))
    assert min(order(changes)) == pytest.approx(3, abs=0.2)


@pytest.mark.parametrize("speed", [0.2, -0.2])
@pytest.mark.parametrize("given", ["number", "field"])
def test_balls_grow_and_shrink_at_the_speed(dimension: int, speed: float, given: str) -> None:
    """The distance to a ball stays one: phi - F t. What the kink at the centre disturbs lowers the order from five."""
    errors = []
    for n in (12, 24) if dimension == 3 else (20, 40, 80):
        grid = ms.Grid((n,) * dimension, 1 / n)
        ball = Sphere((0.5,) * dimension, 0.25)
        phi = LevelSet.from_shape(grid, ball)
        start = phi.array.copy()
        f: Any = speed
        if given == "field":
            f = ms.NodeField(grid)
            f.array[...] = speed
        phi.evolve(0.25, speed=f)
        near = np.abs(start) < 0.05
        errors.append(float(np.abs(phi.array - (start - speed * 0.25))[near].max()))
    print(errors, order(errors))
    assert min(order(errors)) > (2.5 if dimension == 3 else 3.5)
    assert errors[-1] < (3e-5 if dimension == 3 else 3e-7)


def test_corners_of_a_square_spread_outwards_as_arcs_and_inwards_as_corners() -> None:
    """The viscosity solution: the distance to the square outside, a smaller square inside."""
    for speed in (0.5, -0.5):
        errors = []
        for n in (32, 64, 128):
            grid = ms.Grid((n, n), 1 / n)
            phi = LevelSet.from_shape(grid, ms.surface.Box((0.35, 0.35), (0.65, 0.65)))
            evolve(phi, 0.2, speed=speed)
            x = np.stack([np.broadcast_to(a, phi.array.shape) for a in phi.field.coordinates()], -1)
            out = np.abs(x - 0.5) - 0.15
            exact = np.linalg.norm(np.maximum(out, 0), axis=-1) + np.minimum(out.max(-1), 0) - speed * 0.2
            near = (exact > (0 if speed > 0 else -0.05)) & (exact < 0.05)
            errors.append(float(np.abs(phi.array - exact)[near].mean()))
        print(speed, errors, order(errors))
        assert min(order(errors)) > 1.7
        assert errors[-1] < 1e-4


def test_balls_shrink_by_their_curvature(dimension: int) -> None:
    """r^2 = r0^2 - 2 b (dim - 1) t."""
    b = 0.5
    errors = []
    for n in (16, 32) if dimension == 3 else (32, 64):
        grid = ms.Grid((n,) * dimension, 1 / n)
        phi = LevelSet.from_shape(grid, Sphere((0.5,) * dimension, 0.35))
        t = 0.04 / (dimension - 1)
        phi.evolve(t, curvature=b)
        radius = np.sqrt(0.35**2 - 2 * b * (dimension - 1) * t)
        size = phi.volume()
        ours = np.sqrt(size / np.pi) if dimension == 2 else np.cbrt(0.75 * size / np.pi)
        errors.append(abs(ours - radius) / radius)
    print(errors, order(errors))
    assert errors[-1] < (0.004 if dimension == 3 else 0.001)
    assert min(order(errors)) > 1.7


def test_terms_act_together() -> None:
    """A growing ball is carried along; its speed balances its curvature."""
    grid = ms.Grid((48, 48), 1 / 48)
    phi = LevelSet.from_shape(grid, Sphere((0.4, 0.5), 0.2))
    phi.evolve(0.2, velocity=uniform(grid, (1.0, 0.0)), speed=0.5, curvature=0.1)
    vertices = phi.to_mesh()[0]
    assert np.abs(np.hypot(vertices[:, 0] - 0.6, vertices[:, 1] - 0.5) - 0.2).max() < 1e-3


def test_zalesak_and_vortex_beside_semi_lagrangian_transport() -> None:
    """Areas and shapes after the standard flows, on a coarse grid and without particles."""
    for flow, period, length, reverses in (
        (rotation((50.0, 50.0), np.pi / 314), 628.0, 100.0, False),
        (single_vortex(1.0), 2.0, 1.0, True),
    ):
        n = 50 if not reverses else 64
        grid = ms.Grid((n, n), length / n)
        level = slotted_disc_distance if not reverses else (lambda x, y: np.hypot(x - 0.5, y - 0.75) - 0.15)
        ours = LevelSet.from_function(grid, level, "cells")
        traced, start = ours.copy(), ours.copy()
        steady = ms.MacField(grid)
        flow.sample(steady)
        steps = 40 if reverses else 1
        velocity = ms.MacField(grid)
        for k in range(steps):
            scale = np.cos(np.pi * (k + 0.5) / steps) if reverses else 1.0
            for d in range(2):
                velocity.component(d)[...] = scale * steady.component(d)
            inner = ours.evolve(period / steps, velocity=velocity)
            for _ in range(inner):
                advect(traced.field, velocity, period / steps / inner, method="semi-lagrangian")

        def difference(a: LevelSet, start: LevelSet = start) -> float:
            change = np.abs(a.volume_fractions().array - start.volume_fractions().array).sum()
            return float(change / start.volume_fractions().array.sum())

        print(ours.volume() / start.volume() - 1, difference(ours), traced.volume() / start.volume() - 1, difference(traced))
        assert abs(ours.volume() / start.volume() - 1) < 0.03
        assert difference(ours) < 0.5 * difference(traced)


@pytest.mark.parametrize("speed", [0.3, -0.3])
def test_planes_pass_through_sides(dimension: int, dtype: type, speed: float) -> None:
    normal = np.array((0.6, 0.64, 0.48) if dimension == 3 else (0.6, 0.8))
    grid = ms.Grid((16,) * dimension, 1 / 16)

    def plane(*x: Any) -> Any:
        return sum(a * b for a, b in zip(x, normal, strict=True)) - 0.7

    phi = LevelSet.from_function(grid, plane, dtype=dtype)
    exact = phi.array - dtype(speed)
    phi.evolve(1.0, speed=speed, curvature=0.01)
    assert np.abs(phi.array - exact).max() < (1e-12 if dtype is np.float64 else 2e-5)


@pytest.mark.usefixtures("default_parallelism")
@pytest.mark.parametrize("location", LOCATIONS)
def test_bits_do_not_depend_on_threads_and_mirrors_are_exact(location: Any, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    shape = (70, 66) if dimension == 2 else (12, 14, 70)
    periodic = (True, False, False)[:dimension]
    phi = rough(shape, dtype, rng, location, periodic)
    speeds = type(phi.field)(phi.grid, dtype)
    speeds.array = rng.uniform(-1, 1, phi.array.shape).astype(dtype)
    if location == "nodes":
        for samples in (phi.array, speeds.array):
            samples[-1] = samples[0]
    velocity = uniform(phi.grid, (0.5, -0.3, 0.2)[:dimension], dtype)

    def moved(start: np.ndarray, f: np.ndarray, v: ms.MacField) -> np.ndarray:
        result, field = phi.copy(), type(phi.field)(phi.grid, dtype)
        result.array, field.array = start, f
        result.evolve(0.02, velocity=v, speed=field, curvature=0.02)
        return np.array(result.array)

    everywhere(lambda: moved(phi.array, speeds.array, velocity))
    result = moved(phi.array, speeds.array, velocity)
    assert not same_bits(result, np.array(phi.array))
    if location == "nodes":
        assert same_bits(result[0], result[-1])
    for axis in range(dimension):
        mirrored = uniform(phi.grid, (0.5, -0.3, 0.2)[:dimension], dtype)
        mirrored.component(axis)[...] *= -1
        image = moved(np.flip(phi.array, axis), np.flip(speeds.array, axis), mirrored)
        np.testing.assert_array_equal(np.flip(image, axis), result)


def test_a_band_moves_the_surface_and_nothing_far_away(dimension: int, dtype: type) -> None:
    n = 24 if dimension == 3 else 64
    grid = ms.Grid((n,) * dimension, 1 / n)
    band = 6.5 / n
    phi = LevelSet.from_shape(grid, Sphere((0.5,) * dimension, 0.4), dtype=dtype)
    phi.redistance(band=band)
    phi.evolve(0.3, speed=-0.5, band=band)
    exact = LevelSet.from_shape(grid, Sphere((0.5,) * dimension, 0.25), dtype=dtype).array
    near = np.abs(exact) < 1.5 / n
    assert np.abs(phi.array - exact)[near].max() < (0.02 if dimension == 3 else 0.005) / n * 4
    assert np.all(np.abs(phi.array) <= dtype(band))
    far = np.abs(exact) > 9 / n
    np.testing.assert_array_equal(np.abs(phi.array)[far], dtype(band))


def test_no_time_changes_nothing(rng: np.random.Generator) -> None:
    phi = rough((9, 8), np.float64, rng)
    before = phi.array.copy()
    assert phi.evolve(0.0, speed=1.0) == 0
    assert phi.evolve(1.0) == 1
    assert same_bits(before, phi.array.copy())


def test_refusals(rng: np.random.Generator) -> None:
    phi = rough((9, 8), np.float64, rng)
    other = ms.Grid((9, 9), 0.1)
    not_finite = ms.CellField(phi.grid)
    not_finite.array[3, 2] = np.nan
    velocity = ms.MacField(phi.grid)
    velocity.component(0)[1, 1] = np.inf
    before = phi.array.copy()
    for error, words, duration, arguments in (
        (ValueError, "duration", -1.0, {}),
        (ValueError, "duration", np.nan, {}),
        (ValueError, "curvature", 1.0, {"curvature": -1.0}),
        (ValueError, "cfl", 1.0, {"cfl": 1.5}),
        (ValueError, "cfl", 1.0, {"cfl": 0.0}),
        (ValueError, "band", 1.0, {"band": 0.5}),
        (ValueError, "speed", 1.0, {"speed": np.nan}),
        (ValueError, r"speed.*3, 2", 1.0, {"speed": not_finite}),
        (ValueError, "velocity", 1.0, {"velocity": velocity}),
        (ValueError, "grid", 1.0, {"velocity": ms.MacField(other)}),
        (ValueError, "samples", 1.0, {"speed": ms.NodeField(phi.grid)}),
        (TypeError, "velocity", 1.0, {"velocity": 1.0}),
        (TypeError, "velocity", 1.0, {"velocity": ms.MacField(ms.Grid((4, 4, 4), 0.1))}),
        (TypeError, "speed", 1.0, {"speed": "fast"}),
        (ValueError, "steps", 1e30, {"speed": 1.0}),
    ):
        with pytest.raises(error, match=words):
            phi.evolve(duration, **arguments)
    with pytest.raises(TypeError, match="levelset"):
        evolve(3.0, 1.0)  # type: ignore[arg-type]
    assert same_bits(before, phi.array.copy())
    phi.field.array[2, 2] = np.nan
    with pytest.raises(ValueError, match=r"phi.*2, 2"):
        phi.evolve(1.0, speed=1.0)
