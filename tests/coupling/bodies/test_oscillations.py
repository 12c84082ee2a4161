"""Oscillations of bodies in water: the heave of a floating box."""

from __future__ import annotations

import numpy as np
import pytest
from support.fluids.floating import G, beam, pool
from support.variants import slow_but

from meniscus.coupling import FluidWorld

H = 1 / 32
WIDE, HIGH, LEVEL = 12 * H, 6 * H, 0.51


def lifted(ratio: float, height: float) -> FluidWorld:
    """Return a box that is this much higher than at rest, m."""
    return pool([beam((WIDE, HIGH), 1000 * ratio, (0.5 + 0.5 * H, LEVEL + (0.5 - ratio) * HIGH + height))], (32, 32), H, LEVEL)


def frequency(times: list[float], places: list[float]) -> float:
    """Return the angular frequency of an oscillation by its zeros."""
    x, t = np.array(places) - np.mean(places), np.array(times)
    crossing = np.flatnonzero(x[:-1] * x[1:] < 0)
    zeros = t[crossing] + x[crossing] / (x[crossing] - x[crossing + 1]) * (t[crossing + 1] - t[crossing])
    return float(np.pi * (len(zeros) - 1) / (zeros[-1] - zeros[0]))


@pytest.mark.parametrize("ratio", slow_but([0.3, 0.6], 0.6))
def test_the_frequency_of_heave_is_that_of_the_water_plane_and_all_inertia(ratio: float) -> None:
    """In a tank that is not much wider than the box, the water is lifted as well: the stiffness is rho g A / (1 - A / W).

    The inertia is that by which the first step answers to the lift; waves, which the tank reflects, make the rest.
    """
    lift = 0.3 * H
    first = lifted(ratio, lift)
    first.step(1e-3)
    acceleration = first.bodies[0].velocity[1] / 1e-3
    both = lifted(ratio, lift)
    times, places = [], []
    while both.time < 2.5:
        both.step(0.005)
        times.append(both.time)
        places.append(float(both.bodies[0].center[1]))
    # The stiffness 1000 G WIDE cancels with that of the first step's force.
    assert -acceleration / lift == pytest.approx(1000 * G * WIDE / (both.bodies[0].mass + added(first)), rel=0.02)
    assert frequency(times, places) == pytest.approx(np.sqrt(-acceleration / lift / (1 - WIDE)), rel=0.12)


def added(both: FluidWorld) -> float:
    """Return the added mass of the first step, by the force of the fluid: its lift, less what the acceleration takes."""
    body = both.bodies[0]
    assert both.report is not None
    force = both.report.forces[body].force[1]
    lift = 0.3 * H
    static = body.mass * G - 1000 * G * WIDE * lift
    return float((static - force) / (body.velocity[1] / 1e-3))
