"""Bodies with steps of their own in a world: of position based dynamics, and reduced ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from meniscus.core.stateful import exclusively
from meniscus.solids.contact.coupling.coupled_body import CoupledBody
from meniscus.solids.contact.coupling.position_surfaces import PositionSurface
from meniscus.solids.contact.coupling.reduced_surfaces import ReducedSurface
from meniscus.solids.contact.self_stepping import Floats, SelfStepping
from meniscus.solids.ownership import claim, require_free
from meniscus.solids.position.position_body import PositionBody
from meniscus.solids.reduced.reduced_body import ReducedBody
from meniscus.solids.rigid.rigid_options import RigidOptions
from meniscus.solids.rigid.rigid_world import RigidWorld

_KINDS: tuple[tuple[type, type], ...] = ((PositionBody, PositionSurface), (ReducedBody, ReducedSurface))


class NoBodies:
    """Stands in for the system of a world without deformable bodies: there is nothing to solve for."""

    def commit(self, *_: Any) -> float:
        """Return the speed of nothing."""
        return 0.0

    def solve_velocity(self, *_: Any) -> None:
        """Solve nothing."""

    def __getattr__(self, name: str) -> Any:
        """Return a call that does nothing."""
        return lambda *_: None


class CoupledWorld(RigidWorld):
    """Base of a world: what it does with bodies that take steps of their own.

    Attributes:
        others: its bodies of position based dynamics and its reduced ones (`.body`), with their surfaces.
    """

    others: list[CoupledBody]

    def _make_rigid(self, options: RigidOptions | None) -> None:
        super()._make_rigid(options)
        self.others = self.declare("others", [])

    @exclusively
    def add(self, body: Any, surface: Any = None, thickness: float | None = None, friction: Any = 0.4, **options: Any) -> Any:
        """Add a body and return it. Its time becomes that of the world, and its gravity too, if the world has one.

        Args:
            body: steps of the world change it. Between steps its state, forces and constraints may be changed. A
                `DeformableBody`, `RigidBody`, `PositionBody` (of float64, with a mesh) or `ReducedBody`.
            surface: the surface that contact sees. None: that of the body's own mesh: its triangles, the boundary of its tetrahedra, its
                segments; none for a body without a mesh. Or a mesh of triangles or segments, which hangs in the body as it is now, or as
                a pair (mesh, `Embedding`) says. Contact with solids is that of the nodes. For deformable bodies.
            thickness: distance from other surfaces at which repulsion begins, m; None: a quarter of the mean edge. At each vertex at most
                0.9 of its shortest edge. Of rigid bodies as in `RigidSystem.add`.
            friction: coefficient, against other surfaces; of rigid bodies also a `RigidFriction`.
            **options: of a rigid body `form` and `restitution`, as in `RigidSystem.add`; of a PositionBody `iterations` (10), `method`,
                `damping` and `rigid_damping`, as in `PositionBody.step`, of which a step of the world is one substep; of a ReducedBody
                `method` (default "implicit-euler"), `tolerance` and `max_iterations`, as in `ReducedBody.step`.

        Raises:
            TypeError, ValueError: no body, or one that the world has; no such surface or option; negative values; in the middle of a loop;
                bodies with steps of their own in a world with a barrier or with loops that rewind.
        """
        kind = next((made for known, made in _KINDS if isinstance(body, known)), None)
        if kind is None:
            self._require_coupling(bool(self.others))
            return super().add(body, surface, thickness, friction, **options)
        self._require_coupling(True)
        self._require_between_loops("bodies are added")
        require_free(body, self, "world")
        if surface is not None:
            raise ValueError(f"contact of a {type(body).__name__} sees its own mesh: `surface` is for deformable bodies")
        made = kind(body, thickness, friction, **options)
        if self.gravity is not None:
            body.gravity = self.gravity.copy()
        body.time = self.time
        claim(body, self)
        self.others.append(made)
        self._know_others()
        self._joined = None
        return body

    def has(self, body: Any) -> bool:
        """Return whether a body is one of the world's."""
        return super().has(body) or self.rigid.has(body) or any(other.body is body for other in self.others)

    def _require_coupling(self, mixed: bool) -> None:
        if mixed and (self._response != "impulses" or self._rewinds):
            raise ValueError('bodies with steps of their own touch deformable ones with response="impulses" and loop="fixed" only')

    def _know_others(self) -> None:
        for number, other in enumerate(self.others):
            other.solids, other.number = self._solids, number

    def _self_stepping(self) -> list[SelfStepping]:
        return [*super()._self_stepping(), *self.others]

    def _begin_others(self) -> None:
        if not self.bodies and not self.others:
            raise ValueError("a world needs a body: call add")
        for number, own in enumerate(self.bodies):
            for name, values in {"positions": own.positions, "velocities": own.velocities}.items():
                if not (finite := np.isfinite(values).all(axis=1)).all():
                    raise ValueError(f"{name} must be finite, but that of node {int(np.argmin(finite))} of body {number} is not")
        for other, _ in self.surface.others:
            other.begin()

    def _speed_of_others(self, velocities: Floats) -> float:
        """Return the greatest speed of their nodes, by velocities of all nodes (n, 3), m/s."""
        squares = [
            np.einsum("nd,nd->n", velocities[rows], velocities[rows]).max(initial=0.0)
            for other, rows in self.surface.others
            if isinstance(other, CoupledBody)
        ]
        return float(np.sqrt(max(squares, default=0.0)))

    def energy(self) -> dict[str, float]:
        """Return the energies (J) of all bodies of all types: "kinetic", "elastic", "gravity" and their sum, "total".

        Elastic energy is that of the forces of deformable bodies and of reduced ones; what constraints of position based dynamics and
        springs of joints store is not counted, as it has no part in their steps. Gravity is 0 at the origin. Nodes and rigid bodies that
        forces do not move (of infinite mass, fixed, on paths) count nothing.
        """
        parts = [*(body.energy() for body in self.bodies), *(other.energy() for other in self.others)]
        kinetic, elastic, gravity = (math.fsum(part.get(name, 0.0) for part in parts) for name in ("kinetic", "elastic", "gravity"))
        for body in self.rigid.bodies:
            if body.is_dynamic:
                kinetic += body.kinetic_energy
                gravity -= body.mass * float(body.gravity @ body.center)
        return {"kinetic": kinetic, "elastic": elastic, "gravity": gravity, "total": kinetic + elastic + gravity}

    def start_at(self, time: float) -> None:
        """Set the time (s) of the world and its bodies: of a state that comes from elsewhere."""
        super().start_at(time)
        for other in self.others:
            other.start_at(time)

    def _setup_with_copies(self) -> dict[str, Any]:
        return {**super()._setup_with_copies(), "others": [other.copy() for other in self.others]}

    @property
    def _setup(self) -> dict[str, Any]:
        return {**RigidWorld._setup.fget(self), "others": list(self.others)}  # type: ignore[attr-defined]

    @_setup.setter
    def _setup(self, setup: Any) -> None:
        RigidWorld._setup.fset(self, setup)  # type: ignore[attr-defined]
        self.others[:] = setup["others"]
        for other in self.others:
            claim(other.body, self)
        self._know_others()
