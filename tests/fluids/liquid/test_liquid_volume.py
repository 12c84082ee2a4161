"""Volume budget of the parts of a liquid: mergers, break-ups, sides, drops, and the correction."""

import math

import numpy as np
import pytest
from support.build import same_bits

import meniscus as ms
from meniscus.fluids.liquid.volume import LiquidVolume
from meniscus.grid.boundary import BoundarySpec
from meniscus.surface import LevelSet, Sphere

N = 32


class Liquid:
    """A level set, a velocity and their volumes."""

    def __init__(self, dimension: int, dtype: type = np.float64, boundary: BoundarySpec = None) -> None:
        grid = ms.Grid((N,) * dimension, 1 / N)
        self.velocity = ms.MacField(grid, dtype, boundary)
        self.levelset = LevelSet(grid, "cells", dtype)
        self.volume = LiquidVolume(grid, self.velocity)

    def fill(self, *shapes: ms.surface.Shape) -> None:
        self.levelset.array[...] = 1.0
        for shape in shapes:
            self.levelset.unite(shape)

    def levelset_volume(self, at: tuple[float, ...]) -> float:
        """The volume of the part at a point."""
        self.volume.reset(self.levelset, None)
        return float(self.volume.volumes[self.volume.labels[tuple(int(c * N) for c in at)]])

    def follow(self) -> None:
        self.volume.update_after_motion(self.velocity, 0.0, self.levelset, None)


def ball(dimension: int, x: float, radius: float = 0.15) -> Sphere:
    return Sphere((x,) + (0.5,) * (dimension - 1), radius)


def test_parts_that_merge_add_up_and_break_up_by_volume(dimension: int, dtype: type) -> None:
    liquid = Liquid(dimension, dtype)
    two = ball(dimension, 0.25), ball(dimension, 0.75, 0.2)
    liquid.fill(*two)
    liquid.volume.reset(liquid.levelset, None)
    start = liquid.volume.expected
    assert len(start) == 3
    assert start[0] == 0.0
    assert same_bits(start, liquid.volume.volumes)
    bridge = ms.surface.Capsule((0.25,) + (0.5,) * (dimension - 1), (0.75,) + (0.5,) * (dimension - 1), 0.05)
    liquid.fill(*two, bridge)
    liquid.follow()
    assert liquid.volume.expected[1:] == pytest.approx([start.sum()], rel=1e-12)
    liquid.fill(*two)
    liquid.follow()
    volumes = liquid.volume.volumes[1:]
    assert liquid.volume.expected[1:] == pytest.approx(start.sum() * volumes / volumes.sum(), rel=1e-12)


@pytest.mark.parametrize("related", [True, False])
def test_vanished_parts_are_shared_by_their_family_and_new_ones_expect_what_they_have(related: bool, dimension: int) -> None:
    """Parts whose liquid was never connected share nothing: a pool does not rise because of what is lost elsewhere."""
    liquid = Liquid(dimension)
    bridge = ms.surface.Capsule((0.25,) + (0.5,) * (dimension - 1), (0.75,) + (0.5,) * (dimension - 1), 0.05)
    two = ball(dimension, 0.25), ball(dimension, 0.75)
    liquid.fill(*two, *([bridge] if related else []))
    liquid.volume.reset(liquid.levelset, None)
    if related:
        liquid.fill(*two)
        liquid.follow()
    before = liquid.volume.expected.sum()
    liquid.fill(ball(dimension, 0.25))
    liquid.follow()
    assert liquid.volume.expected.sum() == pytest.approx(before / 2, rel=1e-12)
    liquid.volume.distribute_unassigned()
    assert liquid.volume.expected.sum() == pytest.approx(before if related else before / 2, rel=1e-12)
    written_off, *rest = liquid.volume.budget["unassigned"]
    assert written_off == pytest.approx(0.0 if related else before / 2, rel=1e-12)
    assert np.abs(rest).max() < 1e-15
    liquid.fill(ball(dimension, 0.25), ball(dimension, 0.7))
    liquid.follow()
    assert liquid.volume.expected[2] == liquid.volume.volumes[2]


def test_a_part_that_vanishes_leaves_its_volume_to_the_one_that_it_met(dimension: int) -> None:
    """And to no other, and to none behind a wall of two cells."""
    pool, apart = ball(dimension, 0.3), ball(dimension, 0.85, 0.1)
    for gap, met in ((0.7, True), (3.5, False)):
        liquid = Liquid(dimension)
        liquid.fill(pool, apart, ball(dimension, 0.45 + (gap + 1.2) / N, 1.2 / N))
        liquid.volume.reset(liquid.levelset, None)
        assert len(liquid.volume.expected) == 4
        before = liquid.volume.expected
        drop = before[1:].min()
        liquid.fill(pool, apart)
        liquid.follow()
        liquid.volume.distribute_unassigned()
        assert liquid.volume.expected[1] == pytest.approx(before[1] + (drop if met else 0.0), rel=1e-12)
        assert liquid.volume.expected[2] == pytest.approx(before.sum() - before[1] - drop, rel=1e-12)
        assert liquid.volume.budget["unassigned"][0] == pytest.approx(0.0 if met else drop, abs=1e-15)


def test_a_part_from_nowhere_is_given_back_by_the_one_that_it_joins(dimension: int) -> None:
    two = ball(dimension, 0.25), ball(dimension, 0.75)
    liquid = Liquid(dimension)
    liquid.fill(two[0])
    liquid.volume.reset(liquid.levelset, None)
    start = liquid.volume.total
    liquid.fill(*two)
    liquid.follow()
    liquid.volume.distribute_unassigned()
    assert liquid.volume.expected[1:] == pytest.approx([start, 0.0])
    liquid.fill(*two, ms.surface.Capsule((0.25,) + (0.5,) * (dimension - 1), (0.75,) + (0.5,) * (dimension - 1), 0.05))
    liquid.follow()
    liquid.volume.distribute_unassigned()
    assert liquid.volume.expected[1:] == pytest.approx([start], rel=1e-12)


def test_drops_from_nowhere_are_taken_from_those_that_have_to_do_with_drops(dimension: int) -> None:
    liquid = Liquid(dimension)
    liquid.fill(ball(dimension, 0.25), ball(dimension, 0.75))
    drops = 1e-4
    for sprayed, taken in ((-drops, drops), (0.5 * drops, drops), (-0.25 * drops, 0.25 * drops), (0.0, 0.0)):
        liquid.volume.reset(liquid.levelset, None)
        before = liquid.volume.expected
        given = {"unassigned": np.array([-drops, 0.0, 0.0]), "sprayed": np.array([drops, sprayed, 0.0])}
        liquid.volume.budget = {**liquid.volume.budget, **given}
        liquid.volume.distribute_unassigned()
        assert liquid.volume.expected[1:] == pytest.approx([before[1] - taken, before[2]], rel=1e-12)
        assert liquid.volume.budget["unassigned"] == pytest.approx([taken - drops, 0.0, 0.0], abs=1e-15)


def test_labels_cannot_be_written_to_and_budgets_are_checked(dimension: int) -> None:
    liquid = Liquid(dimension)
    liquid.fill(ball(dimension, 0.25), ball(dimension, 0.75))
    liquid.volume.reset(liquid.levelset, None)
    with pytest.raises(ValueError, match="read-only"):
        liquid.volume.labels[...] = 7
    before = liquid.volume.snapshot()
    for name, values, message in (
        ("expected", [0.0, np.nan, 1.0], "finite"),
        ("volumes", [0.0, np.inf, 1.0], "finite"),
        ("unassigned", [np.nan, 0.0, 0.0], "finite"),
        ("families", [0, 1, 3], "family 3"),
        ("families", [0, 1, 0], "family 0"),
        ("expected", [0.0, 1.0], "expected volume for each"),
        ("sprayed", [0.0], "sprayed volume for each"),
    ):
        with pytest.raises(ValueError, match=message):
            liquid.volume.budget = {**liquid.volume.budget, name: values}
    short = {name: np.array(values[:2]) for name, values in liquid.volume.budget.items()}
    with pytest.raises(ValueError, match="every label from 0 to 2"):
        liquid.volume.budget = short
    with pytest.raises(ValueError, match="every label from 0 to 2"):
        liquid.volume.restore({**before, "budget": short})
    np.testing.assert_equal(liquid.volume.snapshot(), before)


def test_labels_follow_the_flow(dimension: int) -> None:
    """Parts that trade places by the flow keep what was expected of them."""
    liquid = Liquid(dimension)
    liquid.fill(ball(dimension, 0.3), ball(dimension, 0.7, 0.1))
    liquid.volume.reset(liquid.levelset, None)
    first, second = liquid.volume.expected[1:]
    liquid.velocity.u[...] = np.where(np.arange(N + 1).reshape((-1,) + (1,) * (dimension - 1)) < N // 2, 0.4, -0.4)
    liquid.fill(ball(dimension, 0.7), ball(dimension, 0.3, 0.1))
    liquid.volume.update_after_motion(liquid.velocity, 1.0, liquid.levelset, None)
    assert liquid.volume.expected[1:] == pytest.approx([second, first], rel=1e-12)


def test_sources_change_what_is_expected_by_what_they_add(dimension: int) -> None:
    liquid = Liquid(dimension)
    liquid.fill(ball(dimension, 0.3))
    liquid.volume.reset(liquid.levelset, None)
    liquid.fill(ball(dimension, 0.3), ball(dimension, 0.7))
    liquid.volume.update_after_sources("emitted", liquid.levelset, None)
    totals = liquid.volume.totals
    assert totals["emitted"] == pytest.approx(liquid.volume.total - totals["initial"], rel=1e-12)
    assert liquid.volume.expected[1:] == pytest.approx(liquid.volume.volumes[1:], rel=1e-12)


@pytest.mark.parametrize("outward", [1.0, -1.0])
def test_what_crosses_a_side(outward: float, dimension: int, dtype: type) -> None:
    """Half of an open side is liquid: the flux is half its area times the speed."""
    liquid = Liquid(dimension, dtype, {"x+": ms.Open()})
    y = liquid.levelset.field.coordinates()[-1]
    liquid.levelset.array[...] = y - 0.5
    liquid.volume.reset(liquid.levelset, None)
    liquid.velocity.u[1:] = outward * 2.0  # nothing crosses the other side
    account, total = (liquid.volume.account_outflow, "outflow") if outward > 0 else (liquid.volume.account_inflow, "inflow")
    account(liquid.levelset, liquid.velocity, 0.01, None)
    assert liquid.volume.totals[total] == pytest.approx(0.01, rel=1e-6)
    assert liquid.volume.totals["inflow" if outward > 0 else "outflow"] == 0.0
    assert liquid.volume.expected[1] == pytest.approx(0.5 - outward * 0.01, rel=1e-6)


def test_the_liquid_in_a_solid_does_not_count(dimension: int) -> None:
    liquid = Liquid(dimension)
    liquid.fill(ball(dimension, 0.5, 0.3))
    solid = ms.NodeField(liquid.levelset.grid)
    solid.array[...] = solid.coordinates()[0] - 0.5
    liquid.volume.reset(liquid.levelset, solid)
    whole = liquid.volume.total
    liquid.volume.reset(liquid.levelset, None)
    # Where the surface meets the solid, the edge of the liquid is rounded within a cell.
    assert whole == pytest.approx(liquid.volume.total / 2, rel=0.01)


def test_the_correction_brings_each_part_to_its_volume(dimension: int, dtype: type) -> None:
    liquid = Liquid(dimension, dtype)
    radii = 0.15, 0.2
    liquid.fill(ball(dimension, 0.25, radii[0]), ball(dimension, 0.75, radii[1]))
    liquid.volume.reset(liquid.levelset, None)
    wanted = liquid.volume.expected
    change = 0.1 / N
    liquid.fill(ball(dimension, 0.25, radii[0] - change), ball(dimension, 0.75, radii[1] + change))
    liquid.follow()
    moved = liquid.volume.correct(liquid.levelset, None)
    assert moved == pytest.approx(change, rel=0.05)
    tolerance = 1e-9 if dtype is np.float64 else 1e-5
    assert liquid.volume.volumes[1:] == pytest.approx(wanted[1:], rel=tolerance)
    assert liquid.volume.correct(liquid.levelset, None) <= tolerance


def test_the_correction_moves_the_surface_by_at_most_a_part_of_a_cell(dimension: int) -> None:
    liquid = Liquid(dimension)
    liquid.fill(ball(dimension, 0.5, 0.3))
    liquid.volume.reset(liquid.levelset, None)
    liquid.fill(ball(dimension, 0.5, 0.2))
    liquid.follow()
    before = liquid.levelset.array.copy()
    assert liquid.volume.correct(liquid.levelset, None) == pytest.approx(0.3 / N, rel=1e-12)
    assert np.abs(liquid.levelset.array - before).max() <= 0.3 / N + 1e-15


def test_the_correction_follows_parts_whose_numbers_change(dimension: int) -> None:
    """Parts are numbered by their first cells: one that grows while another shrinks may become the first."""
    swaps = 0
    for offset in np.linspace(0.05, 0.95, 10) / N:
        low, high = ((x, y) + (0.5,) * (dimension - 2) for x, y in ((0.5, 0.25), (0.5 + 0.4 / N, 0.75)))
        radius, change = 0.15 + offset, 0.28 / N
        liquid = Liquid(dimension)
        liquid.fill(Sphere(low, radius - change), Sphere(high, radius + change))
        wanted = {True: liquid.levelset_volume(low), False: liquid.levelset_volume(high)}
        liquid.fill(Sphere(low, radius), Sphere(high, radius))
        liquid.volume.reset(liquid.levelset, None)
        at_low = tuple(int(c * N) for c in low)
        first = liquid.volume.labels[at_low]
        expected = [0.0, 0.0, 0.0]
        expected[first], expected[3 - first] = wanted[True], wanted[False]
        liquid.volume.budget = {**liquid.volume.budget, "expected": np.array(expected)}
        liquid.volume.correct(liquid.levelset, None)
        now = liquid.volume.labels[at_low]
        swaps += now != first
        assert liquid.volume.volumes[now] == pytest.approx(wanted[True], rel=1e-8)
        assert liquid.volume.volumes[3 - now] == pytest.approx(wanted[False], rel=1e-8)
        assert liquid.volume.expected[now] == pytest.approx(wanted[True], rel=1e-12)
    assert swaps > 0


def test_the_correction_finds_the_volume_of_small_parts(dimension: int) -> None:
    """Where the area of the surface says little about the change of volume: the search stays between bounds and ends."""
    liquid = Liquid(dimension)
    cell = 1.0 / N**dimension
    for radius in np.linspace(0.9, 2.2, 9) / N:
        liquid.fill(ball(dimension, 0.5 + 0.3 / N, radius))
        liquid.volume.reset(liquid.levelset, None)
        if not 1.2 * cell < liquid.volume.total < 12 * cell:
            continue
        wanted = 1.15 * liquid.volume.total
        liquid.volume.budget = {**liquid.volume.budget, "expected": np.array([0.0, wanted])}
        liquid.volume.correct(liquid.levelset, None)
        assert liquid.volume.total == pytest.approx(wanted, rel=1e-8)


def test_snapshots(dimension: int) -> None:
    liquid = Liquid(dimension)
    liquid.fill(ball(dimension, 0.25), ball(dimension, 0.75))
    liquid.volume.reset(liquid.levelset, None)
    saved = liquid.volume.snapshot()
    liquid.fill(ball(dimension, 0.5))
    liquid.follow()
    liquid.volume.restore(saved)
    again = liquid.volume.snapshot()
    assert set(again) == set(saved)
    np.testing.assert_equal(again, saved)


def test_reports_name_the_parts(dimension: int) -> None:
    liquid = Liquid(dimension)
    liquid.fill(ball(dimension, 0.25), ball(dimension, 0.75, 0.2))
    liquid.volume.reset(liquid.levelset, None)
    report = liquid.volume.report(liquid.levelset, None, 0.125)
    exact = [math.pi * r**2 if dimension == 2 else 4 / 3 * math.pi * r**3 for r in (0.15, 0.2)]
    assert [c.volume for c in report.components] == pytest.approx(exact, rel=0.03)
    assert report.liquid == pytest.approx(sum(c.volume for c in report.components))
    assert report.spray == 0.125
    for label, c in enumerate(report.components, 1):
        inside = np.argwhere(liquid.volume.labels == label)
        assert c.cells == len(inside)
        assert c.first_cell == tuple(inside[0])
