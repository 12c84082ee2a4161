"""Streams on a body: what it feels from step to step."""

from __future__ import annotations

import numpy as np

import meniscus as ms
from meniscus.fluids import LiquidSolver, LiquidSource
from meniscus.mesh import MovingTetMesh
from meniscus.surface import KinematicSolid, Sphere, enclosing_mesh

N = 8
CENTER, RADIUS = (1.0, 1.0, 0.92), 0.35


def test_a_stream_on_a_ball_is_felt_evenly_by_default() -> None:
    """With whole columns, single steps are 0.3 to 4.2 times the mean force: the jet stops over all its height, then none of it."""
    h = 2.0 / N
    rest = enclosing_mesh(Sphere((0.0, 0.0, 0.0), RADIUS), np.empty((0, 3)), 0.57 * h, offset=0.4, depth=1.5 * h)
    x = np.ascontiguousarray(rest.vertices + CENTER)
    liquid = LiquidSolver(ms.Grid((N,) * 3, h), solid=KinematicSolid(Sphere(CENTER, RADIUS)))
    stream = LiquidSource(region=Sphere((1.0, 1.0, 1.52), 0.15), velocity=(0.0, 0.0, -1.5))
    water = ms.coupling.KDSMWater(MovingTetMesh(rest, lambda t: x), liquid, sources=[stream], adhesion=2.0)
    forces = []
    for step in range(30):
        water.step(0.02)
        if step >= 15:  # the stream is there
            forces.append(water.force_on_body()[2])
    mean = np.mean(forces)
    assert mean < 0
    assert np.abs(np.array(forces) / mean - 1).max() < 0.3
