"""Sheets on top of each other on solid ground: what the ground gives is the weight of all of them."""

import numpy as np
import pytest

import meniscus as ms


@pytest.mark.slow
def test_the_ground_bears_the_weight_of_all_sheets_of_a_stack() -> None:
    world = ms.solids.World(gravity=(0, 0, -9.8), steps_per_loop=8, elasticity="full-step", tolerance=1e-6)
    for k in range(3):
        mesh = ms.mesh.cloth_mesh(4, 4, (0.3, 0.3), origin=(0, 0, 0.012 * (k + 1)))
        body = ms.solids.DeformableBody(mesh, density=0.2)
        body.add(ms.solids.EdgeSprings(mesh, ms.solids.SpringOptions(stiffness=10.0, damping_fraction=0.5, masses=body.masses)))
        world.add(body, thickness=0.01)
    world.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)))
    dt = 1 / 400
    impulses = [world.step(dt).contact.impulses_of_solids.sum(axis=0) for _ in range(240)]
    weight = sum(body.masses.sum() for body in world.bodies) * 9.8
    # The lowest sheet alone would be a third.
    assert np.mean(impulses[80:], axis=0)[2] == pytest.approx(weight * dt, rel=0.05)
