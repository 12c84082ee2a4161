"""Sanity of a world: whether all is finite and bounded, what is fastest, what has not converged."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from meniscus.solids.reduced.reduced_body import ReducedBody
from meniscus.solids.rigid.rigid_body import RigidBody


@dataclass(frozen=True)
class Sanity:
    """Sanity of a world after a step.

    Attributes:
        nans, infinities: numbers in the state of bodies that are none, or infinite.
        kinetic_energy: J, of what has a finite mass and finite velocities.
        max_speed: m/s, of nodes and of the vertices of rigid bodies.
        fastest: name of the body of that speed, and the number of its node or vertex; ("", -1) without bodies.
        max_distance: m, from the origin.
        residuals: what the last step has left, by name: "rigid" (m/s, at which surfaces still approach), "velocities" (relative, of the
            velocity solves), "pulls" (kg m/s, change of the last iteration).
        deepest: m, the largest overlap of rigid bodies before the last step.
        bounded: whether all is finite, and nothing faster than the limit.
    """

    nans: int = 0
    infinities: int = 0
    kinetic_energy: float = 0.0
    max_speed: float = 0.0
    fastest: tuple[str, int] = ("", -1)
    max_distance: float = 0.0
    residuals: Mapping[str, float] = field(default_factory=dict)
    deepest: float = 0.0
    bounded: bool = True


def sanity_of(bodies: Mapping[str, Any], report: Any, pulled: Any, speed_limit: float) -> Sanity:
    """Return the sanity of bodies by name after a step with these reports."""
    nans = infinities = 0
    energy, fastest, far = 0.0, (0.0, ("", -1)), 0.0
    for name, body in bodies.items():
        for array in _state_of(body):
            nans += int(np.isnan(array).sum())
            infinities += int(np.isinf(array).sum())
        x, v = _motion_of(body)
        with np.errstate(over="ignore", invalid="ignore"):
            speeds = np.sqrt(np.einsum("nd,nd->n", v, v))
            far = max(far, float(np.nanmax(np.sqrt(np.einsum("nd,nd->n", x, x)), initial=0.0)))
            own = _kinetic_energy(body, speeds)
        if np.isfinite(own):
            energy += own
        known = np.where(np.isnan(speeds), np.inf, speeds)
        if len(known) and (fastest[1][1] < 0 or float(known.max()) > fastest[0]):
            k = int(known.argmax())
            fastest = float(known[k]), (name, k)
    residuals = {"pulls": float(pulled.change)}
    rigid = getattr(report, "rigid", None)
    if rigid is not None:
        residuals["rigid"] = float(rigid.residual)
    solves = getattr(report, "solves", ())
    if solves:
        residuals["velocities"] = max(float(s.residual) for s in solves)
    bounded = nans == 0 and infinities == 0 and fastest[0] <= speed_limit
    deepest = 0.0 if rigid is None else float(rigid.deepest)
    return Sanity(nans, infinities, energy, fastest[0], fastest[1], far, residuals, deepest, bounded)


def _state_of(body: Any) -> list[Any]:
    if isinstance(body, RigidBody):
        return [body.state_row]
    if isinstance(body, ReducedBody):
        return [body.coordinates, body.rates, body.frame]
    return [body.positions, body.velocities]


def _motion_of(body: Any) -> tuple[Any, Any]:
    """Return positions and velocities (n, 3) of nodes, or of the vertices or the centre of a rigid body."""
    if isinstance(body, RigidBody):
        x = body.state_row[None, :3] if body.mesh is None else body.positions()
        return x, body.velocities(x)
    return np.asarray(body.positions, np.float64), np.asarray(body.velocities, np.float64)


def _kinetic_energy(body: Any, speeds: Any) -> float:
    if isinstance(body, RigidBody):
        return body.kinetic_energy if body.is_dynamic else 0.0
    if isinstance(body, ReducedBody):
        return float(body.energy()["kinetic"])
    m = np.where(np.isfinite(body.masses), body.masses, 0.0)
    return float(0.5 * np.einsum("n,n->", m, speeds**2))
