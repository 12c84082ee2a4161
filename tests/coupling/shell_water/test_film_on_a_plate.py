"""A film two cells thick that a plate lifts faster and faster."""

from __future__ import annotations

import numpy as np
from support.shells import line
from support.shells.water import pool, volume

from meniscus.surface import Pose


def test_a_film_stays_on_a_plate_that_accelerates() -> None:
    """Compared after ten whole cells: the volume found in cells that a plate cuts depends on where it cuts them."""
    n, steps, dt = 32, 200, 0.005
    h, y = 1 / n, 0.2 + 0.37 / n
    acceleration = 2 * 10 * h / (steps * dt) ** 2
    plate = line([(-0.1, y), (1.1, y)])
    sim = pool((n, n), plate, lambda t: Pose((0.0, 0.5 * acceleration * t * t)), [(y + 2 * h, (0.5, y + 1.2 * h))])
    start, deleted = volume(sim), 0
    for _ in range(steps):
        deleted += sim.step(dt).deleted_markers
    assert abs(volume(sim) / start - 1) <= 0.02
    particles = sim.solver.surface.particles
    assert deleted <= 1e-3 * len(particles.particles)
    height = sim.shells.positions[:, 1].max()
    assert abs(height - (y + 10 * h)) <= 1e-9
    wet = np.argwhere(sim.solver.levelset.array <= 0)
    water = particles.particles.positions[particles.particles["sign"] < 0]
    assert (wet[:, 1].min() + 0.5) * h > height
    assert water[:, 1].min() > height
    assert not (particles.spray.positions[:, 1] < height).any()
