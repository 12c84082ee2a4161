"""Flows and fields from functions of a user."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids import given_flow, rotation, single_vortex, uniform_flow


def swirl(x: np.ndarray, t: float) -> np.ndarray:
    return (1 + t) * np.stack([-x[:, 1], x[:, 0]], axis=1)


def test_follows_the_compiled_flow(rng: np.random.Generator) -> None:
    compiled, given = rotation((0.3, 0.4), 2.0), given_flow(2, lambda x, t: 2.0 * np.stack([0.4 - x[:, 1], x[:, 0] - 0.3], axis=1))
    x = rng.random((50, 2))
    np.testing.assert_allclose(given(x, 0.7), compiled(x, 0.7), atol=1e-15)
    for method in ("euler", "midpoint", "rk3"):
        a, b = x.copy(), x.copy()
        compiled.trace(a, 0.1, -0.3, method=method)
        given.trace(b, 0.1, -0.3, method=method)
        np.testing.assert_allclose(b, a, atol=1e-15)
    velocity, other = (ms.MacField(ms.Grid((5, 7), 0.2)) for _ in range(2))
    compiled.sample(velocity, sampling="pointwise")
    given.sample(other)
    for d in range(2):
        np.testing.assert_allclose(other.component(d), velocity.component(d), atol=1e-15)


def test_trace_has_the_order_of_its_method() -> None:
    flow, start, end = given_flow(2, swirl), np.array([(1.0, 0.0)]), np.array([(np.cos(1.5), np.sin(1.5))])
    for method, order in (("euler", 1), ("midpoint", 2), ("rk3", 3)):
        errors = []
        for n in (40, 80):
            x = start.copy()
            for i in range(n):
                flow.trace(x, i / n, 1 / n, method=method)
            errors.append(float(np.linalg.norm(x - end)))
        assert abs(np.log2(errors[0] / errors[1]) - order) < 0.15, method


def test_adds_and_scales(rng: np.random.Generator) -> None:
    x = rng.random((9, 2))
    for flow in (given_flow(2, swirl) + single_vortex(), single_vortex() + given_flow(2, swirl)):
        np.testing.assert_allclose(flow(x, 0.5), swirl(x, 0.5) + single_vortex()(x, 0.5), atol=1e-15)
    np.testing.assert_allclose((2 * given_flow(2, swirl) - uniform_flow((1, 2)))(x, 0.0), 2 * swirl(x, 0.0) - (1, 2), atol=1e-15)


def test_what_is_refused() -> None:
    with pytest.raises(TypeError, match="function must be a function, not 3"):
        given_flow(2, 3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="flows are made by uniform_flow"):
        ms.fluids.Flow(swirl, 2, "swirl")
    with pytest.raises(ValueError, match="dimension must be 2 or 3"):
        given_flow(4, swirl)
    with pytest.raises(ValueError, match=r"velocities of shape \(3, 2\), not \(3,\)"):
        given_flow(2, lambda x, t: x[:, 0])(np.zeros((3, 2)))
    with pytest.raises(ValueError, match=r"the velocities of a flow must be finite, but \[0, 1\] is nan"):
        given_flow(2, lambda x, t: x * (1, np.nan))(np.ones((3, 2)))
    with pytest.raises(ValueError, match="potential"):
        given_flow(2, swirl).sample(ms.MacField(ms.Grid((4, 4), 0.1)), sampling="discrete-curl")
    with pytest.raises(ValueError, match="3-D"):
        given_flow(2, swirl) + uniform_flow((1, 2, 3))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_fields_from_functions(dtype: type) -> None:
    grid = ms.Grid((6, 5, 4), 0.5, origin=(1.0, -2.0, 3.0))
    for kind in (ms.CellField, ms.NodeField):
        field = kind.from_function(grid, lambda x, y, z: x + 10 * y + 100 * z, dtype=dtype)
        x, y, z = field.coordinates()
        assert field.dtype == dtype
        np.testing.assert_array_equal(field.array, (x + 10 * y + 100 * z).astype(dtype))
        assert np.max(field) == field.array.max()
        assert np.shares_memory(np.asarray(field), field.array)

    def shear(x: np.ndarray, t: float) -> np.ndarray:
        return np.stack([x[:, 1] * t, x[:, 2], x[:, 0]], axis=1)

    open_sides = ms.Open()
    velocity = ms.MacField.from_function(grid, shear, 2.0, dtype=dtype, boundary=open_sides)
    for d, (slope, factor) in enumerate(((1, 2), (2, 1), (0, 1))):
        coordinates = grid.coordinates(tuple(int(a == d) for a in range(3)))
        expected = np.broadcast_to(factor * coordinates[slope], velocity.component(d).shape)
        np.testing.assert_array_equal(velocity.component(d), expected.astype(dtype))
    flow = ms.fluids.vortex_ring((2.0, -1.0, 4.0), (0, 0, 1), 0.5)
    sampled = ms.MacField(grid, dtype, open_sides)
    flow.sample(sampled)
    made = ms.MacField.from_function(grid, flow, dtype=dtype, boundary=open_sides)
    assert all(np.array_equal(made.component(d), sampled.component(d)) for d in range(3))


def test_functions_that_do_not_fit_change_nothing() -> None:
    grid = ms.Grid((4, 3), 0.25)
    velocity = ms.MacField.from_function(grid, lambda x, t: x)
    before = velocity.snapshot()
    for function, error in ((3, TypeError), (lambda x, t: x[:, 0], ValueError), (lambda x, t: x * np.inf, ValueError)):
        with pytest.raises(error, match="function"), np.errstate(all="ignore"):
            velocity.set_from_function(function, 0.0)
        assert all(np.array_equal(a, b) for a, b in zip(before, velocity.snapshot(), strict=True))
    field = ms.CellField(grid)
    with pytest.raises(TypeError, match="function must be a function, not 1"):
        field.set_from_function(1.0)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="broadcast"):
        field.set_from_function(lambda x, y: np.zeros(7))


def test_sides_are_checked_when_made() -> None:
    for make in (lambda: ms.Open("x"), lambda: ms.Wall(velocity="x"), lambda: ms.Wall(velocity=(1, "a")), lambda: ms.Prescribed("x")):
        with pytest.raises(TypeError):
            make()
    for make in (lambda: ms.Open(np.nan), lambda: ms.Wall(velocity=(1.0,)), lambda: ms.Prescribed(np.inf), lambda: ms.Open(10**400)):
        with pytest.raises(ValueError, match="must"):
            make()
