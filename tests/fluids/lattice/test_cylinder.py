"""Flow past a cylinder in a channel: Schäfer and Turek 1996, Notes on Numerical Fluid Mechanics 52, 547, cases 2D-1 and 2D-2."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus.fluids.lattice.options import LatticeOptions
from meniscus.grid import Grid, Open, Prescribed, Wall
from meniscus.surface import KinematicSolid, Sphere

STILL = Wall(slip="no-slip")
HEIGHT, LENGTH, DIAMETER, VISCOSITY = 0.41, 2.2, 0.1, 1e-3


def drag_and_lift(top: float, cells: int, end: float, since: float, lattice_speed: float = 0.1) -> tuple[np.ndarray, np.ndarray, float]:
    """Coefficients of drag and lift of the steps from a time on, and the length of a step, s; `cells` across the cylinder."""
    n = round(HEIGHT * cells / DIAMETER)
    h = HEIGHT / n
    grid = Grid((round(LENGTH / h), n), h)

    def inflow(x: np.ndarray, time: float) -> np.ndarray:
        return np.stack([4 * top * x[:, 1] * (HEIGHT - x[:, 1]) / HEIGHT**2, np.zeros(len(x))], axis=1)

    cylinder = KinematicSolid(Sphere((0.2, 0.2), 0.5 * DIAMETER))
    sides = {"x-": Prescribed(inflow), "x+": Open(0.0), "y-": STILL, "y+": STILL}
    options = LatticeOptions(lattice_speed=lattice_speed)
    flow = ms.fluids.LatticeBoltzmann(grid, VISCOSITY, top, boundary=sides, solid=cylinder, options=options)
    y = np.broadcast_to(grid.cell_centers()[1], grid.shape)
    u = np.zeros((2, *grid.shape))
    u[0] = 4 * top * y * (HEIGHT - y) / HEIGHT**2
    flow.set_flow(u)
    scale = 2 / (DIAMETER * (2 * top / 3) ** 2)
    forces = []
    while flow.time < end:
        flow.step()
        if flow.time > since:
            forces.append(flow.force_on(cylinder) * scale)
    drag, lift = np.array(forces).T
    return drag, lift, flow.dt


@pytest.mark.slow
def test_drag_of_a_cylinder_in_steady_flow() -> None:
    drag, lift, _ = drag_and_lift(0.3, 40, 12.0, 11.5)
    assert drag[-1] == pytest.approx(5.5795, rel=0.01)
    assert lift[-1] == pytest.approx(0.0106, abs=0.004)


@pytest.mark.slow
def test_drag_and_frequency_of_a_shedding_cylinder() -> None:
    drag, lift, dt = drag_and_lift(1.5, 40, 7.0, 5.0)
    assert 3.16 < drag.max() < 3.30
    up = np.flatnonzero((lift[:-1] < 0) & (lift[1:] >= 0))
    strouhal = DIAMETER / (np.diff(up).mean() * dt)  # the mean inflow is 1 m/s
    assert 0.295 < strouhal < 0.305
