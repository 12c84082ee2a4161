"""Water at different levels on both sides of a sheet that is slanted along two axes or passes through centres of cells: nothing moves."""

from __future__ import annotations

import numpy as np
import pytest
from support.shells import line, sheet

import meniscus as ms
from meniscus.coupling import KinematicShell, ShellCoupling, Shells
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.fluids import LiquidOptions, LiquidSolver
from meniscus.grid import CellField
from meniscus.surface import Box, HalfSpace, Pose, Shape, Sphere

N = 10
H = 1 / N


def two_levels(seed: int, bowl: bool, tracking: str) -> ShellCoupling:
    """A sheet through a box, or through a round, an angular or a double bowl of 2.5 to 4 cells, and water on both sides."""
    rng = np.random.default_rng(seed)
    r, middle = rng.uniform(2.5, 4) * H, 0.5 + rng.uniform(-0.5, 0.5, 3) * H
    hole: Shape
    if seed % 3 == 1:
        hole = Box(tuple(middle - r * rng.uniform(0.7, 1, 3)), tuple(middle + r * rng.uniform(0.7, 1, 3)))
    else:
        hole = Sphere(tuple(middle), r)
        if seed % 3 == 2:
            hole = hole | Sphere(tuple(middle + rng.uniform(-1, 1, 3) * H), r)
    options = LiquidOptions(tolerance=1e-13, tracking=tracking)  # type: ignore[arg-type]
    water = LiquidSolver(ms.Grid((N, N, N), H), options, solid=~hole if bowl else None)
    slopes = rng.uniform(-0.3, 0.3, 2)
    x = middle[0] + rng.uniform(-0.5, 0.5) * r * 0.6
    first, second = np.array((slopes[0], 1.4, 0.0)), np.array((slopes[1], 0.0, 1.4))
    corner = np.array((x, middle[1], middle[2])) - 0.5 * (first + second)
    body = KinematicShell(ms.mesh.TriangleMesh(*sheet(tuple(corner), tuple(first), tuple(second), 5)))
    sim = ShellCoupling(water, Shells(water.grid, [body]))
    normal = np.cross(first, second) / np.linalg.norm(np.cross(first, second))
    for side in (-1, 1):
        level = middle[2] + rng.uniform(-0.5, 0.5) * r * 0.8
        place = np.array((x, middle[1], level - 0.6 * H)) + side * 0.8 * H * normal
        sim.fill(HalfSpace((0.0, 0.0, level), (0.0, 0.0, 1.0)), tuple(place))
    return sim


def check_rest(sim: ShellCoupling, volumes: float) -> None:
    before = [c.volume for c in sim.volume_report().components]
    assert len(before) == 2
    for _ in range(3):
        report = sim.step(0.01)
        assert report.fluid is not None
        assert report.fluid.max_speed < 1e-10
    assert [c.volume for c in sim.volume_report().components] == pytest.approx(before, rel=volumes)


@pytest.mark.parametrize("seed", [2, 24, 28, 43, 59])
def test_in_a_box(seed: int) -> None:
    """In 24 the slope of distances ends at a side of the domain; in 28 the sheet passes through a cell's centre."""
    check_rest(two_levels(seed, False, "particle-level-set"), 1e-9)


@pytest.mark.fast_cases("126-level-set", "13-level-set", "26-particle-level-set")
@pytest.mark.parametrize(
    ("seed", "tracking"),
    [(13, "level-set"), (126, "level-set"), (5, "particle-level-set"), (26, "particle-level-set"), (42, "particle-level-set")],
)
def test_in_a_small_bowl(seed: int, tracking: str) -> None:
    """Where the sheet leaves columns a cell wide, and fluid in cells whose centres lie in the solid alone.

    What is measured there is the level set in the solid, too; below 1e-4 drift correction leaves it alone.
    """
    check_rest(two_levels(seed, True, tracking), 1e-4)


def test_a_column_all_of_whose_cells_are_covered_keeps_its_water() -> None:
    """A sheet at rest through the centres beside a side of the domain: no cell there sees another that could tell it its level."""
    n = 24
    water = LiquidSolver(ms.Grid((n, n), 1 / n), LiquidOptions(tolerance=1e-13))
    sim = ShellCoupling(water, Shells(water.grid, [KinematicShell(line([((n - 0.5) / n, -0.1), ((n - 0.5) / n, 1.1)], 1))]))
    for level, x in ((0.43, 0.2), (0.67, (n - 0.3) / n)):
        sim.fill(HalfSpace((0.0, level), (0.0, 1.0)), (x, 0.1))
    check_rest(sim, 1e-9)


@pytest.mark.parametrize("cfl", [0.3, 3.0])
@pytest.mark.parametrize("place", [0.5 + 0.5 / 16, 0.5])
def test_a_plate_that_moves_in_its_plane_leaves_the_water_at_rest(place: float, cfl: float) -> None:
    """Through centres of cells it would drag along what its thickness covers, at its own speed; there is no friction."""
    n = 16
    water = LiquidSolver(ms.Grid((n, n), 1 / n), LiquidOptions(tolerance=1e-13))
    plate = KinematicShell(line([(place, -4.0), (place, 4.0)], 8), lambda t: Pose((0.0, t)))
    sim = ShellCoupling(water, Shells(water.grid, [plate]))
    for level, x in ((0.71, 0.03), (0.33, 0.97)):
        sim.fill(HalfSpace((0.0, level), (0.0, 1.0)), (x, 0.03))
    for _ in range(4):
        report = sim.step(cfl / n)
        assert report.fluid is not None
        assert report.fluid.max_speed < 1e-10


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_level_goes_on_through_cells_that_a_sheet_covers(dtype: type) -> None:
    """A sheet through the centres of a layer of cells, levels at different heights beside it: each covered cell has that of its side."""
    grid = ms.Grid((8, 6, 8), 0.125)
    x, t = sheet((0.5 + 0.0625, -0.1, -0.1), (0.0, 1.2, 0.0), (0.0, 0.0, 1.2), 2)
    walls = ShellWalls(grid, x, t, 1e-3 * grid.spacing)
    x_of_cells, _, z = np.meshgrid(*grid.cell_centers(), indexing="ij")
    of_side = np.where(x_of_cells < 0.5625, 0.37, 0.61)
    covered = walls.swept(walls, (0, 0, 0))
    assert covered.sum() == 48
    assert covered[4].all()
    levels = CellField(grid, dtype)
    levels.array[...] = np.where(covered, 99.0, z - of_side)
    found, unreached, _ = walls.continue_level(levels, ~covered, 0.5)
    assert (found, unreached) == (48, 0)
    lower = ~walls.blocked_faces[0][4]
    wanted = z[4] - np.where(lower, 0.37, 0.61)
    assert np.abs(levels.array[4] - wanted).max() < (1e-6 if dtype == np.float32 else 1e-14)
