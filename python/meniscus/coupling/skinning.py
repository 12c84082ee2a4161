"""The skinning run: a tetrahedral mesh of air pulled along by the inside and the skin of an animated creature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision import CollisionMesh
from meniscus.mesh import HarmonicMorph, TetMesh, TriangleMesh
from meniscus.solids import AltitudeSprings, DeformableBody, Drag, EdgeSprings, SoftBindings, SpringOptions, TetElements, World
from meniscus.surface import MeshDistance

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Mode = Literal["dynamic", "quasi-static"]
AirMaterial = Literal["springs", "neo-hookean"]

_STEPS_PER_SECOND = 48
# The safeguard against springs that gain energy would count the work of the moving skin as such a gain.
_STEP: dict[str, Any] = {"elasticity": "full-step", "safeguard": False, "tolerance": 1e-6}
_AT_REST = 1e-7  # of the size of the mesh: motion in a step
_ATTEMPTS = 8
_STILL = 1e6  # s: the step of implicit Euler that leads to rest, since inertia and damping fall off with it


@dataclass(frozen=True, kw_only=True)
class AirSprings:
    """Stiffness of the springs of a mesh of air.

    Attributes:
        edge_stiffness: N, of edge springs: of rest length l, they have the spring constant edge_stiffness / l.
        altitude_stiffness: N, of altitude springs, likewise.
        binding_stiffness: N, of the springs of length zero between the skin and the mesh: they have the spring constant
            binding_stiffness / l with the mean edge l of the mesh, because they have no length of their own.

    Raises:
        TypeError, ValueError: other values.
    """

    edge_stiffness: float = 41.4
    altitude_stiffness: float = 4.14
    binding_stiffness: float = 41.4

    def __post_init__(self) -> None:
        """Check all values."""
        _checks.positive("edge_stiffness", self.edge_stiffness)
        for name in ("altitude_stiffness", "binding_stiffness"):
            if _checks.number(name, getattr(self, name)) < 0:
                raise ValueError(f"{name} must be at least 0, not {getattr(self, name):g}")


@dataclass(frozen=True, kw_only=True)
class Skinning:
    """How the mesh of air follows the creature.

    Attributes:
        mode: "dynamic": with inertia, damping and the other forces below, frame after frame; "quasi-static": each frame is at rest,
            whatever came before, so that frames are computed in parallel and in any order. (The printed method claims both at once.)
        material: "springs": edge and altitude springs; "neo-hookean": finite elements with the stable neo-Hookean energy, which
            resists inversion.
        springs: stiffness of the springs, of which those between the skin and the mesh are there with both materials.
        youngs_modulus: Pa, of the finite elements; None: 3 springs.edge_stiffness / l^2, about as stiff as springs.
        poissons_ratio: of the finite elements.
        damping: fraction of critical damping of each spring; of finite elements, of a wave as long as four edges.
        density: kg/m^3 of the mesh; together with the stiffness it decides how quickly the mesh follows.
        gravity: m/s^2; dynamic mode only, like drag.
        drag: 1/s: force per mass and velocity through air at rest.
        push_out: whether nodes outside of the creature at rest are kept outside.
        self_collision: whether the surface of the mesh keeps out of itself, in dynamic mode, where limbs come together: steps are those of
            a `solids.World`, whose surfaces do not intersect. Where skins leave no room between them, contacts are released.
        substeps: time steps per frame in dynamic mode; None: as many as keep a step at or below 1/48 s.

    Raises:
        TypeError, ValueError: other values.

    Source: Lee 2018, sections 2.3.1 and 2.4: 41.4 N, 4.14 N and 41.4 N, critically damped. The density is not given there.
    """

    mode: Mode = "dynamic"
    material: AirMaterial = "springs"
    springs: AirSprings = AirSprings()
    youngs_modulus: float | None = None
    poissons_ratio: float = 0.3
    damping: float = 1.0
    density: float = 1.2
    gravity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    drag: float = 0.0
    push_out: bool = True
    self_collision: bool = False
    substeps: int | None = None

    def __post_init__(self) -> None:
        """Check all values."""
        _checks.choice("mode", self.mode, Mode)
        _checks.choice("material", self.material, AirMaterial)
        _checks.one_of_type("springs", self.springs, AirSprings)
        _checks.positive("density", self.density)
        for name in ("damping", "drag"):
            if _checks.number(name, getattr(self, name)) < 0:
                raise ValueError(f"{name} must be at least 0, not {getattr(self, name):g}")
        if self.youngs_modulus is not None:
            _checks.positive("youngs_modulus", self.youngs_modulus)
        if not -1.0 < _checks.number("poissons_ratio", self.poissons_ratio) < 0.5:
            raise ValueError(f"poissons_ratio must be above -1 and below 0.5, not {self.poissons_ratio:g}")
        object.__setattr__(self, "gravity", _checks.vector("gravity", self.gravity, 3))
        _checks.one_of_type("push_out", self.push_out, bool)
        if _checks.flag("self_collision", self.self_collision) and self.mode != "dynamic":
            raise ValueError('self_collision needs the mode "dynamic": each frame at rest has no motion by which surfaces meet')
        if self.substeps is not None:
            _checks.integer("substeps", self.substeps, at_least=1)


class SkinningRun:
    """The mesh of air between the frames of an animation.

    Args:
        mesh: of air, at rest.
        skin: of the creature, at rest.
        given: (k,) nodes whose positions the inside of the creature prescribes.
        outside: (n,) which nodes lie outside of the creature at rest.
        bindings: where the skin and the mesh are bound together.
        options: see `Skinning`.
    """

    def __init__(
        self, mesh: TetMesh, skin: TriangleMesh, given: Ints, outside: npt.NDArray[np.bool_], bindings: Bindings, options: Skinning
    ) -> None:
        self.mesh, self.options = mesh, options
        self._given, self._outside, self._on_skin = given, np.flatnonzero(outside), bindings
        self._distance = MeshDistance(skin) if options.push_out else None
        self._surface = CollisionMesh(None, mesh.boundary.triangles) if options.self_collision else None
        self.body = DeformableBody(mesh, density=options.density, gravity=options.gravity if options.mode == "dynamic" else None)
        self._springs = self._add_forces(skin)
        self._first_memory = self.memory()
        self._rest_skin: Floats = skin.vertices
        self._fit: Floats = np.linalg.pinv(skin.vertices - skin.vertices.mean(axis=0))
        self._extension = _extension_of(mesh, given) if options.mode == "quasi-static" else None
        self._path = _StraightPath(mesh.vertices[given])
        if len(given):
            self.body.move(given, self._path)

    def _add_forces(self, skin: TriangleMesh) -> SoftBindings | None:
        o, mesh, body = self.options, self.mesh, self.body
        x, masses = mesh.vertices, np.array(body.masses)
        edge = float(np.linalg.norm(x[mesh.edges[:, 1]] - x[mesh.edges[:, 0]], axis=1).mean())

        def springs(stiffness: float | None = None, spring_constant: float | None = None) -> SpringOptions:
            return SpringOptions(stiffness=stiffness, spring_constant=spring_constant, damping_fraction=o.damping, masses=masses)

        if o.material == "springs":
            body.add(EdgeSprings(mesh, springs(stiffness=o.springs.edge_stiffness)))
            if o.springs.altitude_stiffness > 0:
                body.add(AltitudeSprings(mesh, springs(stiffness=o.springs.altitude_stiffness)))
        else:
            e = 3.0 * o.springs.edge_stiffness / edge**2 if o.youngs_modulus is None else o.youngs_modulus
            # Critical for a wave as long as four edges.
            time = o.damping * 4.0 * edge / math.pi * math.sqrt(o.density / e)
            body.add(TetElements(mesh, youngs_modulus=e, poissons_ratio=o.poissons_ratio, material="neo-hookean", damping=time))
        if o.drag > 0:
            body.add(Drag(o.drag * masses))
        if not len(self._on_skin.parents) or o.springs.binding_stiffness == 0:
            return None
        force = SoftBindings(
            self._on_skin.parents,
            springs(spring_constant=o.springs.binding_stiffness / edge),
            first_weights=self._on_skin.weights,
            targets=self._on_skin.points(skin.vertices),
        )
        body.add(force)
        return force

    def substeps(self, seconds: float) -> int:
        """Return how many steps a frame of that length takes."""
        return max(1, math.ceil(seconds * _STEPS_PER_SECOND - 1e-6)) if self.options.substeps is None else self.options.substeps

    def advance(self, times: tuple[float, float], given: tuple[Floats, Floats], skin: tuple[Floats, Floats]) -> None:
        """Go from one frame to the next, by the motion of given nodes and of the skin (each at the start and at the end).

        Raises:
            ConvergenceError, ValueError: a step fails; the body is then as after the last step that did not.
        """
        n = self.substeps(times[1] - times[0])
        dt = (times[1] - times[0]) / n
        skin_velocity = (skin[1] - skin[0]) / (times[1] - times[0])
        self._path.set(times, given)
        world = self._world(times[0]) if self.options.self_collision else None
        for i in range(n):
            share = (i + 1) / n
            skin_now = skin[0] + share * (skin[1] - skin[0]) if i + 1 < n else skin[1]
            self.body.time = times[0] + i * dt
            if self._springs is not None:
                self._springs.set_targets(self._on_skin.points(skin_now), self._on_skin.points(skin_velocity))
            if world is None:
                self.body.step(dt, "newmark", **_STEP)
            else:
                world.step(dt)
            self.push_out(skin_now, skin_velocity)
        if world is not None:
            world.remove(self.body)
        self.body.time = times[1]

    def _world(self, time: float) -> World:
        """Return a world of the body alone: one for each frame, so that a build which goes on from a stored frame has the same bits.

        What intersects since the frame before, where skins leave no room, is released until it is apart.
        """
        world = World(steps_per_loop=1, on_pinch="release", **_STEP)
        world.time = time
        world.add(self.body, friction=0.0)
        edges, triangles = world.audit().T
        ends = world.surface.mesh.edges[edges]
        world.loop.deactivated.vertex_face = np.column_stack([ends.ravel(), np.repeat(triangles, 2)]).astype(np.int32)
        return world

    def keep_apart(self, before: Floats) -> None:
        """Take back as much of what has moved the nodes since as makes the surface of the mesh intersect itself, if it is to keep apart."""
        if self._surface is None:
            return
        x, edges, triangles = self.body.positions, self._surface.edges, self._surface.triangles
        moved = x - before
        for share in (1.0, 0.5, 0.25, 0.125, 0.0):
            x[...] = before + share * moved
            found = self._surface.self_intersections(np.ascontiguousarray(x))
            if np.isin(np.hstack([edges[found[:, 0]], triangles[found[:, 1]]]), self._given).all():
                return

    def come_to_rest(self, given: Floats, skin: Floats) -> bool:
        """Find where the mesh is at rest around a position of the skin, whatever it did before; return whether the solver got there.

        The start is the affine map that fits the motion of the skin best, and the harmonic extension of what it leaves of that of the given
        nodes, so that the result depends on this frame alone.
        """
        rest = self.mesh.vertices
        gradient = self._fit @ (skin - skin.mean(axis=0))
        x = (rest - self._rest_skin.mean(axis=0)) @ gradient + skin.mean(axis=0) if np.any(skin != self._rest_skin) else np.array(rest)
        remainder = np.ascontiguousarray(given - x[self._given])
        if remainder.any() and self._extension is not None:
            x += self._extension.displacements(remainder)
        x[self._given] = given
        body = self.body
        body.positions, body.velocities, body.time = x, np.zeros_like(x), 0.0
        self._path.hold(given)
        self._remember(self._first_memory)
        if self._springs is not None:
            self._springs.set_targets(self._on_skin.points(skin))
        enough = _AT_REST * float(np.ptp(rest, axis=0).max())
        moved = math.inf
        for _ in range(_ATTEMPTS):  # altitude springs choose their altitudes at the start of a step
            before = np.array(body.positions)
            body.step(_STILL, "implicit-euler", raise_on_failure=False, tolerance=1e-4, newton_tolerance=1e-9, max_newton=100)
            moved = float(np.abs(body.positions - before).max())
            body.velocities = np.zeros_like(x)
            if moved <= enough:
                break
        self.push_out(skin, np.zeros_like(skin))
        body.velocities = np.zeros_like(x)
        return moved <= enough

    def push_out(self, skin: Floats, velocity: Floats) -> None:
        """Move nodes of the air out of the creature, along the shortest way, and take away the velocity at which they go in."""
        if self._distance is None or not len(self._outside):
            return
        self._distance.update(np.ascontiguousarray(skin))
        x, v = self.body.positions, self.body.velocities
        here = np.ascontiguousarray(x[self._outside])
        depth = -self._distance.signed_distance(here)
        rows = np.flatnonzero(depth > 0)
        if not len(rows):
            return
        nodes, before = self._outside[rows], np.array(x)
        closest = self._distance.closest(np.ascontiguousarray(here[rows]))
        normal = (closest.positions - here[rows]) / depth[rows, None]
        corners = self._distance.triangles[closest.triangles]
        relative = v[nodes] - np.einsum("nk,nkd->nd", closest.barycentric, velocity[corners])
        x[nodes] = closest.positions
        v[nodes] -= np.minimum((relative * normal).sum(axis=1), 0.0)[:, None] * normal
        self.keep_apart(before)

    def memory(self) -> Floats:
        """Return what forces remember from step to step, as one array."""
        parts = [np.asarray(m, np.float64).ravel() for m in self.body.force_memory]
        return np.concatenate(parts) if parts else np.empty(0)

    def go_on(self, positions: Floats, velocities: Floats, memory: Floats) -> None:
        """Continue from a frame that was stored."""
        self.body.positions, self.body.velocities = positions, velocities
        self._remember(memory)

    def _remember(self, memory: Floats) -> None:
        start = 0
        for part in self.body.force_memory:
            part[...] = memory[start : start + part.size].reshape(part.shape)
            start += part.size


@dataclass(frozen=True, eq=False)
class Bindings:
    """Vertices of the skin and where they are in the mesh of air.

    Attributes:
        parents, weights: (b, 4) nodes of the mesh and barycentric coordinates.
        vertices: (b,) of the skin.
    """

    parents: Ints
    weights: Floats
    vertices: Ints

    def points(self, skin: Floats) -> Floats:
        """Return the rows (b, 3) of the bound vertices from values (n, 3) at all, such as positions or velocities."""
        result: Floats = skin[self.vertices]
        return result

    def gaps(self, positions: Floats, skin: Floats) -> Floats:
        """Return how far apart (b,), m, the points are from where the mesh takes them."""
        taken = np.einsum("bk,bkd->bd", self.weights, positions[self.parents])
        result: Floats = np.linalg.norm(taken - self.points(skin), axis=1)
        return result


class _StraightPath:
    """Positions and velocities of the given nodes: on straight lines between two frames."""

    def __init__(self, rest: Floats) -> None:
        self.hold(rest)

    def hold(self, positions: Floats) -> None:
        """Stay."""
        self.set((0.0, 1.0), (positions, positions))

    def set(self, times: tuple[float, float], positions: tuple[Floats, Floats]) -> None:
        """Go from one position to another."""
        self._times, self._positions = times, positions
        self._velocity = (positions[1] - positions[0]) / (times[1] - times[0])

    def __call__(self, time: float) -> tuple[Floats, Floats]:
        """Return positions and velocities at a time."""
        share = (time - self._times[0]) / (self._times[1] - self._times[0])
        if share >= 1.0 - 1e-12:
            return self._positions[1], self._velocity
        return self._positions[0] + share * (self._positions[1] - self._positions[0]), self._velocity


def _extension_of(mesh: TetMesh, given: Ints) -> HarmonicMorph | None:
    """Return what extends the motion of the given nodes; None where a part of the mesh has none, whose bindings alone take it along."""
    parts = mesh.component
    held = np.zeros(mesh.components, bool)
    held[parts[np.isin(mesh.tets, given).any(axis=1)]] = True
    return HarmonicMorph(mesh, given) if held.all() else None
