"""Buoyancy of smoke."""

from __future__ import annotations

from collections.abc import Sequence

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.fluids.problems import cells_of
from meniscus.grid.fields import CellField, MacField


def add_buoyancy(
    velocity: MacField,
    dt: float,
    *,
    density: CellField | None = None,
    temperature: CellField | None = None,
    density_weight: float = 0.0,
    temperature_weight: float = 0.0,
    ambient: float = 0.0,
    up: Sequence[float] | None = None,
    time: float = 0.0,
) -> None:
    """Add dt (-a density + b (temperature - ambient)) up to a velocity, in place; faces use the mean of the cells beside them.

    Args:
        velocity: m/s.
        dt: seconds.
        density: of the smoke, any unit; of the velocity's dtype and grid.
        temperature: the same.
        density_weight: a, m/s^2 per unit of density.
        temperature_weight: b, m/s^2 per unit of temperature.
        ambient: temperature without buoyancy.
        up: direction against gravity; default along the last axis.
        time: seconds, for functions in the conditions of the fields.

    Raises:
        TypeError, ValueError: wrong types, dtypes or grids.

    Source: Selle 2008, section 4.4.1; Guendelman et al. 2005, section 4.1.
    """
    _checks.one_of_type("velocity", velocity, MacField)
    dimension = velocity.grid.dimension
    buoyancy = _fluids.new_buoyancy(
        (0.0,) * (dimension - 1) + (1.0,) if up is None else _checks.vector("up", up, dimension),
        _checks.number("density_weight", density_weight),
        _checks.number("temperature_weight", temperature_weight),
        _checks.number("ambient", ambient),
    )
    _fluids.add_buoyancy(
        velocity._core,
        cells_of("density", density, velocity),
        cells_of("temperature", temperature, velocity),
        buoyancy,
        _checks.number("dt", dt),
        _checks.number("time", time),
    )
