"""What stands in for hidden smoke, walls after a restore, periodic images of shells, and what shells refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.shells import ball, line, ring, sheet
from support.shells.stirred_smoke import stir

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.surface import Pose


def stirred_ring(**options: Any) -> ShellCoupling:
    solver = ms.fluids.SmokeSolver(ms.Grid((20, 20), 1 / 20), ms.fluids.SmokeOptions(ambient=1.0))
    sim = ShellCoupling(solver, Shells(solver.grid, [KinematicShell(ring((0.47, 0.52), 0.3))]), "one-way", **options)
    solver.density.array[...] = 2.0
    solver.temperature.array[...] = 3.0
    for n in range(6):
        stir(solver, 3.0, 0.05, n)
        sim.step(0.05)
    return sim


def test_uniform_smoke_and_heat_beside_a_shell_stay_as_they_are() -> None:
    sim = stirred_ring()
    assert sim.solver.density.array == pytest.approx(2.0, rel=1e-6)
    assert sim.solver.temperature.array == pytest.approx(3.0, rel=1e-6)


def test_printed_stand_ins_thin_smoke_each_on_its_own() -> None:
    sim = stirred_ring(replacement={"density": "printed"})
    assert sim.replacement == {"density": "printed", "temperature": "mean"}
    assert sim.solver.density.array.min() < 1.5
    assert sim.solver.temperature.array == pytest.approx(3.0, rel=1e-6)
    assert stirred_ring(replacement="printed").solver.temperature.array.min() < 2.5


def test_walls_are_where_the_shells_are_after_a_restore_and_a_failed_step() -> None:
    solver = ms.fluids.SmokeSolver(ms.Grid((24, 24), 1 / 24))
    body = KinematicShell(ring((0.0, 0.0), 0.2), lambda t: Pose((0.4 + 2 * t, 0.5)))
    sim = ShellCoupling(solver, Shells(solver.grid, [body]))
    start = [m.copy() for m in sim.walls.blocked_faces]
    saved = sim.snapshot()
    sim.step(0.05)
    moved = [m.copy() for m in sim.walls.blocked_faces]
    assert not np.array_equal(start[0], moved[0])

    def fail(name: str, _: object) -> None:
        if name == "look_ahead":
            raise ArithmeticError

    with pytest.raises(ArithmeticError):
        sim.step(0.05, fail)
    assert all(np.array_equal(a, b) for a, b in zip(moved, sim.walls.blocked_faces, strict=True))
    sim.restore(saved)
    assert all(np.array_equal(a, b) for a, b in zip(start, sim.walls.blocked_faces, strict=True))
    sim.step(0.05)
    assert all(np.array_equal(a, b) for a, b in zip(moved, sim.walls.blocked_faces, strict=True))


def test_a_ball_leaves_a_periodic_box_and_comes_back_with_its_smoke() -> None:
    grid = ms.Grid((10, 8, 8), 1 / 8, periodic=(True, False, False))
    solver = ms.fluids.SmokeSolver(grid)
    body = KinematicShell(ball((0.0, 0.0, 0.0), 0.3, 2), lambda t: Pose((0.6 + t, 0.5, 0.5)))
    sim = ShellCoupling(solver, Shells(grid, [body]), "one-way")
    (audit,) = sim.audit()
    x = (np.stack(np.indices(grid.shape), axis=-1) + 0.5) / 8
    solver.density.array[...] = np.linalg.norm(x - [0.6, 0.5, 0.5], axis=-1) < 0.25
    for _ in range(30):
        sim.step(0.1)
    (audit,) = sim.audit()
    assert body.positions[:, 0].min() > 3
    assert audit.outside == 0.0
    assert audit.smoke > 0.0


def test_a_motion_that_makes_a_shell_intersect_itself_stops_the_step() -> None:
    solver = ms.fluids.SmokeSolver(ms.Grid((16, 16), 1 / 16))
    x, e = line([(0.2, 0.2), (0.2, 0.8), (0.6, 0.8), (0.6, 0.2)], 1)
    far = np.array([[-0.6, -0.3]])

    def motion(t: float) -> np.ndarray:
        y = x.copy()
        y[-1:] += t * far
        return y

    sim = ShellCoupling(solver, Shells(solver.grid, [KinematicShell((x, e), motion)]))
    for _ in range(3):
        sim.step(0.3)
    with pytest.raises(ValueError, match="body 0 intersects itself"):
        sim.step(0.3)
    assert sim.time == pytest.approx(0.9)


def test_bodies_and_elements_that_make_no_shell_are_refused() -> None:
    grid = ms.Grid((8, 8, 8), 1 / 8)
    x, t = sheet((0.5, 0.1, 0.1), (0.0, 0.8, 0.0), (0.0, 0.0, 0.8), 2)
    body = KinematicShell((x, t))
    with pytest.raises(ValueError, match="body 1 is one of those before it"):
        Shells(grid, [body, body])
    for wrong, said in ((-1, "must be numbers of its nodes"), (len(x), "must be numbers of its nodes"), (int(t[0, 1]), "degenerate")):
        bad = t.copy()
        bad[0, 0] = wrong
        with pytest.raises(ValueError, match=said):
            Shells(grid, [KinematicShell((x, bad))])
    with pytest.raises(TypeError, match="elements must be integers, not float64"):
        KinematicShell((x, t.astype(float)))
    flat = x.copy()
    flat[t[0]] = [[0.5, 0.1, 0.1], [0.5, 0.2, 0.2], [0.5, 0.3, 0.3]]
    with pytest.raises(ValueError, match="triangle 0 of body 0 is degenerate"):
        Shells(grid, [KinematicShell((flat, t[:1]))])
    with pytest.raises(ValueError, match="replacement"):
        ShellCoupling(ms.fluids.SmokeSolver(grid), Shells(grid, [body]), replacement={"smoke": "mean"})  # type: ignore[arg-type]
