"""Bodies that roll and slide on curved surfaces gain no energy, however steps are divided."""

from __future__ import annotations

import numpy as np
import pytest

from meniscus.mesh import TriangleMesh
from meniscus.solids import RigidBody, RigidOptions, RigidSystem
from meniscus.surface import Pose, Twist

THICKNESS = 0.002
RADIUS = 0.1
# From the middle of the surface to the centre of the ball.
WAY = 1 - RADIUS - THICKNESS


def sheet(points):
    """Triangles between rows of points (n, m, 3)."""
    n, m = points.shape[:2]
    at = np.arange(n * m).reshape(n, m)
    a, b, c, d = at[:-1, :-1].ravel(), at[1:, :-1].ravel(), at[1:, 1:].ravel(), at[:-1, 1:].ravel()
    return TriangleMesh(points.reshape(-1, 3), np.concatenate([np.stack([a, b, c], 1), np.stack([a, c, d], 1)]).astype(np.int32))


def pipe(sections=180):
    angles = np.linspace(-np.pi / 2, np.pi / 2, sections + 1)
    return sheet(np.array([[(np.sin(t), y, 1 - np.cos(t)) for y in (-0.5, 0.5)] for t in angles]))


def turned(radii, heights, sections):
    turn = np.linspace(0, 2 * np.pi, sections + 1)
    return sheet(np.array([[(r * np.cos(t), r * np.sin(t), z) for t in turn] for r, z in zip(radii, heights, strict=True)]))


def bowl(sections=60):
    angles = np.linspace(0.02, np.pi / 2, sections // 2)
    return turned(np.sin(angles), 1 - np.cos(angles), sections)


def cone(sections=90):
    return turned((0.3, 1.2), (0.3, 1.2), sections)


def energies(surface, start, speed, dt, substeps, friction, seconds):
    """Energies of a ball after each step over the first one; heights are above the lowest place of its centre."""
    system = RigidSystem(RigidOptions(substeps=substeps), gravity=(0, 0, -9.81))
    system.add(RigidBody(surface, shell=True, motion="fixed"), friction=friction, thickness=THICKNESS)
    ball = RigidBody.sphere(RADIUS, pose=Pose(start), twist=Twist(speed, (0, 0, 0)))
    system.add(ball, friction=friction)
    below = ball.mass * 9.81 * (1 - WAY)
    first = system.energy - below
    result = []
    for _ in range(round(seconds / dt)):
        system.step(dt)
        result.append((system.energy - below) / first)
    return np.array(result)


IN_PIPE = (WAY * np.sin(0.3), 0.03, 1 - WAY * np.cos(0.3)), (0, 0, 0)
IN_BOWL = (WAY * np.sin(0.5), 0.0, 1 - WAY * np.cos(0.5)), (0, 1.0, 0)
LOW = 0.8 + np.sqrt(0.5) * (RADIUS + THICKNESS) * np.array([-1, 1])
IN_CONE = (float(LOW[0]), 0.0, float(LOW[1])), (0, 2.5, 0)
CASES = {"pipe": (pipe, *IN_PIPE), "bowl": (bowl, *IN_BOWL), "cone": (cone, *IN_CONE)}


@pytest.mark.parametrize("friction", [0.0, 1.0])
def test_substeps_give_no_energy_in_a_half_pipe(friction):
    """With the normals of the start of the step 1.1 times the energy after 4 s, 2.5 times after 40 s."""
    ratio = energies(pipe(), *IN_PIPE, 0.01, 4, friction, 4)
    assert ratio.max() < 1.001
    assert ratio[-1] > 0.9


@pytest.mark.slow
@pytest.mark.parametrize("friction", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("dt", "substeps"), [(1 / 60, 1), (1 / 60, 16), (0.01, 2), (0.01, 8), (1 / 500, 4), (1 / 2000, 1)])
@pytest.mark.parametrize("case", list(CASES))
def test_no_energy_comes_from_curved_surfaces(case, dt, substeps, friction):
    make, start, speed = CASES[case]
    assert energies(make(), start, speed, dt, substeps, friction, 60 if dt > 1 / 100 else 20).max() < 1.001
