"""The kinematically deforming skinned mesh (KDSM): a tetrahedral mesh of air that follows an animated creature."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision.point_location.tet_locator import TetLocator
from meniscus.coupling.animation import Animation, Frames
from meniscus.coupling.degenerate_elements import Cause, Degenerate
from meniscus.coupling.follower import Follower
from meniscus.coupling.frame_store import FrameStore
from meniscus.coupling.kdsm_build import Builder, Existing, header_of, open_store, require_schema
from meniscus.coupling.kdsm_parts import AirMesh, Following, Parts, Plan, check_skin, make_parts
from meniscus.coupling.skinning import Skinning
from meniscus.coupling.stored_motion import StoredFlags, StoredMotion
from meniscus.mesh import Embedding, MovingTetMesh, TetMesh, TriangleMesh
from meniscus.mesh.triangle_mesh import triangle_mesh
from meniscus.surface import DeformingSolid

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


class KDSMReport(NamedTuple):
    """How a KDSM follows its creature, frame by frame.

    Attributes:
        times: (f,), s.
        mean_gap, largest_gap: (f,), distances of bound points of the skin from where the mesh takes them, in coarse cells.
        mean_fine_gap, largest_fine_gap: (f,), the same in cells of the finest level.
        drift: (f,), m, of the morph from frame to frame against that since rest; 0 for a morph since rest.
        disabled: (f,), coarse elements that are inverted or collapsed.
        converged: (f,), whether quasi-static solves came to rest; True in dynamic mode.
    """

    times: Floats
    mean_gap: Floats
    largest_gap: Floats
    mean_fine_gap: Floats
    largest_fine_gap: Floats
    drift: Floats
    disabled: npt.NDArray[np.int64]
    converged: Bools


class KDSM:
    """A tetrahedral mesh around an animated surface, with the motion that the skinning run gave it. Made by `build` or `load`.

    Between frames the mesh and the skin move on straight lines, together.

    Source: Lee 2018, sections 2.3.1, 2.4 and 3.2.
    """

    def __init__(self, store: FrameStore) -> None:
        self._store = store
        self._parts = Parts.of(store.fixed)
        self._times: Floats = store.fixed["times"]
        self._moving: dict[int, MovingTetMesh] = {}

    @classmethod
    def build(
        cls,
        rest: Any,
        animation: Frames,
        times: npt.ArrayLike,
        *,
        cell_size: float,
        layers: int = 3,
        subdivisions: int = 0,
        air: AirMesh | None = None,
        following: Following | None = None,
        skinning: Skinning | None = None,
        out: str | os.PathLike[str] | None = None,
        existing: Existing = "continue",
        on_frame: Callable[[int, int], None] | None = None,
    ) -> KDSM:
        """Build the mesh around a creature and let it follow an animation.

        Nodes inside of the creature are moved by a harmonic morph of its skin; those outside hang on them and on the skin by springs or
        finite elements. Frames go to `out` one by one; a build that was interrupted, or whose `times` have become more, goes on where it
        ended, with the same bits.

        Args:
            rest: the closed surface at rest, a `TriangleMesh` or what it is made from. It may cross itself, as the skins of characters do:
                the winding number decides what is inside (`MeshDistance`).
            animation: its vertices: a function of time (s) that returns (n, 3), m; an array (f, n, 3); or mesh files, as a pattern such as
                'walk-*.ply' or a list of paths.
            times: (f,) of the frames, s, ascending.
            cell_size: edge of the cubes of the lattice, m.
            layers: of cells outside of the skin.
            subdivisions: levels of uniform subdivision that users of the mesh see.
            air: which space the mesh fills.
            following: how it is taken along from frame to frame.
            skinning: springs or elements of the air, default `Skinning()`.
            out: HDF5 file; None: the frames stay in memory.
            existing: what to do with a file of that name: "continue" it if it holds the same build, "replace" or "refuse" it.
            on_frame: called with the number of each frame that is stored, and the number of frames.

        Raises:
            TypeError, ValueError: other arguments; a surface that is open; frames that have other triangles or NaN, or
                move farther than the mesh can follow; a file that holds something else. The sentence names the frame; those before
                stay.
            ConvergenceError: a step failed; the same.
            OSError: a file cannot be read or written.
        """
        surface = triangle_mesh(rest)
        follow = Skinning() if skinning is None else _checks.one_of_type("skinning", skinning, Skinning)
        plan = Plan(
            cell_size=cell_size,
            layers=layers,
            subdivisions=subdivisions,
            air=AirMesh() if air is None else air,
            following=Following() if following is None else following,
        )
        if follow.mode == "quasi-static" and plan.following.morph != "rest":
            raise ValueError("frames of a quasi-static KDSM do not depend on each other, so that morph must be 'rest'")
        _checks.choice("existing", existing, Existing)
        if plan.following.start == "first-frame":
            surface = surface.moved(Animation(surface, animation, times, register=plan.following.register).frame(0))
        frames = Animation(surface, animation, times, register=plan.following.register)
        check_skin(surface)
        parts, inside = make_parts(surface, plan)
        follower = Follower(parts, inside, plan, follow)
        memory = 0 if follow.mode == "quasi-static" else len(follower.run.memory())
        store = open_store(out, existing, header_of(surface, plan, follow, parts), parts, frames.times, memory)
        for k in Builder(store, follower, frames).run():
            if on_frame is not None:
                on_frame(k, len(frames))
        return cls(store)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> KDSM:
        """Open a file, also of a build that is still going.

        Raises:
            OSError: it cannot be read.
            ValueError: it holds no KDSM, is damaged, or has another schema; it has no frame yet.
            ImportError: h5py is missing.
        """
        store = FrameStore.open(path)
        require_schema(store)
        if not store.has(0):
            raise ValueError(f"{str(path)!r} has no frame yet")
        return cls(store)

    # --- what belongs to no frame ----------------------------------------------------------------------------------------------------

    @property
    def rest(self) -> TetMesh:
        """The coarse mesh at rest."""
        return self._parts.mesh

    @property
    def skin(self) -> TriangleMesh:
        """The creature at rest."""
        return self._parts.skin

    @property
    def rest_distance(self) -> Floats:
        """Signed distance (n,) of the nodes from the skin at rest, m, negative inside."""
        return self._parts.distance

    @property
    def layers(self) -> Ints:
        """Layer (m,) of each element: 0 inside and at the skin, 1 next to these, and so on."""
        return self._parts.layers

    @property
    def given(self) -> Ints:
        """The nodes that the inside of the creature moves."""
        return self._parts.given

    @property
    def subdivisions(self) -> int:
        """Levels of uniform subdivision."""
        return int(self._store.header["plan"]["subdivisions"])

    @property
    def cell_size(self) -> float:
        """Edge of the cubes of the coarse lattice, m."""
        return float(self._store.header["plan"]["cell_size"])

    @property
    def options(self) -> dict[str, Any]:
        """The options of the build and of the skinning run."""
        return {**self._store.header["plan"], **self._store.header["skinning"]}

    @property
    def path(self) -> Path | None:
        """The file; None: in memory."""
        return self._store.path

    # --- frames ----------------------------------------------------------------------------------------------------------------------

    @property
    def times(self) -> Floats:
        """Times of the frames that are there, s."""
        return self._times[: self._store.count()]

    @property
    def complete(self) -> bool:
        """Whether all frames are there."""
        return self._store.count() == len(self._store)

    def frame(self, k: int) -> Floats:
        """Return the positions (n, 3) of the coarse nodes at frame k, m, read-only. Raises ValueError if it is not there."""
        return self._store.read(_checks.integer("k", k, at_least=0, below=len(self._store)), "positions")

    def skin_frame(self, k: int) -> Floats:
        """Return the positions of the skin at frame k, m, read-only. Raises ValueError if it is not there."""
        return self._store.read(_checks.integer("k", k, at_least=0, below=len(self._store)), "skin")

    def at(self, t: float, level: int = -1, out: Floats | None = None) -> Floats:
        """Return the positions of the nodes at a time (s), m, on a level of subdivision (-1: the finest).

        Raises:
            TypeError, ValueError: a time outside of the animation, no such level, an `out` of another shape.
        """
        return self.moving().positions(t, level, out)

    def velocities(self, t: float, dt: float, level: int = -1, out: Floats | None = None) -> Floats:
        """Return the mean velocities of the nodes over [t, t + dt] (s), m/s: times dt, they are the displacement. Errors as for `at`."""
        return self.moving().velocities(t, dt, level, out)

    def disabled(self, t: float) -> Bools:
        """Return which coarse elements (m,) are disabled at a time (s): those inverted or collapsed at the frame before or after it."""
        return self.moving().disabled(t)

    def skin_at(self, t: float) -> Floats:
        """Return the positions of the skin at a time (s), m; it rests before the first and after the last frame."""
        times = self.times
        out: Floats = np.empty_like(self.skin.vertices)
        motion = StoredMotion(self._store, "skin", times)
        motion.coarse_positions(min(max(_checks.number("t", t), motion.start), motion.end), out)
        return out

    @cached_property
    def solid(self) -> DeformingSolid:
        """The creature as a solid for fluid solvers, in step with the mesh."""
        return DeformingSolid(self.skin_at, self.skin.triangles)

    def moving(self, level: int = -1) -> MovingTetMesh:
        """Return the moving mesh with the levels up to one (-1: all), as solvers take it.

        Raises TypeError or ValueError for another level.
        """
        wanted = self.subdivisions if level == -1 else _checks.integer("level", level, at_least=0, below=self.subdivisions + 1)
        times = self.times
        known = self._moving.get(wanted)
        if known is None or known.end < times[-1]:
            motion = StoredMotion(self._store, "positions", times)
            known = self._moving[wanted] = MovingTetMesh(self.rest, motion, levels=wanted, disabled=StoredFlags(self._store, times))
        return known

    def embed(self, points: npt.ArrayLike) -> Embedding:
        """Return points (k, 3) at rest, m, as points that hang on the coarse nodes, with fixed weights.

        Raises:
            TypeError, ValueError: no points; one that is in no element, naming the first.
        """
        x = np.ascontiguousarray(points, np.float64)
        _checks.points("points", x, np.dtype(np.float64), 3)
        found = TetLocator(self.rest, ranks=self.layers).locate(x)
        if (found.tets < 0).any():
            raise ValueError(f"points must lie in the mesh, but [{int(np.argmax(found.tets < 0))}] does not")
        return Embedding(np.ascontiguousarray(self.rest.tets[found.tets]), found.barycentric, len(self.rest.vertices))

    def degenerate(self) -> list[Degenerate]:
        """Return the disabled elements of all frames, with layer and cause."""
        found = []
        for k in range(len(self.times)):
            flags = self._store.read(k, "flags")
            found += [
                Degenerate(k, int(e), int(self.layers[e]), Cause(int(flags[e])).name.replace("_", " ")) for e in np.flatnonzero(flags)
            ]
        return found

    def report(self) -> KDSMReport:
        """Return how the mesh follows the creature."""
        count = len(self.times)
        rows = np.array([self._store.read(k, "measures") for k in range(count)])
        mean, largest = rows[:, 0] / self.cell_size, rows[:, 1] / self.cell_size
        fine = 2.0**self.subdivisions
        disabled = np.array([np.count_nonzero(self._store.read(k, "flags")) for k in range(count)])
        return KDSMReport(self.times.copy(), mean, largest, fine * mean, fine * largest, rows[:, 2], disabled, rows[:, 3] > 0)

    def __reduce__(self) -> tuple[Any, ...]:
        """A KDSM is pickled as its store."""
        return KDSM, (self._store,)

    def __repr__(self) -> str:
        """One line."""
        state = "" if self.complete else f" of {len(self._store)}"
        return (
            f"<KDSM: {len(self.rest.tets)} tetrahedra around {len(self.skin.triangles)} triangles, {self.subdivisions} subdivisions, "
            f"{len(self.times)}{state} frames>"
        )
