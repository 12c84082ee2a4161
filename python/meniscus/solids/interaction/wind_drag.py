"""Drag of wind on the triangles of bodies of any type, implicit in their velocities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from meniscus.solids.interaction.field_points import whole_body
from meniscus.solids.interaction.grip import BodyTriangles, Floats, grip_type
from meniscus.solids.interaction.pull import limited

# Drag that is that many times stronger than what carries a triangle along in the step is as good as infinite.
_STRONGEST = 1e8


def push_triangles(body: Any, surface: BodyTriangles, wind: Callable[[Floats], Floats], drag: float, max_speed: float, dt: float) -> Floats:
    """Let wind (m/s, a function of positions) act on the triangles of a body for dt seconds; return the impulse (3,), kg m/s.

    Wind is at most `max_speed` (m/s). Of bodies that consist of nodes, each triangle has its share of the masses of its corners, so that
    all triangles together do not overshoot; rigid and reduced bodies answer as wholes.
    """
    corners = surface.vertices[surface.triangles]
    areas = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sizes = np.sqrt(np.einsum("md,md->m", areas, areas))
    used = np.flatnonzero(sizes > 0)
    if not len(used):
        return np.zeros(3)
    normals = areas[used] / sizes[used, None]
    grip = grip_type(body).on(body, surface, used.astype(np.int32), np.full((len(used), 3), 1 / 3))
    rows, u = grip.rows(), grip.generalised()
    along = np.einsum("kcd,kd->kc", rows.directions, normals)
    answers = np.einsum("kcd,kd->kc", rows.responses, normals)
    relative = np.einsum("kd,kd->k", limited(wind(grip.positions), max_speed), normals) - np.einsum("kc,kc->k", along, u[rows.coordinates])
    weakest = np.einsum("kc,kc->k", along, answers)
    if not (weakest > 0).any():
        return np.zeros(3)
    with np.errstate(over="ignore", divide="ignore"):
        strength = np.minimum(drag * np.abs(relative) * sizes[used] * dt, np.where(weakest > 0, _STRONGEST / weakest, 0.0))
    if whole_body(body):
        matrix = np.eye(len(u)) + np.einsum("kc,k,ke->ce", answers, strength, along)
        change = np.linalg.solve(matrix, np.einsum("kc,k,k->c", answers, strength, relative))
        impulses = strength * (relative - np.einsum("kc,c->k", along, change))
    else:
        counts = np.zeros(len(u))
        np.add.at(counts, rows.coordinates, 1.0)
        share = np.einsum("kc,kc,kc->k", along, answers, counts[rows.coordinates])
        impulses = strength * relative / (1.0 + strength * share)
    whole = impulses[:, None] * normals
    grip.apply_impulses(whole)
    result: Floats = whole.sum(axis=0)
    return result
