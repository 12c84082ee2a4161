"""Nothing crosses a shell: smoke beyond is 0.0, and what happens beyond makes no difference, to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from support.shells import Mesh, ball, box, closed_below, line, ring, sheet

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.coupling.shells.parity import inside_cells
from meniscus.surface import Pose

Motion = Callable[[float], Pose]
TURNED = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])


def smoke_solver(shape: tuple[int, ...], dtype: Any = np.float32, **options: Any) -> ms.fluids.SmokeSolver:
    grid = ms.Grid(shape, 1 / shape[0])
    chosen = {"density_weight": 0.5, "temperature_weight": 1.0, "confinement": 0.3, "tolerance": 1e-4, **options}
    return ms.fluids.SmokeSolver(grid, ms.fluids.SmokeOptions(**chosen), dtype=dtype)


def stir(solver: ms.fluids.SmokeSolver, cells: float, dt: float, step: int) -> None:
    """Set a wild velocity that passes so many cells in a step."""
    rng = np.random.default_rng(step)
    speed = cells * solver.grid.spacing / dt
    for d in range(solver.grid.dimension):
        u = solver.velocity.component(d)
        u[...] = speed * (2 * rng.random(u.shape) - 1)


def run(shape: tuple[int, ...], mesh: Mesh, motion: Motion | None, cfl: float, steps: int, within: bool, dtype: Any = np.float32) -> None:
    """Stir smoke on one side of a closed shell, and look at the other."""
    solver = smoke_solver(shape, dtype)
    body = KinematicShell(mesh, motion)
    sim = ShellCoupling(solver, Shells(solver.grid, [body]))
    h, dt = solver.grid.spacing, 0.05
    inside = inside_cells(body.positions, body.elements, np.zeros(len(shape)), h, shape)
    solver.density.array[...] = inside == within
    for n in range(steps):
        stir(solver, cfl, dt, n)
        sim.step(dt)
        (audit,) = sim.audit()
        beyond = (audit.least_outside, audit.most_outside) if within else (audit.least, audit.most)
        assert beyond == (0.0, 0.0), f"smoke has leaked in step {n}"
    assert (audit.smoke if within else audit.outside) > 0


def orbit(center: tuple[float, ...], way: float, turn: float) -> Motion:
    """A shell that goes around and turns as it goes; its rest pose is at the origin."""

    def pose(t: float) -> Pose:
        c = np.array(center)
        c[0] += way * np.sin(3.0 * t)
        c[1] += way * np.cos(3.0 * t)
        if len(c) == 2:
            return Pose(c, turn * t)
        a, b = np.cos(turn * t), np.sin(turn * t)
        return Pose(c, TURNED @ np.array([[a, -b, 0.0], [b, a, 0.0], [0.0, 0.0, 1.0]]))

    return pose


@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("cfl", [0.5, 3.0, 10.0])
def test_a_ring_at_rest_or_on_its_way_holds_smoke_in_2d(cfl: float, within: bool) -> None:
    run((24, 22), ring((0.47, 0.44), 0.26), None, cfl, 15, within)
    run((24, 22), ring((0.0, 0.0), 0.2), orbit((0.5, 0.46), 0.1, 4.0), cfl, 25, within, np.float64)


@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("cfl", [0.5, 3.0, 10.0])
def test_a_turned_box_at_rest_or_on_its_way_holds_smoke_in_3d(cfl: float, within: bool) -> None:
    run((14, 13, 12), box((0.5, 0.45, 0.43), 0.2), None, cfl, 4, within)
    run((14, 13, 12), ball((0.0, 0.0, 0.0), 0.24, 1), orbit((0.5, 0.46, 0.43), 0.08, 3.0), cfl, 6, within)


@pytest.mark.parametrize(
    "points",
    [
        [(0.5, -0.01), (0.5, 1.01)],
        [(0.31, 0.0), (0.66, 1.0)],
        [(0.52083333333, 0.0), (0.52083333333, 1.0)],
        [(0.3, -0.1), (0.6, 0.3), (0.45, 0.35), (0.62, 0.4), (0.45, 0.42), (0.6, 1.1)],
        [(0.4, 0.0), (0.7, 0.5), (0.41, 0.505), (0.71, 0.51), (0.42, 1.0)],
    ],
)
@pytest.mark.parametrize("cfl", [0.5, 3.0, 10.0])
def test_a_sheet_across_a_duct_keeps_smoke_on_its_side(points: list[tuple[float, float]], cfl: float) -> None:
    """Straight, on faces, through centres, folded in zigzag within cells; ending on the walls exactly."""
    solver = smoke_solver((24, 24))
    x, e = line(points, 5)
    closing = line([*points, (-0.2, points[-1][1]), (-0.2, points[0][1])])
    loop = np.concatenate([closing[1], [[len(closing[0]) - 1, 0]]])
    left = inside_cells(closing[0], loop.astype(np.int32), np.zeros(2), 1 / 24, (24, 24))
    walls = Shells(solver.grid, [KinematicShell((x, e))])
    sim = ShellCoupling(solver, walls)
    solver.density.array[...] = left
    for n in range(12):
        stir(solver, cfl, 0.05, n)
        sim.step(0.05)
        assert not solver.density.array[~left].any()
    assert solver.density.array[left].sum() > 1


@pytest.mark.parametrize("cfl", [0.5, 3.0])
def test_a_tilted_swinging_curtain_seals_a_duct_in_3d(cfl: float) -> None:
    solver = smoke_solver((14, 10, 10))
    x0, t = sheet((0.35, -0.05, -0.2), (0.2, 0.85, 0.1), (0.05, 0.0, 1.1), 6)

    def motion(time: float) -> np.ndarray:
        y = x0.copy()
        y[:, 0] += 0.15 * np.sin(4 * time) * (1 + x0[:, 1] + np.sin(9 * x0[:, 2]))
        return y

    sim = ShellCoupling(solver, Shells(solver.grid, [KinematicShell((x0, t), motion)]))
    h = solver.grid.spacing

    def left() -> np.ndarray:
        closed = closed_below(sim.shells.positions, t, -0.3)
        return inside_cells(*closed, np.zeros(3), h, (14, 10, 10))

    solver.density.array[...] = left()
    for n in range(12):
        stir(solver, cfl, 0.05, n)
        sim.step(0.05)
        assert not solver.density.array[~left()].any()
    assert solver.density.array.sum() > 1


@pytest.mark.parametrize("dimension", [2, 3])
def test_what_is_beyond_a_shell_makes_no_difference_to_the_bit(dimension: int) -> None:
    """Velocity, smoke and heat inside of a shell are the same whatever is outside, after transport, new values and forces."""
    shape = (20, 18) if dimension == 2 else (12, 13, 12)
    motion = orbit((0.5, 0.46, 0.5)[:dimension], 0.06, 3.0)
    mesh = ring((0.0, 0.0), 0.25) if dimension == 2 else ball((0.0, 0.0, 0.0), 0.28, 1)
    results = []
    for outside in (0, 1):
        solver = smoke_solver(shape, np.float64)
        body = KinematicShell(mesh, motion)
        sim = ShellCoupling(solver, Shells(solver.grid, [body]))
        rng = np.random.default_rng(5)
        other = np.random.default_rng(17)
        h = solver.grid.spacing
        inside = inside_cells(body.positions, body.elements, np.zeros(dimension), h, shape)
        walls = sim.shells.walls()
        peak = rng.random(shape)
        for field in (solver.density, solver.temperature):
            field.array[...] = np.where(inside, rng.random(shape), other.random(shape) if outside else peak)
        for d in range(dimension):
            u = solver.velocity.component(d)
            own = rng.random(u.shape) - 0.5
            elsewhere = 2 * (other.random(u.shape) - 0.5) if outside else own
            near = np.zeros(u.shape, bool)
            cut = tuple(slice(1, -1) if a == d else slice(None) for a in range(dimension))
            lower = tuple(slice(None, -1) if a == d else slice(None) for a in range(dimension))
            upper = tuple(slice(1, None) if a == d else slice(None) for a in range(dimension))
            near[cut] = inside[lower] & inside[upper]
            # A blocked face has one value for both sides, which is that of the shell.
            u[...] = np.where(walls.blocked_faces[d], 0.25, np.where(near, own, elsewhere))
        sim.solver.begin(0.1)
        for stage in ("move_shells", "transport", "add_forces"):
            getattr(sim, stage)(0.1)
        now = inside_cells(body.positions, body.elements, np.zeros(dimension), h, shape)
        parts = [field.array[now] for field in (solver.density, solver.temperature)]
        for d in range(dimension):
            cut = tuple(slice(1, -1) if a == d else slice(None) for a in range(dimension))
            lower = tuple(slice(None, -1) if a == d else slice(None) for a in range(dimension))
            upper = tuple(slice(1, None) if a == d else slice(None) for a in range(dimension))
            u = solver.velocity.component(d)[cut]
            parts.append(u[now[lower] & now[upper] & ~sim._end.blocked_faces[d][cut]])
        results.append(np.concatenate([p.ravel() for p in parts]))
    assert len(results[0]) > 50
    assert np.array_equal(results[0], results[1])


@pytest.mark.parametrize("method", ["semi-lagrangian", "maccormack", "bfecc"])
def test_far_from_shells_all_bits_are_those_of_the_plain_transport(method: Any) -> None:
    grid = ms.Grid((40, 20, 20), 0.05)
    walls = Shells(grid, [KinematicShell(ball((0.3, 0.5, 0.5), 0.2, 2))]).walls()
    rng = np.random.default_rng(3)
    velocity = ms.MacField(grid, np.float64)
    for d in range(3):
        u = velocity.component(d)
        u[...] = rng.random(u.shape) - 0.5
    plain, guarded = ms.CellField(grid, np.float64), ms.CellField(grid, np.float64)
    plain.array[...] = guarded.array[...] = rng.random((40, 20, 20))
    ms.fluids.advect(plain, velocity, 0.2, method=method)
    ms.fluids.advect(guarded, velocity, 0.2, method=method, walls=walls)
    differs = plain.array != guarded.array
    # Ways of two cells, twice there and back, and the stencils.
    assert not differs[walls.clearance() > 10].any()
    assert differs[walls.clearance() <= 2].any()
    assert (walls.clearance() > 10).sum() > 1000


def seal_with_cloth(cells: int, cfl: float, steps: int) -> None:
    """Stir smoke on one side of a cloth that is held around a duct and swings."""
    x, t = sheet((0.5, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), 6)
    mesh = ms.mesh.TriangleMesh(x, t)
    body = ms.solids.DeformableBody(mesh, density=0.2, gravity=(4.0, 1.0, 0.5))
    body.add(ms.solids.EdgeSprings(mesh, ms.solids.SpringOptions(stiffness=2.0, damping_fraction=0.02, masses=body.masses)))
    body.pin(np.flatnonzero((x[:, 1:] == 0).any(axis=1) | (x[:, 1:] == 1).any(axis=1)))
    solver = smoke_solver((cells, cells, cells))
    sim = ShellCoupling(solver, Shells(solver.grid, [body]))

    def left() -> np.ndarray:
        return inside_cells(*closed_below(body.positions, t, -0.3), np.zeros(3), 1 / cells, (cells, cells, cells))

    solver.density.array[...] = left()
    for n in range(steps):
        stir(solver, cfl, 0.03, n)
        sim.step(0.03)
        assert not solver.density.array[~left()].any(), f"smoke has leaked in step {n}"
    assert solver.density.array.sum() > 1
    assert body.positions[:, 0].max() > 0.52


@pytest.mark.parametrize("cfl", [0.5, 3.0, 10.0])
def test_cloth_across_a_duct_keeps_smoke_on_its_side(cfl: float) -> None:
    seal_with_cloth(9, cfl, 8)


@pytest.mark.slow
@pytest.mark.parametrize("cfl", [0.5, 3.0, 10.0])
def test_a_thousand_steps_of_cloth_across_a_duct_leak_nothing(cfl: float) -> None:
    seal_with_cloth(10, cfl, 1000)


@pytest.mark.slow
@pytest.mark.parametrize("within", [True, False])
@pytest.mark.parametrize("cfl", [0.5, 3.0, 10.0])
def test_a_thousand_steps_of_rigid_shells_leak_nothing(cfl: float, within: bool) -> None:
    run((32, 30), ring((0.0, 0.0), 0.2), orbit((0.5, 0.46), 0.12, 4.0), cfl, 1000, within)
    run((14, 13, 12), ball((0.0, 0.0, 0.0), 0.24, 1), orbit((0.5, 0.46, 0.43), 0.08, 3.0), cfl, 1000, within)
