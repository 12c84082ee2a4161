"""Base of the scenes of rigid bodies."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.mesh import TetMesh, TriangleMesh
from meniscus.scenes.scene import Scene, parameter
from meniscus.solids import RigidBody, RigidInfo, RigidOptions, World

Floats = npt.NDArray[np.float64]
Color = tuple[float, float, float]

COLORS: tuple[Color, ...] = (
    (0.35, 0.55, 0.80),
    (0.85, 0.55, 0.30),
    (0.40, 0.65, 0.45),
    (0.72, 0.42, 0.55),
    (0.75, 0.68, 0.35),
    (0.55, 0.50, 0.75),
)
GREY: Color = (0.62, 0.62, 0.62)


class Piece(NamedTuple):
    """A body of a scene: what `World.add` takes with it, and its colour."""

    body: RigidBody
    options: dict[str, Any]
    color: Color


@dataclass(kw_only=True)
class Rigid(Scene):
    """Rigid bodies in one `World`; y is up. The diagnostics have the columns

    - `energy`: kinetic energy and that in gravity, J;
    - `max speed`: of centres, m/s; `highest`: the largest height of a centre, m;
    - `contacts`: points, in the last step; `deepest`: the largest overlap in it, m; `residual` of its solve, m/s;
    - `intersections`: pairs of bodies whose meshes intersect now, by the exact test, where `counts_intersections`;
    - `cut`: bodies so far that went only a part of their way in a step.
    """

    stages: ClassVar[tuple[str, ...]] = ("step",)
    eye: ClassVar[tuple[float, float, float]] = (1.0, 0.7, 2.0)
    box: ClassVar[tuple[tuple[float, float, float], tuple[float, float, float]]] = ((-1.0, -1.0, -1.0), (1.0, 1.0, 1.0))
    frames_per_second: ClassVar[float] = 24.0
    on_ranks: ClassVar[bool] = False
    gravity: ClassVar[tuple[float, float, float]] = (0.0, -9.81, 0.0)
    counts_intersections: ClassVar[bool] = False
    guarantee: ClassVar[bool] = False
    draws_edges: ClassVar[bool] = True

    end: float = parameter(4.0, "length of the run, s")
    frames: int = parameter(96, "frames to write")
    dt: float = parameter(0.005, "longest step, s")
    iterations: int = parameter(20, "sweeps over the contacts in a substep")
    substeps: int = parameter(1, "of a step")

    def make_pieces(self) -> Sequence[Piece]:
        """Return the bodies at time 0, from the parameters alone."""
        raise TypeError(f"scene {type(self).__name__} has no make_pieces()")

    def prepare(self, world: World) -> None:
        """Add obstacles and joints."""

    def setup(self) -> None:
        """Create the world."""
        _checks.positive("dt", self.dt)
        options = RigidOptions(iterations=self.iterations, substeps=self.substeps)
        self.world = self.declare("world", World(gravity=self.gravity, rigid=options))
        for piece in self.make_pieces():
            self.world.add(piece.body, **piece.options)
        self.prepare(self.world)
        self.cut = self.declare("cut", 0)
        self._last = RigidInfo()

    def max_dt(self) -> float:
        """Return an equal part of a frame."""
        frame = self.end / self.frames
        return frame / math.ceil(frame / self.dt - 1e-9)

    def advance(self, time: float, dt: float) -> None:
        """Take one step."""
        with self.stage("step"):
            info = self.world.step(dt, guarantee=self.guarantee).rigid
            assert info is not None
            self._last = info
            self.cut += info.cut

    def report(self, time: float) -> dict[str, float]:
        """Energy, speed, height, contacts."""
        rigid = self.world.rigid
        moving = [b for b in rigid.bodies if b.inverse_mass(b.center[None]).any()]
        return {
            "energy": rigid.energy,
            "max speed": max((float(np.linalg.norm(b.velocity)) for b in moving), default=0.0),
            "highest": max((float(b.center[1]) for b in moving), default=0.0),
            "contacts": float(self._last.contacts),
            "deepest": self._last.deepest,
            "residual": self._last.residual,
            "intersections": float(len(rigid.audit())) if self.counts_intersections else 0.0,
            "cut": float(self.cut),
        }

    def frame_data(self) -> Mapping[str, FrameItem]:
        """The surfaces of all bodies as one mesh."""
        vertices = np.concatenate([b.positions() for b in self.world.rigid.bodies])
        return {"bodies": FrameMesh(vertices, self._shown()[0], {})}

    def _shown(self) -> tuple[npt.NDArray[np.int32], Floats]:
        """Triangles of all bodies and their colours, from the parameters alone."""
        known = self.__dict__.get("_triangles")
        if known is None:
            parts, colors, first = [], [], 0
            for piece in self.make_pieces():
                mesh = piece.body.mesh
                surface = mesh.boundary if isinstance(mesh, TetMesh) else mesh
                assert isinstance(surface, TriangleMesh)
                parts.append(surface.triangles + first)
                colors.append(np.tile(piece.color, (len(surface.triangles), 1)))
                first += len(surface.vertices)
            known = self._triangles = (np.concatenate(parts).astype(np.int32), np.concatenate(colors))
        return known

    def draw(self, frame: FrameData) -> Any:
        """Show the bodies."""
        from meniscus import viz

        triangles, colors = self._shown()
        return viz.surface(
            frame.meshes["bodies"].vertices,
            triangles,
            eye=self.eye,
            box=self.box,
            color=colors,
            back=colors,
            edges=self.draws_edges,
            title=f"{self.name}, t = {frame.time:.2f} s",
        )

    def path_tracing_scene(self, frame: FrameData, size: tuple[int, int] | None = None) -> dict[str, Any]:
        """Describe the bodies, above a floor."""
        from meniscus.viz import Camera, path_tracing

        triangles, colors = self._shown()
        x = frame.meshes["bodies"].vertices
        kinds, which = np.unique(colors, axis=0, return_inverse=True)
        shown = [
            path_tracing.Surface(vertices=x, triangles=triangles[which.ravel() == k], color=tuple(0.6 * c), glossy=True)
            for k, c in enumerate(kinds)
        ]
        a, b, c = self.eye
        camera = Camera(azimuth=float(np.degrees(np.arctan2(a, c))), elevation=float(np.degrees(np.arctan2(b, np.hypot(a, c)))))
        return path_tracing.surface_scene(shown, box=self.box, size=size or (640, 560), camera=camera)


def hexahedron(corners: npt.ArrayLike) -> TriangleMesh:
    """Return the surface of a body with eight corners: four around one side, then the four opposite ones in the same order."""
    x = np.asarray(corners, np.float64)
    sides = ((0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (2, 3, 7, 6), (1, 2, 6, 5), (0, 4, 7, 3))
    triangles = np.array([t for p, q, r, s in sides for t in ((p, q, r), (p, r, s))], np.int32)
    volume = np.linalg.det(x[triangles] - x.mean(axis=0)).sum()
    return TriangleMesh(x, triangles if volume > 0 else np.ascontiguousarray(triangles[:, ::-1]))


def ring(radius: float, tube: float, around: int = 32, across: int = 12) -> TriangleMesh:
    """Return a torus around the y axis."""
    return _woven(lambda u, v: (radius + tube * np.cos(v), -tube * np.sin(v), u), around, across)


def cup(radius: float, height: float, wall: float, around: int = 28, along: int = 24) -> TriangleMesh:
    """Return a cup around the y axis, open at its top, with a small hole in its bottom, as a closed surface."""

    def profile(u: Floats, v: Floats) -> tuple[Floats, Floats, Floats]:
        # The profile is a loop of constant thickness around an arc from the axis to the rim; it stays off the axis by a little.
        s = v / np.pi
        inner = s < 1
        t = np.where(inner, s, 2 - s) * np.pi / 2
        r = np.where(inner, radius - wall, radius) * np.sin(0.06 + t * (1 - 0.12 / np.pi))
        y = -np.where(inner, height - wall, height) * np.cos(0.06 + t * (1 - 0.12 / np.pi))
        return r, y, u

    return _woven(profile, around, along)


def star(points: int, inner: float, outer: float, depth: float) -> TriangleMesh:
    """Return a prism over a star, along y."""
    n = 2 * points
    angle = 2 * np.pi * np.arange(n) / n
    r = np.where(np.arange(n) % 2, inner, outer)
    rim = np.stack([r * np.cos(angle), r * np.sin(angle)], axis=1)
    layers = [np.column_stack([rim[:, 0], np.full(n, y), rim[:, 1]]) for y in (-depth / 2, depth / 2)]
    x = np.concatenate([*layers, [[0, -depth / 2, 0], [0, depth / 2, 0]]])
    k, m = np.arange(n), (np.arange(n) + 1) % n
    sides = [np.stack([k, k + n, m], axis=1), np.stack([m, k + n, m + n], axis=1)]
    caps = [np.stack([np.full(n, 2 * n), k, m], axis=1), np.stack([np.full(n, 2 * n + 1), m + n, k + n], axis=1)]
    return TriangleMesh(x, np.concatenate([*sides, *caps]).astype(np.int32))


def _woven(place: Any, around: int, across: int) -> TriangleMesh:
    """Return a closed surface of (r, y, angle) = place(u, v) over two periodic parameters."""
    i, j = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    r, y, u = place(2 * np.pi * i / around, 2 * np.pi * j / across)
    x = np.stack([r * np.cos(u), y, r * np.sin(u)], axis=-1).reshape(-1, 3)

    def at(a: Any, b: Any) -> Any:
        return ((a % around) * across + b % across).ravel()

    corners = [at(i, j), at(i + 1, j), at(i + 1, j + 1), at(i, j + 1)]
    triangles = np.concatenate([np.stack([corners[k] for k in t], axis=1) for t in ((0, 1, 2), (0, 2, 3))]).astype(np.int32)
    mesh = TriangleMesh(x, triangles)
    volume = np.linalg.det(x[triangles]).sum()
    return mesh if volume > 0 else TriangleMesh(x, np.ascontiguousarray(triangles[:, ::-1]))
