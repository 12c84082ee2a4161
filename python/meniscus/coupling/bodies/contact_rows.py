"""Contacts that keep bodies from yielding to the pressure of a fluid, as rows of constraints."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from meniscus.solids import ContactInfo, World
from meniscus.solids.rigid.rigid_system import RigidSystem

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_CLOSING = 0.5  # of the speed that gravity gives in the step: a contact that opens faster does not hold
_STICKING = 0.01  # of the same: a contact that slides more slowly sticks


def holding_contacts(rigid: RigidSystem, centers: Floats, motions: Floats, speed: float) -> tuple[Ints, Floats]:
    """Return pairs of bodies (k, 2), -1 for the world, and rows (k, 12) of the contacts of the last step that hold.

    A contact holds along its normal where it has an impulse and does not open, and along the surface where it does not slide: the step
    of the world has just found so under the same forces.

    Args:
        rigid: the system, after a step.
        centers: (n, 3) of its bodies before the step, m.
        motions: (n, 6) of its bodies after the step.
        speed: that gravity gives in the step, m/s.
    """
    contacts = rigid.contacts
    numbers = np.full(len(rigid.parts) + 1, -1, np.int32)
    where = {id(body): i for i, body in enumerate(rigid.bodies)}
    for part, entry in enumerate(rigid.parts):
        if entry.body is not None and entry.body.is_dynamic:
            numbers[part] = where[id(entry.body)]
    pressed = np.einsum("cd,cd->c", contacts.impulses, contacts.normals) > 0
    ends, points, normals = numbers[contacts.bodies[pressed]], contacts.points[pressed], contacts.normals[pressed]
    relative = np.zeros((len(points), 3))
    arms = np.zeros((2, len(points), 3))
    for k, sign in ((0, 1.0), (1, -1.0)):
        known = ends[:, k] >= 0
        body = ends[known, k]
        arms[k, known] = points[known] - centers[body]
        relative[known] += sign * (motions[body, :3] + np.cross(motions[body, 3:], arms[k, known]))
    normal_speed = np.einsum("cd,cd->c", relative, normals)
    holds = normal_speed < _CLOSING * speed
    sliding = np.linalg.norm(relative - normal_speed[:, None] * normals, axis=1)
    sticks = holds & (sliding < _STICKING * speed)
    first = np.cross(normals, np.eye(3)[np.abs(normals).argmin(axis=1)])
    first /= np.maximum(np.linalg.norm(first, axis=1), 1e-300)[:, None]
    second = np.cross(normals, first)
    pairs, rows = [], []
    for mask, direction in ((holds, normals), (sticks, first), (sticks, second)):
        pairs.append(ends[mask])
        row = np.zeros((int(mask.sum()), 12))
        for k, sign in ((0, 1.0), (1, -1.0)):
            row[:, 6 * k : 6 * k + 3] = sign * direction[mask]
            row[:, 6 * k + 3 : 6 * k + 6] = sign * np.cross(arms[k, mask], direction[mask])
        rows.append(row)
    return np.ascontiguousarray(np.vstack(pairs), dtype=np.int32), np.ascontiguousarray(np.vstack(rows))


def holding_nodes(world: World, contact: ContactInfo | None, forces: Sequence[Floats], speed: float) -> list[tuple[Ints, Floats]]:
    """Return for each deformable body of a world its nodes (k,) that contacts with solids hold, and directions (k, 3) along which.

    As `holding_contacts`; a node that sticks is there three times. Nodes that would leave by themselves are not held.

    Args:
        world: after a step.
        contact: of that step.
        forces: per body the velocities (n, 3) that its nodes would have after the solve without contact, m/s.
        speed: that gravity gives in the step, m/s.
    """
    nothing = np.zeros(0, np.int32), np.zeros((0, 3))
    solids = None if contact is None else contact.solids
    if solids is None or not len(solids):
        return [nothing for _ in world.bodies]
    pressed = np.einsum("kd,kd->k", contact.impulses_of_solids, solids.normals) > 0 if contact is not None else np.zeros(0, bool)
    held = []
    for body, first, free in zip(world.bodies, world.surface.starts, forces, strict=False):
        local = np.asarray(solids.nodes) - int(first)
        mine = pressed & (local >= 0) & (local < len(body))
        nodes, normals, moved = local[mine], solids.normals[mine], solids.velocities[mine]
        now, then = body.velocities[nodes] - moved, free[nodes] - moved
        normal_speed = np.einsum("kd,kd->k", now, normals)
        holds = (normal_speed < _CLOSING * speed) & (np.einsum("kd,kd->k", then, normals) <= 0)
        slide = np.linalg.norm(now - normal_speed[:, None] * normals, axis=1)
        sticks = holds & (slide < _STICKING * speed)
        axes = np.tile(np.eye(3), (int(sticks.sum()), 1))
        rows = np.concatenate([nodes[holds], np.repeat(nodes[sticks], 3)]).astype(np.int32)
        held.append((rows, np.concatenate([normals[holds], axes])))
    return held
