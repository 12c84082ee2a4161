"""Tetrahedral meshes whose vertices move in a prescribed way, with finer levels that move along."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._checks import Bools
from meniscus._meniscus import collision as _collision
from meniscus.core import Workspace
from meniscus.mesh.refinement.subdivision import SubdivisionHierarchy
from meniscus.mesh.simplices import FLOAT64, INT32, Floats, Ints, check_out
from meniscus.mesh.tet_locations import TetLocations
from meniscus.mesh.tet_mesh import TetMesh
from meniscus.mesh.vertex_motion import FrameFlags, FrameMotion, FunctionMotion, VertexMotion, require_finite_positions, vertex_motion

Flags = Callable[[float], Bools]


class MovingTetMesh:
    """A tetrahedral mesh of constant topology in prescribed motion, and finer levels that follow it.

    A fluid or hair on a moving mesh needs no more than this: positions at a time, the displacement over a step and the velocity that goes
    with it, which elements are enabled, and the elements that hold given points. Level 0 is the mesh given; each level cuts the tetrahedra
    of the one before in eight, see `SubdivisionHierarchy`. Only coarse positions are held; fine ones are formed when they are asked for.

    The mesh does not change, and copies share it.

    Args:
        rest: level 0 at rest.
        motion: positions of level 0, m: frames (f, n, 3) of numbers, copied unless nobody can write to them, between which
            vertices move linearly; or a function of the time that returns positions (n, 3); or a `VertexMotion`, which need not hold
            all frames in memory.
        times: of frames: their times (f,), increasing, s. Of a function: its start and end; without, it holds at all times.
        levels: number of refinements.
        disabled: tetrahedra of level 0 that hold nothing, as their children: a function of the time that returns (m,) bool, or an array
            (f, m) bool with frames. Between two frames those of either are disabled, at the time of a frame those of this frame.

    Raises:
        TypeError, ValueError: wrong types or shapes, times that do not increase, positions that are not finite, more levels than can be
            numbered.

    Source: Lee 2018, sections 2.3.1, 3.3.1 and 3.6.
    """

    def __init__(
        self,
        rest: TetMesh,
        motion: npt.ArrayLike | Callable[[float], npt.ArrayLike] | VertexMotion,
        times: npt.ArrayLike | None = None,
        *,
        levels: int = 0,
        disabled: npt.NDArray[np.bool_] | Flags | None = None,
    ) -> None:
        _checks.one_of_type("rest", rest, TetMesh)
        self._motion = vertex_motion(motion, times, len(rest.vertices))
        self._flags = self._flags_of(disabled, len(rest.tets))
        self._hierarchy = SubdivisionHierarchy(rest, levels)
        # A time, the locator there, and what it was made of.
        self._placed: tuple[float, Any, Floats, Bools | None] | None = None

    def _flags_of(self, disabled: Any, tets: int) -> Flags | None:
        if disabled is None:
            return None
        if callable(disabled):
            function: Flags = disabled
            return function
        if not isinstance(self._motion, FrameMotion):
            raise TypeError("disabled must be a function of the time, since the motion is not made of frames")
        return FrameFlags(disabled, self._motion.times, tets)

    # --- topology -------------------------------------------------------------------------------------------------------------------

    @property
    def rest(self) -> TetMesh:
        """Level 0 at rest."""
        return self._hierarchy.mesh(0)

    @property
    def hierarchy(self) -> SubdivisionHierarchy[TetMesh]:
        """The levels at rest."""
        return self._hierarchy

    @property
    def levels(self) -> int:
        """The finest level."""
        return self._hierarchy.levels

    def tets(self, level: int = -1) -> Ints:
        """Return the tetrahedra (m, 4) of a level, a read-only view; -1 is the finest one.

        Tetrahedron e of level 0 has the descendants 8^k e to 8^k (e + 1) - 1 on level k.
        """
        return self._hierarchy.elements(self._level(level))

    def vertex_count(self, level: int = -1) -> int:
        """Return the number of vertices of a level."""
        return self._hierarchy.vertex_count(self._level(level))

    def tet_count(self, level: int = -1) -> int:
        """Return the number of tetrahedra of a level."""
        return len(self.rest.tets) << (3 * self._level(level))

    # --- motion ---------------------------------------------------------------------------------------------------------------------

    @property
    def start(self) -> float:
        """First time of the motion, s; -inf if there is none."""
        return self._motion.start

    @property
    def end(self) -> float:
        """Last time of the motion, s; inf if there is none."""
        return self._motion.end

    @property
    def duration(self) -> float:
        """Time from start to end, s."""
        return self.end - self.start

    def positions(self, t: float, level: int = -1, out: Floats | None = None) -> Floats:
        """Return the positions (n, 3) of the vertices of a level, m.

        Args:
            t: time, s.
            level: which; -1 is the finest one.
            out: (vertex_count(level), 3) float64, C-contiguous, to write to; a new array by default.

        Raises:
            TypeError, ValueError: a time outside of the motion, no such level, a wrong `out`, positions that are not finite.
        """
        i = self._level(level)
        time = self._time("t", t)
        result = self._result(i, out)
        n = len(self.rest.vertices)
        self._coarse(time, result[:n])
        return self._hierarchy.positions(result[:n], i, result)

    def displacements(
        self, t: float, dt: float, level: int = -1, out: Floats | None = None, *, workspace: Workspace | None = None
    ) -> Floats:
        """Return the displacements (n, 3) of the vertices of a level from t to t + dt, m: the difference of their positions, bit by bit.

        Args:
            t: begin of the step, s.
            dt: its length, positive, s. Frames may lie within the step.
            level: which; -1 is the finest one.
            out: (vertex_count(level), 3) float64, C-contiguous, to write to; a new array by default.
            workspace: scratch memory for positions of level - 1; by default new.

        Raises:
            TypeError, ValueError: see `positions`; a step that is not positive.
        """
        return self._moved(t, dt, level, out, workspace, velocities=False)

    def velocities(self, t: float, dt: float, level: int = -1, out: Floats | None = None, *, workspace: Workspace | None = None) -> Floats:
        """Return the velocities (n, 3) that take the vertices of a level from t to t + dt, m/s: `displacements` times 1 / dt."""
        return self._moved(t, dt, level, out, workspace, velocities=True)

    def _moved(self, t: float, dt: float, level: int, out: Floats | None, workspace: Workspace | None, *, velocities: bool) -> Floats:
        i = self._level(level)
        time, step = self._time("t", t), _checks.positive("dt", dt)
        later = self._time("t + dt", time + step)
        result = self._result(i, out)
        ends: Floats = np.empty((2, len(self.rest.vertices), 3))
        self._coarse(time, ends[0])
        self._coarse(later, ends[1])
        return self._hierarchy.displacements(ends[0], ends[1], i, result, dt=step if velocities else 1.0, workspace=workspace)

    # --- elements -------------------------------------------------------------------------------------------------------------------

    def disabled(self, t: float) -> Bools:
        """Return which tetrahedra (m,) of level 0 hold nothing at t. Their descendants hold nothing either.

        Raises:
            TypeError, ValueError: a time outside of the motion, a function that returns something else.
        """
        time = self._time("t", t)
        m = len(self.rest.tets)
        if self._flags is None:
            return np.zeros(m, bool)
        return _checks.mask("disabled", self._flags(time), (m,))

    def enabled(self, t: float, level: int = -1) -> Bools:
        """Return which tetrahedra (m,) of a level can hold something at t; -1 is the finest level.

        Raises:
            TypeError, ValueError: see `disabled`; no such level.
        """
        return np.repeat(~self.disabled(t), 8 ** self._level(level))

    def locate(
        self, points: Floats, t: float, hints: Ints | None = None, level: int = -1, *, out: TetLocations | None = None
    ) -> TetLocations:
        """Return the tetrahedra of a level that contain points at t, and their barycentric coordinates.

        Of several closed tetrahedra that contain a point, it belongs to the one with the lowest number; so points on faces, edges and
        vertices belong to exactly one. A point with a hint is searched by a walk from there, and what that finds stands: where a mesh
        overlaps itself, the point stays on the sheet of its hint. Disabled tetrahedra and those without volume contain nothing, inverted
        ones the points between their corners.

        The answer is exact, and without hints that of `collision.TetLocator` on the `positions` of the level.

        Args:
            points: (k, 3) float64, C-contiguous, m.
            t: time, s. What a time needs is kept until another one is asked for.
            hints: (k,) int32, for each point a tetrahedron of this level close to it, or -1.
            level: which; -1 is the finest one.
            out: an earlier result for as many points to write to; by default new arrays.

        Raises:
            TypeError, ValueError: see `positions`; wrong dtype, shape or memory order, points that are not finite, hints out of range.

        Source: Lee 2018, section 3.3.1; Devillers, Pion and Teillaud, "Walking in a triangulation", 2002.
        """
        i = self._level(level)
        x = _checks.points("points", points, FLOAT64, 3)
        if hints is not None and (not isinstance(hints, np.ndarray) or hints.dtype != INT32 or not hints.flags.c_contiguous):
            raise TypeError("hints must be a C-contiguous NumPy array of dtype int32")
        if hints is not None and hints.shape != (len(x),):
            raise ValueError(f"hints must have shape ({len(x)},), not {hints.shape}")
        if out is None:
            found = TetLocations(np.empty(len(x), np.int32), np.empty((len(x), 4)))
        else:
            _checks.one_of_type("out", out, TetLocations)
            found = TetLocations(
                check_out("out.tets", out.tets, (len(x),), INT32), check_out("out.barycentric", out.barycentric, (len(x), 4))
            )
        self._locator_at(self._time("t", t)).locate(x, hints, i, *found)
        return found

    def _locator_at(self, t: float) -> Any:
        placed = self._placed
        if placed is not None and placed[0] == t:
            return placed[1]
        x: Floats = np.empty_like(self.rest.vertices)
        self._coarse(t, x)
        off = None if self._flags is None else self.disabled(t)
        if placed is not None and np.array_equal(placed[2], x) and _same(placed[3], off):
            moved = placed[1]
        else:
            if placed is None:
                placed = (np.nan, _collision.SubdivisionLocator(self._hierarchy._core, self.rest.vertices), x, off)
            moved = placed[1].moved(x, off)
        self._placed = (t, moved, x, off)
        return moved

    # --- what is shared inside ------------------------------------------------------------------------------------------------------

    def _level(self, level: int) -> int:
        i = _checks.integer("level", level, at_least=-1, below=self.levels + 1)
        return self.levels if i < 0 else i

    def _time(self, name: str, t: float) -> float:
        """Return a time of the motion; what lies beyond by less than the round-off of added steps counts as its start or end."""
        time = _checks.number(name, t)
        start, end = self.start, self.end
        slack = 1e-12 * max(abs(x) for x in (start, end, end - start) if np.isfinite(x)) if np.isfinite([start, end]).any() else 0.0
        if time < start - slack or time > end + slack:
            raise ValueError(f"{name} must lie in the motion from {start:g} s to {end:g} s, but is {time:g} s")
        return min(max(time, start), end)

    def _coarse(self, t: float, out: Floats) -> None:
        self._motion.coarse_positions(t, out)
        require_finite_positions(out, t)

    def _result(self, level: int, out: Floats | None) -> Floats:
        shape = (self._hierarchy.vertex_count(level), 3)
        result: Floats = np.empty(shape) if out is None else check_out("out", out, shape)
        return result

    @property
    def nbytes(self) -> int:
        """Memory held: rest mesh, topology of all levels, frames and flags in memory, and what point location keeps, bytes."""
        held = self.rest.nbytes + self._hierarchy.nbytes + int(getattr(self._motion, "nbytes", 0))
        if isinstance(self._flags, FrameFlags):
            held += self._flags.flags.nbytes
        if self._placed is not None:
            held += self._placed[1].nbytes + self._placed[1].shared_nbytes
        return held

    def copy(self) -> MovingTetMesh:
        """Return this mesh, which is shared since it does not change."""
        return self

    def __copy__(self) -> MovingTetMesh:
        """Same as `copy`."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> MovingTetMesh:
        """Same as `copy`."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Meshes are pickled as their arguments; functions and motions of your own must be picklable."""
        motion: Any = self._motion
        times: Any = None
        if isinstance(motion, FrameMotion):
            motion, times = np.asarray(motion.frames), np.asarray(motion.times)
        elif isinstance(motion, FunctionMotion):
            times = None if motion.start == -np.inf else (motion.start, motion.end)
            motion = motion.function
        flags = np.asarray(self._flags.flags) if isinstance(self._flags, FrameFlags) else self._flags
        return _rebuild, (self.rest, motion, times, self.levels, flags)

    def __repr__(self) -> str:
        """One line."""
        counts = ", ".join(str(self.tet_count(i)) for i in range(self.levels + 1))
        when = "at all times" if self.start == -np.inf and self.end == np.inf else f"from {self.start:g} to {self.end:g} s"
        return f"<MovingTetMesh: {len(self.rest.vertices)} vertices, {counts} tets, {when}>"


def _same(a: Bools | None, b: Bools | None) -> bool:
    """Return whether two masks, or none at all, are the same."""
    return a is b if a is None or b is None else np.array_equal(a, b)


def _rebuild(rest: TetMesh, motion: Any, times: Any, levels: int, disabled: Any) -> MovingTetMesh:
    """Make a mesh from its pickle."""
    return MovingTetMesh(rest, motion, times, levels=levels, disabled=disabled)
