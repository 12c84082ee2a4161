"""The cubic method misses no contact of elements that move by many times their size."""

from __future__ import annotations

import numpy as np
import pytest
from support.ccd import oracle, queries
from support.ccd.fast_motion import FAST
from support.ccd.oracle import KINDS, Kind

import meniscus as ms

CUBIC = {"vertex-face": ms.collision.cubic_vertex_face, "edge-edge": ms.collision.cubic_edge_edge}
EXACT = {"vertex-face": ms.collision.vertex_face, "edge-edge": ms.collision.edge_edge}


@pytest.mark.parametrize("n", [100, pytest.param(2000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", FAST)
def test_no_contact_is_missed_at_any_ratio_of_motion_to_size(family: str, kind: Kind, n: int, rng: np.random.Generator) -> None:
    contacts = 0
    for k in range(41):
        start, end = FAST[family](rng, n, kind, k)
        touches = EXACT[kind](start, end, mode="any")
        contacts += int(touches.sum())
        for tolerance in (1e-6, 1e-12, 0.0):
            found = np.isfinite(CUBIC[kind](start, end, tolerance=tolerance))
            missed = np.flatnonzero(touches & ~found)
            assert len(missed) == 0, f"2^{k}, tolerance {tolerance}: {start[missed[0]].tolist()} -> {end[missed[0]].tolist()}"
    assert contacts > n // 4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", ["one_moves", "both_move", "both_move_together"])
def test_little_else_is_reported(family: str, kind: Kind, rng: np.random.Generator) -> None:
    """The tolerance is a fraction of the size of the elements, not of their motion, and round-off is 2^-44 of the motion."""
    for k in range(0, 31, 3):
        start, end = FAST[family](rng, 2000, kind, k)
        touches = EXACT[kind](start, end, mode="any")
        assert 200 < touches.sum() < 1800
        others = np.count_nonzero(np.isfinite(CUBIC[kind](start, end)) & ~touches)
        assert others <= 4, f"2^{k}"


@pytest.mark.parametrize("kind", KINDS)
def test_against_rational_arithmetic(kind: Kind, rng: np.random.Generator) -> None:
    for k in (0, 10, 20, 30):
        for family in FAST.values():
            start, end = family(rng, 12, kind, k)
            expected = np.array([answer.any for answer in oracle.solve_all(kind, start, end)])
            assert (np.isfinite(CUBIC[kind](start, end)) | ~expected).all()


@pytest.mark.parametrize("kind", KINDS)
def test_times_of_fast_elements(kind: Kind, rng: np.random.Generator) -> None:
    """The first time found is that of the first contact, up to what the tolerance and round-off allow."""
    exact = ms.collision.time_of_impact_vertex_face if kind == "vertex-face" else ms.collision.time_of_impact_edge_edge
    for k in range(0, 31, 5):
        start, end = FAST["both_move"](rng, 300, kind, k)
        touches = EXACT[kind](start, end, mode="any")
        found, first = CUBIC[kind](start, end)[touches], exact(start, end, tolerance=1e-14)[touches]
        # Elements that are almost parallel to their motion are within the tolerance long before they touch.
        assert np.count_nonzero(np.abs(found - first) > 1e-5 / 2.0**k + 1e-13) <= 1, f"2^{k}"


@pytest.mark.parametrize("n", [200, pytest.param(4000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("family", [*queries.GENERIC, *queries.DEGENERATE])
def test_no_contact_is_missed_without_a_tolerance(family: str, kind: Kind, n: int, rng: np.random.Generator) -> None:
    start, end = {**queries.GENERIC, **queries.DEGENERATE}[family](rng, n, kind)
    found = np.isfinite(CUBIC[kind](start, end, tolerance=0.0))
    assert not (EXACT[kind](start, end, mode="any") & ~found).any()
