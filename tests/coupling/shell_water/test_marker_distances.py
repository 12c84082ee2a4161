"""Distances that markers keep from shells for life."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from support.shells import line
from support.shells.water import pool

import meniscus as ms
from meniscus._meniscus import coupling as _coupling
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.coupling.shell_water.marker_distances import MarkerDistances
from meniscus.fluids import LiquidOptions, LiquidSolver, ParticleLiquidSolver, SmokeSolver
from meniscus.surface import Pose

N, H = 24, 1 / 24
DOCUMENT = (0.1, 1.0)  # cells
CORE: Any = _coupling


def on_a_plate(film: float, steps: int, **options: Any) -> ShellCoupling:
    """A film that a plate from wall to wall shakes, seen at an instant without new seeds."""
    y = 0.3 + 0.7 * H  # a tenth of a cell below the cells with its water
    plate = line([(-0.1, y), (1.1, y)])
    sim = pool((N, N), plate, lambda t: Pose((0.0, 1.5 * H * np.sin(9 * t))), [(y + film * H, (0.5, y + 0.75 * H))], **options)
    for _ in range(steps):
        sim.step(0.01)
    return sim


def water_of(sim: ShellCoupling) -> tuple[np.ndarray, np.ndarray]:
    """Places of the markers of water, and their distances, m."""
    markers = sim.solver.surface.particles.particles
    own = markers["sign"] < 0
    told = MarkerDistances(*DOCUMENT, sim.solver.surface.particles.options.seed)
    return markers.positions[own], told.of(markers.ids[own], markers["sign"][own], H)


@pytest.mark.parametrize("film", [1.5, 2.5])
def test_markers_keep_their_distance_or_are_blocked(film: float) -> None:
    """And those of a film are spread over the cell beside the plate, not in one layer."""
    sim = on_a_plate(film, 15, marker_distances=DOCUMENT)
    x, distances = water_of(sim)
    height = x[:, 1] - sim.shells.positions[:, 1].max()
    assert (height > 0).all()
    near = height < distances * (1 - 1e-5)
    assert near.sum() <= sim.report.blocked_markers
    assert sim.report.blocked_markers <= 0.01 * len(x)
    spread, _ = np.histogram(height[height < H] / H, bins=[0.1, 0.3, 0.5, 0.7, 0.9, 1.0])
    assert spread.max() < 0.5 * spread.sum()
    assert height.min() >= 0.1 * H * (1 - 1e-5)


def test_markers_beside_shells_keep_their_ids() -> None:
    sim = on_a_plate(2.5, 4)
    markers = sim.solver.surface.particles.particles
    before, following = set(markers.ids.tolist()), markers._core.next_id
    sim.step(0.01)
    after = set(markers.ids.tolist())
    assert after <= before
    assert len(after) > 0.98 * len(before)
    assert markers._core.next_id == following


def between_sheets(gap: float) -> tuple[Any, float]:
    grid = ms.Grid((N, N), H)
    sheets = [KinematicShell((np.array([[-0.1, y], [1.1, y]]), np.array([[0, 1]], np.int32))) for y in (0.5, 0.5 + gap * H)]
    return Shells(grid, sheets).walls(), 0.5 + gap * H


@pytest.mark.parametrize("gap", [0.3, 0.9, 1.6])
def test_between_two_sheets_nothing_crosses_or_goes_to_and_fro(gap: float) -> None:
    walls, top = between_sheets(gap)
    rng = np.random.default_rng(1)
    x = np.column_stack([rng.uniform(0.1, 0.9, 400), 0.5 + gap * H * rng.uniform(0.01, 0.99, 400)])
    distances = H * rng.uniform(0.1, 1.0, 400)

    def push(places: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return CORE.push_from_shells(walls._core, walls._core, places, places, distances, False)

    def least(places: np.ndarray) -> np.ndarray:
        return np.minimum(places[:, 1] - 0.5, top - places[:, 1])

    once, told = push(x)
    assert (least(once) > 0).all()
    assert (least(once) >= least(x) - 1e-7).all()
    assert ((least(once) >= distances * (1 - 1e-4)) | (told == 2)).all()
    np.testing.assert_array_equal(push(once)[0], once)


def test_a_layer_beside_a_plate_is_spread_over_a_cell() -> None:
    walls, _ = between_sheets(9.0)
    x = np.column_stack([np.linspace(0.1, 0.9, 900), np.full(900, 0.5 + 0.02 * H)])
    distances = MarkerDistances(*DOCUMENT, 0).of(np.arange(900), np.full(900, -1, np.int8), H)
    places, told = CORE.push_from_shells(walls._core, walls._core, x, x, distances, False)
    assert (told == 1).all()
    assert places[:, 1] - 0.5 == pytest.approx(distances, rel=1e-9)
    counts, _ = np.histogram(places[:, 1] - 0.5, bins=H * np.linspace(0.1, 1.0, 10))
    assert counts.min() > 70


def test_ways_in_a_vortex_are_of_second_order() -> None:
    """Linear interpolation is exact in one that turns as a whole."""
    grid = ms.Grid((N, N), H)
    velocity = ms.MacField(grid)
    for d in range(2):
        u = velocity.component(d)
        x, y = ((np.arange(n) + 0.5 * (k != d)) * H - 0.5 for k, n in enumerate(u.shape))
        u[...] = np.broadcast_to(-y[None] if d == 0 else x[:, None], u.shape)
    walls = Shells(grid, [KinematicShell((np.array([[0.9, 0.9], [0.95, 0.95]]), np.array([[0, 1]], np.int32)))]).walls()
    first = np.array([[0.5 + r, 0.5] for r in (0.05, 0.2, 0.3)])
    errors = []
    for steps in (20, 40):
        x = first
        for _ in range(steps):
            x = CORE.trace_at_distance(velocity._core, walls._core, np.ascontiguousarray(x), np.full(3, H), 1 / steps, 0.0)
        c, s = np.cos(1.0), np.sin(1.0)
        errors.append(np.abs((x - 0.5) - (first - 0.5) @ np.array([[c, s], [-s, c]])).max())
    assert 3.5 < errors[0] / errors[1] < 4.5


def test_a_column_hit_at_three_cells_a_step_stays_before_the_sheet() -> None:
    speed, dt = 3.0 * H / 0.01, 0.01
    sheet = line([(0.0, -0.2), (0.03, 1.2)], 3)
    sim = pool((N, N), sheet, lambda t: Pose((0.6 - speed * t, 0.0)), [(0.4, (0.1, 0.1))], marker_distances=DOCUMENT)
    markers, deleted = sim.solver.surface.particles.particles, 0
    count = len(markers)
    for _ in range(4):
        deleted += sim.step(dt).deleted_markers
        corners = sim.shells.positions[:, :2]
        x = np.concatenate([water_of(sim)[0], sim.solver.surface.particles.spray.positions])
        assert (x[:, 0] < np.interp(x[:, 1], corners[:, 1], corners[:, 0])).all()
    assert deleted <= 1e-3 * count


def test_no_marker_crosses_an_open_wall_that_waves() -> None:
    """By contact of its whole way through a step; and on any number of threads it is the same way."""
    found = []
    threads = ms.num_threads()
    try:
        for count in (1, 3):
            ms.set_num_threads(count)
            wall = line([(0.0, -0.1), (0.06, 0.3), (-0.02, 0.62)], 3)
            levels = [(0.4, (0.05, 0.05)), (0.4, (0.95, 0.05))]
            sim = pool(
                (24, 20),
                wall,
                lambda t: Pose((0.5 + 0.2 * np.sin(6 * t), 0.05 * np.sin(9 * t)), 2 * t),
                levels,
                marker_distances=DOCUMENT,
            )
            pushed = 0
            for _ in range(4):
                told = sim.audit_paths(0.02)
                assert told.crossed_markers == told.crossed_drops == 0
                pushed += sim.step(0.02).pushed_markers
            assert pushed > 0
            found.append(sim.solver.surface.particles.particles.positions.copy())
    finally:
        ms.set_num_threads(threads)
    np.testing.assert_array_equal(*found)


def test_distances_are_for_life_and_bounds_are_checked() -> None:
    told = MarkerDistances.of_option((0.1, 1.0), 3)
    assert told is not None
    ids, signs = np.arange(2000), np.where(np.arange(2000) % 4 == 0, 1, -1).astype(np.int8)
    distances = told.of(ids, signs, H)
    np.testing.assert_array_equal(told.of(ids[::-1], signs[::-1], H)[::-1], distances)
    water = distances[signs < 0] / H
    assert (distances[signs > 0] == 0).all()
    assert np.diff(np.quantile(water, [0.0, 0.25, 0.5, 0.75, 1.0])) == pytest.approx([0.225] * 4, abs=0.03)
    assert MarkerDistances.of_option(None, 0) is None
    grid = ms.Grid((8, 8), 0.125)
    shells = Shells(grid, [KinematicShell(line([(0.2, 0.5), (0.8, 0.5)]))])
    for bounds in ((0.0, 1.0), (0.5, 0.4), (0.1, 1.5)):
        with pytest.raises(ValueError, match="marker_distances must be positive, ascending and at most 1"):
            ShellCoupling(LiquidSolver(grid), shells, marker_distances=bounds)
    for solver in (SmokeSolver(grid), ParticleLiquidSolver(grid), LiquidSolver(grid, LiquidOptions(tracking="level-set"))):
        with pytest.raises(ValueError, match="marker_distances needs a LiquidSolver with markers"):
            ShellCoupling(solver, shells, marker_distances=DOCUMENT)
