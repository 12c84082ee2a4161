"""Resolution of contacts between surfaces does not press nodes into solids."""

import numpy as np
import pytest

import meniscus as ms


@pytest.mark.slow
@pytest.mark.parametrize(
    "steps_per_loop", [8, pytest.param(32, marks=pytest.mark.xfail(strict=True, reason="0.034 m into the ground for one loop of 80 ms"))]
)
def test_a_strip_that_folds_on_the_ground_stays_above_it(steps_per_loop: int) -> None:
    world = ms.solids.World(gravity=(0, 0, -9.8), elasticity="full-step", steps_per_loop=steps_per_loop, tolerance=1e-8)
    strip = ms.mesh.cloth_mesh(16, 4, (0.6, 0.15))
    strip = strip.moved(np.ascontiguousarray(strip.vertices[:, ::-1]) + np.array([0, 0, 0.01]))
    body = ms.solids.DeformableBody(strip, density=0.2)
    body.add(ms.solids.EdgeSprings(strip, ms.solids.SpringOptions(stiffness=10.0, damping_fraction=0.5, masses=body.masses)))
    body.velocities[...] = 1e-3 * np.random.default_rng(2).normal(size=body.velocities.shape)
    world.add(body)
    world.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)))
    contacts, lowest = 0, 0.0
    for _ in range(256):
        contacts += world.step(1 / 400).contact.contacts
        lowest = min(lowest, float(body.positions[:, 2].min()))
    assert contacts > 0
    # The ends of loops pressed nodes down by 1 cm and 9 cm.
    assert lowest > -1e-5
    assert len(world.audit()) == 0
