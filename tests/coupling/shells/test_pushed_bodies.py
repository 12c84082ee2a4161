"""Fluids push bodies of a world, and bodies of one's own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.coupling import PushedShellBody, ShellCoupling, Shells
from meniscus.fluids import LiquidOptions, LiquidSolver, SmokeOptions, SmokeSolver
from meniscus.grid.boundary import Open
from meniscus.mesh import TriangleMesh, cloth_mesh
from meniscus.solids import DeformableBody, EdgeSprings, RigidBody, SpringOptions, World
from meniscus.surface import HalfSpace, Pose

G = (0.0, 0.0, -9.81)


def floating_box(n: int, heavier: float) -> tuple[ShellCoupling, RigidBody, World]:
    """A box that floats with a draft of 0.13 m, or is so many times as heavy, over a floor at 0.0625 m."""
    half, height, keel, draft = 6 / 32, 0.25, 0.3777, 0.13
    ring = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * half
    x = np.concatenate([np.column_stack([ring, np.full(4, z)]) for z in (0.0, height)])
    quads = [(0, 1, 2, 3), *((k, (k + 1) % 4, 4 + (k + 1) % 4, 4 + k) for k in range(4))]
    mesh = TriangleMesh(x, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], np.int32))
    density = 1000.0 * (2 * half) ** 2 * draft * heavier / float(mesh.area())
    body = RigidBody(mesh, density=density, shell=True, pose=Pose((0.5, 0.5, keel)))
    world = World(gravity=G)
    world.add(body, thickness=0.002)
    world.add_obstacle(HalfSpace((0.0, 0.0, 0.0625), (0.0, 0.0, 1.0)))
    grid = ms.Grid((n, n, n), 1 / n)
    sim = ShellCoupling(LiquidSolver(grid, LiquidOptions(tolerance=1e-10)), Shells(grid, [body], world=world))
    sim.fill(HalfSpace((0.0, 0.0, keel + draft), (0.0, 0.0, 1.0)), (0.02, 0.02, 0.02))
    return sim, body, world


def test_a_boat_of_a_world_floats_at_rest() -> None:
    sim, body, _ = floating_box(16, 1.0)
    for _ in range(6):
        sim.step(0.005)
    assert abs(body.velocity[2]) < 1e-9
    assert abs(body.positions()[:, 2].min() - 0.3777) < 1e-10


@pytest.mark.slow
def test_a_boat_of_a_world_sinks_and_lies_on_the_floor() -> None:
    sim, body, world = floating_box(10, 10.0)
    for _ in range(32):
        report = sim.step(0.015)
        assert body.positions()[:, 2].min() > 0.055
        assert report.fluid.projection.iterations <= 25
    assert body.positions()[:, 2].min() < 0.08
    assert abs(body.velocity[2]) < 0.3
    assert not world.rigid.forces.any()


def test_forces_that_the_caller_gives_to_bodies_of_a_world_stay() -> None:
    sim, body, world = floating_box(12, 1.0)
    world.rigid.forces[0] = (body.mass, 0.0, 0.0)
    for _ in range(2):
        sim.step(0.005)
    assert world.rigid.forces[0].tolist() == [body.mass, 0.0, 0.0]
    assert 0.002 < body.velocity[0] < 0.01


def test_bodies_of_a_world_take_back_all_loads_and_resume_to_the_same_bits() -> None:
    def run(restart: bool) -> tuple[np.ndarray, ...]:
        flat = cloth_mesh(4, 4, (0.5, 0.5))
        mesh = TriangleMesh(np.column_stack([0.25 + flat.vertices[:, :2], np.full(25, 0.62)]), flat.triangles)
        body = DeformableBody(mesh, density=0.4)
        body.add(EdgeSprings(mesh, SpringOptions(stiffness=20.0, damping_fraction=0.2, masses=body.masses)))
        world = World(gravity=G)
        world.add(body)
        grid = ms.Grid((8, 8, 8), 1 / 8)
        sim = ShellCoupling(LiquidSolver(grid), Shells(grid, [body], world=world))
        sim.fill(HalfSpace((0.0, 0.0, 0.5), (0.0, 0.0, 1.0)), (0.5, 0.5, 0.3))
        for k in range(6):
            sim.step(0.02)
            if k == 3 and restart:
                saved = sim.snapshot()
                sim.step(0.02)
                sim.restore(saved)
        assert len(body.forces) == 1
        return body.positions, body.velocities, sim.solver.levelset.array

    for a, b in zip(run(False), run(True), strict=True):
        np.testing.assert_array_equal(a, b)


class Piston:
    """A plate across a 2-D duct on a spring, which takes impulses."""

    elements = np.array([[0, 1]], np.int32)

    def __init__(self, rest: float, width: float, mass: float, spring: float) -> None:
        self.rest, self.mass, self.spring = rest, mass, spring
        self.y = np.array([-0.01, width + 0.01])
        self.x, self.v = rest + 0.01, 0.0

    @property
    def positions(self) -> np.ndarray:
        return np.column_stack([np.full(2, self.x), self.y])

    @property
    def masses(self) -> np.ndarray:
        return np.full(2, 0.5 * self.mass)

    def push(self, impulses: np.ndarray) -> None:
        self.v += float(impulses[:, 0].sum()) / self.mass

    def advance(self, dt: float) -> None:
        self.v -= dt / self.mass * self.spring * (self.x - self.rest)
        self.x += dt * self.v

    def snapshot(self) -> Any:
        return self.x, self.v

    def restore(self, snapshot: Any) -> None:
        self.x, self.v = snapshot


def test_a_piston_of_ones_own_on_a_spring_swings_with_the_air_of_its_duct() -> None:
    """omega^2 = k / (m + rho L W) with open ends; forces of the pressure reach it a step late."""
    n, width, mass, rho, spring, dt = 16, 0.25, 0.4, 1.2, 60.0, 0.002
    piston = Piston(0.53, width, mass, spring)
    assert isinstance(piston, PushedShellBody)
    grid = ms.Grid((n, 4), 1 / n)
    solver = SmokeSolver(grid, SmokeOptions(tolerance=1e-10, air_density=rho), boundary={"x-": Open(), "x+": Open()})
    sim = ShellCoupling(solver, Shells(grid, [piston]), "lumped")
    times, places = [], []
    for _ in range(330):
        sim.step(dt)
        times.append(sim.time)
        places.append(piston.x - piston.rest)
    signs = np.sign(places)
    crossings = [times[i] - dt * places[i] / (places[i] - places[i - 1]) for i in np.flatnonzero(signs[1:] != signs[:-1]) + 1]
    omega = np.pi / np.diff(crossings).mean()
    assert omega == pytest.approx(np.sqrt(spring / (mass + rho * width)), rel=0.03)


def test_what_a_fluid_cannot_push_is_one_sentence() -> None:
    grid = ms.Grid((16, 4), 1 / 16)
    solver = SmokeSolver(grid)
    piston = Piston(0.5, 0.25, 1.0, 1.0)
    with pytest.raises(ValueError, match='mode "monolithic" needs the inertia of body 0, which Piston does not tell; take "lumped"'):
        ShellCoupling(solver, Shells(grid, [piston]))

    class Weightless(Piston):
        @property
        def masses(self) -> np.ndarray:
            return np.zeros(2)

    with pytest.raises(ValueError, match="masses of body 0 must be 2 positive numbers"):
        ShellCoupling(solver, Shells(grid, [Weightless(0.5, 0.25, 1.0, 1.0)]), "printed")


@pytest.mark.parametrize("steps", [1, 4, "auto"])
def test_a_world_of_rigid_bodies_alone_advances_in_equal_steps(steps: Any) -> None:
    """Without loops there is nothing to fill: a tenth of a second is ten steps of its longest one."""
    world = World(gravity=G, steps_per_loop=steps)
    world.add(RigidBody.box((1.0, 1.0, 1.0)))
    infos = world.advance(0.1)
    assert [info.dt for info in infos] == pytest.approx([0.01] * 10)
    assert len(world.advance(0.004)) == 1
