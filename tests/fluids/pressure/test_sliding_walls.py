"""Walls that move along themselves: nothing passes through them, and they move no fluid."""

import math
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import divergence, project
from meniscus.surface import Complement, HalfSpace, KinematicSolid, Pose, SolidSample, Sphere, Twist

SPIN = 4.0


def turning(axis: tuple[float, ...]) -> Twist:
    return Twist((0.0, 0.0, 0.0), tuple(SPIN * a / math.hypot(*axis) for a in axis))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("normal", [(0.0, 0.0, 1.0), (0.1, 0.2, 0.9), (0.6, -0.5, 0.4), (-0.3, 0.9, 0.02)])
def test_nothing_passes_through_a_spinning_disc(normal: tuple[float, ...], dtype: type) -> None:
    """A plane that turns about its normal: exactly and in every cell."""
    grid = ms.Grid((12, 11, 10), 0.1)
    solid = KinematicSolid(HalfSpace((0.57, 0.52, 0.46), normal), velocity=turning(normal))
    flux = divergence(ms.MacField(grid, dtype), solid.sample(grid, dtype=dtype)).array
    assert np.abs(flux).max() <= (2e-5 if dtype == np.float32 else 1e-12) * SPIN


@pytest.mark.parametrize("angle", [0.3, 1.1, 2.4, 4.0])
def test_a_turning_half_plane_displaces_what_its_edge_sweeps(angle: float) -> None:
    """In every cell: the integral of the normal velocity over the piece of the edge in it."""
    n, pieces, drift = 16, 40000, np.array([0.3, -0.2])
    grid = ms.Grid((n, n), 1 / n)
    normal, point = np.array([math.cos(angle), math.sin(angle)]), np.array([0.52, 0.47])
    solid = KinematicSolid(HalfSpace(tuple(point), tuple(normal)), velocity=Twist(tuple(drift), SPIN))
    flux = divergence(ms.MacField(grid), solid.sample(grid)).array
    x = point + ((np.arange(2 * pieces) + 0.5) / pieces - 1)[:, None] * np.array([-normal[1], normal[0]])
    x = x[((x > 0) & (x < 1)).all(axis=1)]
    swept = (drift + SPIN * np.stack([-x[:, 1], x[:, 0]], axis=1)) @ normal
    expected = np.zeros((n, n))
    np.add.at(expected, tuple(np.floor(x * n).astype(int).T), -swept / pieces * n**2)
    assert np.abs(flux - expected).max() <= 2e-3 * SPIN * n


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize(("centre", "radius"), [(0.5, 0.43), (0.47, 0.31), (0.51, 0.22)])
def test_fluid_in_and_around_a_spinning_ball_stays_at_rest(dimension: int, dtype: type, centre: float, radius: float, inside: bool) -> None:
    """But for what the facets of the wall push: in cells per turn, a small part of the radius."""
    n = 48 if dimension == 2 else 24
    grid = ms.Grid((n,) * dimension, 1 / n)
    ball: Any = Sphere((0.0,) * dimension, radius)
    place = Pose([centre + 0.013 * d for d in range(dimension)])
    twist = Twist((0.0, 0.0), SPIN) if dimension == 2 else turning((0.3, -0.5, 0.8))
    sample = KinematicSolid(Complement(ball) if inside else ball, lambda t: place, velocity=twist).sample(grid, dtype=dtype)
    velocity = ms.MacField(grid, dtype)
    project(velocity, 0.01, sample)
    for cells, most in ((0.5, 0.1), (1.5, 0.04)):
        assert speed_outside(velocity, sample, cells) <= most * SPIN * radius / n


def speed_outside(velocity: ms.MacField, sample: SolidSample, cells: float) -> float:
    """Largest component on faces at least so many cells from the solid."""
    fastest = 0.0
    for d in range(velocity.grid.dimension):
        phi = sample.levelset.array
        for axis in range(phi.ndim):
            if axis != d:
                lower, upper = (np.take(phi, range(k, phi.shape[axis] - 1 + k), axis) for k in (0, 1))
                phi = 0.5 * (lower + upper)
        fastest = max(fastest, float(np.abs(velocity.component(d)[phi > cells * velocity.grid.spacing]).max()))
    return fastest
