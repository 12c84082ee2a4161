"""Set-up of a world: bodies with their surfaces, and obstacles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from meniscus import _checks
from meniscus.core.stateful import Stateful, exclusively
from meniscus.solids.body import DeformableBody
from meniscus.solids.contact.body_surface import BodySurface, surface_of
from meniscus.solids.contact.contact_surface import ContactSurface, Floats
from meniscus.solids.contact.obstacles import MeshMotion, MeshObstacle, Sides, SolidObstacle, obstacle_of
from meniscus.solids.contact.self_stepping import SelfStepping
from meniscus.solids.ownership import claim, require_free


class WorldSetup(Stateful):
    """Base of a world: its bodies and obstacles.

    Attributes:
        friction_of_solids: (k,), coefficients of the solids in `solids`.
    """

    gravity: Floats | None
    bodies: list[DeformableBody]
    inner_steps: int
    friction_of_solids: Floats
    settings = ("_setup",)

    _surfaces: list[BodySurface | None]
    _solids: list[SolidObstacle]
    _meshes: list[MeshObstacle]
    _joined: ContactSurface | None

    @exclusively
    def add(self, body: DeformableBody, surface: Any = None, thickness: float | None = None, friction: float = 0.4) -> DeformableBody:
        """Add a body and return it. Its time becomes that of the world, and its gravity too, if the world has one.

        Args:
            body: steps of the world change it. Between steps its state, forces and constraints may be changed.
            surface: the surface that contact sees. None: that of the body's own mesh: its triangles, the boundary of its tetrahedra, its
                segments; none for a body without a mesh. Or a mesh of triangles or segments, which hangs in the body as it is now, or as
                a pair (mesh, `Embedding`) says. Contact with solids is that of the nodes.
            thickness: distance from other surfaces at which repulsion begins, m; None: a quarter of the mean edge. At each vertex at most
                0.9 of its shortest edge.
            friction: coefficient, against other surfaces.

        Raises:
            TypeError, ValueError: no body, or one that the world has; no such surface; negative values; in the middle of a loop.
        """
        if not isinstance(body, DeformableBody):
            # Those with steps of their own are taken by the classes that derive from this one.
            raise TypeError(f"body must be a DeformableBody, RigidBody, PositionBody or ReducedBody, not {type(body).__name__}")
        require_free(body, self, "world")
        self._require_between_loops("bodies are added")
        own = surface_of(body, surface, thickness, friction)
        if self.gravity is not None:
            body.gravity = self.gravity
        body.time = self.time
        claim(body, self)
        self.bodies.append(body)
        self._surfaces.append(own)
        self._joined = None
        return body

    def has(self, body: Any) -> bool:
        """Return whether a body is one of the world's."""
        return any(b is body for b in self.bodies)

    @exclusively
    def add_obstacle(
        self,
        obstacle: Any,
        thickness: float | None = None,
        friction: float = 0.4,
        sides: Sides = "outside",
        motion: MeshMotion | None = None,
    ) -> None:
        """Add an obstacle, whose motion is given.

        Args:
            obstacle: with `sides` "outside", a `surface.Solid`, or what a `KinematicSolid` is made from: a shape, a `LevelSet`, a closed
                mesh; nodes stay out of it. With "both", a mesh of triangles, also an open one, a `DeformingSolid`, or a mesh of segments
                (for which this is always so): surfaces stay on their side of it.
            thickness: m: distance that nodes keep from a solid, default 0; of a mesh as in `add`.
            friction: coefficient: that of nodes on this solid; of a mesh as in `add`.
            sides: see above.
            motion: of a mesh with two sides: a function of time (s) that returns its vertices (n, 3), m, or a `Pose`; None: it is at rest.

        Raises:
            TypeError, ValueError: no such obstacle, negative values; in the middle of a loop.
        """
        self._require_between_loops("obstacles are added")
        made = obstacle_of(obstacle, thickness=thickness, friction=friction, sides=sides, motion=motion)
        if isinstance(made, SolidObstacle):
            self._solids.append(made)
            self._store_friction()
        else:
            made.vertices(self.time)
            self._meshes.append(made)
            self._joined = None

    @exclusively
    def set_friction(self, solid: int, friction: float) -> None:
        """Give the coefficient of friction of a solid, by its number in `solids`, another value from now on.

        The values are state: snapshots and checkpoints have them.

        Raises:
            TypeError, ValueError, IndexError: a negative value; no such solid; in the middle of a loop.
        """
        mu = _checks.number("friction", friction)
        if mu < 0:
            raise ValueError(f"friction must not be negative, but is {mu:g}")
        known = self.solids[_checks.integer("solid", solid, 0)]
        if known.friction != mu:
            self._require_between_loops("friction changes")
            self._solids[solid] = replace(known, friction=mu)
            self._store_friction()

    def _store_friction(self) -> None:
        self.friction_of_solids = np.array([solid.friction for solid in self._solids])

    def _state_replaced(self) -> None:
        values = self.friction_of_solids
        if len(values) != len(self._solids):
            raise ValueError(f"the state is that of a world with {len(values)} solids, not {len(self._solids)}")
        for k, (solid, mu) in enumerate(zip(self._solids, values.tolist(), strict=True)):
            if solid.friction != mu:
                self._solids[k] = replace(solid, friction=mu)

    def start_at(self, time: float) -> None:
        """Set the time (s) of the world and its bodies: of a state that comes from elsewhere."""
        self.time = time

    @property
    def time(self) -> float:
        """Seconds; that of all bodies."""
        return self._time

    @time.setter
    def time(self, value: float) -> None:
        self._time = _checks.number("time", value)
        for body in self.bodies:
            body.time = self._time
        if self._joined is not None:
            for other, _ in self._joined.others:
                other.start_at(self._time)

    _time: float

    @property
    def solids(self) -> tuple[SolidObstacle, ...]:
        """The solids among the obstacles, in the order in which they were added."""
        return tuple(self._solids)

    @property
    def meshes(self) -> tuple[MeshObstacle, ...]:
        """The meshes among the obstacles, in the order in which they were added."""
        return tuple(self._meshes)

    @property
    def surface(self) -> ContactSurface:
        """All surfaces as one, with the nodes behind their vertices as they are held now."""
        pairs = list(zip(self.bodies, self._surfaces, strict=True))
        known = self._joined
        if known is None or not known.fits(pairs):
            known = self._joined = ContactSurface(pairs, self._meshes, self._self_stepping())
            self._surface_replaced()
        return known

    def _self_stepping(self) -> list[SelfStepping]:
        """Return what takes steps of its own."""
        return []

    def _surface_replaced(self) -> None:
        """Discard what belongs to the surface that was."""

    def _require_between_loops(self, what: str) -> None:
        if self.inner_steps:
            raise ValueError(f"{what} between loops, but this one has had {self.inner_steps} steps: call finish_loop")

    def copy(self: Any) -> Any:
        """Return an independent world in the same state, with copies of the bodies; obstacles are shared."""
        arguments, named = self._arguments()
        return self._duplicate(arguments, named, {"_setup": self._setup_with_copies()})

    def _setup_with_copies(self) -> dict[str, Any]:
        """Return the set-up with copies of the bodies."""
        return {**self._setup, "bodies": [body.copy() for body in self.bodies]}

    @property
    def _setup(self) -> dict[str, Any]:
        return {
            "bodies": list(self.bodies),
            "surfaces": list(self._surfaces),
            "solids": list(self._solids),
            "meshes": list(self._meshes),
        }

    @_setup.setter
    def _setup(self, setup: Mapping[str, Any]) -> None:
        self.bodies[:] = setup["bodies"]
        for body in self.bodies:
            claim(body, self)
        self._surfaces[:] = setup["surfaces"]
        self._solids[:] = setup["solids"]
        self._meshes[:] = setup["meshes"]
        self._store_friction()
        self._joined = None
