"""Surfaces of triangles that follow any motion, merge and split, and never intersect themselves."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.core.known_names import KnownNames
from meniscus.core.memory import MemoryOwner
from meniscus.core.stateful import BusyError
from meniscus.mesh.arrays import float_rows, index_rows
from meniscus.mesh.surface_like import SurfaceLike, surface_arrays
from meniscus.mesh.triangle_mesh import TriangleMesh
from meniscus.surface.shapes.constructive import Shape
from meniscus.surface.shapes.solid import Solid
from meniscus.surface.tracking.carried import CarriedData, CarriedList, CarryFunction, CarryRule, SurfaceRule, SurfaceShape
from meniscus.surface.tracking.events import EVENT_KIND, CarryOn, EventKind, SurfaceEvents, TrackingCounts
from meniscus.surface.tracking.obstacles import obstacles_of
from meniscus.surface.tracking.options import MergeGaps, TrackingOptions
from meniscus.surface.tracking.paths import StepMethod, Velocity, ends_of
from meniscus.surface.tracking.reports import MotionReport, SurfaceAudit, audit_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Observer = Callable[[str, Ints], bool]
_MOST_CUTS = 20


class TrackedSurface(KnownNames, MemoryOwner):
    """A surface of triangles that follows any motion: its mesh adapts, its parts merge and split, and it never intersects itself.

    A step has two phases. `improve` changes the mesh at one time: long edges are split, short ones collapse, others flip, parts that are
    close to each other merge, sheets that touch part, vertices move within the surface. `move` takes vertices to given ends; where elements
    would touch on their ways, repulsion, impulses and zones change these, and ends with nothing in the way come out bit for bit. Each
    operation is proven free of intersections by exact tests, or not done.

    Args:
        mesh: a `TriangleMesh`, (vertices, triangles), or a mesh of trimesh, meshio or PyVista; m. Closed or open; edges may have any even
            number of triangles.
        edge_length: m. None: the mean of the edges.
        volume_change: that an operation may bring about, in cubes of the edge length.
        topology: whether parts merge and split.
        safety: whether intersections are kept out; False also takes surfaces that have some.
        merge: which gaps close: "outside" (two drops), "inside" (a film that tears), "both", "none".
        fixed: (n,) truth values, vertices that stay.
        options: everything else.

    Raises:
        TypeError, ValueError: what is no surface; values out of range; positions that are not finite; edges with an odd number of triangles
            above one, or with opposed ones; triangles that are there twice; with safety a surface that intersects itself, with the number
            of pairs and the first.

    Source: Brochu 2012, chapter 3; Brochu and Bridson 2009.
    """

    def __init__(
        self,
        mesh: SurfaceLike,
        edge_length: float | None = None,
        volume_change: float = 0.1,
        topology: bool = True,
        safety: bool = True,
        merge: MergeGaps = "both",
        *,
        fixed: npt.ArrayLike | None = None,
        options: TrackingOptions | None = None,
    ) -> None:
        x, t = _arrays_of("mesh", mesh)
        if len(t) == 0:
            raise ValueError("mesh must have a triangle")
        if edge_length is None:
            edges = np.concatenate([t[:, :2], t[:, 1:], t[:, ::2]])
            edge_length = float(np.linalg.norm(x[edges[:, 0]] - x[edges[:, 1]], axis=1).mean())
        self._options = TrackingOptions() if options is None else _checks.one_of_type("options", options, TrackingOptions)
        length = _checks.positive("edge_length", edge_length)
        self._arguments: tuple[float, float, bool, bool, MergeGaps] = (length, volume_change, topology, safety, merge)
        self._core = _surface.TrackedSurface(
            np.ascontiguousarray(x, np.float64),
            np.ascontiguousarray(t, np.int32),
            None if fixed is None else _checks.mask("fixed", np.asarray(fixed), (len(x),)),
            self._options.core(*self._arguments),
        )
        self._carried = CarriedList()
        self._observer: Observer | None = None
        self._moving: list[tuple[slice, Callable[[float], Floats]]] = []
        self._lock = threading.Lock()
        self.time = 0.0

    @property
    def vertices(self) -> Floats:
        """(n, 3) float64, m, a read-only view: it follows motions; after operations there is another one, and this one stays as it is."""
        return self._core.vertices

    @property
    def triangles(self) -> Ints:
        """(m, 3) int32, counter-clockwise as seen from outside, a read-only view as `vertices`."""
        return self._core.triangles

    @property
    def edges(self) -> Ints:
        """(k, 2) int32, ascending: a copy."""
        return self._shape.edges()

    @property
    def fixed(self) -> npt.NDArray[np.bool_]:
        """(n,) truth values, vertices that stay: a copy."""
        return self._core.fixed

    @property
    def generation(self) -> int:
        """Grows whenever the triangles change."""
        return int(self._core.generation)

    @property
    def edge_length(self) -> float:
        """The edge length that is aimed at, m."""
        return self._arguments[0]

    @property
    def options(self) -> TrackingOptions:
        """The options, which do not change."""
        return self._options

    @property
    def observer(self) -> Observer | None:
        """Asked before an operation is kept, with its kind and the vertices of its edges: a function that returns whether it may be."""
        return self._observer

    @observer.setter
    def observer(self, function: Observer | None) -> None:
        self._observer = None if function is None else _checks.function("observer", function)

    @property
    def mesh(self) -> TriangleMesh:
        """A copy as a mesh."""
        return TriangleMesh(np.array(self.vertices), np.array(self.triangles))

    def carry(
        self, values: npt.ArrayLike, on: CarryOn = "vertices", rule: CarryRule | CarryFunction | SurfaceRule = "interpolate"
    ) -> CarriedData:
        """Have data of elements follow all operations from now on.

        Args:
            values: (n,) or (n, k) numbers, a copy of which is carried: of vertices, triangles, or `edges`.
            on: which of these.
            rule: "interpolate", "inherit" (from the nearest), "sum" (amounts, whose sum is kept), "largest", or a function of the values
                (s, k) and weights (s,) of the sources of an element, which returns its (k,); or a `SurfaceRule`.

        Returns:
            The data, with the values of now in `.array`.

        Raises:
            TypeError, ValueError: other lengths, values that are not finite, unknown names.
        """
        return self._carried.add(values, on, rule, self._shape)

    def drop(self, data: CarriedData) -> None:
        """Let data follow no more. Raises ValueError for data that do not."""
        self._carried.remove(data)

    @property
    def carried(self) -> tuple[CarriedData, ...]:
        """The data that follow, in the order in which they were added."""
        return tuple(self._carried)

    def improve(self) -> SurfaceEvents:
        """Improve the mesh, with merges and splits where options allow them.

        Returns:
            What was done, with counts in `.counts`.
        """

        def run() -> SurfaceEvents:
            counts, events = self._core.improve(self._asked())
            return SurfaceEvents(events, TrackingCounts.of(counts))

        return self._followed(run)

    def apply(self, kind: EventKind, edges: npt.ArrayLike) -> tuple[npt.NDArray[np.int8], SurfaceEvents]:
        """Try one kind of operation at edges, one after the other.

        Args:
            kind: "split", "flip", "collapse" or "merge".
            edges: (k, 2) integers, vertices of edges; for merges (k, 4), those of two edges. Operations do not renumber vertices until the
                end.

        Returns:
            (k,) int8, 0 where it was done and the place in `OperationCounts` of the reason where not; and the events.

        Raises:
            TypeError, ValueError: other kinds or shapes, vertices that do not exist.
        """
        rows = index_rows("edges", edges, 4 if kind == "merge" else 2)
        ends: list[npt.NDArray[np.int8]] = []

        def run() -> SurfaceEvents:
            found, events = self._core.apply(EVENT_KIND("kind", kind), np.ascontiguousarray(rows), self._asked())
            ends.append(found)
            return SurfaceEvents(events)

        events = self._followed(run)
        return ends[0], events

    def smooth(self) -> int:
        """Move vertices within the surface, for better triangles; return how many moved."""
        with self._alone():
            before = self._carried.shape_before(self._shape)
            moved = int(self._core.smooth())
            self._carried.smoothed(before, self._shape)
            return moved

    def add_part(self, part: SurfaceLike) -> None:
        """Add a closed surface that does not meet this one, such as what a source emits; data that follow are zero there.

        Raises:
            TypeError, ValueError: what is no surface, or one that meets this one or itself; nothing has changed.
        """
        x, t = _arrays_of("part", part)
        with self._alone():
            n = len(self.vertices)
            vertices, triangles = np.concatenate([self.vertices, x]), np.concatenate([self.triangles, t + np.int32(n)])
            self._core.set(vertices, triangles, np.concatenate([self.fixed, np.zeros(len(x), np.bool_)]), self._arguments[3])
            # Edges of new vertices come after all others.
            self._carried.grow(SurfaceShape(x, t))

    @property
    def _shape(self) -> SurfaceShape:
        return SurfaceShape(self.vertices, self.triangles)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep other calls out: those of other threads, and of observers and rules."""
        if not self._lock.acquire(blocking=False):
            raise BusyError("a call of this surface is going on; observers and rules must not change it, and threads need copies")
        try:
            yield
        finally:
            self._lock.release()

    def _asked(self) -> Callable[[Any, Ints], bool] | None:
        """Return what the core asks: the observer, with the kind as a word."""
        ask = self._observer
        return None if ask is None else lambda kind, vertices: bool(ask(kind.name, vertices))

    def _followed(self, run: Callable[[], SurfaceEvents]) -> SurfaceEvents:
        """Run operations and let data follow; if a rule raises, everything is as before."""
        with self._alone():
            edges, before = self._carried.edges_of(self._shape), self._carried.shape_before(self._shape)
            kept = self.snapshot() if self._carried.may_fail else None
            events = run()
            try:
                self._carried.follow(events, edges, before, self._shape)
            except BaseException:
                if kept is not None:
                    self.restore(kept)
                raise
            return events

    def move(self, ends: npt.ArrayLike, dt: float = 1.0) -> MotionReport:
        """Move the vertices to ends (n, 3), m, in a step of dt seconds, as far as nothing is in the way.

        Ends with nothing in the way come out bit for bit. Vertices that are fixed stay. Obstacles go to the places that `move_obstacles`
        was given, solids to where they are at the end of the step, and `time` goes on. Where nothing else helps, all end at the same part
        of their ways.

        Raises:
            TypeError, ValueError: another shape, positions that are not finite, dt <= 0; the surface is as before.
        """
        y = np.ascontiguousarray(float_rows("ends", ends, 3))
        if y.shape != self.vertices.shape:
            raise ValueError(f"ends must have {len(self.vertices)} rows, one per vertex, not {len(y)}")
        _checks.require_finite("ends", y)
        step = _checks.positive("dt", dt)
        with self._alone():
            if self._moving:
                goal = self._core.obstacle_ends
                for rows, places in self._moving:
                    goal[rows] = places(self.time + step)
                self._core.move_obstacles(goal)
            report = self._core.move(y, step)
            self.time += report.fraction * step
        return MotionReport(report.contacts, report.repelled, report.pushed, report.zone_vertices, report.fraction)

    def step(self, velocity: Velocity, dt: float, method: StepMethod = "rk4") -> MotionReport:
        """Improve the mesh, and move it in a velocity for dt seconds: `improve`, and then `follow`, whose arguments these are."""
        if not isinstance(velocity, np.ndarray):
            self.improve()
        return self.follow(velocity, dt, method)

    def follow(self, velocity: Velocity, dt: float, method: StepMethod = "rk4") -> MotionReport:
        """Move the surface in a velocity for dt seconds.

        Args:
            velocity: a `Flow` or any function of points (n, 3), m, and time, s, that returns (n, 3), m/s; a `MacField`; or velocities of
                the vertices (n, 3); before these, `step` does not improve the mesh.
            dt: s.
            method: of the ways of vertices: "euler", "midpoint", or "rk4", the classical one of fourth order.

        Returns:
            The sums over the motions of the step: where one has to end early, the step goes on from there.

        Raises:
            TypeError, ValueError: other velocities, shapes or methods; values that are not finite.
            RuntimeError: the surface is stuck: after twenty motions the step is not over.
        """
        _checks.choice("method", method, StepMethod)
        left = _checks.positive("dt", dt)
        parts: list[MotionReport] = []
        while len(parts) < _MOST_CUTS:
            report = self.move(ends_of(np.array(self.vertices), self.time, velocity, left, method), left)
            parts.append(report)
            left *= 1.0 - report.fraction
            if report.fraction == 1.0:
                return MotionReport.total(parts)
        raise RuntimeError(
            f"the surface is stuck: {left:g} s of a step of {dt:g} s are left after {_MOST_CUTS} motions; a shorter step helps"
        )

    def add_obstacle(self, obstacle: SurfaceLike | Shape | Solid) -> slice:
        """Add a surface that this one must not touch.

        Args:
            obstacle: as the mesh of the class, or a bounded shape, of which a mesh with the edge length is made: it stays where it is
                unless `move_obstacles` says otherwise. A `KinematicSolid`, a `DeformingSolid` or a group of them moves by itself, with
                `time`.

        Returns:
            Where its vertices are among those of all obstacles.

        Raises:
            TypeError, ValueError: what is no surface, or one that meets this surface, with the number of pairs.
        """
        first = last = len(self.obstacle_vertices)
        parts, rows = obstacles_of(obstacle, self.edge_length, self.time), []
        for part in parts:
            rows.append(slice(last, last + len(part.vertices)))
            last = rows[-1].stop
        triangles = [part.triangles + np.int32(row.start - first) for part, row in zip(parts, rows, strict=True)]
        self._core.add_obstacle(
            np.concatenate([np.asarray(part.vertices, np.float64) for part in parts]), np.concatenate(triangles).astype(np.int32)
        )
        self._moving += [(row, part.places) for part, row in zip(parts, rows, strict=True) if part.places is not None]
        return slice(first, last)

    @property
    def obstacle_vertices(self) -> Floats:
        """(k, 3), m, of all obstacles: a copy."""
        return self._core.obstacle_vertices

    def move_obstacles(self, ends: npt.ArrayLike) -> None:
        """Say where the vertices (k, 3) of all obstacles are at the end of the next motion. Raises ValueError for another shape."""
        self._core.move_obstacles(np.ascontiguousarray(float_rows("ends", ends, 3)))

    def volume(self) -> float:
        """Return the volume within, m^3: of an open surface, that of the cone to its first vertex."""
        return float(self._core.volume())

    def area(self) -> float:
        """Return the area, m^2."""
        return float(self._core.area())

    def components(self) -> Ints:
        """Return the number (m,) of the part of the surface that each triangle is in, counted by their first triangles."""
        return self.mesh.component if len(self.triangles) else np.zeros(0, np.int32)

    def audit(self) -> SurfaceAudit:
        """Return the state of the surface, found anew by the exact test and by counting."""
        return audit_of(self._core, self.mesh.components if len(self.triangles) else 0, self._options.lengths)

    def snapshot(self) -> dict[str, Any]:
        """Return everything that a run needs to go on with the same bits: arrays, time, obstacles and data that follow."""
        return {
            "vertices": np.array(self.vertices),
            "triangles": np.array(self.triangles),
            "fixed": self.fixed,
            "time": self.time,
            "obstacle_vertices": self.obstacle_vertices,
            "obstacle_ends": self._core.obstacle_ends,
            "obstacle_triangles": self._core.obstacle_triangles,
            "carried": self._carried.arrays(),
        }

    def restore(self, snapshot: dict[str, Any]) -> None:
        """Go back to a snapshot of this surface, with the same obstacles and data. Raises ValueError for one of another surface."""
        missing = {"vertices", "triangles", "fixed", "time", "carried", "obstacle_vertices", "obstacle_triangles", "obstacle_ends"} - set(
            snapshot
        )
        if missing:
            raise ValueError(f"the snapshot has no {', '.join(sorted(missing))}")
        if not np.array_equal(snapshot["obstacle_triangles"], self._core.obstacle_triangles):
            raise ValueError("the snapshot has other obstacles than the surface")
        t = index_rows("triangles", snapshot["triangles"], 3)
        self._carried.require_arrays(snapshot["carried"], SurfaceShape(snapshot["vertices"], t))
        self._core.set(snapshot["vertices"], snapshot["triangles"], snapshot["fixed"], False)
        if len(snapshot["obstacle_vertices"]):
            self._core.place_obstacles(snapshot["obstacle_vertices"])
            self._core.move_obstacles(snapshot["obstacle_ends"])
        self.time = float(snapshot["time"])
        self._carried.replace([np.array(array) for array in snapshot["carried"]])

    def __getstate__(self) -> dict[str, Any]:
        """Return the state for pickle and copy. Observers are not part of it."""
        carried = [(data.on, data.rule) for data in self._carried]
        state = {"options": self._options, "arguments": self._arguments, "snapshot": self.snapshot()}
        return {**state, "carried": carried, "moving": self._moving}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over the state of pickle."""
        snapshot = state["snapshot"]
        self._options, self._arguments = state["options"], state["arguments"]
        length, volume_change, topology, safety, merge = self._arguments
        options = self._options.core(length, volume_change, topology, False, merge)
        self._core = _surface.TrackedSurface(snapshot["vertices"], snapshot["triangles"], snapshot["fixed"], options)
        if len(snapshot["obstacle_vertices"]):
            self._core.add_obstacle(snapshot["obstacle_vertices"], snapshot["obstacle_triangles"])
            self._core.move_obstacles(snapshot["obstacle_ends"])
        self._core.set_safety(safety)
        self._lock = threading.Lock()
        self._observer = None
        self._moving = list(state["moving"])
        pairs = zip(snapshot["carried"], state["carried"], strict=True)
        self._carried = CarriedList([CarriedData(np.array(array), *kind) for array, kind in pairs])
        self.time = snapshot["time"]

    def __repr__(self) -> str:
        """One line with the counts."""
        return f"<TrackedSurface: {len(self.vertices)} vertices, {len(self.triangles)} triangles, edges of {self.edge_length:g} m>"


def _arrays_of(name: str, surface: SurfaceLike) -> tuple[Floats, Ints]:
    """Return vertices and triangles of a surface without loose vertices, which operations would take for ones of an edge."""
    x, t = surface_arrays(surface, name=name)
    loose = len(x) - len(np.unique(t))
    if loose and len(t):
        raise ValueError(f"{name} has {loose} vertices that no triangle uses; `TriangleMesh.compacted` leaves them out")
    return x, t
