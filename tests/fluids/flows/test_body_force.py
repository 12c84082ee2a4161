"""Body forces: uniform accelerations of all faces."""

import math

import numpy as np
import pytest
from support.build import components, grid_of, random_velocity, same_bits

from meniscus.fluids import add_acceleration


def test_every_face_gains_dt_times_the_acceleration(dimension: int, dtype: type, rng: np.random.Generator) -> None:
    velocity = random_velocity(grid_of(dimension), dtype, rng)
    before, g = components(velocity), (0.0, -9.81, 2.5)[:dimension]
    add_acceleration(velocity, g, 0.1)
    for d, u in enumerate(before):
        assert same_bits(velocity.component(d), (u.astype(np.float64) + 0.1 * g[d]).astype(dtype))


def test_wrong_arguments_change_nothing(dimension: int, rng: np.random.Generator) -> None:
    velocity = random_velocity(grid_of(dimension), np.float64, rng)
    before = components(velocity)
    down = (0.0,) * (dimension - 1) + (-9.81,)
    with pytest.raises(ValueError, match=f"acceleration must hold {dimension} numbers"):
        add_acceleration(velocity, (1.0,), 0.1)
    with pytest.raises(ValueError, match="dt must be finite"):
        add_acceleration(velocity, down, math.nan)
    with pytest.raises(TypeError, match="velocity must be a MacField"):
        add_acceleration(before[0], down, 0.1)  # type: ignore[arg-type]
    assert same_bits(components(velocity), before)
