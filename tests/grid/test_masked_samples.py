"""Sums, extrema and assignments where a mask is set, against NumPy."""

from typing import Any

import numpy as np
import pytest
from support.build import grid_of, random_scalar, random_velocity, same_bits

from meniscus._meniscus import grid as _grid

core: Any = _grid


@pytest.fixture(params=["cell", "node"])
def field(request: pytest.FixtureRequest, dimension: int, dtype: type, rng: np.random.Generator) -> Any:
    return random_scalar(request.param, grid_of(dimension), dtype, rng)


def test_sums(field: Any, rng: np.random.Generator) -> None:
    mask = rng.random(field.shape) < 0.5
    a = field.array.astype(np.float64)
    assert core.sum_samples(field._core, None) == pytest.approx(a.sum(), rel=1e-12)
    assert core.sum_samples(field._core, mask) == pytest.approx(a[mask].sum(), rel=1e-12)
    assert core.sum_samples(field._core, np.zeros_like(mask)) == 0.0


def test_largest_deviations(field: Any, rng: np.random.Generator) -> None:
    mask = rng.random(field.shape) < 0.5
    deviation = np.abs(field.array - 0.25)
    assert core.largest_deviation(field._core, 0.25, None) == deviation.max()
    assert core.largest_deviation(field._core, 0.25, mask) == deviation[mask].max()
    assert core.largest_deviation(field._core, 0.25, np.zeros_like(mask)) == 0.0
    last = tuple(n - 1 for n in field.shape)
    for value in (np.nan, np.inf, -np.inf):
        field.array[last] = value
        mask[last] = False
        assert core.largest_deviation(field._core, 0.0, None) == np.inf
        assert core.largest_deviation(field._core, 0.25, mask) == deviation[mask].max()


def test_the_band_around_zero(field: Any) -> None:
    mask = np.zeros(field.shape, bool)
    assert core.mark_band(field._core, 0.5, mask) == np.count_nonzero(np.abs(field.array) < 0.5)
    assert (mask == (np.abs(field.array) < 0.5)).all()


def test_assignments(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    grid = grid_of(dimension)
    velocity, other = (random_velocity(grid, dtype, rng) for _ in range(2))
    old, new = ([v.component(d).copy() for d in range(dimension)] for v in (velocity, other))
    masks = [rng.random(u.shape) < 0.5 for u in old]

    def holds(*expected: Any) -> bool:
        return all(same_bits(velocity.component(d), e) for d, e in enumerate(expected))

    core.copy_faces(velocity._core, other._core, masks, True)
    assert holds(*(np.where(m, v, u) for m, v, u in zip(masks, new, old, strict=True)))
    core.assign_faces(velocity._core, 2.5, masks, False)
    assert holds(*(np.where(m, v, dtype(2.5)) for m, v in zip(masks, new, strict=True)))
    core.copy_faces(velocity._core, other._core, None, True)
    assert holds(*new)


def test_speeds_where_masks_are_set(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    velocity = random_velocity(grid_of(dimension), dtype, rng)
    masks = [rng.random(velocity.component(d).shape) < 0.3 for d in range(dimension)]
    expected = max(np.abs(velocity.component(d)[m]).max(initial=0.0) for d, m in enumerate(masks))
    assert core.max_component_speed_in(velocity._core, masks) == expected
    assert core.max_component_speed_in(velocity._core, [np.zeros_like(m) for m in masks]) == 0.0
    for d in range(dimension):
        last = tuple(n - 1 for n in masks[d].shape)
        velocity.component(d)[last] = np.nan
        masks[d][last] = False
        assert core.max_component_speed_in(velocity._core, masks) <= expected
        masks[d][last] = True
        assert core.max_component_speed_in(velocity._core, masks) == np.inf
        masks[d][last] = False
    with pytest.raises((TypeError, ValueError), match="masks must"):
        core.max_component_speed_in(velocity._core, [*masks[:-1], np.zeros(3, bool)])


def test_masks_unite(rng: np.random.Generator) -> None:
    a, b = rng.random((2, 5, 7)) < 0.4
    out = np.zeros((5, 7), bool)
    core.unite_masks([a, b], [b, b], [out, b])
    assert (out == (a | b)).all()
    core.unite_masks([a], [b], [a])
    assert (a == out).all()
    with pytest.raises((TypeError, ValueError), match="b must"):
        core.unite_masks([a], [b[:2]], [out])
    with pytest.raises(ValueError, match="a, b and out must hold as many masks"):
        core.unite_masks([a], [b, b], [out])


def test_combinations(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    x, y = (random_velocity(grid_of(dimension), dtype, rng) for _ in range(2))
    expected = [2 * x.component(d) - y.component(d) for d in range(dimension)]
    core.combine(x._core, 2.0, x._core, -1.0, y._core)
    assert same_bits([x.component(d) for d in range(dimension)], expected)


def test_scaling(field: Any, dtype: type) -> None:
    expected = field.array * dtype(0.3)
    core.scale(field._core, 0.3)
    assert same_bits(field.array, expected)


def test_masks(rng: np.random.Generator) -> None:
    a, b = (rng.random((30, 7)) < 0.5 for _ in range(2))
    out = np.zeros_like(a)
    for other, wanted, expected in ((None, True, a), (b, True, a & b), (b, False, a & ~b)):
        second = np.zeros_like(a)
        core.select_masks([a, b], None if other is None else [other, a], wanted, [out, second])
        assert (out == expected).all()
        assert (second == (b if other is None else b & a if wanted else b & ~a)).all()


def test_wrong_masks_change_nothing(field: Any) -> None:
    before = field.array.copy()
    for mask in (np.zeros(3, bool), np.zeros(field.shape, np.int32)):
        with pytest.raises((TypeError, ValueError), match="mask must"):
            core.assign(field._core, 1.0, mask)
    assert same_bits(field.array, before)
