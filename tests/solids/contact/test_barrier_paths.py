"""Worlds with a barrier where steps are long: solids thinner than the way of a step, small blocks, no gravity."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms
from meniscus.mesh import cloth_mesh, tet_block
from meniscus.solids import BarrierOptions, DeformableBody, EdgeSprings, SpringOptions, TetElements, World
from meniscus.surface import Box, KinematicSolid, Pose, Sphere

G = 9.8
FRAME = 1 / 24


def cube(origin: tuple[float, float, float], cells: int = 2) -> DeformableBody:
    mesh = tet_block(cells, cells, cells, (0.1, 0.1, 0.1), origin=origin)
    body = DeformableBody(mesh, density=1000.0)
    body.add(TetElements(mesh, youngs_modulus=1e6, poissons_ratio=0.3, damping=0.01))
    return body


def sheet(stiffness: float) -> DeformableBody:
    mesh = cloth_mesh(8, 8, (0.4, 0.4), origin=(-0.2, -0.2, 0.0))
    body = DeformableBody(mesh, density=0.2)
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=stiffness, damping_fraction=0.5, masses=body.masses)))
    return body


@pytest.mark.parametrize("speed", [5.0, 20.0])
def test_a_cube_does_not_pass_a_plate_that_is_thinner_than_its_way_in_a_step(speed: float) -> None:
    world = World(gravity=(0, 0, -G), response="barrier")
    body = cube((-0.05, -0.05, 0.3))
    body.velocities[...] = (0.0, 0.0, -speed)
    world.add(body, thickness=0.005)
    world.add_obstacle(Box((-1, -1, -0.02), (1, 1, 0)))
    for _ in range(6):
        world.step(FRAME)
    assert 0 < body.positions[:, 2].min() < 0.005


class Flying:
    """Poses of what moves along z."""

    def __init__(self, start: float, speed: float) -> None:
        self.start, self.speed = start, speed

    def __call__(self, time: float) -> Pose:
        return Pose((0.0, 0.0, self.start + self.speed * time))


def _least_distance(path: Callable[[float], Pose], radius: float, before: tuple[float, Any], after: tuple[float, Any]) -> float:
    """Return how near nodes come to a ball between two times, as both go straight."""
    gap = before[1] - np.array(path(before[0]).translation)
    way = after[1] - np.array(path(after[0]).translation) - gap
    part = np.clip(-(gap * way).sum(axis=1) / np.maximum((way * way).sum(axis=1), 1e-300), 0, 1)
    return float(np.linalg.norm(gap + part[:, None] * way, axis=1).min()) - radius


def test_a_fast_ball_takes_a_sheet_along_and_nodes_stay_out_on_the_way() -> None:
    """The ball goes four of its radii in a step. Without gravity all was at rest: its speed is the only measure of what is small."""
    path = Flying(-0.15, 10.0)
    world = World(gravity=(0, 0, 0), response="barrier")
    body = sheet(1000.0)
    world.add(body, thickness=0.01)
    world.add_obstacle(KinematicSolid(Sphere((0, 0, 0), 0.1), path))
    last: list[tuple[float, Any]] = [(0.0, body.positions.copy())]
    nearest: list[float] = []

    def watch(x: Any) -> None:
        now = (world.time + world.solver._core.fraction * FRAME, np.array(x))
        nearest.append(_least_distance(path, 0.1, last[0], now))
        last[0] = now

    world.solver.on_iterate = watch
    info = world.step(FRAME)
    assert info.contact.increments > 1
    assert min(nearest) > 0
    assert body.positions[:, 2].min() > 0.2


@pytest.mark.parametrize("obstacle", ["solid", "mesh"])
@pytest.mark.parametrize(("side", "thickness"), slow_but([(0.3, 1e-4), (3e-3, 1e-4)], (3e-3, 1e-4)))
def test_small_blocks_and_thin_barriers_slide_as_in_the_closed_form(obstacle: str, side: float, thickness: float) -> None:
    angle, friction = np.pi / 5, 0.3
    axes = np.array([[np.cos(angle), 0, -np.sin(angle)], [0, 1, 0], [np.sin(angle), 0, np.cos(angle)]])
    mesh = tet_block(2, 2, 1, (side, side, side / 3), origin=(0, 0, 0.9 * thickness))
    mesh = mesh.moved(mesh.vertices @ axes)
    body = DeformableBody(mesh, density=1000)
    body.add(TetElements(mesh, youngs_modulus=1e6, poissons_ratio=0.3, damping=0.01))
    world = World(gravity=(0, 0, -G), response=BarrierOptions())
    world.add(body, thickness=thickness, friction=friction)
    if obstacle == "solid":
        world.add_obstacle(ms.surface.HalfSpace((0, 0, 0), tuple(axes[2])), friction=friction)
    else:
        corners = np.array([[-2, -2, 0], [9, -2, 0], [9, 2, 0], [-2, 2, 0.0]]) @ axes
        plane = ms.mesh.TriangleMesh(corners, np.array([[0, 1, 2], [0, 2, 3]], np.int32))
        world.add_obstacle(plane, thickness=thickness, friction=friction, sides="both")
    for _ in range(12):
        world.step(FRAME)
    speed = body.velocities.mean(axis=0)
    for _ in range(8):
        world.step(FRAME)
    acceleration = (body.velocities.mean(axis=0) - speed) @ axes[0] / (8 * FRAME)
    assert acceleration == pytest.approx(G * (np.sin(angle) - friction * np.cos(angle)), rel=0.005)


def test_surfaces_without_thickness_are_refused() -> None:
    world = World(response="barrier")
    world.add(sheet(10.0), thickness=0.0)
    with pytest.raises(ValueError, match="thickness of a surface is its activation distance and must be positive"):
        world.step(FRAME)


@pytest.mark.parametrize("dt", [1e-3, 1e-4])
def test_what_rests_stays_at_rest_when_steps_become_shorter(dt: float) -> None:
    """The least stiffness grows with 1 / dt^2; given to what touches already, it throws a cube up by more than a metre."""
    world = World(gravity=(0, 0, -G), response="barrier")
    body = cube((0.0, 0.0, 0.004))
    world.add(body, thickness=0.005)
    world.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)))
    for _ in range(20):
        world.step(FRAME)
    before = body.positions.copy()
    for _ in range(10):
        world.step(dt)
    np.testing.assert_allclose(body.positions, before, rtol=0, atol=1e-6)


def _below(points: Any) -> Any:
    return points[:, 2].copy()


FLOORS: dict[str, Callable[[], Any]] = {
    "half space": lambda: ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)),
    "turned half space": lambda: ms.surface.HalfSpace((0, 0, 0), (1, 0, 0)).rotated((np.sqrt(0.5), 0, -np.sqrt(0.5), 0)),
    "on a path": lambda: KinematicSolid(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)), Flying(0.0, 0.0)),
    "mesh": lambda: KinematicSolid(ms.mesh.tet_block(1, 1, 1, (2, 2, 1), origin=(-1, -1, -1)).boundary),
    "function": lambda: KinematicSolid(_below, dimension=3),
    "group": lambda: ms.surface.SolidGroup([KinematicSolid(Box((-1, -1, -1), (1, 1, 0))), KinematicSolid(Sphere((5, 0, 0), 0.1))]),
}


def test_floors_of_all_kinds_carry_alike() -> None:
    """Shapes of the core are asked there, at rest and on paths; meshes, functions and groups in Python."""
    heights = {}
    for name, floor in FLOORS.items():
        world = World(gravity=(0, 0, -G), response=BarrierOptions(distance=0.01, tolerance=1e-9))
        body = DeformableBody(np.array([[0.1, 0.2, 0.03]]), masses=2.0)
        world.add(body)
        world.add_obstacle(floor(), friction=0.3)
        for _ in range(12):
            info = world.step(FRAME)
        heights[name] = body.positions[0, 2]
        assert info.contact.pairs == 1
    # The barrier carries the weight: -stiffness db/dz = m g.
    s = (heights["half space"] / 0.01) ** 2
    slope = (-2 * (s - 1) * np.log(s) - (s - 1) ** 2 / s) * 2 * heights["half space"] / 0.01**2
    assert -info.contact.barrier_stiffness * slope == pytest.approx(2.0 * G, rel=1e-4)
    np.testing.assert_allclose(list(heights.values()), heights["half space"], rtol=1e-7)
