"""Base of all forces of deformable bodies, and checks of their arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus._options import CoreOption
from meniscus.mesh import QuadraticTetMesh, SimplexMesh, TriangleMesh
from meniscus.mesh.arrays import float_rows, index_rows

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Tangent = Literal["exact", "definite", "frozen"]
FLOAT64 = np.dtype(np.float64)

TANGENT = CoreOption(Tangent, _solids.Tangent)


@contextmanager
def unchanged(memory: Iterable[Floats]) -> Iterator[None]:
    """Bring back what forces remember at the end: questions change no state."""
    saved = [(m, m.copy()) for m in memory if m.size]
    try:
        yield
    finally:
        for now, before in saved:
            now[...] = before


FORCES: dict[str, type[Force]] = {}
"""The kinds of forces of the package, by name: each registers itself when it is defined."""


class Force:
    """A force between the nodes of a body: f(x, v) = elastic(x) + D(x) v. It is added to bodies, and can be evaluated alone at any
    positions.

    Positions, velocities and displacements are (n, 3) float64 C-contiguous arrays with n >= `nodes`; results have the same shape. Unless
    stated otherwise, the methods raise TypeError or ValueError for wrong dtype, shape or memory order and values that are not finite.
    Results have the same bits on any number of threads.
    """

    _core: Any
    _made_of: tuple[Any, ...]

    def __init_subclass__(cls, **arguments: Any) -> None:
        """Register a kind of force of the package."""
        super().__init_subclass__(**arguments)
        if cls.__module__.startswith("meniscus.") and not cls.__name__.startswith("_"):
            FORCES[cls.__name__] = cls

    def _make(self, kind: Any, *arguments: Any) -> None:
        """Make the compiled force from its arguments, and store copies of these for pickles."""
        self._core = kind(*arguments)
        self._made_of = tuple(a.copy() if isinstance(a, np.ndarray) else a for a in arguments)

    def _changes(self) -> Any:
        """Return the state that the user may have changed since the force was made, for `_restore`."""

    def _restore(self, changes: Any) -> None:
        """Restore the result of `_changes`."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the arguments of the force and the changes since; functions of time must be picklable. Copies are pickles."""
        parts = {n: v.copy() if isinstance(v, np.ndarray) else v for n, v in self.__dict__.items() if n != "_core"}
        return _rebuild, (type(self), type(self._core), parts, self._changes(), self.memory.copy())

    def __repr__(self) -> str:
        """One line: kind, elements, nodes, memory."""
        arrays = (*getattr(self, "_made_of", ()), getattr(self, "_elements", None))
        rows = next((f"{len(a)} elements, " for a in arrays if isinstance(a, np.ndarray) and a.dtype == np.int32), "")
        return f"<{type(self).__name__}: {rows}nodes below {self.nodes}, {self.nbytes / 1e6:.3g} MB>"

    @property
    def core(self) -> _solids.Force:
        """The compiled force, for `DeformableBody.add`."""
        return self._core  # type: ignore[no-any-return]

    @property
    def nodes(self) -> int:
        """One more than the highest node that the force acts on."""
        return int(self._core.nodes)

    @property
    def memory(self) -> Floats:
        """Memory of the force from step to step (k,): a writable view; state of the body that it acts on. Empty for most forces.

        A class of forces written in Python that remembers numbers of its own returns an array of its own here, always the same one:
        failed steps, snapshots, checkpoints and copies of bodies then include it.
        """
        return self._core.memory  # type: ignore[no-any-return]

    @property
    def conservative(self) -> bool:
        """Whether the elastic forces are minus the derivative of `energy`; the safeguard of steps counts the work of others."""
        return bool(self._core.conservative)

    @property
    def nbytes(self) -> int:
        """Memory of the compiled force, bytes, without the copies of its arguments for pickles."""
        return int(self._core.nbytes)

    def prepare(self, x: Floats, v: Floats, time: float) -> None:
        """Update values that change from step to step, such as the wind at positions `x` (m), velocities `v` (m/s) and a `time` (s).

        Bodies call it before every step. Most forces need nothing.
        """

    def energy(self, x: Floats) -> float:
        """Return the elastic energy at positions `x` (m), J; 0 for forces that have none."""
        return float(self._core.energy(_nodes("x", x)))

    def forces(self, x: Floats, out: Floats | None = None) -> Floats:
        """Return the elastic forces (n, 3) at positions `x` (m), N; with `out`, add them to that array and return it."""
        x = _nodes("x", x)
        f = np.zeros_like(x) if out is None else _nodes("out", out, writable=True)
        self._core.add_forces(x, f)
        return f

    def differentials(self, x: Floats, dx: Floats, tangent: Tangent = "exact") -> Floats:
        """Return the change (n, 3) of the elastic forces at positions `x` under a small displacement `dx` (m), N.

        Args:
            x: (n, 3), m.
            dx: (n, 3), m.
            tangent: "exact" is the derivative of the forces; "definite" leaves out its indefinite part; "frozen" keeps directions, weights
                and rotations as they are (Selle 2008, section 5.5).

        Raises:
            TypeError, ValueError: see the class; `tangent` is none of the choices.
        """
        x, dx = _nodes("x", x), _nodes("dx", dx)
        f = np.zeros_like(dx)
        with unchanged([self.memory]):
            self._core.linearise(x, TANGENT("tangent", tangent))
            self._core.add_differentials(dx, 1.0, f)
        return f

    def damping_forces(self, x: Floats, v: Floats) -> Floats:
        """Return the damping forces D(x) v (n, 3) at positions `x` (m) and velocities `v` (m/s), N."""
        x, v = _nodes("x", x), _nodes("v", v)
        f = np.zeros_like(v)
        with unchanged([self.memory]):
            self._core.linearise(x, _solids.Tangent.exact)
            self._core.add_damping(v, 1.0, f)
        return f

    def diagonal(self, x: Floats, stiffness_scale: float = 1.0, damping_scale: float = 0.0, tangent: Tangent = "exact") -> Floats:
        """Return the diagonal blocks (n, 3, 3) of `stiffness_scale` times the derivative of the forces plus `damping_scale` times D."""
        x = _nodes("x", x)
        blocks = np.zeros((len(x), 3, 3))
        scales = _checks.number("stiffness_scale", stiffness_scale), _checks.number("damping_scale", damping_scale)
        with unchanged([self.memory]):
            self._core.linearise(x, TANGENT("tangent", tangent))
            self._core.add_diagonal(*scales, blocks)
        return blocks

    def stiffness_bounds(self, x: Floats) -> Floats:
        """Return per node (n,) a bound of the change of its forces per displacement, N/m.

        All frequencies w of the force with the masses of the nodes fulfil w^2 <= 2 max(bound / mass).
        """
        x = _nodes("x", x)
        bounds = np.zeros(len(x))
        self._core.add_stiffness_bounds(x, bounds)
        return bounds

    def damping_bounds(self, x: Floats) -> Floats:
        """Return per node (n,) a bound of the change of its damping forces per velocity, N s/m.

        All rates of damping c of the force with the masses of the nodes fulfil c <= 2 max(bound / mass).
        """
        x = _nodes("x", x)
        bounds = np.zeros(len(x))
        self._core.add_damping_bounds(x, bounds)
        return bounds

    def damping_ratios(self, x: Floats) -> tuple[float, float]:
        """Return bounds (s) of the ratio of the damping to the stiffness (the definite tangent) at positions `x` (m).

        They are equal where damping is in proportion to the stiffness; (0, inf) says nothing, and (inf, 0) is that of a force with neither.
        """
        least, most = self._core.damping_ratios(_nodes("x", x))
        return float(least), float(most)

    def strain_rate(self, x: Floats, v: Floats) -> float:
        """Return the fastest relative change of a length within the force at positions `x` (m) and velocities `v` (m/s), 1/s."""
        return float(self._core.strain_rate(_nodes("x", x), _nodes("v", v)))


def _rebuild(kind: Any, core: Any, parts: dict[str, Any], changes: Any, memory: Floats) -> Any:
    """Make a force from its pickle."""
    force = kind.__new__(kind)
    force.__dict__.update(parts)
    force._core = core(*force._made_of)
    force._restore(changes)
    force.memory[...] = memory
    return force


def _nodes(name: str, value: Floats, *, writable: bool = False) -> Any:
    return _checks.points(name, value, FLOAT64, 3, writable=writable)


def of_mesh(name: str, mesh: Any, attribute: str, corners: int) -> Ints:
    """Take node numbers from an attribute of a mesh, or an array of them."""
    if isinstance(mesh, (SimplexMesh, QuadraticTetMesh)) and not hasattr(mesh, attribute):
        raise TypeError(f"{name} must have {attribute}, which a {type(mesh).__name__} does not have")
    return index_rows(name, getattr(mesh, attribute, mesh), corners)


def hinges_of(mesh: object) -> Ints:
    """Take the hinges (m, 4) of a mesh, or an array of them. Raises ValueError that names the triangles of one that is a triangle twice."""
    hinges = of_mesh("mesh", mesh, "hinges", 4)
    twice = hinges[:, 2] == hinges[:, 3]
    if twice.any():
        row = int(np.argmax(twice))
        if not isinstance(mesh, TriangleMesh):
            raise ValueError(f"hinge {row} has the node {hinges[row, 2]} twice: its triangles are the same")
        corners = np.sort(hinges[row, :3])
        said = ", ".join(map(str, corners.tolist()))
        first, second = np.flatnonzero((np.sort(mesh.triangles, axis=1) == corners).all(axis=1))[:2]
        raise ValueError(f"triangles {first} and {second} of mesh have the same corners, {said}; mesh.repair leaves one of them")
    return hinges


def rest_positions(mesh: Any, positions: Floats | None, ids: Ints) -> Floats:
    """Take rest positions from the caller or from the mesh; every node in `ids` must have one."""
    if positions is None:
        positions = getattr(mesh, "vertices", None)
        if positions is None:
            raise ValueError("rest positions must be given together with an array of node numbers")
    x = float_rows("rest_positions", positions, 3)
    _checks.require_finite("rest_positions", x)
    if ids.size and (ids.min() < 0 or ids.max() >= len(x)):
        bad = np.argwhere((ids < 0) | (ids >= len(x)))[0]
        raise ValueError(f"nodes must be below the {len(x)} rest positions, but [{bad[0]}, {bad[1]}] is {ids[tuple(bad)]}")
    return x


def per_element(name: str, value: npt.ArrayLike, count: int, *, least: float = 0.0, strictly: bool = False) -> Floats:
    """Turn a number, or one per element, into an array of `count` finite values that are at least `least`."""
    array = np.asarray(value)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"{name} must be a number or an array of numbers, not of dtype {array.dtype}")
    if array.shape not in ((), (count,)):
        raise ValueError(f"{name} must be a number or have shape ({count},), not {array.shape}")
    result = np.ascontiguousarray(np.broadcast_to(array, (count,)), np.float64)
    bad = ~np.isfinite(result) | (result <= least if strictly else result < least)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(f"{name} must be finite and {'above' if strictly else 'at least'} {least:g}, but [{i}] is {result[i]:g}")
    return result


def node_masses(masses: npt.ArrayLike, count: int) -> Floats:
    """Turn a mass, or one per node, into an array; masses are positive, and infinite for nodes that no force moves."""
    array = np.asarray(masses)
    if array.dtype.kind not in "iuf":
        raise TypeError(f"masses must be a number or an array of numbers, not of dtype {array.dtype}")
    if array.ndim > 1 or (array.ndim == 1 and len(array) < count):
        raise ValueError(f"masses must be a number or one number for each of the {count} nodes, not of shape {array.shape}")
    result = np.array(np.broadcast_to(array, (count,)) if array.ndim == 0 else array, np.float64)
    bad = ~(result > 0)
    if bad.any():
        i = int(np.argmax(bad))
        raise ValueError(f"masses must be positive, but [{i}] is {result[i]:g}")
    return result
