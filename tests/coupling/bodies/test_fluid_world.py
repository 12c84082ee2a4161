"""`FluidWorld` as a solver: stages, transactions, snapshots, threads, and what it refuses."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from support.fluids.floating import G, beam, cylinder, down, in_air, pool
from support.same_bits import everywhere

import meniscus as ms
from meniscus.coupling import FluidWorld
from meniscus.fluids import LiquidOptions, LiquidSolver, ParticleLiquidSolver, SmokeSolver
from meniscus.mesh import icosphere
from meniscus.solids import DeformableBody, RigidBody, World
from meniscus.surface import Box, Pose

H = 1 / 24


def crates() -> FluidWorld:
    bodies = [beam((0.2, 0.2), 300.0, (0.3, 0.5), 0.2), beam((0.2, 0.2), 800.0, (0.62, 0.55), 0.7), cylinder(0.1, 500.0, (0.85, 0.62))]
    return pool(bodies, (24, 24), H, 0.5, floor=True)


def everything(both: FluidWorld) -> list[np.ndarray]:
    return [both.fluid.velocity.u.copy(), both.fluid.levelset.array.copy(), both.loads.copy(), *(b.state_row.copy() for b in both.bodies)]


def test_stages_are_those_of_the_solver_and_the_way_of_the_bodies() -> None:
    both, seen = crates(), []
    both.step(0.01, on_stage=lambda name, _: seen.append(name))
    assert tuple(seen) == both.stages
    assert set(both.stages) - set(both.fluid.stages) == {"move_bodies"}
    assert both.time == both.world.time == pytest.approx(0.01)
    assert len(both.report.forces) == 3
    assert list(both.report.forces) == both.bodies
    with pytest.raises(KeyError):
        both.report.forces[beam((1, 1), 1.0, (0, 0))]


def test_a_step_that_fails_changes_nothing() -> None:
    both = crates()
    both.step(0.01)
    before = everything(both)

    def fail(name: str, _: FluidWorld) -> None:
        if name == "project":
            raise RuntimeError("on purpose")

    with pytest.raises(RuntimeError, match="on purpose"):
        both.step(0.01, on_stage=fail)
    assert all(np.array_equal(a, b) for a, b in zip(before, everything(both), strict=True))
    other = crates()
    other.step(0.01)
    both.step(0.02)
    other.step(0.02)
    assert all(np.array_equal(a, b) for a, b in zip(everything(other), everything(both), strict=True))


def test_snapshots_and_copies_go_on_with_the_same_bits() -> None:
    both = crates()
    both.advance(0.05)
    saved, copied = both.snapshot(), both.copy()
    both.step(0.01)
    expected = everything(both)
    copied.step(0.01)
    assert all(np.array_equal(a, b) for a, b in zip(expected, everything(copied), strict=True))
    both.restore(saved)
    both.step(0.01)
    assert all(np.array_equal(a, b) for a, b in zip(expected, everything(both), strict=True))


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    def run() -> list[np.ndarray]:
        box = RigidBody.box((0.3, 0.2, 0.25), 3.0, pose=Pose((0.4, 0.5, 0.5)))
        both = in_air([box, RigidBody.sphere(0.12, 0.3, pose=Pose((0.8, 0.5, 0.4)))], 24, 3)
        for _ in range(3):
            both.step(0.02)
        return [both.fluid.velocity.w.copy(), both.loads.copy()]

    everywhere(run)


def test_meshes_float_like_their_shapes() -> None:
    heights = []
    for mesh in (False, True):
        body = RigidBody.sphere(0.2, 400.0) if not mesh else RigidBody(icosphere(4, 0.2), density=400.0)
        body.pose = Pose((0.5, 0.5, 0.55))
        both = pool([body], (20, 20, 20), 1 / 20, 0.5)
        for _ in range(10):
            both.step(0.01)
        heights.append(body.center[2])
    assert heights[0] == pytest.approx(heights[1], abs=2e-3)


def test_bodies_may_come_and_go_between_steps() -> None:
    both = crates()
    both.step(0.01)
    body = both.world.add(beam((0.1, 0.1), 500.0, (0.5, 0.85)))
    both.step(0.01)
    assert len(both.report.forces) == 4
    both.world.remove(body)
    both.step(0.01)
    assert len(both.report.forces) == 3


def test_a_fixed_body_and_one_on_a_path_displace_water_and_go_their_way() -> None:
    moved = RigidBody.box((0.2, 0.2, 1.0), 1000.0, motion=lambda t: Pose((0.3 + 0.2 * t, 0.4, 0.0)))
    fixed = RigidBody.box((0.2, 0.2, 1.0), 1000.0, motion="fixed", pose=Pose((0.75, 0.4, 0.0)))
    both = pool([moved, fixed], (24, 24), H, 0.5)
    for _ in range(10):
        both.step(0.02)
    assert moved.center[:2] == pytest.approx([0.34, 0.4])
    assert fixed.center[:2] == pytest.approx([0.75, 0.4])
    assert both.report.fluid.max_speed > 0.05


def test_the_own_solid_of_the_solver_stays() -> None:
    """A shelf in the water holds a heavy body."""
    body = beam((0.2, 0.2), 2000.0, (0.5, 0.35))
    shelf = Box((0.3, 0.1), (0.7, 0.25))
    solver = LiquidSolver(ms.Grid((24, 24), H), LiquidOptions(), solid=shelf)
    solver.fill(Box((-1.0, -1.0), (2.0, 0.7)))
    world = World(gravity=down(2))
    world.add_obstacle(Box((0.3, 0.1, -1.0), (0.7, 0.25, 1.0)))
    world.add(body)
    both = FluidWorld(solver, world)
    for _ in range(40):
        both.step(0.01)
    assert body.center[1] == pytest.approx(0.35, abs=0.05 * H)
    assert np.abs(body.velocity).max() < 1e-3
    assert both.report.forces[body].force[1] == pytest.approx(0.04 * 1000 * G, rel=0.1)


@pytest.mark.parametrize("size", [1e-3, 100.0])
def test_sizes_from_millimetres_to_a_hundred_metres_do_the_same(size: float) -> None:
    """Froude's law: lengths by the size, times by its root."""
    found = []
    for scale in (1.0, size):
        solver = LiquidSolver(ms.Grid((24, 24), H * scale), LiquidOptions())
        solver.fill(Box((-scale, -scale), (2 * scale, 0.5 * scale)))
        world = World(gravity=down(2))
        m = 300.0 * (0.2 * scale) ** 2
        body = RigidBody(
            properties=ms.solids.MassProperties(m, (0.0, 0.0, 0.0), np.eye(3) * m * (0.2 * scale) ** 2 / 6),
            shape=Box((-0.1 * scale, -0.1 * scale, -scale), (0.1 * scale, 0.1 * scale, scale)),
            pose=Pose((0.5 * scale, 0.6 * scale, 0.0)),
        )
        world.add(body)
        both = FluidWorld(solver, world)
        for _ in range(20):
            both.step(0.01 * scale**0.5)
        found.append(body.center[:2] / scale)
    assert found[1] == pytest.approx(found[0], abs=1e-4)


def wrong_viscosity() -> FluidWorld:
    return FluidWorld(LiquidSolver(ms.Grid((8, 8, 8), 0.1), LiquidOptions(viscosity=1e-3)), World())


def particles() -> FluidWorld:
    return FluidWorld(ParticleLiquidSolver(ms.Grid((8, 8), 0.1)), World())  # type: ignore[arg-type]


def soft() -> FluidWorld:
    world = World()
    world.add(DeformableBody(icosphere(1, 0.2), density=1.0))
    return FluidWorld(SmokeSolver(ms.Grid((8, 8, 8), 0.1)), world)


def outside() -> FluidWorld:
    return pool([beam((0.2, 0.2), 500.0, (1.2, 0.5))], (24, 24), H, 0.5)


def open_surface() -> FluidWorld:
    world = World()
    sheet = ms.mesh.TriangleMesh(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]), np.array([[0, 1, 2], [0, 1, 3]], np.int32))
    world.add(RigidBody(sheet, density=1.0, shell=True))
    return FluidWorld(SmokeSolver(ms.Grid((8, 8, 8), 0.3)), world)


def off_plane() -> FluidWorld:
    return pool([beam((0.2, 0.2), 500.0, (0.5, 0.5, 0.3))], (24, 24), H, 0.5)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (wrong_viscosity, "the viscosity of a liquid has no traction on bodies"),
        (particles, "fluid must be"),
        (soft, "must be made from tetrahedra"),
        (outside, "body 0 must be in the domain"),
        (open_surface, "body 0 needs a shape or a closed surface"),
        (off_plane, "body 0 must be in the plane z = 0"),
    ],
    ids=lambda v: getattr(v, "__name__", ""),
)
def test_what_does_not_go_together_is_refused_in_one_sentence(make: Callable[[], FluidWorld], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        make()


def test_bodies_come_and_go_and_water_may_be_without_any() -> None:
    both = pool([], (24, 24), H, 0.5, floor=True)
    both.step(0.01)
    assert both.time == both.world.time == both.fluid.time == pytest.approx(0.01)
    crate = both.world.add(beam((0.2, 0.2), 300.0, (0.5, 0.9)))
    both.step(0.01)
    assert crate.velocity[1] == pytest.approx(-G * 0.01, rel=1e-9)
    both.world.remove(crate)
    both.step(0.01)
    assert both.time == both.world.time == pytest.approx(0.03)
    assert both.report.fluid.max_speed < 1e-8
