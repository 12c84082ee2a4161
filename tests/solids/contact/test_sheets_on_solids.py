"""Sheets on an inclined plane, and on a fixed inclined sheet."""

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import SpringOptions, World
from meniscus.surface import HalfSpace

ANGLE = np.pi / 5
G = 9.8
DOWN = np.array([np.cos(ANGLE), 0.0, -np.sin(ANGLE)])
UP = np.array([np.sin(ANGLE), 0.0, np.cos(ANGLE)])


@pytest.mark.parametrize("friction", [0.3, 0.6, 1.0])
def test_a_sheet_slides_down_an_inclined_plane_or_sticks(friction: float) -> None:
    mesh = ms.mesh.cloth_mesh(8, 8, (0.5, 0.5))
    flat = mesh.vertices[:, :1] * DOWN + mesh.vertices[:, 1:2] * np.cross(UP, DOWN)
    mesh = mesh.moved(flat)
    sheet = ms.solids.DeformableBody(mesh, density=0.2)
    sheet.add(ms.solids.EdgeSprings(mesh, SpringOptions(stiffness=20.0, damping_fraction=0.5, masses=sheet.masses)))
    world = World(gravity=(0, 0, -G), elasticity="full-step", tolerance=1e-6)
    world.add(sheet)
    world.add_obstacle(HalfSpace((0, 0, 0), tuple(UP)), friction=friction)
    for _ in range(60):
        world.step(1 / 120)
    way = float((sheet.positions - flat).mean(axis=0) @ DOWN)
    acceleration = (np.sin(ANGLE) - friction * np.cos(ANGLE)) * G
    if acceleration > 0:
        assert way == pytest.approx(0.5 * acceleration * 0.25, rel=0.03)
    else:
        assert way == 0.0


def inclined_sheets(friction: float, rest: str = "held") -> tuple[World, list[float]]:
    """Return a sheet after half a second on a fixed one, and its ways after a half and all of that."""
    across = np.cross(UP, DOWN)
    base = ms.mesh.cloth_mesh(20, 12, (3.0, 1.0), origin=(-0.75, -0.27, 0))
    base = base.moved(base.vertices[:, :1] * DOWN + base.vertices[:, 1:2] * across)
    mesh = ms.mesh.cloth_mesh(8, 8, (0.5, 0.5))
    start = mesh.vertices[:, :1] * DOWN + mesh.vertices[:, 1:2] * across + 0.0099 * UP
    sheet = ms.solids.DeformableBody(mesh.moved(start), density=0.2)
    sheet.add(ms.solids.EdgeSprings(mesh, SpringOptions(stiffness=20.0, damping_fraction=0.5, masses=sheet.masses)))
    world = World(gravity=(0, 0, -G), elasticity="full-step", steps_per_loop=8, rest=rest)  # type: ignore[arg-type]
    world.add(sheet, thickness=0.01, friction=friction)
    world.add_obstacle(base, thickness=0.01, friction=friction, sides="both")
    ways = []
    for _ in range(2):
        for _ in range(120):
            world.step(1 / 480)
        ways.append(float((sheet.positions - start).mean(axis=0) @ DOWN))
    return world, ways


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.3, 0.6, 1.0])
def test_a_sheet_slides_down_an_inclined_sheet_or_sticks(friction: float) -> None:
    world, ways = inclined_sheets(friction)
    acceleration = (np.sin(ANGLE) - friction * np.cos(ANGLE)) * G
    if acceleration > 0:
        # From the second differences, in which the first touch does not count.
        assert (ways[1] - 2 * ways[0]) / 0.25**2 == pytest.approx(acceleration, rel=0.03)
        assert ways[1] == pytest.approx(0.5 * acceleration * 0.5**2, rel=0.03)
    else:
        assert abs(ways[1] - ways[0]) < 1e-9
    assert len(world.audit()) == 0


def test_friction_in_the_last_stage_alone_lets_it_creep() -> None:
    _, ways = inclined_sheets(1.0, "literal")
    # With the speed of half a step of free fall along the plane.
    assert ways[1] - ways[0] == pytest.approx(0.25 * 0.5 * G * np.sin(ANGLE) / 480, rel=0.01)
