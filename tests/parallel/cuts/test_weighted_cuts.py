"""Cuts of a domain by the work in its cells, beside all cuts there are."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, pairwise, product
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import liquid_blocks
from meniscus.parallel import balanced_blocks
from meniscus.parallel.cuts import LEAST_CELLS, even_cells
from meniscus.parallel.weighted_cuts import Work, cut_by_work
from meniscus.surface import Box

Cells = tuple[tuple[int, ...], ...]


def divisions(n: int, count: int, least: int) -> Iterator[tuple[int, ...]]:
    """All ways to divide n cells into so many parts."""
    for inner in combinations(range(1, n), count - 1):
        parts = tuple(int(k) for k in np.diff((0, *inner, n)))
        if min(parts) >= least or count == 1:
            yield parts


def largest(weights: np.ndarray, cells: Cells) -> float:
    """Work of the block that has most, by adding it up."""
    starts = [np.cumsum((0, *parts)) for parts in cells]
    boxes = product(*(pairwise(s) for s in starts))
    return float(max(weights[tuple(slice(a, b) for a, b in box)].sum() for box in boxes))


def even(shape: tuple[int, ...], counts: tuple[int, ...]) -> Cells:
    return tuple(even_cells(n, k) for n, k in zip(shape, counts, strict=True))


@pytest.mark.parametrize("least", [1, 2, 4])
def test_along_one_axis_no_other_cut_has_less_work_in_its_largest_block(least: int) -> None:
    rng = np.random.default_rng(least)
    for _ in range(60):
        count = int(rng.integers(2, 5))
        n = int(rng.integers(least * count, least * count + 10))
        # Much work in few cells: cells before a heavy part are then better given to it than to the part before.
        weights = rng.integers(0, 10, (n, 3)).astype(float) ** rng.integers(1, 4)
        weights[0, 0] += 1
        found = cut_by_work(Work(weights.shape, weights), even(weights.shape, (count, 1)), least)
        assert (sum(found[0]), len(found[0])) == (n, count)
        assert min(found[0]) >= least
        best = min(largest(weights, (parts, (3,))) for parts in divisions(n, count, least))
        assert largest(weights, found) == pytest.approx(best, rel=1e-12)


def test_along_several_axes_the_cut_is_near_the_best_of_all() -> None:
    rng = np.random.default_rng(5)
    ratios = []
    for _ in range(30):
        shape = tuple(int(n) for n in rng.integers(8, 12, 2))
        weights = rng.random(shape) ** 3
        found = cut_by_work(Work(shape, weights), even(shape, (2, 3)), 2)
        best = min(largest(weights, cells) for cells in product(divisions(shape[0], 2, 2), divisions(shape[1], 3, 2)))
        ratios.append(largest(weights, found) / best)
        assert largest(weights, found) <= largest(weights, even(shape, (2, 3))) * (1 + 1e-12)
    assert min(ratios) >= 1 - 1e-12
    assert np.median(ratios) < 1.02
    assert max(ratios) < 1.2


def test_coarse_weights_are_even_in_their_boxes() -> None:
    rng = np.random.default_rng(6)
    coarse = rng.random((4, 3))
    # Boxes of three by four cells; the last ones have one and two.
    fine = np.repeat(np.repeat(coarse / [3, 3, 3], 3, axis=0), 4, axis=1)[:10, :10] / 4
    fine[9] *= 3
    fine[:, 8:] *= 2
    assert fine.sum() == pytest.approx(coarse.sum())
    cells = ((2, 4, 4), (3, 7))
    one, other = Work((10, 10), coarse), Work((10, 10), fine)
    assert one.of_blocks(cells) == pytest.approx(other.of_blocks(cells))
    assert one.of_blocks(cells)[0, 0] == pytest.approx(fine[:2, :3].sum())
    assert one.up_to_cells(1, cells) == pytest.approx(other.up_to_cells(1, cells))


def test_equal_work_is_cut_as_without_weights() -> None:
    for shape, count in (((64, 64, 64), 8), ((128, 64, 64), 2), ((96, 16), 4)):
        assert balanced_blocks(shape, count, weights=np.ones(shape)) == balanced_blocks(shape, count)
        assert balanced_blocks(shape, count, weights=np.ones((1,) * len(shape))) == balanced_blocks(shape, count)


def test_work_on_one_side_moves_the_cut_or_turns_it() -> None:
    weights = np.ones((40, 4))
    weights[:10] = 20
    # The other axis cannot be cut.
    ((lower, upper), _) = balanced_blocks((40, 4), 2, weights=weights)
    assert lower + upper == 40
    assert abs(weights[:lower].sum() - weights[lower:].sum()) <= 20 * 4
    # Across an axis along which the work is everywhere the same, equal blocks have equal work, now and later.
    assert balanced_blocks((40, 32), 2, weights=np.repeat(weights[:, :1], 32, axis=1)) == ((40,), (16, 16))
    # What is above another at one time and below it at another is not cut between the two.
    sand = np.ones((24, 24))
    sand[:, :12] = 5
    assert balanced_blocks((24, 24), 2, weights=[sand, sand[:, ::-1]]) == ((12, 12), (24,))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.ones(8), "must have 2 axes"),
        (-np.ones((8, 8)), "not negative"),
        (np.full((8, 8), np.nan), "must be finite"),
        (np.zeros((8, 8)), "not all zero"),
        (np.ones((5, 8)), "weights has 5 boxes along axis 0, into which 8 cells cannot be divided alike"),
    ],
)
def test_wrong_weights_are_refused(weights: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        balanced_blocks((8, 8), 2, weights=weights)


def test_a_liquid_is_divided_where_it_is_and_where_it_will_lie() -> None:
    def program() -> dict[str, Cells]:
        column = Box((-1.0, -1.0, -1.0), (0.5, 2.0, 0.5))
        pool = Box((-1.0, -1.0), (2.0, 0.3))
        return {
            "dam break": liquid_blocks((128, 64, 64), 1 / 128, column),
            "tall tank": liquid_blocks((16, 64), 1 / 16, pool, liquid_work=10.0),
            "on its side": liquid_blocks((64, 16), 1 / 16, Box((-1.0, -1.0), (0.3, 2.0)), down="x-", liquid_work=10.0),
            "not looked at": balanced_blocks((16, 64), 2),
        }

    one = program()
    assert one["dam break"] == ((128,), (64,), (64,))
    (found, other) = ms.parallel.run_threads(2, program)
    assert found == other
    assert found["dam break"] == ((128,), (32, 32), (64,))
    assert found["tall tank"] == ((8, 8), (64,)) != found["not looked at"]
    assert found["on its side"] == ((64,), (8, 8))


def test_blocks_of_a_liquid_refuse_sides_that_the_domain_does_not_have() -> None:
    with pytest.raises(ValueError, match="a side of a domain in 2 dimensions, not 'z-'"):
        liquid_blocks((8, 8), 0.1, Box((0.0, 0.0), (0.5, 0.5)), down="z-")
    with pytest.raises(ValueError, match="down must be"):
        liquid_blocks((8, 8), 0.1, Box((0.0, 0.0), (0.5, 0.5)), down="below")  # type: ignore[arg-type]


def test_cuts_leave_room_for_ghosts() -> None:
    weights = np.zeros((20, 20))
    weights[:2, :2] = 1
    for count in (2, 4):
        assert min(min(parts) for parts in balanced_blocks((20, 20), count, weights=weights)) >= LEAST_CELLS
