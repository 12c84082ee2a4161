"""Contacts and joints that keep bodies from yielding to the pressure of a fluid, as rows of constraints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from meniscus.solids import World
from meniscus.solids.rigid.joints import held_motions
from meniscus.solids.rigid.rigid_options import RigidContacts
from meniscus.solids.rigid.rigid_system import RigidSystem

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
_CLOSING = 0.5  # of the speed that gravity gives in the step: a contact that opens faster does not hold
_TOUCHING = 1e-6  # of the size of a body: nodes so near a solid lie on it
_STICKING = 0.01  # of the same: a contact that slides more slowly sticks


def holding_rows(rigid: RigidSystem, centers: Floats, motions: Floats, speed: float) -> tuple[Ints, Floats]:
    """Return pairs of bodies (k, 2), -1 for the world, and rows (k, 12) of what holds them: contacts of the last step, and joints.

    A contact holds along its normal where it has an impulse and does not open, and along the surface where it does not slide: the step
    of the world has just found so under the same forces.

    Args:
        rigid: the system, after a step.
        centers: (n, 3) of its bodies before the step, m.
        motions: (n, 6) of its bodies after the step.
        speed: that gravity gives in the step, m/s.
    """
    found = [joint_rows(rigid), *_holding_contacts(rigid.contacts, _numbers_of_parts(rigid), centers, motions, speed)]
    return np.ascontiguousarray(np.vstack([p for p, _ in found]), dtype=np.int32), np.ascontiguousarray(np.vstack([r for _, r in found]))


def joint_rows(rigid: RigidSystem) -> tuple[Ints, Floats]:
    """Return pairs of bodies (k, 2), -1 for the world, and rows (k, 12) of the joints alone."""
    if not rigid.joints:
        return np.zeros((0, 2), np.int32), np.zeros((0, 12))
    parts, rows = held_motions(rigid.joints, *rigid.core_now())
    return np.ascontiguousarray(_numbers_of_parts(rigid)[parts]), rows


def _numbers_of_parts(rigid: RigidSystem) -> Ints:
    """Return the numbers of the bodies of parts, -1 of what forces do not move."""
    numbers = np.full(len(rigid.parts) + 1, -1, np.int32)
    where = {id(body): i for i, body in enumerate(rigid.bodies)}
    for part, entry in enumerate(rigid.parts):
        if entry.body is not None and entry.body.is_dynamic:
            numbers[part] = where[id(entry.body)]
    return numbers


def _holding_contacts(
    contacts: RigidContacts, numbers: Ints, centers: Floats, motions: Floats, speed: float
) -> Iterator[tuple[Ints, Floats]]:
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
    for mask, direction in ((holds, normals), (sticks, first), (sticks, second)):
        row = np.zeros((int(mask.sum()), 12))
        for k, sign in ((0, 1.0), (1, -1.0)):
            row[:, 6 * k : 6 * k + 3] = sign * direction[mask]
            row[:, 6 * k + 3 : 6 * k + 6] = sign * np.cross(arms[k, mask], direction[mask])
        yield ends[mask], row


def holding_nodes(world: World, free: Sequence[Floats], dt: float) -> list[tuple[Ints, Floats]]:
    """Return for each deformable body of a world its nodes (k,) that lie on solids and are held there, and directions (k, 3) along which.

    A node is held along the normal unless it would leave by itself faster than the pressure may take back, and along the surface where
    friction can hold it too: then it is there three times.

    Args:
        world: after a step.
        free: per body the velocities (n, 3) that its nodes would have after the solve without contact, m/s.
        dt: seconds.
    """
    held = []
    for body, then in zip(world.bodies, free, strict=True):
        nodes, directions = [np.zeros(0, np.int32)], [np.zeros((0, 3))]
        points = np.ascontiguousarray(body.positions)
        size, speed = float(np.ptp(points, axis=0).max()), float(np.linalg.norm(body.gravity)) * dt
        for obstacle in world.setup.solid_obstacles:
            touching = np.flatnonzero(obstacle.distance(points, world.time) <= _TOUCHING * size)
            if not len(touching):
                continue
            at = np.ascontiguousarray(points[touching])
            normals = obstacle.solid.normals(at, world.time)
            pressed = then[touching] - obstacle.solid.velocity(at, world.time, dt)
            into = -np.einsum("kd,kd->k", pressed, normals)
            along = np.linalg.norm(pressed + into[:, None] * normals, axis=1)
            holds = into > -_CLOSING * speed
            sticks = holds & (along <= obstacle.friction * np.maximum(into, 0.0) + _STICKING * speed)
            nodes += [touching[holds & ~sticks].astype(np.int32), np.repeat(touching[sticks], 3).astype(np.int32)]
            directions += [normals[holds & ~sticks], np.tile(np.eye(3), (int(sticks.sum()), 1))]
        held.append((np.concatenate(nodes), np.concatenate(directions)))
    return held
