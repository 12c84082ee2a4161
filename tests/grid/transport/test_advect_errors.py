"""Errors of transport, after which the target is unchanged bit for bit."""

from typing import Any, get_args

import numpy as np
import pytest
from support.build import components, grid_of, random_scalar, random_velocity, same_bits, scalar_types

import meniscus as ms
from meniscus._meniscus import grid as _grid
from meniscus.grid import Visibility, advect, semi_lagrangian, upwind
from meniscus.grid.transport.advection import Method


@pytest.fixture
def field(dimension: int, dtype: type, rng: np.random.Generator) -> Any:
    return random_scalar("cell", grid_of(dimension), dtype, rng)


@pytest.fixture
def velocity(dimension: int, dtype: type, rng: np.random.Generator) -> ms.MacField:
    return random_velocity(grid_of(dimension), dtype, rng)


def refused(field: Any, velocity: Any, dt: Any, error: type[Exception], words: str, **options: Any) -> None:
    before = field.snapshot()
    with pytest.raises(error, match=words):
        advect(field, velocity, dt, **options)
    assert same_bits(field.snapshot(), before)


@pytest.mark.parametrize("dt", [0, 0.0, -0.1])
def test_dt_that_is_not_positive(field: Any, velocity: ms.MacField, dt: float) -> None:
    refused(field, velocity, dt, ValueError, "dt must be positive")
    refused(velocity, velocity, dt, ValueError, "dt must be positive")


@pytest.mark.parametrize("dt", [np.nan, np.inf, -np.inf])
def test_dt_that_is_not_finite(field: Any, velocity: ms.MacField, dt: float) -> None:
    refused(field, velocity, dt, ValueError, "dt must be finite")
    refused(velocity, velocity, dt, ValueError, "dt must be finite")
    for run in (semi_lagrangian, upwind):
        with pytest.raises(ValueError, match="dt must be finite"):
            run(field, velocity, dt, out=field.copy())


@pytest.mark.parametrize("dt", ["0.1", None, True, [0.1], 1j])
def test_dt_that_is_no_number(field: Any, velocity: ms.MacField, dt: Any) -> None:
    refused(field, velocity, dt, TypeError, "dt must be a number")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("method", ["semi-lagrangian", "upwind", "maccormack"])
def test_samples_that_are_not_finite(field: Any, velocity: ms.MacField, bad: float, method: str) -> None:
    index = (2, 1, 3)[: field.grid.dimension]
    where = ", ".join(map(str, index))
    damaged = field.copy()
    damaged.array[index] = bad
    damaged.array[-1, -1] = bad
    refused(damaged, velocity, 0.1, ValueError, rf"field must be finite, but sample \[{where}\] is", method=method)
    wind = velocity.copy()
    wind.v[index] = bad
    refused(field, wind, 0.1, ValueError, rf"velocity v must be finite, but sample \[{where}\] is", method=method)
    refused(wind, velocity, 0.1, ValueError, rf"must be finite, but sample \[{where}\] is", method=method)
    refused(wind, wind, 0.1, ValueError, rf"velocity v must be finite, but sample \[{where}\] is", method=method)
    out = field.copy()
    for f, v in ((damaged, velocity), (field, wind)):
        with pytest.raises(ValueError, match=rf"\[{where}\]"):
            semi_lagrangian(f, v, 0.1, out=out)
    assert same_bits(out.array, field.array)


@pytest.mark.parametrize(
    ("option", "choices"),
    [
        ("method", "'upwind', 'semi-lagrangian', 'bfecc', 'maccormack'"),
        ("block", "'semi-lagrangian', 'upwind'"),
        ("trace", "'euler', 'midpoint', 'rk3'"),
        ("interpolation", "'linear', 'cubic', 'catmull-rom'"),
        ("limiter", "'none', 'clamp', 'reversion'"),
        ("first_order_near", "'nothing', 'objects', 'walls'"),
        ("hidden_value", "'mean', 'own'"),
    ],
)
@pytest.mark.parametrize("value", ["MacCormack", "", None, 3])
def test_unknown_options_list_the_choices(field: Any, velocity: ms.MacField, option: str, choices: str, value: Any) -> None:
    words = f"{option} must be one of {choices}, not {value!r}"
    given: dict[str, Any] = {option: value} if option != "hidden_value" else {"visibility": Visibility(hidden_value=value)}
    refused(field, velocity, 0.1, ValueError, words, **given)
    refused(velocity, velocity, 0.1, ValueError, words, **given)
    if option in ("trace", "interpolation"):
        with pytest.raises(ValueError, match=words):
            semi_lagrangian(field, velocity, 0.1, out=field.copy(), **{option: value})


def test_mismatched_arguments(field: Any, velocity: ms.MacField, dimension: int, dtype: type) -> None:
    g = field.grid
    other_grid = ms.MacField(grid_of(dimension, spacing=0.5), dtype)
    refused(field, other_grid, 0.1, ValueError, "field and velocity must have the same grid")
    periodic = ms.MacField(grid_of(dimension, periodic=True), dtype)
    refused(field, periodic, 0.1, ValueError, "field and velocity must have the same grid")
    for other_type in (ms.MacField(g, t) for t in scalar_types(dimension) if t is not dtype):
        refused(field, other_type, 0.1, TypeError, "field and velocity must have the same dtype")
        refused(velocity, other_type, 0.1, TypeError, "field and velocity must have the same dtype")
    refused(field, field, 0.1, TypeError, "velocity must be a MacField")
    with pytest.raises(TypeError, match="field must be a ScalarField or MacField"):
        advect(field.array, velocity, 0.1)
    refused(field, velocity, 0.1, TypeError, "workspace must be a Workspace", workspace=3)
    refused(field, velocity, 0.1, TypeError, "visibility must be a Visibility", visibility=np.ones(field.shape, bool))
    refused(field, velocity, 0.1, ValueError, "time must be finite", time=np.nan)
    refused(field, velocity, 0.1, TypeError, "time must be a number", time="now")


@pytest.mark.parametrize("name", ["active", "visible", "first_order"])
def test_bad_masks(field: Any, velocity: ms.MacField, name: str, dimension: int) -> None:
    def seen(mask: Any) -> Visibility:
        return Visibility(**{name: mask})

    ones = np.ones(field.shape, bool)
    refused(field, velocity, 0.1, TypeError, f"{name} must be of dtype bool", visibility=seen(ones.astype(np.uint8)))
    refused(field, velocity, 0.1, ValueError, f"{name} must have shape", visibility=seen(ones[:-1]))
    refused(velocity, velocity, 0.1, TypeError, f"{name} must be a sequence of {dimension} masks", visibility=seen(ones))
    masks = [np.ones(c.shape, bool) for c in components(velocity)]
    refused(
        velocity, velocity, 0.1, TypeError, f"{name} must be a sequence of {dimension} masks", visibility=Visibility(**{name: masks[:-1]})
    )
    masks[1] = masks[1][:, :-1]
    refused(velocity, velocity, 0.1, ValueError, rf"{name}\[1\] must have shape", visibility=seen(masks))


def test_bare_passes_refuse(field: Any, velocity: ms.MacField, dimension: int, dtype: type) -> None:
    other = field.copy()
    node = ms.NodeField(field.grid, dtype)
    for run in (semi_lagrangian, upwind):
        with pytest.raises(ValueError, match="out must not be the field itself"):
            run(field, velocity, 0.1, out=field)
        with pytest.raises(ValueError, match="lower must not be the field itself"):
            run(field, velocity, 0.1, out=other, lower=field)
        with pytest.raises(ValueError, match="must be different fields"):
            run(field, velocity, 0.1, out=other, upper=other)
        with pytest.raises(ValueError, match="out must have the grid and the sample location"):
            run(field, velocity, 0.1, out=node)
        for wrong_type in (ms.CellField(field.grid, t) for t in scalar_types(dimension) if t is not dtype):
            with pytest.raises(TypeError, match="upper must have the dtype of the field"):
                run(field, velocity, 0.1, out=other, upper=wrong_type)
        with pytest.raises(TypeError, match="out must be a ScalarField"):
            run(field, velocity, 0.1, out=field.array)
        with pytest.raises(TypeError, match="field must be a ScalarField"):
            run(velocity, velocity, 0.1, out=other)


def test_max_speed(velocity: ms.MacField, dimension: int) -> None:
    assert ms.grid.max_speed(velocity) == max(float(np.abs(c).max()) for c in components(velocity))
    velocity.component(dimension - 1)[1, 1] = -7
    assert ms.grid.max_speed(velocity) == 7.0
    velocity.u[0, 0] = np.nan
    assert ms.grid.max_speed(velocity) == np.inf
    with pytest.raises(TypeError, match="velocity must be a MacField"):
        ms.grid.max_speed(velocity.u)


def test_info(field: Any, velocity: ms.MacField) -> None:
    info = advect(field, velocity, 0.2)
    assert info.cfl == pytest.approx(0.2 * ms.grid.max_speed(velocity) / field.grid.spacing, rel=1e-14)
    assert info.substeps == 1


def test_the_names_of_the_schemes_are_those_of_the_core() -> None:
    assert list(get_args(Method)) == _grid.advection_schemes()


def test_the_core_refuses_schemes_that_it_does_not_know() -> None:
    one_pass = _grid.PassOptions(_grid.TransportBlock.upwind, _grid.Trace.euler, _grid.Interpolation.linear)
    words = "no scheme of advection 'first-order', only 'upwind', 'semi-lagrangian', 'bfecc', 'maccormack'"
    with pytest.raises(ValueError, match=words):
        _grid.AdvectOptions("first-order", one_pass, _grid.Limiter.none, _grid.FirstOrderNear.nothing, _grid.HiddenValue.mean, 0.0)
