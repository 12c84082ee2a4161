"""Shells that smoke moves: momentum, exact frequencies, no leaks, threads, snapshots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.shells import ball, sheet

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, ShellMode, Shells
from meniscus.coupling.shell_pressure import SheetFaces
from meniscus.coupling.shells.wall_sides import wall_sides
from meniscus.grid.boundary import Open, Wall

MODES: tuple[ShellMode, ...] = ("monolithic", "lumped", "printed")


def cloth(density: float = 0.2, stiffness: float = 2.0, place: float = 0.42) -> ms.solids.DeformableBody:
    """A curtain across a duct, held all around."""
    x, t = sheet((place, -0.02, -0.02), (0.0, 1.04, 0.0), (0.0, 0.0, 1.04), 6)
    mesh = ms.mesh.TriangleMesh(x, t)
    body = ms.solids.DeformableBody(mesh, density=density)
    body.add(ms.solids.EdgeSprings(mesh, ms.solids.SpringOptions(stiffness=stiffness, damping_fraction=0.1, masses=body.masses)))
    body.pin(np.flatnonzero((x[:, 1:] < 0).any(axis=1) | (x[:, 1:] > 1).any(axis=1)))
    return body


def jet(mode: ShellMode = "monolithic", dtype: Any = np.float32, **options: Any) -> ShellCoupling:
    ends = {"x-": Open(), "x+": Open(), "y-": Wall(), "y+": Wall(), "z-": Wall(), "z+": Wall()}
    solver = ms.fluids.SmokeSolver(ms.Grid((12, 8, 8), 1 / 8), ms.fluids.SmokeOptions(**options), dtype=dtype, boundary=ends)
    solver.density.array[:3] = 1.0
    solver.velocity.u[:3, 2:6, 2:6] = 1.0
    return ShellCoupling(solver, Shells(solver.grid, [cloth()]), mode)


def test_exactly_the_blocked_faces_have_sides_with_the_hits_of_plain_lines() -> None:
    grid = ms.Grid((10, 10, 10), 0.1)
    x, t = ball((0.51, 0.48, 0.53), 0.31, 2)
    walls = Shells(grid, [KinematicShell((x, t))]).walls()
    closed = tuple(np.zeros(m.shape, bool) for m in walls.blocked_faces)
    sides, plain = wall_sides(walls, x, closed), SheetFaces.of_mesh(grid, x, t)
    blocked = [np.zeros_like(m) for m in closed]
    for axis, face in zip(sides.axis, sides.face, strict=True):
        blocked[axis][tuple(face)] = True
    assert all(np.array_equal(a, b) for a, b in zip(blocked, walls.blocked_faces, strict=True))
    there = {(int(a), *map(int, f), bool(u)): i for i, (a, f, u) in enumerate(zip(sides.axis, sides.face, sides.upper, strict=True))}
    index = [there[(int(a), *map(int, f), bool(u))] for a, f, u in zip(plain.axis, plain.face, plain.upper, strict=True)]
    assert len(index) >= len(sides) - 4
    assert sides.distance[index] == pytest.approx(plain.distance, abs=1e-12)
    hits = [np.einsum("sk,skd->sd", s.weights, x[s.nodes]) for s in (sides, plain)]
    assert hits[0][index] == pytest.approx(hits[1], abs=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_momentum_of_air_and_shells_stays_in_each_step(mode: ShellMode) -> None:
    """In a periodic box, also the fluid that moves with the sheet counts."""
    n, rho = 8, 1.2
    grid = ms.Grid((n, n, n), 1 / n, periodic=(True, True, True))
    solver = ms.fluids.SmokeSolver(grid, ms.fluids.SmokeOptions(tolerance=1e-9, air_density=rho), dtype=np.float64)
    rng = np.random.default_rng(3)
    for k in range(3):
        u = solver.velocity.component(k)
        u[...] = 0.3 * rng.random(u.shape)
        u[(slice(None),) * k + (-1,)] = u[(slice(None),) * k + (0,)]
    x, t = ball((0.0, 0.0, 0.0), 0.27, 1)
    body = ms.solids.RigidBody(ms.mesh.TriangleMesh(x, t), density=0.5, shell=True, pose=ms.surface.Pose((0.5, 0.47, 0.52)))
    sim = ShellCoupling(solver, Shells(grid, [body]), mode)
    before: list[Any] = []

    def fluid(faces: list[np.ndarray]) -> np.ndarray:
        """Momentum of faces that no sheet cuts."""
        total = np.zeros(3)
        for k, (u, cut) in enumerate(zip(faces, sim.walls.blocked_faces, strict=True)):
            first = (slice(None),) * k + (slice(0, n),)
            total[k] = (u[first] * ~cut[first]).sum() * rho / n**3
        return total

    def keep(name: str, _: Any) -> None:
        if name == "look_ahead":
            before[:] = [solver.velocity.component(k).copy() for k in range(3)]

    for _ in range(3):
        momentum = body.momentum.copy()
        pending = sim.impulses.sum(axis=0)
        sim.step(0.05, keep)
        assert body.momentum - momentum == pytest.approx(pending, abs=1e-12)
        joined = sim._joined
        assert joined is not None
        result, sides = joined.result, joined.sides
        assert result is not None
        assert sides is not None
        after = [solver.velocity.component(k) for k in range(3)]
        beside = np.zeros(3)
        mass = sides.distance * rho / n**2 * (mode != "printed")
        moved = np.einsum("sk,sk->s", sides.weights, result.velocities[sides.nodes, sides.axis[:, None]])
        for k in range(3):
            on = sides.axis == k
            beside[k] = (mass[on] * (moved[on] - before[k][tuple(sides.face[on].T)])).sum()
        gained = fluid(after) - fluid(before) + beside
        assert np.abs(result.impulses.sum(axis=0)).max() > 1e-6
        if mode == "monolithic":
            assert gained == pytest.approx(-result.impulses.sum(axis=0), abs=1e-12)
        # Each impulse acts on the line through the centres of cells: the torques are opposite as well.
        center = (sides.face + 0.5) / n
        push = np.zeros((len(sides), 3))
        push[np.arange(len(sides)), sides.axis] = result.side_impulses
        torque = np.cross(body.positions(), result.impulses).sum(axis=0)
        assert torque == pytest.approx(np.cross(center, push).sum(axis=0), abs=1e-12)
        assert sim.report is not None
        assert sim.report.impulse == pytest.approx(result.impulses.sum(axis=0))


def test_a_plate_on_a_spring_in_a_duct_swings_with_all_its_air() -> None:
    """omega^2 = k / (sigma + rho L) for a duct with open ends."""
    n, k, sigma, rho, dt = 16, 40.0, 0.3, 1.2, 0.01
    ends = {"x-": Open(), "x+": Open(), "y-": Wall(), "y+": Wall(), "z-": Wall(), "z+": Wall()}
    grid = ms.Grid((n, 4, 4), 1 / n)
    options = ms.fluids.SmokeOptions(tolerance=1e-12, air_density=rho)
    solver = ms.fluids.SmokeSolver(grid, options, dtype=np.float64, boundary=ends)
    area = (4 / n) ** 2
    x, t = sheet((0.0, -0.1285, -0.1285), (0.0, 0.257, 0.0), (0.0, 0.0, 0.257), 4)
    properties = ms.solids.MassProperties(sigma * area, np.zeros(3), np.eye(3))
    rest = 0.53
    body = ms.solids.RigidBody(ms.mesh.TriangleMesh(x, t), properties=properties, pose=ms.surface.Pose((rest + 0.02, 0.125, 0.125)))
    sim = ShellCoupling(solver, Shells(grid, [body]), "monolithic")

    def spring(name: str, _: Any) -> None:
        if name == "move_shells":
            body.apply_impulses(body.center[None].copy(), np.array([[-dt * k * area * (body.center[0] - rest), 0.0, 0.0]]))

    ways = []
    for _ in range(60):
        sim.step(dt, spring)
        ways.append(body.center[0] - rest)
    w = np.array(ways)
    # The least-squares frequency of x'' = - omega^2 x in steps of symplectic Euler.
    second = (w[2:] - 2 * w[1:-1] + w[:-2])[2:] / dt**2
    squared = -(second * w[3:-1]).sum() / (w[3:-1] ** 2).sum()
    assert squared == pytest.approx(k / (sigma + rho), rel=1e-9)
    assert w.min() < -0.015


def test_a_light_cloth_in_a_jet_moves_and_nothing_leaks() -> None:
    sim = jet()
    (body,) = sim.shells.bodies
    start, most = body.positions.copy(), 0.0
    for _ in range(50):
        sim.step(0.04)
        most = max(most, float(np.abs(body.positions - start).max()))
        beyond = int(np.ceil(body.positions[:, 0].max() * 8)) + 1
        assert not sim.solver.density.array[beyond:].any()
    assert 0.02 < most < 0.3


def test_bodies_do_in_their_step_what_the_solve_has_foreseen() -> None:
    sim = jet(dtype=np.float64)
    (body,) = sim.shells.bodies
    sim.step(0.04)
    before = body.positions.copy()
    joined = sim._joined
    assert joined is not None
    assert joined.result is not None
    foreseen = joined.result.velocities
    sim.step(0.04)
    free = np.isfinite(body.masses)
    assert np.abs(foreseen).max() > 0.1
    assert ((body.positions - before) / 0.04)[free] == pytest.approx(foreseen[free], abs=1e-10)


def state_bytes(sim: ShellCoupling) -> bytes:
    s = sim.solver
    fields = [s.density.array, *(s.velocity.component(d) for d in range(3)), sim.shells.positions, sim.impulses]
    return b"".join(np.ascontiguousarray(a).tobytes() for a in fields)


def test_results_are_the_same_on_any_number_of_threads_and_after_a_restore() -> None:
    results, threads = [], ms.num_threads()
    try:
        for n in (1, 3):
            ms.set_num_threads(n)
            sim = jet()
            sim.step(0.04)
            saved = sim.snapshot()
            for _ in range(3):
                sim.step(0.04)
            results.append(state_bytes(sim))
            sim.restore(saved)
            for _ in range(3):
                sim.step(0.04)
            results.append(state_bytes(sim))
            other = jet()
            other.restore(saved)
            for _ in range(3):
                other.step(0.04)
            results.append(state_bytes(other))
    finally:
        ms.set_num_threads(threads)
    assert len(set(results)) == 1


class Own:
    """What a user writes."""

    def __init__(self) -> None:
        self.positions, self.elements = ball((0.5, 0.5, 0.5), 0.2, 1)

    def advance(self, dt: float) -> None: ...

    def snapshot(self) -> Any: ...

    def restore(self, snapshot: Any) -> None: ...


def test_bodies_without_masses_are_refused_in_one_sentence() -> None:
    solver = ms.fluids.SmokeSolver(ms.Grid((8, 8, 8), 1 / 8))
    with pytest.raises(ValueError, match="needs the masses of body 0 and how to push it, which Own does not tell"):
        ShellCoupling(solver, Shells(solver.grid, [Own()]), "monolithic")


@pytest.mark.parametrize("stiffness", [20.0, 1e5])
def test_a_light_cloth_passes_the_centres_of_cells_in_a_box_without_outlet(stiffness: float) -> None:
    """Hits of both sides of a face are one, and a pressure without outlet acts on no sheet: else there are megapascals."""
    grid = ms.Grid((10, 8, 8), 1 / 8, periodic=(True, False, False))
    boundary = {side: Wall() for side in ("y-", "y+", "z-", "z+")}
    solver = ms.fluids.SmokeSolver(grid, ms.fluids.SmokeOptions(), boundary=boundary)
    solver.velocity.u[...] = 1.0
    x, t = sheet((0.55, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), 9)
    mesh = ms.mesh.TriangleMesh(x, t)
    body = ms.solids.DeformableBody(mesh, density=0.2)
    body.add(ms.solids.EdgeSprings(mesh, ms.solids.SpringOptions(stiffness=stiffness, damping_fraction=0.1, masses=body.masses)))
    sim = ShellCoupling(solver, Shells(grid, [body]))
    for _ in range(12):
        sim.step(0.02)
        assert np.abs(solver.pressure.array).max() < 50
        assert np.abs(body.velocities).max() < 1.5
    assert body.positions[:, 0].min() > 0.62
    assert body.positions[:, 0].max() > 0.6875
    assert sim._joined is not None
    assert sim._joined._pressure.null_vectors == 1


def test_a_sheet_through_the_centres_of_cells_shuts_none_off() -> None:
    """Covered centres are on one side of the sheet, for the pressure."""
    sim = jet()
    body = cloth(place=0.4375)
    sim = ShellCoupling(sim.solver, Shells(sim.solver.grid, [body]))
    sim.step(0.01)
    assert sim.report is not None
    assert sim.report.closed_regions == 0
    assert np.abs(body.velocities).max() < 2


def test_the_step_of_a_crumpled_light_cloth_on_stiff_springs_is_solved_over_a_factor_where_iterations_do_not_do() -> None:
    """Bodies end where the pressure has foreseen it, also where conjugate gradients over blocks stop at rounding errors."""
    solver = ms.fluids.SmokeSolver(ms.Grid((10, 8, 8), 1 / 8, periodic=(True, True, True)), ms.fluids.SmokeOptions())
    for k in range(3):
        u = solver.velocity.component(k)
        u[...] = 0.3 * np.random.default_rng(k).normal(size=u.shape) + (k == 0)
    x, t = sheet((0.6, 0.1, 0.1), (0.0, 0.8, 0.0), (0.0, 0.0, 0.8), 14)
    x[:, 0] += 0.05 * np.sin(60 * x[:, 1]) + 0.03 * np.cos(20 * x[:, 2])
    mesh = ms.mesh.TriangleMesh(x, t)
    body = ms.solids.DeformableBody(mesh, density=0.02)
    body.add(ms.solids.EdgeSprings(mesh, ms.solids.SpringOptions(stiffness=1e4, damping_fraction=0.1, masses=body.masses)))
    sim = ShellCoupling(solver, Shells(solver.grid, [body]))
    for _ in range(4):
        foreseen = None if sim._joined is None or sim._joined.result is None else sim._joined.result.velocities.copy()
        sim.step(0.1)
        if foreseen is not None:
            assert body.velocities == pytest.approx(foreseen, abs=1e-6)
    assert np.abs(body.velocities).max() < 3
