"""Arguments, errors and promises of the functions for pairs, besides exactness, which has files of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import meniscus as ms
from meniscus import collision

DETECT = [collision.vertex_face, collision.edge_edge]
TIMES = [collision.time_of_impact_vertex_face, collision.time_of_impact_edge_edge]


def motions(rng: np.random.Generator, n: int = 700) -> tuple[Any, Any]:
    """Positions at both ends, half of them on a small grid, where most queries are degenerate."""
    x = rng.uniform(-1, 1, (2, n, 4, 3))
    x[:, ::2] = rng.integers(-2, 3, (2, (n + 1) // 2, 4, 3))
    return np.ascontiguousarray(x[0]), np.ascontiguousarray(x[1])


@pytest.mark.parametrize("function", DETECT + TIMES)
def test_nothing_to_ask(function: Callable[..., Any]) -> None:
    assert function(np.empty((0, 4, 3)), np.empty((0, 4, 3))).shape == (0,)


@pytest.mark.parametrize("function", DETECT + TIMES)
def test_the_first_value_that_is_not_finite_is_named(function: Callable[..., Any], rng: np.random.Generator) -> None:
    start, end = motions(rng, 9)
    start[7, 1, 2] = np.nan
    end[3, 2, 0] = np.inf
    with pytest.raises(ValueError, match=r"start must be finite, but \[7, 1, 2\] is nan"):
        function(start, end)
    start[7, 1, 2] = 0.0
    with pytest.raises(ValueError, match=r"end must be finite, but \[3, 2, 0\] is inf"):
        function(start, end)


@pytest.mark.parametrize("function", DETECT + TIMES)
def test_wrong_arrays(function: Callable[..., Any], rng: np.random.Generator) -> None:
    start, end = motions(rng, 4)
    with pytest.raises(TypeError, match="start must be a NumPy array, not list"):
        function(start.tolist(), end)
    with pytest.raises(TypeError, match="end must be of dtype float64, not float32"):
        function(start, end.astype(np.float32))
    with pytest.raises(ValueError, match=r"start must have shape \(n, 4, 3\), not \(4, 3\)"):
        function(start[0], end[0])
    with pytest.raises(TypeError, match="end must be C-contiguous"):
        function(start, end[::-1])
    with pytest.raises(ValueError, match="the same number of pairs, not 4 and 3"):
        function(start, end[:3])


@pytest.mark.parametrize("function", DETECT)
def test_wrong_mode(function: Callable[..., Any], rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="mode must be one of 'parity', 'any', not 'odd'"):
        function(*motions(rng, 2), mode="odd")


@pytest.mark.parametrize("function", TIMES)
@pytest.mark.parametrize("tolerance", [0.0, -1.0, np.nan])
def test_wrong_tolerance(function: Callable[..., Any], tolerance: float, rng: np.random.Generator) -> None:
    with pytest.raises(ValueError, match="tolerance must be"):
        function(*motions(rng, 2), tolerance=tolerance)


@pytest.mark.parametrize("kind", [0, 1], ids=["vertex-face", "edge-edge"])
def test_same_bits_on_any_number_of_threads_and_with_any_vectors(kind: int, rng: np.random.Generator, default_parallelism: None) -> None:
    start, end = motions(rng)
    start[5] *= 5e-324
    end[6] *= 1e300

    def everything() -> bytes:
        answers = [DETECT[kind](start, end, mode=mode) for mode in ("parity", "any")]
        return b"".join(a.tobytes() for a in [*answers, TIMES[kind](start, end)])

    expected = everything()
    for threads in (1, 2, 3, 5, 8):
        ms.set_num_threads(threads)
        assert everything() == expected
    for level in ("baseline", "avx2", "avx512"):
        try:
            ms.core.set_simd_level(level)
        except ValueError:
            continue
        assert everything() == expected


@pytest.mark.parametrize("kind", [0, 1], ids=["vertex-face", "edge-edge"])
def test_a_time_is_finite_exactly_where_there_is_any_contact(kind: int, rng: np.random.Generator) -> None:
    start, end = motions(rng, 3000)
    touches = DETECT[kind](start, end, mode="any")
    for tolerance in (0.9, 1e-3, 1e-12):
        times = TIMES[kind](start, end, tolerance=tolerance)
        np.testing.assert_array_equal(np.isfinite(times), touches)
    # Nothing touches up to a time of impact, and something does a little later; where the points are in general position, cutting the
    # step there changes no more than the last bits.
    general = np.arange(len(start)) % 2 == 1
    some = np.flatnonzero(general & touches & (times > 0) & (times < 0.9))
    assert len(some) > 50
    until = start[some] + times[some, None, None] * (end[some] - start[some])
    assert np.count_nonzero(DETECT[kind](start[some], until, mode="any")) <= 0.02 * len(some)
    after = start[some] + (times[some, None, None] + 1e-9) * (end[some] - start[some])
    assert DETECT[kind](start[some], after, mode="any").all()
