"""Sheets on an inclined plane."""

import numpy as np
import pytest

import meniscus as ms
from meniscus.solids import SpringOptions, World
from meniscus.surface import HalfSpace

ANGLE = np.pi / 5
G = 9.8
DOWN = np.array([np.cos(ANGLE), 0.0, -np.sin(ANGLE)])
UP = np.array([np.sin(ANGLE), 0.0, np.cos(ANGLE)])


@pytest.mark.parametrize("friction", [0.3, 0.6, 1.0])
def test_a_sheet_slides_down_an_inclined_plane_or_sticks(friction: float) -> None:
    mesh = ms.mesh.cloth_mesh(8, 8, (0.5, 0.5))
    flat = mesh.vertices[:, :1] * DOWN + mesh.vertices[:, 1:2] * np.cross(UP, DOWN)
    mesh = mesh.moved(flat)
    sheet = ms.solids.DeformableBody(mesh, density=0.2)
    sheet.add(ms.solids.EdgeSprings(mesh, SpringOptions(stiffness=20.0, damping_fraction=0.5, masses=sheet.masses)))
    world = World(gravity=(0, 0, -G), elasticity="full-step", tolerance=1e-6)
    world.add(sheet)
    world.add_obstacle(HalfSpace((0, 0, 0), tuple(UP)), friction=friction)
    for _ in range(60):
        world.step(1 / 120)
    way = float((sheet.positions - flat).mean(axis=0) @ DOWN)
    acceleration = (np.sin(ANGLE) - friction * np.cos(ANGLE)) * G
    if acceleration > 0:
        assert way == pytest.approx(0.5 * acceleration * 0.25, rel=0.03)
    else:
        assert way == 0.0
