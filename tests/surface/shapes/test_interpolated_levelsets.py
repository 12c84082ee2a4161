"""Level sets between stored frames: exact for translations, continuous, second order for rotations."""

from typing import Any

import numpy as np
import pytest
from support.build import random_velocity, same_bits
from support.surfaces import LOCATIONS
from support.variants import SLOW_IN_SINGLE

import meniscus as ms
from meniscus.surface import LevelSet, interpolate_levelsets

DT = 1 / 60


def sphere(n: int, x: float, location: Any = "nodes", dtype: type = np.float64) -> LevelSet:
    """Radius 0.2, in a domain of 2 x 1 x 1 with n cells along the short sides."""
    grid = ms.Grid((2 * n, n, n), 1 / n)
    return LevelSet.from_function(
        grid, lambda a, b, c: np.sqrt((a - x) ** 2 + (b - 0.5) ** 2 + (c - 0.5) ** 2) - 0.2, location, dtype=dtype
    )


def moving(phi: LevelSet, speed: float) -> ms.MacField:
    """The same velocity everywhere, also beyond the sides."""
    v = ms.MacField(phi.grid, phi.dtype, boundary={side: ms.Open() for side in ("x-", "x+", "y-", "y+", "z-", "z+")})
    v.u[...] = speed
    return v


@pytest.mark.parametrize("location", LOCATIONS)
@SLOW_IN_SINGLE
def test_a_sphere_that_moves_by_half_a_unit_per_frame(location: Any, dtype: type) -> None:
    n = 40
    frames = [sphere(n, x, location, dtype) for x in (0.7, 1.2)]
    v = moving(frames[0], 0.5 / DT)
    for alpha in (0.1, 0.25, 0.5, 0.77, 0.9):
        found = interpolate_levelsets(*frames, v, v, DT, alpha)
        vertices, _ = found.to_mesh()
        off = np.linalg.norm(vertices - (0.7 + 0.5 * alpha, 0.5, 0.5), axis=1) - 0.2
        assert np.abs(off).max() < 0.5 / n
        assert found.volume() == pytest.approx(4 / 3 * np.pi * 0.2**3, rel=0.03)
        one = interpolate_levelsets(*frames, v, None, DT, alpha, method="one-sided")
        assert np.abs(one.array - found.array)[np.abs(found.array) < 0.1].max() < 0.5 / n
    # Blended linearly the sphere is gone halfway.
    assert interpolate_levelsets(*frames, None, None, DT, 0.5, method="linear").volume() == 0


def test_whole_cells_are_exact() -> None:
    # Displacements of whole cells on both sides need no interpolation at all.
    frames = [sphere(32, x) for x in (0.75, 1.25)]
    v = moving(frames[0], 0.5 / DT)
    exact = sphere(32, 1.0)
    found = interpolate_levelsets(*frames, v, v, DT, 0.5)
    inner = (slice(8, -8),)
    assert np.abs(found.array - exact.array)[inner].max() < 1e-12


@pytest.mark.parametrize("location", LOCATIONS)
@pytest.mark.parametrize("interpolation", ["linear", "cubic"])
def test_the_ends_are_the_frames(location: Any, interpolation: Any, dimension: int, dtype: type, rng: np.random.Generator) -> None:
    grid = ms.Grid((9, 8, 7)[:dimension], 0.1, periodic=(True, False, False)[:dimension])
    frames = [LevelSet(grid, location, dtype) for _ in range(2)]
    for phi in frames:
        phi.array = rng.standard_normal(phi.array.shape).astype(dtype)
        if location == "nodes":
            phi.array[0] = phi.array[-1]
    v = [random_velocity(grid, dtype, rng) for _ in range(2)]
    for method in ("two-sided", "linear"):
        for alpha in (0, 1):
            found = interpolate_levelsets(*frames, *v, 0.3, alpha, method=method, interpolation=interpolation)  # type: ignore[arg-type]
            assert same_bits(found.array, frames[alpha].array)
    # Close to the ends: continuous there, while the one-sided variant ends somewhere else.
    near = interpolate_levelsets(*frames, *v, 0.3, 1 - 1e-6, interpolation=interpolation)
    assert np.abs(near.array - frames[1].array).max() < 1e-4
    one = interpolate_levelsets(*frames, *v, 0.3, 1.0, method="one-sided", interpolation=interpolation)
    assert np.abs(one.array - frames[1].array).max() > 0.1


@pytest.mark.parametrize("location", LOCATIONS)
def test_the_formula(location: Any, dimension: int, rng: np.random.Generator) -> None:
    grid = ms.Grid((9, 8, 7)[:dimension], 0.5)
    frames = [LevelSet(grid, location) for _ in range(2)]
    for phi in frames:
        phi.array = rng.standard_normal(phi.array.shape)
    v = [random_velocity(grid, np.float64, rng) for _ in range(2)]
    x = np.stack(np.broadcast_arrays(*frames[0].field.coordinates()), axis=-1).reshape(-1, dimension)
    at = [ms.grid.sample(w, x) for w in v]
    dt, alpha = 0.4, 0.3
    mean = (at[0] + at[1]) / 2
    expected = (1 - alpha) * frames[0].sample(x - dt * alpha * mean) + alpha * frames[1].sample(x + dt * (1 - alpha) * mean)
    found = interpolate_levelsets(*frames, *v, dt, alpha).array.ravel()
    assert np.abs(found - expected).max() < 1e-12
    one = interpolate_levelsets(*frames, v[0], None, dt, alpha, method="one-sided").array.ravel()
    assert np.abs(one - frames[0].sample(x - dt * alpha * at[0])).max() < 1e-12


def test_rotations_are_second_order_in_the_angle() -> None:
    n = 160
    grid = ms.Grid((n, n), 2 / n, (-1.0, -1.0))

    def ellipse(angle: float) -> LevelSet:
        c, s = np.cos(angle), np.sin(angle)
        return LevelSet.from_function(grid, lambda x, y: ((c * x + s * y) / 0.6) ** 2 + ((c * y - s * x) / 0.3) ** 2 - 1)

    v = ms.MacField(grid)
    center = (np.arange(n) + 0.5) * 2 / n - 1
    v.u[...] = -center[None, :]
    v.v[...] = center[:, None]
    errors = []
    for angle in (0.4, 0.2, 0.1):
        frames = ellipse(0.3), ellipse(0.3 + angle)
        found = interpolate_levelsets(*frames, v, v, angle, 0.5, interpolation="cubic")
        exact = ellipse(0.3 + 0.5 * angle)
        errors.append(np.abs(found.array - exact.array)[np.abs(exact.array) < 0.3].max())
    assert (np.log2(np.array(errors[:-1]) / errors[1:]) > 1.8).all(), errors
    # x - t v is farther out than the rotated point by (t^2 / 2) |x| on both sides, so phi = q - 1 with a quadratic q is q (1 + t^2) - 1.
    assert errors[0] == pytest.approx(0.2**2 * 1.3, rel=0.1)


def test_what_is_refused() -> None:
    phi = LevelSet(ms.Grid((4, 4), 0.5))
    v = ms.MacField(phi.grid)
    other = LevelSet(phi.grid, "cells")
    with pytest.raises(ValueError, match="phi1 must have the samples of phi0"):
        interpolate_levelsets(phi, other, v, v, 0.1, 0.5)
    space = ms.Grid((4, 4, 4), 0.5)
    with pytest.raises(TypeError, match="phi1 must be of dtype float64"):
        interpolate_levelsets(LevelSet(space), LevelSet(space, dtype=np.float32), ms.MacField(space), ms.MacField(space), 0.1, 0.5)
    with pytest.raises(ValueError, match="alpha must be between 0 and 1"):
        interpolate_levelsets(phi, phi.copy(), v, v, 0.1, 1.5)
    with pytest.raises(TypeError, match="velocity1 must be a MacField"):
        interpolate_levelsets(phi, phi.copy(), v, None, 0.1, 0.5)
    with pytest.raises(ValueError, match="velocities must be on the grid of phi0"):
        interpolate_levelsets(phi, phi.copy(), ms.MacField(ms.Grid((5, 4), 0.5)), v, 0.1, 0.5)
    with pytest.raises(ValueError, match="out must be another field"):
        interpolate_levelsets(phi, phi.copy(), v, v, 0.1, 0.5, out=phi)
    v.u[2, 2] = np.inf
    with pytest.raises(ValueError, match="velocities must be finite"):
        interpolate_levelsets(phi, phi.copy(), v, v, 0.1, 0.5)
    with pytest.raises(ValueError, match="method must be one of"):
        interpolate_levelsets(phi, phi.copy(), v, v, 0.1, 0.5, method="cubic")  # type: ignore[arg-type]
