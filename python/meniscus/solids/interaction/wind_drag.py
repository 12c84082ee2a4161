"""Drag of wind on the triangles of bodies of any type, implicit in their velocities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from meniscus.solids.interaction.grip import BodyTriangles, Floats, grip_type
from meniscus.solids.interaction.node_grips import add_to_nodes, node_inverse_masses
from meniscus.solids.interaction.pull import limited
from meniscus.solids.interaction.rigid_group import STRONGEST, RigidGroup
from meniscus.solids.reduced.reduced_body import ReducedBody


def push_triangles(body: Any, surface: BodyTriangles, wind: Callable[[Floats], Floats], drag: float, max_speed: float, dt: float) -> Floats:
    """Let wind (m/s, a function of positions) act on the triangles of a body for dt seconds; return the impulse (3,), kg m/s.

    Wind is at most `max_speed` (m/s). Of bodies that consist of nodes, each triangle has its share of the masses of its corners, so that
    all triangles together do not overshoot; reduced bodies answer as wholes.
    """
    corners = surface.vertices[surface.triangles]
    areas = 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    sizes = np.sqrt(np.einsum("md,md->m", areas, areas))
    if not (sizes > 0).any():
        return np.zeros(3)
    normals = areas / np.where(sizes > 0, sizes, 1.0)[:, None]
    blows = np.einsum("md,md->m", limited(wind(corners.mean(axis=1)), max_speed), normals)
    push = _push_whole if isinstance(body, ReducedBody) else _push_nodes
    return push(body, surface, normals, sizes, blows, drag, dt)


def _push_nodes(body: Any, surface: BodyTriangles, normals: Floats, sizes: Floats, blows: Floats, drag: float, dt: float) -> Floats:
    """Push the triangles of a body of nodes; return the impulse (3,)."""
    t, nodes, weights = surface.triangles, surface.nodes, surface.weights
    inverse = node_inverse_masses(body)
    speeds = np.einsum("vc,vcd->vd", weights, np.asarray(body.velocities[nodes], np.float64))
    relative = blows - np.einsum("mkd,md->m", speeds[t], normals) / 3
    at_vertices = np.bincount(t.ravel(), minlength=len(nodes))
    at_nodes = np.bincount(nodes.ravel(), np.repeat(at_vertices, nodes.shape[1]), minlength=len(inverse))
    shares = np.einsum("vc,vc->v", weights**2, (inverse * at_nodes)[nodes])[t].sum(axis=1) / 9
    strength = _strength(drag * np.abs(relative) * sizes * dt, shares)
    impulses = (strength * relative / (1.0 + strength * shares))[:, None] * normals
    given = np.zeros((len(inverse), 3))
    for d in range(3):
        of_vertices = np.bincount(t.ravel(), np.repeat(impulses[:, d] / 3, 3), minlength=len(nodes))
        given[:, d] = np.bincount(nodes.ravel(), (weights * of_vertices[:, None]).ravel(), minlength=len(inverse))
    return add_to_nodes(body, given)


def _push_whole(body: Any, surface: BodyTriangles, normals: Floats, sizes: Floats, blows: Floats, drag: float, dt: float) -> Floats:
    """Push the triangles of a body all of whose points answer to a force at one of them; return the impulse (3,)."""
    every = np.arange(len(sizes), dtype=np.int32)
    grip = grip_type(body).on(body, surface, every, np.full((len(sizes), 3), 1 / 3))
    rows, u = grip.rows(), grip.generalised()
    along = np.einsum("kcd,kd->kc", rows.directions, normals)
    answers = np.einsum("kcd,kd->kc", rows.responses, normals)
    relative = blows - np.einsum("kc,c->k", along, u)
    strength = _strength(drag * np.abs(relative) * sizes * dt, np.einsum("kc,kc->k", along, answers))
    matrix = np.eye(len(u)) + np.einsum("kc,k,ke->ce", answers, strength, along)
    change = np.linalg.solve(matrix, np.einsum("kc,k,k->c", answers, strength, relative))
    impulses = (strength * (relative - np.einsum("kc,c->k", along, change)))[:, None] * normals
    grip.apply_impulses(impulses)
    result: Floats = impulses.sum(axis=0)
    return result


def _strength(wanted: Floats, inverse_masses: Floats) -> Floats:
    """Return strengths of drag (kg) that are no larger than has an effect."""
    with np.errstate(divide="ignore"):
        result: Floats = np.minimum(wanted, np.where(inverse_masses > 0, STRONGEST / inverse_masses, 0.0))
    return result


def push_rigid(group: RigidGroup, wind: Callable[[Floats], Floats], drag: float, max_speed: float, dt: float) -> Floats:
    """Let wind act on the triangles of rigid bodies, each as a whole; return the impulses (n, 3), kg m/s. As `push_triangles`."""
    at, normals, areas, speeds = group.triangles()
    if not len(at):
        return np.zeros((len(group.bodies), 3))
    relative = np.einsum("md,md->m", limited(wind(at), max_speed), normals) - speeds
    with np.errstate(over="ignore"):
        return group.drag(relative, drag * np.abs(relative) * areas * dt)
