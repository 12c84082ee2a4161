"""Bodies in shallow water: draft, rise of the level, heave, momentum."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.coupling import ShallowBodies
from meniscus.fluids import OpenSide, ShallowWater
from meniscus.solids import RigidBody, World
from meniscus.surface import Pose

G = 9.81


def floating(fluid: ShallowWater, body: RigidBody) -> ShallowBodies:
    world = World(gravity=(0.0, 0.0, -G))
    world.add(body)
    return ShallowBodies(fluid, world)


def test_a_box_at_rest_stays_at_its_draft_and_has_raised_the_level() -> None:
    fluid = ShallowWater(ms.Grid((40, 24), 0.25), -1.0)
    body = RigidBody.box((3.0, 2.0, 0.5), 600.0, pose=Pose((5.0, 3.0, -0.05)))  # 0.3 m of 0.5 m below the surface
    made = floating(fluid, body)
    made.fill(0.0)
    before = fluid.depth.sum() + 0.0
    assert before * 0.0625 == pytest.approx(10 * 6 - 3 * 2 * 0.3, rel=1e-12)  # the level stands V / A higher than without the body
    for _ in range(40):
        made.step(0.02)
    assert body.center == pytest.approx((5.0, 3.0, -0.05), abs=1e-6)
    assert abs(body.velocity).max() < 1e-6
    assert fluid.depth.sum() == pytest.approx(before, rel=1e-12)
    assert max(abs(u).max() for u in fluid.velocity) < 1e-6


def heave_error(half: float, draft: float, spacing: float = 0.05, end: float = 2.0) -> float:
    """Largest error of the height of a box let go 0.005 above rest, in parts of that, against the closed form."""
    c, start, beside = np.sqrt(G), 0.005, 4.0
    n = round((2 * half + 2 * beside) / spacing)
    grid = ms.Grid((n, 1), spacing, (-half - beside, 0.0), periodic=(False, True))
    fluid = ShallowWater(grid, -1.0, sides={"x-": OpenSide(level=0.0), "x+": OpenSide(level=0.0)})
    height = 2 * draft
    body = RigidBody.box((2 * half, spacing, height), 500.0, pose=Pose((0.0, spacing / 2, start)))
    made = floating(fluid, body)
    made.fill(0.0)
    mass = body.mass / spacing + 2 * 1000 * half**3 / (3 * (1 - draft))
    roots = np.roots([mass, 2 * 1000 * G * half**2 / c, 2 * 1000 * G * half])
    parts = np.linalg.solve([[1, 1], roots], [start, 0])
    steps = int(np.ceil(end / made.max_dt()))
    error = 0.0
    for k in range(1, steps + 1):
        made.step(end / steps)
        error = max(error, abs(body.center[2] - (parts * np.exp(roots * k * end / steps)).sum().real))
    return error / start


@pytest.mark.slow
@pytest.mark.parametrize(("half", "draft"), [(1.0, 0.4), (2.0, 0.5)])
def test_heave(half: float, draft: float) -> None:
    assert heave_error(half, draft) < 0.02


def test_heave_of_a_shallow_box() -> None:
    assert heave_error(1.0, 0.3, 0.1, 1.0) < 0.03


def test_horizontal_momentum_is_nearly_kept() -> None:
    grid = ms.Grid((60, 8), 0.25, periodic=True)
    fluid = ShallowWater(grid, -1.0)
    body = RigidBody.box((3.0, 1.0, 0.6), 500.0, pose=Pose((7.0, 1.0, 0.02)))
    made = floating(fluid, body)
    made.fill(0.0)
    x = grid.cell_centers()[0]
    fluid.depth[...] += 0.05 * np.exp(-((x - 3.0) ** 2))
    fluid.velocity[0][...] = 0.05 * np.sqrt(G) * np.exp(-((x - 3.0) ** 2))

    def momentum() -> float:
        return float((fluid.depth * fluid.velocity[0]).sum() * grid.spacing**2 * 1000 + body.momentum[0])

    start = momentum()
    for _ in range(60):
        made.step(made.max_dt())
    # Open: the push of the hull on the water is not yet accounted for to rounding.
    assert momentum() == pytest.approx(start, rel=0.2)
    assert body.momentum[0] > 0


def test_what_cannot_float_is_said() -> None:
    fluid = ShallowWater(ms.Grid((8, 8), 0.25), -1.0)
    with pytest.raises(ValueError, match="wide along x, the basin 2 m"):
        floating(fluid, RigidBody.box((3.0, 1.0, 1.0)))
    with pytest.raises(ValueError, match="scheme 'flux'"):
        floating(ShallowWater(ms.Grid((8, 8), 0.25), -1.0, "staggered"), RigidBody.box((1.0, 1.0, 1.0)))
