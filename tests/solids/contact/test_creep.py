"""What friction holds on an inclined mesh stays where it is."""

import numpy as np
import pytest

import meniscus as ms


@pytest.mark.slow
def test_cloth_at_rest_on_a_slope_of_triangles_does_not_creep() -> None:
    c, s = np.cos(0.2), np.sin(0.2)
    turn = np.array([[c, 0, -s], [0, 1, 0], [s, 0, c]])
    sheet = ms.mesh.cloth_mesh(5, 5, (0.3, 0.3), origin=(0, 0, 0.012))
    sheet = sheet.moved(sheet.vertices @ turn)
    body = ms.solids.DeformableBody(sheet, density=0.2)
    body.add(ms.solids.EdgeSprings(sheet, ms.solids.SpringOptions(stiffness=10.0, damping_fraction=0.5, masses=body.masses)))
    world = ms.solids.World(gravity=(0, 0, -9.8), elasticity="full-step", steps_per_loop=8, tolerance=1e-9)
    world.add(body, thickness=0.01, friction=1.0)
    slope = ms.mesh.cloth_mesh(3, 3, (2, 2), origin=(-0.91, -0.93, 0))
    world.add_obstacle(slope.moved(slope.vertices @ turn), sides="both", thickness=0.01, friction=1.0)
    for _ in range(480):
        world.step(1 / 400)
    settled = body.positions.copy()
    for _ in range(400):
        world.step(1 / 400)
    # It has come to its thickness, and from there rounding let it go every other step: 2e-6 m in a second.
    assert np.abs(body.positions @ turn[2] - 0.01).max() < 1e-8
    assert np.abs((body.positions - settled) @ turn[0]).max() < 1e-12
