"""Pulls at points of bodies: the soft rows of handles, attachments and pose targets, and their solution."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NamedTuple

import numpy as np

from meniscus._meniscus import solids as _solids
from meniscus.core.state import Declaration, restored_parts
from meniscus.solids.interaction.grip import Floats, Grip, grip_type

_TOLERANCE = 1e-13  # of the iteration, relative to the largest impulse


class End(NamedTuple):
    """One end of a pull: a body by its name, the points on it, and whether the impulse acts on it or against it."""

    name: str
    grip: Grip
    sign: float


@dataclass
class PullPart:
    """Rows of a pull.

    Attributes:
        ends: the bodies that they act on.
        bias: (k, 3), m/s, see `cpp/meniscus/solids/interaction/pull_solver.hpp`.
        softness: 1/kg.
        limit: kg m/s, of each row.
        impulses: (k, 3), kg m/s: where the iteration begins, then what it has found.
        external: whether the reaction goes to the world, not to another body.
        linear: False for angular impulses.
    """

    ends: tuple[End, ...]
    bias: Floats
    softness: float
    limit: float
    impulses: Floats
    external: bool
    linear: bool = True


@dataclass
class PullReport:
    """What a step has pulled.

    Attributes:
        rows: number of points and turns that are pulled.
        iterations: of the solution, over all rows.
        change: of the largest impulse in the last iteration, kg m/s.
        largest_force: N (N m): the largest of a row.
    """

    rows: int = 0
    iterations: int = 0
    change: float = 0.0
    largest_force: float = 0.0


class Pull(ABC):
    """Something that pulls. Its data are plain values and arrays, so that snapshots hold all of it.

    Attributes:
        number: by which logs name it.
        active: whether it still pulls.
        impulse: (3,), all that it has given to its (first) body, kg m/s. The reaction went to the world, or to the other body.
    """

    kind: ClassVar[str] = ""
    _numbers: ClassVar[tuple[str, ...]] = ()
    """Names of its numbers, which may be infinite."""
    _arrays: ClassVar[Mapping[str, Floats]] = {}
    """Its arrays by name; one without rows has a row for each point."""
    _roles: ClassVar[Mapping[str, str]] = {}
    """Names of the attributes that hold the names of its bodies, by their roles."""
    _rows_per_point: ClassVar[int] = 1
    """Rows of impulses for each point of a grip."""

    def __init_subclass__(cls) -> None:
        """Register the subclass under its kind."""
        if cls.kind:
            PULLS[cls.kind] = cls

    number: int
    owner: Any
    active: bool = True
    last_dt: float = 0.0
    impulse: Floats
    impulses: Floats

    @abstractmethod
    def parts(self, dt: float) -> Sequence[PullPart]:
        """Return the rows of a step of dt seconds."""

    def begin_impulses(self, dt: float) -> Floats:
        """Return where the iteration of a step of dt seconds begins: the forces of the step before."""
        return self.impulses * (dt / self.last_dt if self.last_dt > 0 else 0.0)

    def take(self, parts: Sequence[PullPart], dt: float) -> None:
        """Note the impulses of a step."""
        if not parts:
            return
        self.impulses = np.concatenate([part.impulses for part in parts])
        self.last_dt = dt
        self.impulse = self.impulse + np.array([math.fsum(column) for column in parts[0].impulses.T.tolist()])

    @property
    def force(self) -> Floats:
        """Force (3,) on the (first) body in the last step, N."""
        result: Floats = self.impulses.sum(axis=0) / self.last_dt if self.last_dt > 0 else np.zeros(3)
        return result

    # --- state ---------------------------------------------------------------------------------------------------------------

    @property
    @abstractmethod
    def grips(self) -> Mapping[str, tuple[str, Grip]]:
        """The grips by role, each with the name of its body."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the attributes that hold the names of its bodies."""
        return tuple(self._roles.values())

    def snapshot(self) -> dict[str, Any]:
        """Return all that it is, as plain values and arrays."""
        own = {"kind": self.kind, "number": self.number, "last_dt": self.last_dt, "impulse": self.impulse.copy()}
        own |= {name: getattr(self, name) for name in (*self._numbers, *self.names)}
        own |= {name: getattr(self, name).copy() for name in self._arrays}
        return own | {f"{role} {name}": array.copy() for role, (_, grip) in self.grips.items() for name, array in grip.places.items()}

    def restore(self, snapshot: Mapping[str, Any]) -> None:
        """Restore the state of a snapshot; grips are made by the subclass. Raises TypeError or ValueError for one that does not fit."""
        arrays = {name: array.copy() for name, array in self._arrays.items()}
        for role, attribute in self._roles.items():
            if body := snapshot[attribute]:
                arrays |= {f"{role} {name}": array.copy() for name, array in grip_type(self.owner.body(body)).columns.items()}
        plain = {"kind": self.kind, "number": 0, "last_dt": 0.0, "impulse": np.zeros(3)}
        parts = {**plain, **dict.fromkeys(self._numbers, 0.0), **dict.fromkeys(self.names, ""), **arrays}
        rows = {name: Declaration(resizable=array.shape.count(0)) for name, array in arrays.items()}
        saved = restored_parts(type(self).__name__, parts, snapshot, rows | dict.fromkeys(self._numbers, Declaration(infinite=True)))
        points = {len(saved[name]) for name, array in arrays.items() if not len(array)} | {len(saved["impulses"]) // self._rows_per_point}
        if len(points) > 1:
            raise ValueError(f"the arrays of a {self.kind} in the snapshot must be of as many points, not of {sorted(points)}")
        self.number, self.active = saved["number"], True
        for name in ("last_dt", "impulse", *self._numbers, *self.names, *self._arrays):
            setattr(self, name, saved[name])

    @staticmethod
    def _grip(role: str, body: Any, data: Mapping[str, Any]) -> Grip:
        own = {name[len(role) + 1 :]: value for name, value in data.items() if name.startswith(role + " ")}
        return grip_type(body)(body, own)


PULLS: dict[str, type[Pull]] = {}
"""Classes of pulls by their kind."""


def limited(vectors: Floats, most: float) -> Floats:
    """Return vectors (k, 3) that are no longer than that."""
    sizes = np.sqrt(np.einsum("kd,kd->k", vectors, vectors))
    long = sizes > most
    if not long.any():
        return vectors
    result: Floats = vectors.copy()
    result[long] *= (most / sizes[long])[:, None]
    return result


def spring_terms(stiffness: float, damping: float, dt: float) -> tuple[float, float]:
    """Return softness (1/kg) and the part of the stretch (1/s) that an implicit spring of a step of dt seconds closes with.

    Infinite stiffness is none of the first, and all of the stretch within the step.
    """
    if stiffness == math.inf:
        return 0.0, 1.0 / dt
    whole = dt * stiffness + damping
    if not whole > 0:
        return 0.0, 0.0
    return 1.0 / (dt * whole), stiffness / whole


@dataclass
class Pulling:
    """The solution of all pulls of a step, with memory that is kept."""

    solver: Any = field(default_factory=_solids.PullSolver)

    def solve(self, parts: Sequence[PullPart], dt: float, iterations: int) -> PullReport:
        """Find the impulses of all parts, and let them act."""
        parts = [part for part in parts if len(part.bias)]
        if not parts:
            return PullReport()
        starts: dict[str, int] = {}
        velocities: list[Floats] = []
        size = 0
        for part in parts:
            for end in part.ends:
                if end.name not in starts:
                    starts[end.name] = size
                    velocities.append(end.grip.generalised(dt))
                    size += len(velocities[-1])
        coordinates, directions, responses, counts = [], [], [], []
        for part in parts:
            rows = [end.grip.rows() for end in part.ends]
            own = [r.coordinates + np.int32(starts[e.name]) for r, e in zip(rows, part.ends, strict=True)]
            coordinates.append(np.concatenate(own, axis=1))
            directions.append(np.concatenate([e.sign * r.directions for r, e in zip(rows, part.ends, strict=True)], axis=1).reshape(-1, 3))
            responses.append(np.concatenate([e.sign * r.responses for r, e in zip(rows, part.ends, strict=True)], axis=1).reshape(-1, 3))
            counts += [coordinates[-1].shape[1]] * len(part.bias)
        impulses = np.concatenate([part.impulses for part in parts])
        done, change = self.solver.solve(
            np.cumsum([0, *counts], dtype=np.int64),
            np.ascontiguousarray(np.concatenate([c.ravel() for c in coordinates]), np.int32),
            np.concatenate(directions),
            np.concatenate(responses),
            np.ascontiguousarray(np.concatenate([part.bias for part in parts])),
            np.concatenate([np.full(len(part.bias), part.softness) for part in parts]),
            np.concatenate([np.full(len(part.bias), part.limit) for part in parts]),
            iterations,
            _TOLERANCE,
            np.concatenate(velocities),
            impulses,
        )
        first = 0
        for part in parts:
            part.impulses = impulses[first : first + len(part.bias)].copy()
            first += len(part.bias)
            for end in part.ends:
                end.grip.apply_impulses(end.sign * part.impulses)
        largest = math.sqrt(float(np.einsum("kd,kd->k", impulses, impulses).max()))
        return PullReport(len(impulses), done, change, largest / dt)
