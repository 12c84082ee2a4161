"""Bodies of position based dynamics."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.core.stateful import Stateful
from meniscus.mesh.any_mesh import own_mesh
from meniscus.solids.position.position_constraints import AttachmentConstraints, ClosedVolumeConstraint, PositionConstraints, printed_part

Floats = npt.NDArray[np.floating[Any]]
PositionMethod = Literal["compliant", "printed"]
"""How constraints are projected."""
AnyConstraints = PositionConstraints | ClosedVolumeConstraint | AttachmentConstraints

_C = TypeVar("_C", bound=AnyConstraints)


class PositionBody(Stateful):
    """Nodes whose positions are corrected until constraints hold between them; velocities follow from positions.

    Such bodies never blow up, whatever the step. A step consists of substeps: nodes move freely, constraints are projected one after the
    other (Gauss-Seidel, in parallel over colours, with the bits of a serial order), and velocities are the ways over the time.

    The state is positions, velocities and time. Masses, constraints and what holds nodes are the set-up.

    Args:
        mesh: a mesh, or positions (n, 3), m. Copied.
        density: kg/m^3 for tetrahedra, kg/m^2 for triangles, kg/m for segments.
        masses: (n,), kg, in place of the density; infinite for nodes that nothing moves.
        gravity: m/s^2, default none.
        dtype: float64 or float32 of positions and velocities.

    Raises:
        TypeError, ValueError: wrong types or values.

    Source: Müller, Stam, James and Thürey 2008, chapter 5.
    """

    settings = ("gravity", "setup")

    def __init__(
        self,
        mesh: Any,
        *,
        density: float = 1000.0,
        masses: npt.ArrayLike | None = None,
        gravity: Sequence[float] | None = None,
        dtype: npt.DTypeLike = np.float64,
    ) -> None:
        own = own_mesh(mesh)
        x = np.asarray(own if isinstance(own, np.ndarray) else own.vertices, np.float64)
        if x.ndim != 2 or x.shape[1] != 3:
            raise ValueError(f"positions must have shape (n, 3), not {x.shape}")
        _checks.require_finite("positions", x)
        if masses is not None:
            m = np.broadcast_to(np.asarray(masses, np.float64), (len(x),))
        elif isinstance(own, np.ndarray):
            raise ValueError("an array of positions has no density; give masses")
        else:
            m = own.node_masses(_checks.positive("density", density))
        if not (m > 0).all():
            raise ValueError(f"masses must be positive, but node {int(np.flatnonzero(~(m > 0))[0])} has {m[~(m > 0)][0]:g} kg")
        self.dtype = _checks.scalar_type(dtype)
        self._core: Any = _solids.PositionConstraintsFloat32 if self.dtype == np.float32 else _solids.PositionConstraintsFloat64
        self.masses = np.array(m)
        self.gravity = np.zeros(3) if gravity is None else np.array(_checks.vector("gravity", gravity, 3))
        self.constraints: list[AnyConstraints] = []
        self._cores: list[Any] = []
        self._fixed = np.zeros(len(x), np.bool_)
        self._paths: list[tuple[npt.NDArray[np.int32], Callable[[float], Any]]] = []
        self.nodes = self.declare("nodes", np.empty((len(x), 4), self.dtype))
        self.nodes[:, :3] = x
        self.nodes[:, 3] = 1 / m
        self.velocities = self.declare("velocities", np.zeros((len(x), 3), self.dtype))
        self.time = self.declare("time", 0.0)
        self._previous = np.empty_like(self.velocities)
        self._gradient = np.zeros((0, 3))

    def __len__(self) -> int:
        """Return the number of nodes."""
        return len(self.nodes)

    @property
    def positions(self) -> Floats:
        """Writable view (n, 3), m."""
        return self.nodes[:, :3]

    @property
    def momentum(self) -> npt.NDArray[np.float64]:
        """Momentum (3,) of all nodes of finite mass, kg m/s."""
        m = np.where(np.isfinite(self.masses), self.masses, 0.0)
        result: npt.NDArray[np.float64] = m @ self.velocities.astype(np.float64)
        return result

    @property
    def setup(self) -> tuple[Any, ...]:
        """Constraints, held nodes and paths, which copies and pickles take over."""
        return list(self.constraints), self._fixed.copy(), list(self._paths)

    @setup.setter
    def setup(self, value: tuple[Any, ...]) -> None:
        constraints, fixed, self._paths = value
        self.constraints, self._cores = [], []
        for c in constraints:
            self.add(c)
        self._fixed[...] = fixed

    def add(self, constraints: _C) -> _C:
        """Add constraints, which are projected after those that were added before; return them."""
        if isinstance(constraints, PositionConstraints):
            core = constraints.core_for(len(self), self.dtype)
        elif isinstance(constraints, (ClosedVolumeConstraint, AttachmentConstraints)):
            if len(constraints.nodes) and not 0 <= constraints.nodes.min() <= constraints.nodes.max() < len(self):
                raise ValueError(f"the constraint names nodes beyond the {len(self)} of the body")
            core = None
            if isinstance(constraints, ClosedVolumeConstraint):
                self._gradient = np.zeros((len(self), 3))
        else:
            raise TypeError(f"constraints must be a set of constraints, not {type(constraints).__name__}")
        self.constraints.append(constraints)
        self._cores.append(core)
        return constraints

    def pin(self, nodes: npt.ArrayLike) -> None:
        """Hold nodes where they are."""
        rows = self._rows(nodes)
        self._fixed[rows] = True
        self.nodes[rows, 3] = 0
        self.velocities[rows] = 0

    def move(self, nodes: npt.ArrayLike, path: Callable[[float], npt.ArrayLike]) -> None:
        """Move nodes along a path: a function of time (s) that returns their positions (k, 3), m."""
        rows = self._rows(nodes)
        _checks.function("path", path)
        self.pin(rows)
        self._paths.append((rows, path))

    def release(self, nodes: npt.ArrayLike) -> None:
        """Let nodes go that were held or moved."""
        rows = self._rows(nodes)
        self._fixed[rows] = False
        self.nodes[rows, 3] = (1 / self.masses[rows]).astype(self.dtype)
        kept = []
        for own, path in self._paths:
            gone = np.isin(own, rows)
            if not gone.any():
                kept.append((own, path))
            elif not gone.all():
                kept.append((own[~gone], _Part(path, ~gone)))
        self._paths = kept

    def step(
        self,
        dt: float,
        *,
        substeps: int = 10,
        iterations: int = 1,
        method: PositionMethod = "compliant",
        damping: float = 0.0,
        rigid_damping: float = 0.0,
    ) -> None:
        """Advance by dt seconds.

        Args:
            dt: s, positive.
            substeps: parts of the step that are taken one after the other.
            iterations: projections of all constraints in each. With little compliance, more substeps do better than more iterations.
            method: "compliant": constraints have a compliance, which does not depend on the step (XPBD); "printed": a part k' of each
                correction is applied, so that stiffness depends on the step.
            damping: 1/s; velocities decay with it.
            rigid_damping: from 0 to 1: the part of the velocities against those of the body as a rigid one that goes in each substep.

        Raises:
            TypeError, ValueError: other arguments, paths that return something else. Nothing has changed.

        Source: Müller, Stam, James and Thürey 2008, section 5.1; Macklin, Müller and Chentanez 2016; Macklin et al., "Small steps in
        physics simulation", 2019; Müller, Heidelberger, Hennix and Ratcliff 2006, section 3.5 (rigid damping).
        """
        dt = _checks.positive("dt", dt)
        count, rounds = _checks.integer("substeps", substeps, at_least=1), _checks.integer("iterations", iterations, at_least=1)
        printed = _checks.choice("method", method, PositionMethod) == "printed"
        drag, stiff = _checks.number("damping", damping), _checks.number("rigid_damping", rigid_damping)
        if drag < 0 or not 0 <= stiff <= 1:
            raise ValueError("damping must not be negative, and rigid_damping from 0 to 1")
        h = dt / count
        start = self.time
        core = self._core
        with self.transaction():
            for k in range(count):
                if stiff:
                    self._damp(stiff)
                core.predict_positions(self.nodes, self.velocities, self._previous, tuple(self.gravity.tolist()), h)
                self._follow(start + dt * (k + 1) / count, h)
                self._project(h, rounds, printed)
                core.update_velocities(self.nodes, self._previous, self.velocities, h, math.exp(-drag * h))
            self.time = start + dt

    def _project(self, h: float, rounds: int, printed: bool) -> None:
        multipliers: list[Any] = []
        for c, core in zip(self.constraints, self._cores, strict=True):
            if core is not None:
                core.clear_multipliers()
            multipliers.append(np.zeros((len(c.nodes), 3)) if isinstance(c, AttachmentConstraints) else 0.0)
        # Without compliance, as printed: an infinite step.
        length = math.inf if printed else h
        alone = rounds if len(self.constraints) == 1 else 1
        for _ in range(rounds // alone):
            for i, (c, core) in enumerate(zip(self.constraints, self._cores, strict=True)):
                part = printed_part(c.stiffness, rounds) if printed else 1.0
                if core is not None:
                    core.project(self.nodes, length, part, alone)
                    continue
                for _ in range(alone):
                    if isinstance(c, ClosedVolumeConstraint):
                        multipliers[i] = self._inflate(c, multipliers[i], length, part)
                    elif isinstance(c, AttachmentConstraints):
                        self._attach(c, multipliers[i], length, part)

    def _inflate(self, c: ClosedVolumeConstraint, multiplier: float, length: float, part: float) -> float:
        aim = c.pressure * c.rest_volume
        found = self._core.project_closed_volume(
            c.triangles, c.nodes, aim, c.compliance, multiplier, self.nodes, self._gradient, length, part
        )
        return float(found)

    def _attach(self, c: AttachmentConstraints, multiplier: Any, length: float, part: float) -> None:
        """Three constraints a node, one for each coordinate."""
        w = self.nodes[c.nodes, 3].astype(np.float64)[:, None]
        soft = c.compliance / length**2
        off = self.nodes[c.nodes, :3] - c.targets
        below = w + soft
        change = np.where(w > 0, (-off - soft * multiplier) / np.where(below > 0, below, 1.0), 0.0)
        multiplier += change
        self.nodes[c.nodes, :3] += (part * w * change).astype(self.dtype)

    def _follow(self, time: float, h: float) -> None:
        for rows, path in self._paths:
            x = np.asarray(path(time), np.float64)
            if x.shape != (len(rows), 3) or not np.isfinite(x).all():
                raise ValueError(f"a path must return finite positions of shape ({len(rows)}, 3), not {x.shape}")
            self.velocities[rows] = (x - self.nodes[rows, :3]) / h
            self.nodes[rows, :3] = x

    def _damp(self, part: float) -> None:
        """Bring velocities nearer to those of a rigid body with the same momenta."""
        free = self.nodes[:, 3] > 0
        m = self.masses[free]
        x, v = self.nodes[free, :3].astype(np.float64), self.velocities[free].astype(np.float64)
        total = m.sum()
        if not len(m):
            return
        center, mean = m @ x / total, m @ v / total
        r = x - center
        spin = np.cross(r, m[:, None] * (v - mean)).sum(axis=0)
        inertia = (m * (r * r).sum(axis=1)).sum() * np.eye(3) - np.einsum("n,ni,nj->ij", m, r, r)
        omega = np.linalg.pinv(inertia, rcond=1e-10, hermitian=True) @ spin
        self.velocities[free] += (part * (mean + np.cross(omega, r) - v)).astype(self.dtype)

    def _rows(self, nodes: npt.ArrayLike) -> npt.NDArray[np.int32]:
        rows = np.atleast_1d(np.asarray(nodes))
        if rows.dtype == np.bool_:
            rows = np.flatnonzero(rows)
        if rows.ndim != 1 or rows.dtype.kind not in "iu" or (len(rows) and not 0 <= rows.min() <= rows.max() < len(self)):
            raise ValueError(f"nodes must be numbers from 0 to {len(self) - 1}")
        return rows.astype(np.int32)

    def __repr__(self) -> str:
        """One line: nodes, constraints, time."""
        count = sum(len(c.nodes) if not isinstance(c, ClosedVolumeConstraint) else 1 for c in self.constraints)
        return f"<PositionBody of {len(self)} nodes, {count} constraints, {self.dtype}, t = {self.time:g} s>"


class _Part:
    """Some rows of a path."""

    def __init__(self, path: Callable[[float], npt.ArrayLike], rows: npt.NDArray[np.bool_]) -> None:
        self.path, self.rows = path, rows

    def __call__(self, time: float) -> npt.ArrayLike:
        return np.asarray(self.path(time))[self.rows]
