"""A liquid of particles beside thin shells: none crosses, none is lost uncounted, and nothing at rest moves."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.shells import ball, box, line, ring, star, swinging
from support.shells.stirred_smoke import orbit
from support.shells.water import beyond

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.coupling.shell_water.near_particles import near_walls
from meniscus.fluids import LiquidParticles, LiquidSolver, LiquidSource, ParticleLiquidOptions, ParticleLiquidSolver, PressureOptions
from meniscus.mesh import TriangleMesh
from meniscus.solids import RigidBody
from meniscus.surface import Box, HalfSpace, Pose, Sphere

TRANSFERS = ("flip", "pic", "apic")


def tank(
    shape: tuple[int, ...], mesh: Any, motion: Any, levels: list[tuple[float, tuple[float, ...]]], dtype: Any = np.float64, **options: Any
) -> ShellCoupling:
    """Return particles up to some levels, m, each on the side of a shell where a point is."""
    grid = ms.Grid(shape, 1 / shape[0])
    solver = ParticleLiquidSolver(grid, ParticleLiquidOptions(**options), dtype=dtype)
    sim = ShellCoupling(solver, Shells(grid, [KinematicShell(mesh, motion)]))
    up = (0.0,) * (len(shape) - 1)
    for level, point in levels:
        sim.fill(HalfSpace((*up, level), (*up, 1.0)), point)
    return sim


def stepped(sim: ShellCoupling, dt: float, steps: int, inside: bool) -> tuple[int, float]:
    """Step, and check the sides; return the number of lost particles, and the cells that the fastest has passed in a step."""
    start, lost, fastest = len(sim.solver.particles), 0, 0.0
    for n in range(steps):
        report = sim.step(dt)
        lost += report.deleted_markers
        fastest = max(fastest, report.fluid.max_speed * dt / sim.solver.grid.spacing)
        assert beyond(sim, inside) == 0, f"water is beyond the shell in step {n}"
    assert start - lost - sim.solver.volume.totals["outflow"] == len(sim.solver.particles)
    return lost, fastest


@pytest.mark.fast_cases("True-0.05", "False-0.008")
@pytest.mark.parametrize("dt", [0.008, 0.05])
@pytest.mark.parametrize("inside", [True, False])
def test_a_shaken_ring_keeps_particles_on_their_side(inside: bool, dt: float) -> None:
    """Half full, or in a pool; at 0.1 to 4 cells a step."""
    level, point = (0.57, (0.5, 0.45)) if inside else (0.42, (0.03, 0.03))
    for transfer in TRANSFERS:
        sim = tank((32, 30), ring((0.0, 0.0), 0.22), orbit((0.5, 0.46), 0.12, 4.0), [(level, point)], transfer=transfer)
        lost, fastest = stepped(sim, dt, 16, inside)
        assert lost == 0
        assert fastest > (1.0 if dt > 0.01 else 0.1)
        if dt < 0.01:
            # Cells with their centre in the water, for the volume of the particles.
            wet = (sim.solver.levelset.array <= 0).sum() * sim.solver.grid.spacing**2
            assert wet == pytest.approx(len(sim.solver.particles) * sim.solver.particle_volume, rel=0.08)


def test_a_ball_keeps_particles_on_their_side_in_3d() -> None:
    for inside, dtype, transfer in ((True, np.float32, "apic"), (False, np.float64, "flip")):
        point = (0.5, 0.54, 0.3) if inside else (0.03,) * 3
        sim = tank(
            (11, 10, 10), ball((0.0, 0.0, 0.0), 0.26, 1), orbit((0.5, 0.46, 0.42), 0.1, 3.0), [(0.4, point)], dtype, transfer=transfer
        )
        assert stepped(sim, 0.06, 3, inside)[0] == 0


@pytest.mark.parametrize("seed", [*range(3), *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 60))])
def test_stars_on_their_way(seed: int) -> None:
    """Random shapes, motions and steps; open sides, closing axes."""
    rng = np.random.default_rng(seed)
    n, inside = int(rng.integers(18, 32)), bool(rng.integers(2))
    grid = ms.Grid((n, n), 1 / n, periodic=(seed % 3 == 0, False))
    options = ParticleLiquidOptions(transfer=TRANSFERS[seed % 3], particles=LiquidParticles(seed=seed))
    boundary = {"x+": ms.Open()} if seed % 3 == 1 else None
    solver = ParticleLiquidSolver(grid, options, boundary=boundary)
    rng.integers(2)  # once the scalar type; the shapes of the seeds depend on it
    pose, middle = swinging(rng)
    sim = ShellCoupling(solver, Shells(grid, [KinematicShell(star(rng), pose)]))
    level = middle[1] + rng.uniform(-0.02, 0.1)
    sim.fill(HalfSpace((0.0, level), (0.0, 1.0)), tuple(middle - [0.0, 0.06]) if inside else (0.5 / n, 0.5 / n))
    filled = len(solver.particles)
    lost, _ = stepped(sim, float(rng.choice([0.003, 0.01, 0.03, 0.06])), 8, inside)
    assert lost <= 0.01 * filled


@pytest.mark.parametrize("transfer", TRANSFERS)
def test_columns_beside_a_sheet_are_at_rest(transfer: str) -> None:
    """On faces, through centres, between, and slanted; the surfaces at any height."""
    for low, high in ((0.5, 0.5), (0.46875, 0.46875), (0.47, 0.47), (0.42, 0.6)):
        levels = [(0.71, (0.1, 0.1)), (0.33, (0.9, 0.1))]
        sim = tank(
            (16, 16), line([(low, -0.2), (high, 1.2)], 3), None, levels, transfer=transfer, pressure=PressureOptions(tolerance=1e-10)
        )
        assert max(sim.step(0.01).fluid.max_speed for _ in range(10)) < 1e-9


def test_columns_in_a_box_in_space_are_at_rest() -> None:
    sim = tank(
        (8, 8, 8), box((0.51, 0.49, 0.52), 0.3), None, [(0.6, (0.5,) * 3), (0.4, (0.05,) * 3)], pressure=PressureOptions(tolerance=1e-11)
    )
    assert max(sim.step(0.01).fluid.max_speed for _ in range(3)) < 1e-9


@pytest.mark.parametrize(("cells", "correct"), [(1.0, False), (3.0, True), (9.0, False)])
def test_a_swatter_takes_all_particles_before_it(cells: float, correct: bool) -> None:
    """A plate from wall to wall that slams to and fro: nothing is behind it."""
    n, amplitude, dt = 24, 0.2, 0.01
    speed = cells / n / dt
    x, e = line([(0.0, -0.2), (0.03, 1.2)], 3)
    options = {"particles": LiquidParticles(density_correction=correct)}
    sim = tank((n, n), (x, e), lambda t: Pose((0.5 + amplitude * np.sin(speed / amplitude * t), 0.0)), [(0.4, (0.1, 0.1))], **options)
    filled, lost = len(sim.solver.particles), 0
    for _ in range(16):
        assert sim.audit_paths(dt).crossed_markers == 0
        lost += sim.step(dt).deleted_markers
        (left, foot), (right, head) = sim.shells.positions[[0, -1], :2]
        p = sim.solver.particles.positions
        assert not (p[:, 0] > left + (right - left) * (p[:, 1] - foot) / (head - foot)).any()
    assert lost <= 1e-3 * filled


def test_the_density_correction_keeps_particles_apart_on_their_side() -> None:
    """In a ring at up to 5 cells a step: the volume inside of the surface for that of the particles, with and without."""
    left = []
    for correct in (False, True):
        mesh, way = ring((0.0, 0.0), 0.22), orbit((0.5, 0.46), 0.12, 4.0)
        sim = tank((32, 30), mesh, way, [(0.57, (0.5, 0.45))], particles=LiquidParticles(density_correction=correct))
        lost, fastest = stepped(sim, 0.05, 25, True)
        assert lost == 0
        assert fastest > 2.0
        left.append(sim.volume_report().liquid / (len(sim.solver.particles) * sim.solver.particle_volume))
    assert left[0] < 0.8
    assert left[1] > 0.9


def test_the_report_of_volumes_knows_both_sides_of_a_slanted_sheet() -> None:
    sim = tank((20, 20), line([(0.42, -0.2), (0.6, 1.2)], 3), None, [(0.7, (0.1, 0.1)), (0.4, (0.9, 0.1))])
    parts = sim.volume_report().components
    each, p = sim.solver.particle_volume, sim.solver.particles.positions
    right = p[:, 0] > 0.42 + 0.18 * (p[:, 1] + 0.2) / 1.4
    assert sorted(c.expected / each for c in parts) == sorted([right.sum(), (~right).sum()])
    for part in parts:
        assert part.volume == pytest.approx(part.expected, rel=0.05)


def test_far_from_shells_the_same_bits_as_without() -> None:
    """Up to the pressure, that is for transfers, surface, extension and motion in water in free fall, where there is none."""
    sims = []
    for with_shell in (True, False):
        grid = ms.Grid((40, 24), 1 / 24)
        solver = ParticleLiquidSolver(grid, ParticleLiquidOptions(transfer="apic"))
        solver.fill(Sphere((1.3, 0.6), 0.2), (1.0, 0.5))
        shells = Shells(grid, [KinematicShell(line([(0.2, -0.1), (0.2, 1.1)]), None)])
        sims.append(ShellCoupling(solver, shells) if with_shell else solver)
    assert not near_walls(sims[0].walls, sims[0].solver.particles.positions, 8).any()
    for _ in range(4):
        for sim in sims:
            sim.step(0.01)
    for name in ("velocity", "distance", "affine"):
        assert np.array_equal(sims[0].solver.particles[name], sims[1].particles[name])
    assert np.array_equal(sims[0].solver.particles.positions, sims[1].particles.positions)
    assert np.array_equal(sims[0].solver.levelset.array, sims[1].levelset.array)


def test_what_a_wall_hides_from_a_face_tells_it_nothing() -> None:
    """The two sides move at their own speeds; so do faces, and the particles after the way back."""
    sim = tank((16, 16), line([(-0.1, 0.47), (1.1, 0.52)]), None, [(0.4, (0.5, 0.1))], gravity=(0.0, 0.0), transfer="pic")
    sim.fill(Box((0.0, 0.55), (1.0, 0.8)), (0.5, 0.7))
    solver = sim.solver
    above = solver.particles.positions[:, 1] > 0.47 + 0.05 * (solver.particles.positions[:, 0] + 0.1) / 1.2
    solver.particles["velocity"][:, 0] = np.where(above, 2.0, -1.0)
    solver.transfer_to_grid(0.01)
    assert set(np.unique(solver.velocity.component(0)).round(12)) <= {-1.0, 0.0, 2.0}
    solver.extend(0.01)
    solver.transfer_to_particles(0.01)
    inner = np.abs(solver.particles.positions[:, 0] - 0.5) < 0.4
    np.testing.assert_allclose(solver.particles["velocity"][inner, 0], np.where(above, 2.0, -1.0)[inner], atol=1e-12)


def test_same_bits_on_any_number_of_threads_and_after_a_restart() -> None:
    def run(threads: int, restart: bool) -> list[np.ndarray]:
        ms.set_num_threads(threads)
        sim = tank((24, 24), ring((0.0, 0.0), 0.25), orbit((0.5, 0.46), 0.12, 4.0), [(0.5, (0.5, 0.45)), (0.42, (0.03, 0.03))])
        for n in range(5):
            if restart and n == 3:
                saved = sim.snapshot()
                sim.step(0.01)
                sim.restore(saved)
            sim.step(0.02)
        s = sim.solver
        return [s.particles.positions.copy(), s.particles["velocity"].copy(), s.levelset.array.copy(), s.velocity.component(1).copy()]

    threads_before = ms.num_threads()
    try:
        first = run(1, False)
        for threads, restart in ((2, False), (3, False), (2, True)):
            for a, b in zip(first, run(threads, restart), strict=True):
                assert np.array_equal(a, b)
    finally:
        ms.set_num_threads(threads_before)


def test_a_step_that_fails_leaves_all_as_it_was() -> None:
    sim = tank((16, 16), ring((0.0, 0.0), 0.25), orbit((0.5, 0.46), 0.12, 4.0), [(0.5, (0.5, 0.45))])
    sim.step(0.01)
    before, level = sim.solver.particles.positions.copy(), sim.solver.levelset.array.copy()

    def stop(name: str, _: Any) -> None:
        if name == "move":
            raise RuntimeError(name)

    with pytest.raises(RuntimeError, match="move"):
        sim.step(0.01, stop)
    assert np.array_equal(sim.solver.particles.positions, before)
    assert np.array_equal(sim.solver.levelset.array, level)
    assert sim.copy().step(0.01).fluid.max_speed == sim.step(0.01).fluid.max_speed


def test_what_does_not_go_with_shells_is_refused() -> None:
    grid = ms.Grid((8, 8, 8), 1 / 8)
    corners, faces = box((0.5, 0.5, 0.5), 0.2)
    shells = Shells(grid, [KinematicShell((corners, faces), None)])
    with pytest.raises(ValueError, match="liquid of particles that has viscosity"):
        ShellCoupling(ParticleLiquidSolver(grid, ParticleLiquidOptions(viscosity=1e-3)), shells)
    with pytest.raises(ValueError, match="has a solid"):
        ShellCoupling(ParticleLiquidSolver(grid, solid=Sphere((0.5,) * 3, 0.2)), shells)
    body = RigidBody(TriangleMesh(corners, faces), density=30.0, shell=True)
    with pytest.raises(ValueError, match='their mode must be "one-way", not "monolithic"'):
        ShellCoupling(ParticleLiquidSolver(grid), Shells(grid, [body]))
    sim = ShellCoupling(ParticleLiquidSolver(grid), Shells(grid, [body]), mode="one-way")
    sim.step(0.01)
    with pytest.raises(RuntimeError, match="stepped by its ShellCoupling"):
        sim.solver.step(0.01)


def test_a_source_beside_a_sheet() -> None:
    """What it emits on one side stays there."""
    grid = ms.Grid((20, 20), 1 / 20)
    source = LiquidSource(region=Box((0.1, 0.6), (0.3, 0.8)), velocity=(3.0, 0.0))
    sim = ShellCoupling(
        ParticleLiquidSolver(grid, sources=[source]), Shells(grid, [KinematicShell(line([(0.51, -0.1), (0.51, 1.1)]), None)])
    )
    lost = sum(sim.step(0.01).deleted_markers for _ in range(20))
    totals, p = sim.solver.volume.totals, sim.solver.particles.positions
    assert totals["emitted"] - lost == len(p) > 200
    assert (p[:, 0] < 0.51).all()


@pytest.mark.parametrize("solver", [LiquidSolver, ParticleLiquidSolver])
def test_a_source_under_water_beside_a_sheet(solver: Any) -> None:
    """What it emits at its rate lifts the water on the side of the larger part of its region, up to the sheet."""
    grid, rate = ms.Grid((32, 32), 1 / 32), 0.05
    water = solver(grid, sources=[LiquidSource(region=Sphere((0.45, 0.2), 0.12), rate=rate)])
    sim = ShellCoupling(water, Shells(grid, [KinematicShell(line([(0.507, -0.5), (0.507, 1.5)]), None)]), mode="one-way")
    water.fill(Box((-9.0, -9.0), (9.0, 0.4)))
    for _ in range(20):
        sim.step(0.02)
    report = sim.volume_report()
    assert report.emitted == pytest.approx(rate * 0.4, abs=1e-12)
    assert [c.volume for c in report.components] == pytest.approx([0.507 * 0.4 + rate * 0.4, 0.493 * 0.4], abs=2e-3)
