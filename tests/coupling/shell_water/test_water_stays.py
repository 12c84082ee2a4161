"""Water beside thin shells: nothing crosses, nothing at rest moves, and what a shell sweeps is right."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from support.shells import ball, line, ring
from support.shells.stirred_smoke import orbit
from support.shells.water import beyond, pool, volume

import meniscus as ms
from meniscus._meniscus import coupling as _coupling
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.surface import HalfSpace, Pose


@pytest.mark.fast_cases("False-0.004-20-level-set", "True-0.05-25-particle-level-set")
@pytest.mark.parametrize("tracking", ["particle-level-set", "level-set"])
@pytest.mark.parametrize(("dt", "steps"), [(0.004, 20), (0.05, 25)])
@pytest.mark.parametrize("inside", [True, False])
def test_a_ring_on_its_way_keeps_water_on_its_side(inside: bool, dt: float, steps: int, tracking: str) -> None:
    """Half full, or in a pool; at up to 5 cells a step."""
    level, point = (0.57, (0.5, 0.45)) if inside else (0.42, (0.03, 0.03))
    sim = pool((32, 30), ring((0.0, 0.0), 0.22), orbit((0.5, 0.46), 0.12, 4.0), [(level, point)], tracking=tracking)
    start, deleted = volume(sim), 0
    for n in range(steps):
        deleted += sim.step(dt).deleted_markers
        assert beyond(sim, inside) == 0, f"water is beyond the ring in step {n}"
    # Samples that the ring passes change the volume; without markers, in steps of five cells, by more.
    assert abs(volume(sim) / start - 1) < (0.05 if tracking == "particle-level-set" else 0.3)
    if tracking == "particle-level-set":
        assert deleted <= 1e-3 * len(sim.solver.surface.particles.particles)


@pytest.mark.slow
def test_a_ball_on_its_way_keeps_water_on_its_side_in_3d() -> None:
    for inside, dtype in ((True, np.float32), (False, np.float64)):
        sim = pool(
            (16, 15, 14),
            ball((0.0, 0.0, 0.0), 0.26, 1),
            orbit((0.5, 0.46, 0.42), 0.1, 3.0),
            [(0.4, (0.5, 0.56, 0.37) if inside else (0.03,) * 3)],
            dtype,
        )
        for n in range(6):
            sim.step(0.03)
            assert beyond(sim, inside) == 0, f"water is beyond the ball in step {n}"


@pytest.mark.parametrize(("cells", "steps"), [(3.0, 30), (9.0, 12)])
def test_a_swatter_takes_all_water_before_it(cells: float, steps: int) -> None:
    """A plate from wall to wall that slams to and fro: nothing is behind it."""
    n, amplitude, dt = 32, 0.2, 0.01
    speed = cells / n / dt
    x, e = line([(0.0, -0.2), (0.03, 1.2)], 3)
    sim = pool((n, n), (x, e), lambda t: Pose((0.5 + amplitude * np.sin(speed / amplitude * t), 0.0)), [(0.4, (0.1, 0.1))])
    solver = sim.solver

    def behind(points: np.ndarray) -> int:
        corners = sim.shells.positions[:, :2]
        return int((points[:, 0] > np.interp(points[:, 1], corners[:, 1], corners[:, 0])).sum())

    for _ in range(steps):
        sim.step(dt)
        wet = np.stack([c[solver.levelset.array <= 0] for c in np.broadcast_arrays(*solver.levelset.field.coordinates())], axis=1)
        particles = solver.surface.particles
        water = particles.particles.positions[particles.particles["sign"] < 0]
        assert behind(wet) + behind(water) + behind(particles.spray.positions) == 0


@pytest.mark.fast_cases("0.42-0.61", "0.5-0.5")
@pytest.mark.parametrize(("foot", "head"), [(0.53, 0.53), (0.5, 0.5), (0.515625, 0.515625), (0.42, 0.61)])
def test_unequal_columns_beside_a_sheet_are_at_rest(foot: float, head: float) -> None:
    """Anywhere in a cell, on faces, through centres and slanted; levels anywhere in a cell."""
    sim = pool((32, 32), line([(foot, -0.01), (head, 1.01)]), None, [(0.71, (0.1, 0.1)), (1 / 3, (0.9, 0.05))], tolerance=1e-13)
    before = sim.solver.levelset.array.copy()
    for _ in range(100):
        sim.step(0.01)
    assert sim.solver.report.max_speed <= 1e-10
    near = np.abs(before) < 3 / 32
    np.testing.assert_allclose(sim.solver.levelset.array[near], before[near], atol=1e-12)


def test_levels_within_one_cell_on_both_sides_of_a_sheet_are_as_poured() -> None:
    """What is poured second does not come nearer to the air on the side of what was poured first; also with a rim that is near."""
    n = 16
    y = (np.arange(n) + 0.5) / n
    for first, second, head in ((0.41, 0.43, 1.01), (0.43, 0.41, 1.01), (0.41, 0.43, 0.53)):
        sim = pool((n, n), line([(0.53, -0.01), (0.53, head)]), None, [(first, (0.1, 0.1)), (second, (0.9, 0.1))], tolerance=1e-13)
        for column, level in ((3, first), (12, second)):
            near = np.abs(y - level) < 2 / n
            assert sim.solver.levelset.array[column, near] == pytest.approx((y - level)[near], abs=1e-12)
        for _ in range(5):
            sim.step(0.01)
        assert sim.solver.report.max_speed <= 1e-10


def test_unequal_columns_in_3d_are_at_rest() -> None:
    x = np.array([[0.47, -0.1, -0.1], [0.56, 1.1, -0.1], [0.52, -0.1, 1.1], [0.61, 1.1, 1.1]])
    sim = pool(
        (12, 10, 12),
        (x, np.array([[0, 1, 2], [1, 3, 2]], np.int32)),
        None,
        [(0.71, (0.1, 0.1, 0.1)), (1 / 3, (0.9, 0.1, 0.05))],
        tolerance=1e-13,
    )
    for _ in range(10):
        sim.step(0.01)
    assert sim.solver.report.max_speed <= 1e-10


def test_a_wheel_that_turns_leaves_water_at_rest() -> None:
    """A ring of 40 sides slides past its water: what it sweeps is less than a cell."""
    sim = pool((32, 32), ring((0.0, 0.0), 0.27), lambda t: Pose((0.5, 0.5), 2.0 * t), [(0.5, (0.5, 0.4))])
    start = volume(sim)
    for _ in range(100):
        sim.step(0.01)
    assert abs(volume(sim) - start) < 2 / 32**2
    assert sim.solver.report.max_speed < 0.1


@pytest.mark.slow
@pytest.mark.parametrize(("n", "limit"), [(48, 0.02), (64, 0.005)])
def test_a_box_half_full_keeps_its_water_for_a_turn(n: int, limit: float) -> None:
    half = 0.2
    x, e = line([(-half, -half), (half, -half), (half, half), (-half, half), (-half, -half)], 8)
    e = np.where(e == len(x) - 1, 0, e).astype(np.int32)
    sim = pool((n, n), (x[:-1], e), lambda t: Pose((0.5, 0.5), t), [(0.5, (0.5, 0.45))])
    start = volume(sim)
    for _ in range(628):
        sim.step(0.01)
    assert abs(volume(sim) / start - 1) < limit
    assert beyond(sim, True) == 0


def test_far_from_shells_all_bits_are_those_of_the_plain_solver() -> None:
    grid = ms.Grid((64, 24), 1 / 24)
    plain, beside = (LiquidSolver(grid, LiquidOptions(drift_correction=False, reseed_every=0)) for _ in range(2))
    for solver in (plain, beside):
        solver.fill(HalfSpace((0.3, 0.4), (-0.3, 1.0)))
    sim = ShellCoupling(beside, Shells(grid, [KinematicShell(ring((2.2, 0.8), 0.1))]))
    plain.set_surface()  # as the coupling has done
    for solver in (plain, beside):
        for d in range(2):
            u = solver.velocity.component(d)
            x, y = ((np.arange(n) + 0.5 * (k != d)) / 24 for k, n in enumerate(u.shape))
            u[...] = np.sin(3 * x + 2 * d)[:, None] * np.cos(4 * y)
            solver.faces.known[d][...] = True
    # Pressure is everywhere at once: what it acts on comes from a transport that is not. Beside shells, the surface moves by the velocity
    # of the start of the step, and not by that of its middle.
    plain.begin(0.02)
    for name in plain.stages:
        if name not in ("to_middle", "to_end"):
            getattr(plain, name)(0.02)
    plain.end()
    sim.step(0.02)
    far = slice(0, 30)
    np.testing.assert_array_equal(beside.levelset.array[far], plain.levelset.array[far])
    here, there = (np.sort(s.surface.particles.particles.positions.view("f8,f8").ravel()) for s in (plain, beside))
    np.testing.assert_array_equal(here[here["f0"] < 1.2], there[there["f0"] < 1.2])


def test_hidden_corners_become_means_of_the_nearest_visible_ones() -> None:
    """All masks in both dimensions, by brute force over the graph of edges."""
    rng = np.random.default_rng(3)
    for d in (2, 3):
        corners = list(itertools.product((0, 1), repeat=d))
        for mask in range(1 << 2**d):
            values = rng.normal(size=2**d)
            found, filled = _coupling.fill_hidden_corners(mask, values.tolist())
            hidden = [bool(mask >> q & 1) for q in range(2**d)]
            assert found == (not all(hidden))
            if not found:
                np.testing.assert_array_equal(filled, values)
                continue
            for q in range(2**d):
                distance = [sum(abs(a - b) for a, b in zip(corners[q], corners[p], strict=True)) for p in range(2**d)]
                visible = [p for p in range(2**d) if not hidden[p]]
                nearest = min(distance[p] for p in visible)
                expected = values[q] if not hidden[q] else np.mean([values[p] for p in visible if distance[p] == nearest])
                assert filled[q] == pytest.approx(expected, rel=1e-15)


def test_same_bits_on_any_number_of_threads_and_after_a_restart() -> None:
    def run(threads: int, restart: bool) -> list[np.ndarray]:
        ms.set_num_threads(threads)
        sim = pool((24, 22), ring((0.0, 0.0), 0.22), orbit((0.5, 0.46), 0.12, 4.0), [(0.57, (0.5, 0.45))])
        for n in range(8):
            if restart and n == 4:
                kept = sim.snapshot()
                sim.step(0.02)
                sim.restore(kept)
            sim.step(0.02)
        p = sim.solver.surface.particles
        fields = [sim.solver.levelset.array, *(sim.solver.velocity.component(d) for d in range(2)), p.particles.positions]
        return [np.array(f) for f in fields]

    threads_before = ms.num_threads()
    try:
        first = run(1, False)
        for threads, restart in ((2, False), (3, False), (8, False), (2, True)):
            for a, b in zip(first, run(threads, restart), strict=True):
                np.testing.assert_array_equal(a, b)
    finally:
        ms.set_num_threads(threads_before)


def test_what_does_not_go_together_is_one_sentence() -> None:
    grid = ms.Grid((8, 8), 0.125)
    shells = Shells(grid, [KinematicShell(ring((0.5, 0.5), 0.2))])
    for options, what in (
        ({"air": "pockets"}, "air that is not open"),
        ({"surface_tension": 0.07}, "surface tension"),
    ):
        with pytest.raises(ValueError, match=f"shells do not go with a solver that has {what}"):
            ShellCoupling(LiquidSolver(grid, LiquidOptions(**options)), shells)
    sim = pool((8, 8), ring((0.5, 0.5), 0.3), None, [])
    with pytest.raises(ValueError, match="side_of must be a point of the region"):
        sim.fill(HalfSpace((0.0, 0.5), (0.0, 1.0)), (0.5, 0.7))
    with pytest.raises(ValueError, match="side_of must be a point of the domain"):
        sim.fill(HalfSpace((0.0, 0.5), (0.0, 1.0)), (1.5, 0.7))
