"""Shells beside thick solids in smoke: nothing passes either, and both count in the pressure."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.shells import line, sheet, star, swinging
from support.shells.stirred_smoke import stir

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.coupling.shells.parity import inside_cells
from meniscus.fluids import SmokeOptions, SmokeSolver, TransportOptions, VorticityOptions
from meniscus.grid.boundary import Open, Wall
from meniscus.surface import Box, HalfSpace, KinematicSolid, Pose, Sphere

H = 1 / 24


def duct() -> SmokeSolver:
    """Air between two level-set walls that lie between the faces of the grid."""
    walls = HalfSpace((0.0, 0.21), (0.0, 1.0)) | HalfSpace((0.0, 0.79), (0.0, -1.0))
    options = SmokeOptions(density_weight=0.5, temperature_weight=1.0, vorticity=VorticityOptions(confinement=0.3), tolerance=1e-4)
    return SmokeSolver(ms.Grid((24, 24), H), options, solid=walls)


@pytest.mark.parametrize("depth", [0.1, 2.0])
@pytest.mark.parametrize("slope", [0.0, 0.5])
@pytest.mark.parametrize("cfl", [0.5, 10.0])
def test_a_sheet_whose_rims_are_in_the_walls_of_a_duct_seals_it(cfl: float, slope: float, depth: float) -> None:
    low, high = 0.21 - depth * H, 0.79 + depth * H
    y = np.linspace(low, high, 20)

    def flaps(t: float) -> npt.NDArray[np.float64]:
        x = 0.5 + slope * (y - 0.5) + 0.1 * np.sin(6 * t) * np.sin(np.pi * (y - low) / (high - low)) + 0.05 * np.sin(9 * t)
        return np.stack([x, y], axis=1)

    solver = duct()
    sim = ShellCoupling(solver, Shells(solver.grid, [KinematicShell((flaps(0.0), line([(0, 0), (1, 1)], 19)[1]), flaps)]))
    at = (np.arange(24) + 0.5) * H
    between = (at > 0.21) & (at < 0.79)

    def left() -> npt.NDArray[np.bool_]:
        return np.asarray(at[:, None] < np.interp(at, y, flaps(sim.time)[:, 0]))[:, between]

    solver.density.array[...] = at[:, None] < np.interp(at, y, flaps(0.0)[:, 0])
    for n in range(12):
        stir(solver, cfl, 0.02, n)
        sim.step(0.02)
        assert not solver.density.array[:, between][~left()].any()
    assert solver.density.array[:, between][left()].mean() > 0.5


def test_stars_keep_their_smoke_while_solids_move_through_them() -> None:
    for seed in range(6):
        rng = np.random.default_rng(seed)
        pose, middle = swinging(rng)
        start, way, rate = middle + rng.uniform(-0.2, 0.2, 2), rng.uniform(0, 0.2, 2), rng.uniform(0.5, 5)
        shape = (Sphere((0.0, 0.0), 0.14), Box((-0.15, -0.04), (0.15, 0.05)), HalfSpace((0.0, 0.0), (1.0, 0.3)))[seed % 3]
        solid = KinematicSolid(shape, lambda t, a=start, w=way, r=rate: Pose(a + w * np.sin(r * t), 2 * t))  # type: ignore[misc]
        slip, samples = ("no-slip", "nodes") if seed % 2 else ("free", "faces")
        options = SmokeOptions(temperature_weight=1.0, tolerance=1e-3, slip=slip, transport=TransportOptions(velocity_samples=samples))  # type: ignore[arg-type]
        solver = SmokeSolver(ms.Grid((24, 24), H), options, solid=solid)
        body = KinematicShell(star(rng), pose)
        sim = ShellCoupling(solver, Shells(solver.grid, [body]))
        within = bool(seed % 2)

        def inside(body: KinematicShell = body) -> npt.NDArray[np.bool_]:
            return inside_cells(body.positions, body.elements, np.zeros(2), H, (24, 24))

        solver.density.array[inside() == within] = 1.0
        for n in range(10):
            stir(solver, (0.5, 3.0, 10.0)[seed % 3], 0.02, n)
            sim.step(0.02)
            (audit,) = sim.audit()
            most = audit.most_outside if within else audit.most  # type: ignore[union-attr]
            least = audit.least_outside if within else audit.least  # type: ignore[union-attr]
            assert max(most, -least) <= 0.0, (seed, n)


@pytest.mark.parametrize("seed", range(6))
def test_far_from_shells_transport_keeps_its_bits(seed: int) -> None:
    """Cells in the solid within five of a shell are continued on its sides; others go on from these, and are read from three cells away."""
    plain, beside = duct(), duct()
    sim = ShellCoupling(beside, Shells(beside.grid, [KinematicShell(line([(0.1, 0.15), (0.1, 0.3)], 4))]))
    for solver in (plain, beside):
        solver.density.array[...] = np.random.default_rng(seed).random((24, 24))
        stir(solver, 1.0, 0.02, seed)
    plain.transport(0.02)
    seen: list[Any] = []
    sim.step(0.02, lambda name, _: seen.append([beside.density.array.copy(), beside.velocity.u.copy()]) if name == "transport" else None)
    far = (sim.walls.clearance() > 5 + 3) & plain.sampled_solid.at(0.0).outside_cells  # type: ignore[union-attr]
    assert far.sum() > 150
    assert np.array_equal(plain.density.array[far], seen[0][0][far])
    assert np.array_equal(plain.velocity.u[1:][far], seen[0][1][1:][far])
    near = (sim.walls.clearance() < 2) & plain.sampled_solid.at(0.0).outside_cells  # type: ignore[union-attr]
    assert not np.array_equal(plain.density.array[near], seen[0][0][near])


def test_walls_see_the_solid_of_now_before_the_first_step_and_after_a_restart() -> None:
    """What they saw decided the first step of water and shells, which was another one after a restart."""
    solid = KinematicSolid(Sphere((0.0, 0.0), 0.1), lambda t: Pose((0.3 + 10 * t, 0.5)))
    smoke = SmokeSolver(ms.Grid((24, 24), H), solid=solid)
    sim = ShellCoupling(smoke, Shells(smoke.grid, [KinematicShell(line([(0.1, 0.43), (0.9, 0.43)], 4))]))
    saved = sim.snapshot()

    def hidden() -> list[bool]:
        return [bool(sim.walls.hidden((x, 0.45), [(x, 0.35 if x > 0.8 else 0.46)])[0]) for x in (0.3, 0.5, 0.85)]

    assert hidden() == [True, False, True]
    sim.step(0.02)
    assert hidden() == [False, True, True]
    sim.restore(saved)
    assert hidden() == [True, False, True]


@pytest.mark.parametrize("wall", [0.03, 0.0625])
def test_a_plate_between_solid_walls_moves_all_the_air_between_them_and_no_more(wall: float) -> None:
    """Of a plate that falls along a duct, whose rims are in the walls: (m + rho A L) a = m g with the open area A."""
    n, sigma, rho, dt = 16, 0.3, 1.2, 0.01
    h, wide = 1 / n, 6 / n
    ends = {"x-": Open(), "x+": Open(), "y-": Wall(), "y+": Wall(), "z-": Wall(), "z+": Wall()}
    walls = HalfSpace((0.0, wall, 0.0), (0.0, 1.0, 0.0)) | HalfSpace((0.0, wide - wall, 0.0), (0.0, -1.0, 0.0))
    options = SmokeOptions(tolerance=1e-12, air_density=rho)
    solver = SmokeSolver(ms.Grid((n, 6, 6), h), options, dtype=np.float64, boundary=ends, solid=walls)
    x, t = sheet((0.513, -0.2 * h, -0.2 * h), (0.0, wide + 0.4 * h, 0.0), (0.0, 0.0, wide + 0.4 * h), 4)
    body = ms.solids.RigidBody(ms.mesh.TriangleMesh(x, t), density=sigma, shell=True)
    body.gravity = (1.0, 0.0, 0.0)
    sim = ShellCoupling(solver, Shells(solver.grid, [body]))
    speeds, given = [], []
    for _ in range(4):
        sim.step(dt)
        speeds.append(body.velocity[0])
        given.append(sim.impulses[:, 0].sum())
    area = wide * (wide - 2 * wall)
    gain = dt * body.mass / (body.mass + rho * area * 1.0)
    assert np.diff(speeds[1:]) == pytest.approx(gain, rel=1e-9)
    # The pressure difference times the open area, which brings the air along.
    assert np.array(given[1:]) == pytest.approx(-rho * area * gain, rel=1e-9)
