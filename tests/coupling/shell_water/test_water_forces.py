"""Forces of water at rest on shells in it."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.coupling import ShellCoupling, Shells
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.mesh import TriangleMesh, cloth_mesh, icosphere
from meniscus.solids import DeformableBody, EdgeSprings, RigidBody, SpringOptions
from meniscus.surface import HalfSpace, Pose

G = 9.81


def buoyancy(n: int, mesh: TriangleMesh, pose: Pose, level: float, mass: float) -> float:
    """Force of water on a body at rest, N: the weight with which it would not begin to move.

    That its first acceleration is linear in its weight gives the force from two of them, whatever water moves with it.
    """
    weights, accelerations = mass * G * np.array([1.0, 0.9]), []
    for weight in weights:
        body = RigidBody(mesh, density=mass / float(mesh.area()), shell=True, pose=pose)
        body.gravity = (0.0, 0.0, -weight / mass)
        grid = ms.Grid((n, n, n), 1 / n)
        sim = ShellCoupling(LiquidSolver(grid, LiquidOptions(tolerance=1e-11)), Shells(grid, [body]))
        sim.fill(HalfSpace((0.0, 0.0, level), (0.0, 0.0, 1.0)), (0.5 / n,) * 3)
        sim.step(1e-4)
        accelerations.append(float(body.velocity[2]) / 1e-4)
    slope = (accelerations[1] - accelerations[0]) / (weights[1] - weights[0])
    return float(weights[0] - accelerations[0] / slope)


def open_box(width: float, height: float) -> TriangleMesh:
    ring = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * width / 2
    x = np.concatenate([np.column_stack([ring, np.full(4, z)]) for z in (0.0, height)])
    quads = [(0, 1, 2, 3), *((k, (k + 1) % 4, 4 + (k + 1) % 4, 4 + k) for k in range(4))]
    return TriangleMesh(x, np.array([t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))], np.int32))


@pytest.mark.slow
def test_an_empty_sphere_of_twenty_cells_under_water() -> None:
    n, radius = 32, 10 / 32
    mesh = icosphere(4, radius)
    volume = 4 / 3 * np.pi * radius**3
    force = buoyancy(n, mesh, Pose((0.51, 0.493, 0.437)), 0.9, 1000.0 * volume)
    assert force == pytest.approx(1000.0 * G * volume, rel=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("turned", [False, True])
def test_draft_of_a_box_at_random_places(turned: bool) -> None:
    """On average within 3 % over ten places at 64^3; the pressure knows its sides to whole faces, so single ones are off by more."""
    n, width, draft = 64, 0.3, 0.1
    rng, weight = np.random.default_rng(5), 1000.0 * 0.3 * 0.3 * 0.1
    errors = []
    for _ in range(10):
        x, y, z = 0.5 + rng.uniform(-0.5, 0.5, 3) / n
        angle = rng.uniform(0, np.pi / 2) if turned else 0.0
        c, s = np.cos(angle), np.sin(angle)
        pose = Pose((x, y, z - draft), np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]))
        errors.append(buoyancy(n, open_box(width, 0.2), pose, z, weight) / (G * weight) - 1)
    assert abs(np.mean(errors)) < (0.01 if turned else 0.03)
    assert np.abs(errors).max() < (0.03 if turned else 0.07)


@pytest.mark.parametrize("height", [0.4001, 0.41, 0.4375, 0.46])
@pytest.mark.parametrize("dt", [0.001, 0.02])
def test_a_held_sheet_carries_the_column_above_it(height: float, dt: float) -> None:
    n, level = 12, 0.8
    flat = cloth_mesh(4, 4, (1.2, 1.2))
    mesh = TriangleMesh(flat.vertices[:, [0, 1, 2]] * [1, 1, 0] + [-0.1, -0.1, height], flat.triangles)
    body = DeformableBody(mesh, density=1.0)
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=10.0, masses=body.masses)))
    body.pin(np.arange(len(mesh.vertices)))
    grid = ms.Grid((n, n, n), 1 / n)
    sim = ShellCoupling(LiquidSolver(grid, LiquidOptions(tolerance=1e-11)), Shells(grid, [body], thickness=1e-6))
    sim.fill(HalfSpace((0.0, 0.0, level), (0.0, 0.0, 1.0)), (0.5, 0.5, 0.6))
    for _ in range(2):
        report = sim.step(dt)
    assert report.impulse[2] / dt == pytest.approx(-1000.0 * G * (level - height), rel=1e-6)
    assert abs(np.asarray(report.impulse[:2])).max() < 1e-8 * abs(report.impulse[2])
    assert sim.solver.report.max_speed < 1e-9


@pytest.mark.parametrize("seed", [0, 1])
def test_impulses_on_water_and_shell_are_opposite_and_give_no_energy(seed: int) -> None:
    """In a box that closes sideways, with water that moves at random and a ball that floats in it, beside free surfaces anywhere."""
    n, rho = 8, 1000.0
    rng = np.random.default_rng(seed)
    grid = ms.Grid((n, n, n), 1 / n, periodic=(True, True, False))
    body = RigidBody(icosphere(2, 0.23), density=40.0, shell=True, pose=Pose((0.5, 0.47, 0.5)))
    solver = LiquidSolver(grid, LiquidOptions(tolerance=1e-11, gravity=(0.0, 0.0, 0.0)))
    sim = ShellCoupling(solver, Shells(grid, [body]))
    sim.fill(HalfSpace((0.0, 0.0, 0.55), (0.2 * rng.normal(), 0.0, 1.0)), (0.02, 0.02, 0.02))
    stirred: list[np.ndarray] = []

    def stir(name: str, _: object) -> None:
        if name == "look_ahead":
            for k in range(3):
                u = solver.velocity.component(k)
                u += 0.5 * rng.normal(size=u.shape)
                if k < 2:
                    u[(slice(None),) * k + (-1,)] = u[(slice(None),) * k + (0,)]
            solver.velocity.enforce_boundary(solver.time)
            stirred[:] = [solver.velocity.component(k).copy() for k in range(3)]

    for _ in range(3):
        sim.step(0.004, stir)
        joined = sim._joined
        assert joined is not None
        result, sides = joined.result, joined.sides
        assert result is not None
        assert sides is not None
        assert np.abs(result.impulses).max() > 1e-3
        _, masses, _, _ = joined._fluid([])
        gained, before, after = np.zeros(3), 0.0, 0.0
        for k in range(3):
            own = (slice(None),) * k + (slice(0, n),)
            m = np.where(np.isfinite(masses[k]) & ~sim.walls.blocked_faces[k], masses[k], 0.0)[own]
            u, v = stirred[k][own], solver.velocity.component(k)[own]
            gained[k] = (m * (v - u)).sum()
            before += 0.5 * (m * u * u).sum()
            after += 0.5 * (m * v * v).sum()
        mass = joined._pressure._side_mass
        moved = np.einsum("sk,sk->s", sides.weights, result.velocities[sides.nodes, sides.axis[:, None]])
        near = np.array([stirred[a][tuple(f)] for a, f in zip(sides.axis, sides.face, strict=True)])
        np.add.at(gained, sides.axis, mass * (moved - near))
        assert gained[:2] == pytest.approx(-result.impulses.sum(axis=0)[:2], abs=1e-12 * rho)
        pushed = body.copy()
        pushed.apply_impulses(body.positions(), result.impulses)
        before += 0.5 * (mass * near**2).sum() + body.kinetic_energy
        after += 0.5 * (mass * moved**2).sum() + pushed.kinetic_energy
        assert after < before
        center = np.zeros((len(sides), 3))
        center[:] = (sides.face + 0.5) / n
        push = np.zeros((len(sides), 3))
        push[np.arange(len(sides)), sides.axis] = result.side_impulses
        torque = np.cross(body.positions(), result.impulses).sum(axis=0)
        assert torque == pytest.approx(np.cross(center, push).sum(axis=0), abs=1e-12 * rho)
