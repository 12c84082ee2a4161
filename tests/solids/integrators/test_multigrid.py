"""Iterations of multigrid for pleated cloth: they hardly grow with the number of nodes, and not with contact."""

from __future__ import annotations

import numpy as np
import pytest

import meniscus as ms
from meniscus._meniscus import solids as core
from meniscus.scenes.cloths import sprung
from meniscus.solids import DeformableBody
from meniscus.solids.options import step_options

DT, RADIUS = 1.0 / 384.0, 0.02


def pleated(quads: int) -> DeformableBody:
    """A square metre of cloth in half circles of 2 cm, rough by a fiftieth of an edge, in waves of motion and noise."""
    mesh = ms.mesh.cloth_mesh(quads, quads)
    body = sprung(mesh, (20.0, 0.2), (0.02, 0.2), density=0.2, gravity=(0.0, -9.8, 0.0))
    x, rng = np.array(mesh.vertices), np.random.default_rng(1)
    arc = np.floor(x[:, 0] / (np.pi * RADIUS))
    angle = x[:, 0] / RADIUS - np.pi * arc
    x[:, 0] = RADIUS * (2.0 * arc + 1.0 - np.cos(angle))
    x[:, 2] = np.where(arc % 2 == 0, RADIUS, -RADIUS) * np.sin(angle)
    x += 0.02 / quads * rng.normal(size=x.shape)
    body.positions[:] = x
    waves = np.stack([np.sin(5.0 * x[:, 1]), np.cos(7.0 * x[:, 2]), np.sin(9.0 * x[:, 0])], axis=1)
    body.velocities[:] = waves + 0.3 * rng.normal(size=x.shape)
    return body


def iterations(body: DeformableBody, touching: bool) -> int:
    """Those of the first solve of a step; touching: half of the nodes are held along rough normals."""
    n = len(body)
    x, v = np.empty((n, 3)), np.empty((n, 3))
    step = core.SystemStep([body._core], [body._motion(DT)], DT, ms.core.Workspace())
    step.begin(x, v)
    out = v.copy()
    if touching:
        nodes = np.flatnonzero(np.abs(x[:, 2]) > 0.7 * RADIUS).astype(np.int32)
        normals = (0.0, 0.0, 1.0) + 0.2 * np.random.default_rng(2).normal(size=(len(nodes), 3))
        step.set_contacts(nodes, normals / np.linalg.norm(normals, axis=1)[:, None])
        step.hold_contacts(np.zeros((n, 3)), out)
    info, _ = step.solve_velocity(x, v, 0.5 * DT, DT, step_options(tolerance=1e-4, preconditioner="multigrid"), out, None)
    assert info.converged
    return int(info.iterations)


@pytest.mark.parametrize(("quads", "most"), [(100, 16), (200, 22)])
def test_folded_cloth_takes_few_iterations_free_or_in_contact(quads: int, most: int) -> None:
    body = pleated(quads)
    free, held = iterations(body, touching=False), iterations(body, touching=True)
    assert free <= most
    assert held <= 1.3 * free
