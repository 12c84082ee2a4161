"""Bodies whose surfaces are thin shells in a fluid."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.state import restored_parts
from meniscus.coupling.shell_pressure import SheetSolid
from meniscus.mesh import SegmentMesh, TriangleMesh
from meniscus.mesh.any_mesh import own_mesh
from meniscus.numerics.solve import SolveInfo
from meniscus.solids import DeformableBody, RigidBody
from meniscus.surface import Pose

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]

_EXACT = 1e-12
"""Tolerance of the step of a body that a fluid has foreseen."""
_ENOUGH = 1e-6
"""Residual with which such a step still counts, where rounding errors allow no smaller one."""


@runtime_checkable
class ShellBody(Protocol):
    """A body as a fluid sees it, also one of your own: a surface whose nodes are somewhere at the times of the fluid.

    Between two times, nodes move straight. A body that is advanced, restored and advanced again is at the same places to the bit.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 5 (all that is required is positions of the nodes).
    """

    @property
    @abstractmethod
    def elements(self) -> Ints:
        """Triangles (m, 3) of a 3-D body, segments (m, 2) of a 2-D one."""

    @property
    @abstractmethod
    def positions(self) -> Floats:
        """Of the nodes now, (n, dim), m."""

    @abstractmethod
    def advance(self, dt: float) -> None:
        """Advance by dt seconds, in as many steps as it takes."""

    @abstractmethod
    def snapshot(self) -> Any:
        """Return copies of everything that changes."""

    @abstractmethod
    def restore(self, snapshot: Any) -> None:
        """Restore the state of a snapshot, bit by bit."""


@runtime_checkable
class PushedShellBody(ShellBody, Protocol):
    """A body of your own that a fluid pushes, in the modes "lumped" and "printed": a `ShellBody` that says what its nodes weigh.

    How its nodes move each other the fluid does not know, so what is light and stiff needs a small step, or `DeformableBody`.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, sections 5 and 6.
    """

    @property
    @abstractmethod
    def masses(self) -> Floats:
        """Of the nodes, (n,), kg (kg/m of a 2-D body); infinite for those that nothing moves."""

    @abstractmethod
    def push(self, impulses: Floats) -> None:
        """Give impulses (n, dim), N s (N s/m), to the nodes at once: what the fluid adds in the step that follows."""


class KinematicShell:
    """A surface that moves as it is told.

    Args:
        mesh: triangles, or in 2-D `segments` with `vertices`: a `TriangleMesh` or what it is made from, or a pair (vertices (n, dim),
            elements (m, dim)) of arrays.
        motion: a function of the time (s) that returns the vertices (n, dim), m, or a `Pose`; default at rest.
        time: s, at the start.

    Attributes:
        time: s.
        changes_shape: whether the motion gives vertices, not a `Pose`.

    Raises:
        TypeError, ValueError: what is no mesh; a motion that returns something else.
    """

    def __init__(self, mesh: Any, motion: Callable[[float], Floats | Pose] | None = None, *, time: float = 0.0) -> None:
        if isinstance(mesh, tuple) and len(mesh) == 2:
            rest, elements = np.asarray(mesh[0], np.float64), np.asarray(mesh[1])
            if elements.size and not np.issubdtype(elements.dtype, np.integer):
                raise TypeError(f"elements must be integers, not {elements.dtype}")
            elements = elements.astype(np.int32)
            if rest.ndim != 2 or rest.shape[1] not in (2, 3) or elements.ndim != 2 or elements.shape[1] != rest.shape[1]:
                raise ValueError(
                    f"a pair must hold vertices (n, dim) and elements (m, dim), not arrays of shape {rest.shape} and {elements.shape}"
                )
        else:
            mesh = own_mesh(mesh)
            if not isinstance(mesh, TriangleMesh):
                raise TypeError(f"mesh must consist of triangles, not {type(mesh).__name__}")
            rest, elements = mesh.vertices, mesh.triangles
        _checks.require_finite("mesh", rest)
        self._rest, self._elements = np.ascontiguousarray(rest), np.ascontiguousarray(elements)
        self._motion = None if motion is None else _checks.function("motion", motion)
        self.time = _checks.number("time", time)
        self.changes_shape = False
        self._positions = self._at(self.time)

    @property
    def elements(self) -> Ints:
        """Triangles (m, 3) or segments (m, 2)."""
        return self._elements

    @property
    def positions(self) -> Floats:
        """Of the vertices now, (n, dim), m."""
        return self._positions

    def advance(self, dt: float) -> None:
        """Move to where the shell is after dt seconds."""
        self._positions = self._at(self.time + dt)
        self.time += dt

    def snapshot(self) -> Any:
        """Return the time."""
        return {"time": self.time}

    def restore(self, snapshot: Any) -> None:
        """Return to the time of a snapshot."""
        time = restored_parts("KinematicShell", {"time": self.time}, snapshot)["time"]
        self._positions = self._at(time)
        self.time = time

    def _at(self, time: float) -> Floats:
        if self._motion is None:
            return self._rest
        x = self._motion(time)
        self.changes_shape = not isinstance(x, Pose)
        if isinstance(x, Pose):
            x = x.apply(self._rest)
        x = np.ascontiguousarray(x, dtype=np.float64)
        if x.shape != self._rest.shape:
            raise ValueError(f"motion must return vertices of shape {self._rest.shape}, not {x.shape}")
        _checks.require_finite("motion", x)
        return x


class _Deformable:
    """A deformable body that takes its own steps."""

    def __init__(self, body: DeformableBody) -> None:
        elements = body.elements
        if elements is None or elements.shape[1] != 3:
            raise ValueError("a deformable body that is a shell must be made from a mesh of triangles")
        self._body, self.elements = body, elements

    @property
    def positions(self) -> Floats:
        return np.array(self._body.positions)

    def advance(self, dt: float) -> None:
        longest = self._body.max_dt()
        if not longest > 0:
            raise ValueError("no step of a deformable body is stable: the limit of its time step is 0")
        steps = max(1, math.ceil(dt / longest - 1e-9)) if longest < math.inf else 1
        for _ in range(steps):
            self._body.step(dt / steps)

    def _push(self, impulses: Floats) -> None:
        held = ~np.isfinite(self._body.masses)
        change = impulses / np.where(held, 1.0, self._body.masses)[:, None]
        change[held] = 0.0
        self._body.velocities = self._body.velocities + change

    def advance_with(self, dt: float, impulses: Floats) -> None:
        """Take one linearised step of implicit Euler with impulses (n, 3), N s: the one that the pressure has solved for."""
        start = self._body.snapshot()
        # A load over the step is a change of momentum before it.
        self._push(impulses)
        info = self._advance(dt)
        if info.converged or info.residual <= _ENOUGH:
            return
        # Light nodes on stiff springs: too much for conjugate gradients alone. The answer over a factor, as the pressure asks for it.
        self._body.restore(start)
        solid = SheetSolid.deformable(self._body, dt)
        x = np.array(self._body.positions)
        v = solid.free + solid.respond(np.ascontiguousarray(impulses))
        self._push(impulses)
        self._advance(dt)
        free = np.setdiff1d(np.arange(len(x)), self._body.constrained)
        positions, velocities = np.array(self._body.positions), np.array(self._body.velocities)
        positions[free], velocities[free] = x[free] + dt * v[free], v[free]
        self._body.positions, self._body.velocities = positions, velocities

    def _advance(self, dt: float) -> SolveInfo:
        """Take the step, and return the report of its solve; conjugate gradients may end at rounding errors."""
        step = {"newton": False, "tangent": "definite", "tolerance": _EXACT, "raise_on_failure": False}
        return self._body.step(dt, "implicit-euler", **step).solves[-1]

    def snapshot(self) -> Any:
        return self._body.snapshot()

    def restore(self, snapshot: Any) -> None:
        self._body.restore(snapshot)


class _Rigid:
    """A rigid body that takes its own steps."""

    def __init__(self, body: RigidBody) -> None:
        if not isinstance(body.mesh, TriangleMesh):
            raise ValueError("a rigid body that is a shell must have a mesh of triangles")
        self._body, self.elements = body, body.mesh.triangles

    @property
    def positions(self) -> Floats:
        return self._body.positions()

    def advance(self, dt: float) -> None:
        self._body.step(dt)

    def advance_with(self, dt: float, impulses: Floats) -> None:
        """Take one step with impulses (n, 3), N s, on the vertices, at the velocity that it ends with."""
        body = self._body
        if not body.is_dynamic:
            return body.step(dt)
        body.apply_impulses(body.positions(), np.ascontiguousarray(impulses))
        weight = body.mass * np.asarray(body.gravity)
        body.apply_impulses(body.center[None].copy(), dt * weight[None])
        body.step(dt, force=-weight)

    def snapshot(self) -> Any:
        return self._body.snapshot()

    def restore(self, snapshot: Any) -> None:
        self._body.restore(snapshot)


def shell_body(body: Any) -> ShellBody:
    """Return what a fluid sees of a body. Raises TypeError for what is none, ValueError for one without a surface."""
    if isinstance(body, DeformableBody):
        return _Deformable(body)
    if isinstance(body, RigidBody):
        return _Rigid(body)
    if isinstance(body, (TriangleMesh, SegmentMesh)):
        return KinematicShell(body)
    if isinstance(body, ShellBody):
        return body
    raise TypeError(f"a shell must be a KinematicShell, a DeformableBody, a RigidBody or a ShellBody, not {type(body).__name__}")
