"""Bodies at rest in water: how deep they float, that they stay there, which way up; and in their heave."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq
from support.fluids.floating import G, beam, cylinder, pool
from support.variants import slow, slow_but

from meniscus.coupling import FluidWorld
from meniscus.solids import RigidBody
from meniscus.surface import Pose

CELLS = 12  # a body
H = 1 / 32
LEVEL = 0.51
SIZE = CELLS * H


def floating(shape: str, density: float, height: float, offset: float, dimension: int = 2, tolerance: float = 1e-8) -> FluidWorld:
    """Return a body whose centre is at this height; `offset`, in cells, from the middle of the tank. A raft is a wide box."""
    center = (0.5 + offset * H,) * (dimension - 1) + (height,)
    if dimension == 2:
        wide = SIZE + 4.2 * H if shape == "raft" else SIZE
        body = cylinder(SIZE / 2, 1000 * density, center) if shape == "ball" else beam((wide, SIZE), 1000 * density, center)
    elif shape == "box":
        body = RigidBody.box((SIZE,) * 3, 1000 * density, pose=Pose(center))
    else:
        body = RigidBody.sphere(SIZE / 2, 1000 * density, pose=Pose(center))
    return pool([body], (32,) * dimension, H, LEVEL, tolerance=tolerance)


def exact_draft(shape: str, density: float, dimension: int) -> float:
    r = SIZE / 2
    if shape != "ball":
        return density * SIZE
    if dimension == 3:
        return float(brentq(lambda t: t * t * (3 * r - t) / (4 * r**3) - density, 0, SIZE))
    part = lambda t: (r * r * np.arccos((r - t) / r) - (r - t) * np.sqrt(max(2 * r * t - t * t, 0))) / (np.pi * r * r)  # noqa: E731
    return float(brentq(lambda t: part(t) - density, 0, SIZE))


def height_at_rest(shape: str, density: float, offset: float, dimension: int = 2, accuracy: float = 1e-5) -> float:
    """Return the height at which a body does not begin to move, by its motion alone."""

    def acceleration(height: float) -> float:
        both = floating(shape, density, height, offset, dimension, 1e-10)
        both.step(1e-3)
        return float(both.bodies[0].velocity[dimension - 1]) / 1e-3

    expected = LEVEL + SIZE / 2 - exact_draft(shape, density, dimension)
    return float(brentq(acceleration, expected - 0.3 * H, expected + 0.3 * H, xtol=accuracy * H))


@pytest.mark.parametrize("offset", slow_but([0.5, 0.31, 0.0], 0.5), ids=lambda v: f"{v:g}")
@pytest.mark.parametrize("density", slow_but([0.1, 0.3, 0.5, 0.7, 0.9], 0.3, 0.9), ids=lambda v: f"{v:g}")
@pytest.mark.parametrize("shape", ["box", "ball"])
def test_the_draft_is_that_of_archimedes_within_one_percent(shape: str, density: float, offset: float) -> None:
    draft = LEVEL + SIZE / 2 - height_at_rest(shape, density, offset, accuracy=1e-4)
    assert draft == pytest.approx(exact_draft(shape, density, 2), rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("density", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("shape", ["box", "ball"])
def test_the_draft_in_space_is_that_of_archimedes_within_one_percent(shape: str, density: float) -> None:
    draft = LEVEL + SIZE / 2 - height_at_rest(shape, density, 0.31, 3, accuracy=1e-3)
    assert draft == pytest.approx(exact_draft(shape, density, 3), rel=0.01)


@pytest.mark.parametrize("steps", [100, slow(1000)])
@pytest.mark.parametrize(("shape", "density"), [("ball", 0.4), ("raft", 0.1), ("raft", 0.6)])
def test_nothing_moves_from_the_right_draft(shape: str, density: float, steps: int) -> None:
    height = height_at_rest(shape, density, 0.5, accuracy=1e-10)
    both = floating(shape, density, height, 0.5, tolerance=1e-10)
    for _ in range(steps):
        both.step(0.01)
        assert both.report is not None
        assert both.report.fluid.max_speed < 1e-7
        assert np.abs(both.bodies[0].velocity).max() < 1e-7
    assert abs(both.bodies[0].center[1] - height) < 1e-9


@pytest.mark.parametrize(("wide", "stands"), [(1.3, True), (1.15, False)])
def test_a_box_of_half_the_density_stands_or_rolls_over(wide: float, stands: bool) -> None:
    """The limit of stability is a width of sqrt(3/2) times the height."""
    both = pool([beam((wide * SIZE, SIZE), 500.0, (0.757, 0.5), 0.05)], (48, 32), H, 0.5)
    angles = []
    while both.time < 3.0:
        both.advance(0.1)
        r = both.bodies[0].rotation
        angles.append(abs(np.degrees(np.arctan2(r[1, 0], r[0, 0]))))
    assert max(angles) < 6.0 if stands else max(angles) > 15.0


def test_the_force_at_rest_is_the_weight() -> None:
    height = height_at_rest("ball", 0.4, 0.5)
    both = floating("ball", 0.4, height, 0.5, tolerance=1e-10)
    report = both.step(0.01)
    body = both.bodies[0]
    told = report.forces[body]
    assert told.force == pytest.approx([0.0, body.mass * G, 0.0], rel=1e-5, abs=1e-5 * body.mass * G)
    assert abs(told.torque[2]) < 1e-5 * body.mass * G * SIZE
    assert abs(told.work) < 1e-6
