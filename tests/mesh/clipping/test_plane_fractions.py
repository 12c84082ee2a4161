"""Fractions of tetrahedra below planes against rational arithmetic, and the levels that cut off given fractions."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from support.clipping.rational import fraction_below
from support.clipping.rotations import rotation

import meniscus as ms

Floats = npt.NDArray[np.float64]


def cases() -> Floats:
    rng = np.random.default_rng(1)
    signs = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=4)))
    any_values = rng.random((80, 4)) - rng.random((80, 1))
    sizes = 10.0 ** rng.integers(-12, 3, (120, 4))
    near = 1 + 1e-15 * rng.integers(-4, 5, (60, 4)) - 1
    return np.concatenate(
        [
            signs,
            signs * rng.random((81, 4)),
            any_values,
            rng.choice([-1, 1], (120, 4)) * rng.random((120, 4)) * sizes,
            near,
            np.round(any_values * 4) / 4,
            1e-320 * rng.integers(-3, 4, (20, 4)),
            signs[::3] * 1.7e308,
        ]
    )


def test_fractions_agree_with_rational_arithmetic_to_few_units_in_the_last_place() -> None:
    values = cases()
    fractions = ms.mesh.fractions_below(values)
    for phi, found in zip(values, fractions, strict=True):
        exact = fraction_below(phi)
        assert abs(float(Fraction(float(found)) - exact)) <= 2e-15 * float(exact) + 5e-324, phi


def test_both_sides_make_up_the_whole() -> None:
    values = cases()
    values = values[values.any(axis=1)]
    np.testing.assert_allclose(ms.mesh.fractions_below(values) + ms.mesh.fractions_below(-values), 1, rtol=0, atol=4e-16)
    np.testing.assert_array_equal(ms.mesh.fractions_below(np.zeros((1, 4))), [1.0])


def test_fractions_do_not_depend_on_the_order_of_corners_nor_on_a_scale() -> None:
    values = np.random.default_rng(2).random((200, 4)) - 0.5
    fractions = ms.mesh.fractions_below(values)
    for order in itertools.permutations(range(4)):
        np.testing.assert_array_equal(ms.mesh.fractions_below(values[:, order]), fractions)
    np.testing.assert_array_equal(ms.mesh.fractions_below(values * 2.0**-900), fractions)


@pytest.mark.parametrize("kind", ["any", "ties", "near"])
def test_fractions_grow_with_the_level(kind: str) -> None:
    rng = np.random.default_rng(3)
    for _ in range(50):
        heights = rng.random(4) if kind == "any" else rng.integers(0, 3, 4) / 2.0
        if kind == "near":
            heights = heights + 1e-14 * rng.random(4)
        levels = np.sort(np.concatenate([np.linspace(-0.1, 1.1, 200), heights, np.nextafter(heights, 2), np.nextafter(heights, -2)]))
        fractions = ms.mesh.fractions_below(heights - levels[:, None])
        assert (np.diff(fractions) >= -4e-16).all()
        assert fractions[0] == 0
        assert fractions[-1] == 1


def test_a_fraction_is_the_volume_below_a_plane() -> None:
    # The overlap with a tetrahedron whose one face is the plane and which holds all that is below.
    rng = np.random.default_rng(4)
    tets = rng.random((100, 4, 3))
    turn = rotation(0.7)
    below = np.array([[-30, -30, 0], [30, -30, 0], [0, 30, 0], [0, 0, -90.0]])
    level = 0.3
    heights = tets @ turn[:, 2]
    half = np.broadcast_to(below @ turn.T + level * turn[:, 2], tets.shape)
    own = np.abs(np.linalg.det(tets[:, 1:] - tets[:, :1])) / 6
    np.testing.assert_allclose(ms.mesh.fractions_below(heights - level) * own, ms.mesh.overlap_volumes(tets, half), rtol=0, atol=1e-14)


FRACTIONS = np.array([0.0, 1e-300, 1e-15, 1e-9, 1e-3, 0.1, 0.25, 1 / 3, 0.5, 0.7, 0.999, 1 - 1e-9, 1 - 1e-15, 1 - 2**-53, 1.0])
HEIGHTS = {
    "any": np.random.default_rng(5).random((60, 4)) - 0.5,
    "ties": np.array(list(itertools.product((0.0, 0.5, 1.0), repeat=4))),
    "near ties": np.array(list(itertools.product((0.0, 0.5, 1.0), repeat=4))) + 1e-13 * np.random.default_rng(6).integers(-3, 4, (81, 4)),
    "steep": np.random.default_rng(7).choice([-1, 1], (60, 4)) * 10.0 ** np.random.default_rng(8).integers(-9, 3, (60, 4)),
    "tiny": 1e-150 * (np.random.default_rng(9).random((30, 4)) - 0.5),
    "huge": 1.7e308 * (2 * np.random.default_rng(10).random((30, 4)) - 1),
}


@pytest.mark.parametrize("kind", HEIGHTS)
def test_levels_give_back_the_fractions(kind: str) -> None:
    all_heights = HEIGHTS[kind]
    all_heights = all_heights[np.ptp(all_heights / np.abs(all_heights).max(), axis=1) > 1e-9]
    heights = np.repeat(all_heights, len(FRACTIONS), axis=0)
    fractions = np.tile(FRACTIONS, len(all_heights))
    levels = ms.mesh.plane_offsets(heights, fractions)
    assert (levels >= heights.min(axis=1)).all()
    assert (levels <= heights.max(axis=1)).all()
    halves = 0.5 * heights - 0.5 * levels[:, None]  # differences of huge heights would overflow
    np.testing.assert_allclose(ms.mesh.fractions_below(halves), fractions, rtol=0, atol=2e-15)


def test_levels_of_small_fractions_are_precise_where_heights_are_measured_from_the_corner() -> None:
    rng = np.random.default_rng(11)
    heights = np.concatenate([np.zeros((50, 1)), rng.random((50, 3))], axis=1)
    for fraction in (1e-15, 1e-30, 1e-200):
        levels = ms.mesh.plane_offsets(heights, np.full(50, fraction))
        np.testing.assert_allclose(ms.mesh.fractions_below(heights - levels[:, None]), fraction, rtol=1e-14)


def test_levels_of_flat_heights_are_the_height() -> None:
    levels = ms.mesh.plane_offsets(np.full((15, 4), 0.3), FRACTIONS)
    np.testing.assert_array_equal(levels, 0.3)


def test_levels_grow_with_the_fraction() -> None:
    fractions = np.sort(np.concatenate([np.linspace(0, 1, 301), FRACTIONS]))
    for heights in (*HEIGHTS["any"][:10], *HEIGHTS["ties"]):
        levels = ms.mesh.plane_offsets(np.tile(heights, (len(fractions), 1)), fractions)
        assert (np.diff(levels) >= -4e-16).all()


def test_the_same_bits_for_any_number_of_threads_and_out() -> None:
    rng = np.random.default_rng(12)
    values, fractions = rng.random((20000, 4)) - 0.4, rng.random(20000)
    threads = ms.num_threads()
    try:
        found = []
        for n in (1, 2, 3, 5, 8):
            ms.set_num_threads(n)
            found.append((ms.mesh.fractions_below(values), ms.mesh.plane_offsets(values, fractions)))
    finally:
        ms.set_num_threads(threads)
    for below, levels in found:
        np.testing.assert_array_equal(below, found[0][0])
        np.testing.assert_array_equal(levels, found[0][1])
    out = np.empty(20000)
    assert ms.mesh.fractions_below(values, out) is out
    np.testing.assert_array_equal(out, found[0][0])
    assert ms.mesh.plane_offsets(values, fractions, out=out) is out
    np.testing.assert_array_equal(out, found[0][1])


V = np.zeros((2, 4))
WRONG: dict[str, tuple[Callable[[], Any], type[Exception], str]] = {
    "shape": (lambda: ms.mesh.fractions_below(V[:, :3]), ValueError, r"values must have shape \(n, 4\), not \(2, 3\)"),
    "text": (lambda: ms.mesh.fractions_below(np.array([["a"] * 4])), TypeError, "values must hold numbers"),
    "nan": (lambda: ms.mesh.fractions_below(V + np.nan), ValueError, r"values must be finite, but \[0, 0\] is nan"),
    "infinite": (lambda: ms.mesh.plane_offsets(V + np.inf, [0, 0]), ValueError, r"heights must be finite, but \[0, 0\] is inf"),
    "too few": (lambda: ms.mesh.plane_offsets(V, [0.5]), ValueError, r"fractions must have shape \(2,\), not \(1,\)"),
    "too large": (lambda: ms.mesh.plane_offsets(V, [0.5, 1.5]), ValueError, r"fractions must be from 0 to 1, but \[1\] is 1.5"),
    "out": (lambda: ms.mesh.fractions_below(V, np.empty((2, 1))), ValueError, r"out must have shape \(2,\)"),
    "out in values": (lambda: ms.mesh.fractions_below(V, V.reshape(-1)[:2]), ValueError, "out must not share memory with an input"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments(name: str) -> None:
    call, kind, message = WRONG[name]
    with pytest.raises(kind, match=message):
        call()
