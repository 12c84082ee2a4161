"""The build of a KDSM: mesh of air, morph of the inside, and the skinning run, frame by frame into a store."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision import CollisionMesh
from meniscus.collision.point_location.tet_locator import TetLocator
from meniscus.core import num_threads
from meniscus.coupling.animation import Animation
from meniscus.coupling.degenerate_elements import causes_of, repaired
from meniscus.coupling.frame_store import FrameStore
from meniscus.coupling.in_between import in_between
from meniscus.coupling.interior_morph import InteriorMorph, MorphStart
from meniscus.coupling.skinning import Bindings, Skinning, SkinningRun
from meniscus.mesh import TetMesh, TriangleMesh, check_watertight
from meniscus.numerics.solve import ConvergenceError
from meniscus.surface import MeshDistance, enclosing_mesh, enclosing_offset

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]
Start = Literal["rest", "first-frame"]
Existing = Literal["continue", "replace", "refuse"]
Edit = Callable[[int, Floats], npt.ArrayLike | None]

SCHEMA = "meniscus kdsm 1"
MEASURES = ("mean gap", "largest gap", "drift", "converged")
_POSE = 1.0 / 24.0  # s between the poses from rest to the first frame
_FARTHEST = 1.5  # edges: relative motion of two ends in one frame; a turn by 97 degrees


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be built; see `KDSM.build`."""

    cell_size: float
    layers: int
    subdivisions: int
    offset: float | None
    depth: float | None
    morph: MorphStart
    start: Start
    in_between: float
    hold: float
    repair: int

    def __post_init__(self) -> None:
        """Check all values."""
        _checks.positive("cell_size", self.cell_size)
        _checks.integer("layers", self.layers, at_least=0)
        _checks.integer("subdivisions", self.subdivisions, at_least=0, below=10)
        for name in ("in_between", "hold"):
            if _checks.number(name, getattr(self, name)) < 0:
                raise ValueError(f"{name} must be at least 0 s, not {getattr(self, name):g}")
        _checks.choice("morph", self.morph, MorphStart)
        _checks.choice("start", self.start, Start)
        _checks.integer("repair", self.repair, at_least=0)


@dataclass(frozen=True, eq=False)
class Parts:
    """What belongs to no frame.

    Attributes:
        mesh: of air, at rest.
        skin: of the creature, at rest.
        given: (k,) nodes that the inside of the creature moves.
        distance: (n,) signed distance of the nodes from the skin at rest, m.
        layers: (m,) of the elements: 0 where a node is inside, otherwise one more than the lowest neighbour's.
        bindings: of the skin.
    """

    mesh: TetMesh
    skin: TriangleMesh
    given: Ints
    distance: Floats
    layers: Ints
    bindings: Bindings

    def arrays(self, times: Floats) -> dict[str, npt.NDArray[Any]]:
        """Return all as arrays for a store."""
        b = self.bindings
        return {
            "vertices": self.mesh.vertices,
            "tets": self.mesh.tets,
            "skin vertices": self.skin.vertices,
            "skin triangles": self.skin.triangles,
            "given": self.given,
            "rest distance": self.distance,
            "layers": self.layers,
            "parents": b.parents,
            "weights": b.weights,
            "corners": b.corners,
            "shares": b.shares,
            "times": times,
        }

    @classmethod
    def of(cls, fixed: dict[str, npt.NDArray[Any]]) -> Parts:
        """Return the parts from the arrays of a store."""
        return cls(
            TetMesh(fixed["vertices"], fixed["tets"]),
            TriangleMesh(fixed["skin vertices"], fixed["skin triangles"]),
            fixed["given"],
            fixed["rest distance"],
            fixed["layers"],
            Bindings(fixed["parents"], fixed["weights"], fixed["corners"], fixed["shares"]),
        )


def check_skin(rest: TriangleMesh) -> None:
    """Refuse a surface that is open or crosses itself. Raises ValueError."""
    report = check_watertight(rest)
    if not report.watertight:
        raise ValueError(f"the surface at rest must be closed, but has {report.faults()}")
    crossings = CollisionMesh(None, rest.triangles).self_intersections(rest.vertices)
    if len(crossings):
        raise ValueError(f"the surface at rest must not cross itself, but does so in {len(crossings)} places, the first at triangle {crossings[0, 1]}")


def make_parts(rest: TriangleMesh, plan: Plan, enclose: Floats, custom: Any, bind: npt.NDArray[Any] | None) -> tuple[Parts, InteriorMorph]:
    """Make the mesh around a surface at rest. Raises ValueError, as `enclosing_mesh` and where a point of the skin has no element."""
    a = plan.cell_size
    offset = plan.layers * a if plan.offset is None else _checks.number("offset", plan.offset)
    if len(enclose) and plan.offset is None:
        offset = max(offset, enclosing_offset(rest, enclose, 0.5 * a))
    points = np.ascontiguousarray(np.concatenate([enclose, rest.vertices[rest.used_vertices]]))
    mesh = enclosing_mesh(rest, points, a, offset=offset, custom=custom, depth=2.0 * a if plan.depth is None else plan.depth)
    distance = MeshDistance(rest).signed_distance(mesh.vertices)
    inside = np.flatnonzero(distance < 0).astype(np.int32)
    morph = InteriorMorph(rest, mesh.vertices[inside], a, plan.morph)
    given = np.ascontiguousarray(inside[morph.covered])
    bound = rest.used_vertices if bind is None else _vertices_of(rest, bind)
    found = TetLocator(mesh).locate(np.ascontiguousarray(rest.vertices[bound]))
    bindings = Bindings(
        np.ascontiguousarray(mesh.tets[found.tets]),
        found.barycentric,
        np.ascontiguousarray(np.repeat(bound.astype(np.int32)[:, None], 3, axis=1)),
        np.ascontiguousarray(np.tile([1.0, 0.0, 0.0], (len(bound), 1))),
    )
    return Parts(mesh, rest, given, distance, _layers(mesh, distance < 0), bindings), morph


def _vertices_of(rest: TriangleMesh, bind: npt.NDArray[Any]) -> npt.NDArray[Any]:
    nodes = np.asarray(bind)
    if nodes.ndim != 1 or nodes.dtype.kind not in "iu":
        raise TypeError(f"bind must hold vertices of the surface, integers (b,), not {nodes.dtype} of shape {nodes.shape}")
    if len(nodes) and not (0 <= nodes.min() and nodes.max() < len(rest.vertices)):
        raise ValueError(f"bind must hold vertices of the surface, 0 to {len(rest.vertices) - 1}, not {nodes.min()} to {nodes.max()}")
    return nodes


def _layers(mesh: TetMesh, inside: Bools) -> Ints:
    """Return the layer of each element: how many elements away from the skin it is, by common nodes."""
    result = np.full(len(mesh.tets), -1, np.int32)
    reached = inside.copy()
    layer = 0
    while (result < 0).any():
        now = (result < 0) & reached[mesh.tets].any(axis=1)
        if not now.any():
            break  # a part without a creature
        result[now] = layer
        reached[mesh.tets[now]] = True
        layer += 1
    return result


class Builder:
    """The run over the frames of an animation, into a store."""

    def __init__(self, store: FrameStore, parts: Parts, animation: Animation, plan: Plan, skinning: Skinning, edit: Edit | None) -> None:
        self._store, self._parts, self._animation = store, parts, animation
        self._plan, self._skinning, self._edit = plan, skinning, edit
        self._given = np.zeros(len(parts.mesh.vertices), bool)
        self._given[parts.given] = True
        self._edges = parts.mesh.edges[self._given[parts.mesh.edges].all(axis=1)]
        self._lengths = np.linalg.norm(parts.mesh.vertices[self._edges[:, 0]] - parts.mesh.vertices[self._edges[:, 1]], axis=1)
        self._skin_mesh = CollisionMesh(None, parts.skin.triangles)

    def run(self, morph: InteriorMorph) -> Iterator[int]:
        """Compute the frames that are missing; yield the number of each when it is stored."""
        if self._skinning.mode == "quasi-static":
            yield from self._at_rest(morph)
        else:
            yield from self._in_time(morph)

    # --- dynamic -------------------------------------------------------------------------------------------------------------------

    def _in_time(self, morph: InteriorMorph) -> Iterator[int]:
        first = self._store.count()
        if first == len(self._animation):
            return
        run = self._new_run()
        if first == 0:
            skin, given = self._begin(run, morph)
            self._store_frame(0, run, skin, morph.drift)
            yield 0
            first = 1
        else:
            before = [*self._poses(self._animation.frame(0)), *(np.array(self._store.read(k, "skin")) for k in range(first))]
            for skin in before if morph.keeps_history else before[-1:]:
                given = morph.positions(skin)
            run.go_on(*(self._store.read(first - 1, name) for name in ("positions", "velocities", "memory")))
        for k in range(first, len(self._animation)):
            next_skin = self._animation.frame(k)
            next_given = morph.positions(next_skin)
            self._require_close(k, given, next_given)
            times = (float(self._animation.times[k - 1]), float(self._animation.times[k]))
            with _Naming(k):
                run.advance(times, (given, next_given), (skin, next_skin))
            skin, given = next_skin, next_given
            self._store_frame(k, run, skin, morph.drift)
            yield k

    def _begin(self, run: SkinningRun, morph: InteriorMorph) -> tuple[Floats, Floats]:
        """Go from rest to the first frame, if it is another pose; return skin and given nodes there."""
        rest, skin = self._parts.skin.vertices, self._animation.frame(0)
        given = morph.positions(rest)
        poses = self._poses(skin)
        clock = -len(poses) * _POSE
        before, pose_before = given, rest
        for pose in poses:
            given = morph.positions(pose)
            with _Naming(0):
                run.advance((clock, clock + _POSE), (before, given), (pose_before, pose))
            before, pose_before, clock = given, pose, clock + _POSE
        return skin, given

    def _poses(self, first: Floats) -> list[Floats]:
        """Return the poses between rest and the first frame, and those of the hold."""
        rest = self._parts.skin.vertices
        if np.abs(rest - first).max() <= 1e-9 * np.ptp(rest, axis=0).max():
            return []
        return in_between(rest, first, max(1, round(self._plan.in_between / _POSE))) + [first] * round(self._plan.hold / _POSE)

    # --- quasi-static --------------------------------------------------------------------------------------------------------------

    def _at_rest(self, morph: InteriorMorph) -> Iterator[int]:
        missing = [k for k in range(len(self._animation)) if not self._store.has(k)]
        local, lock = threading.local(), threading.Lock()

        def solve(k: int) -> tuple[int, Floats, Floats, float, bool]:
            if not hasattr(local, "run"):
                local.run, local.morph = self._new_run(), morph.copy()
            with lock:  # files are read, and a user's function is called, one at a time
                skin = self._animation.frame(k)
            given = local.morph.positions(skin)
            with _Naming(k):
                converged = local.run.come_to_rest(given, skin)
            return k, skin, np.array(local.run.body.positions), local.morph.drift, converged

        with ThreadPoolExecutor(max(1, min(num_threads(), len(missing)))) as pool:
            waiting = {pool.submit(solve, k) for k in missing}
            try:
                for done in as_completed(waiting):
                    k, skin, positions, drift, converged = done.result()
                    self._store_positions(k, positions, np.zeros_like(positions), np.empty(0), skin, drift, converged)
                    yield k
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise

    # --- both ----------------------------------------------------------------------------------------------------------------------

    def _new_run(self) -> SkinningRun:
        p = self._parts
        return SkinningRun(p.mesh, p.skin, p.given, p.distance >= 0, p.bindings, self._skinning)

    def _store_frame(self, k: int, run: SkinningRun, skin: Floats, drift: float) -> None:
        x = self._store_positions(k, np.array(run.body.positions), run.body.velocities, run.memory(), skin, drift, True)
        run.body.positions = x

    def _store_positions(
        self, k: int, x: Floats, velocities: Floats, memory: Floats, skin: Floats, drift: float, converged: bool
    ) -> Floats:
        p = self._parts
        x, bad = repaired(p.mesh, x, ~self._given, self._plan.repair)
        if self._edit is not None:
            edited = self._edit(k, np.array(x))
            if edited is not None:
                x = _checks.incoming("what edit returns", edited, np.dtype(np.float64), x.shape)
                _checks.require_finite("what edit returns", x)
                x = np.ascontiguousarray(x)
                bad = p.mesh.degenerate(x)
        gaps = p.bindings.gaps(x, skin)
        measures = np.array([gaps.mean() if len(gaps) else 0.0, gaps.max(initial=0.0), drift, float(converged)])
        causes = causes_of(p.mesh, bad, self._given, x, self._skin_mesh, skin)
        data = {"positions": x, "velocities": velocities, "memory": memory, "skin": skin, "flags": causes, "measures": measures}
        self._store.write(k, data)
        return x

    def _require_close(self, k: int, before: Floats, after: Floats) -> None:
        """Refuse motion in one frame that turns or stretches the inside by more than its elements can follow in a straight line."""
        if not len(self._edges):
            return
        motion = np.zeros((len(self._given), 3))
        motion[self._parts.given] = after - before
        relative = np.linalg.norm(motion[self._edges[:, 0]] - motion[self._edges[:, 1]], axis=1) / self._lengths
        worst = int(np.argmax(relative))
        if not relative[worst] <= _FARTHEST:
            nodes = self._edges[worst]
            element = int(np.flatnonzero((self._parts.mesh.tets == nodes[0]).any(axis=1) & (self._parts.mesh.tets == nodes[1]).any(axis=1))[0])
            raise ValueError(
                f"frame {k} of the animation moves farther than the mesh can follow: an edge of element {element} turns or stretches by "
                f"{relative[worst]:.2f} of its length (at most {_FARTHEST}); give more frames per second"
            )


class _Naming:
    """Say which frame failed."""

    def __init__(self, frame: int) -> None:
        self._frame = frame

    def __enter__(self) -> None:
        """Nothing."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        """Raise the same error with the frame in its sentence."""
        if isinstance(error, ConvergenceError):
            raise ConvergenceError(f"frame {self._frame}: {error}", error.info) from error
        if isinstance(error, ValueError):
            raise ValueError(f"frame {self._frame}: {error}") from error


def open_store(out: Any, existing: Existing, header: dict[str, Any], parts: Parts, times: Floats, memory: int) -> FrameStore:
    """Return the store of a build: that of a file that holds the same one, with its frames, or a new one.

    Raises:
        ValueError: the file holds something else, or `existing` refuses it.
        OSError: it cannot be written.
    """
    fixed = parts.arrays(times)
    n, m, k = len(parts.mesh.vertices), len(parts.mesh.tets), len(parts.skin.vertices)
    shapes = {
        "positions": ((n, 3), np.float64),
        "velocities": ((n, 3), np.float64),
        "memory": ((memory,), np.float64),
        "skin": ((k, 3), np.float64),
        "flags": ((m,), np.uint8),
        "measures": ((len(MEASURES),), np.float64),
    }
    if out is not None and Path(out).exists() and existing != "replace":
        if existing == "refuse":
            raise ValueError(f"{str(out)!r} is there already")
        old = FrameStore.open(out)
        require_schema(old)
        if old.header["signature"] != header["signature"]:
            raise ValueError(f"{str(out)!r} holds another KDSM: its surface or options differ; existing='replace' replaces it")
        common = min(len(times), len(old))
        if not np.array_equal(old.fixed["times"][:common], times[:common]):
            raise ValueError(f"{str(out)!r} holds a KDSM with other times; existing='replace' replaces it")
        return old if len(old) >= len(times) else old.resized(header, fixed, len(times))
    return FrameStore.create(out, header, fixed, shapes, len(times))


def require_schema(store: FrameStore) -> None:
    """Refuse a file of another kind or version. Raises ValueError."""
    schema = store.header.get("schema")
    if schema != SCHEMA:
        raise ValueError(f"{str(store.path)!r} has the schema {schema!r}, but this meniscus reads {SCHEMA!r}")


def header_of(rest: TriangleMesh, plan: Plan, skinning: Skinning, parts: Parts) -> dict[str, Any]:
    """Return the JSON values of a store: the options, and a checksum of all that a build depends on but the animation."""
    options = {"plan": asdict(plan), "skinning": asdict(skinning)}
    digest = hashlib.blake2b(json.dumps(options, sort_keys=True).encode(), digest_size=16)
    for array in (rest.vertices, rest.triangles, parts.mesh.vertices, parts.mesh.tets, parts.bindings.corners):
        digest.update(np.ascontiguousarray(array).data)
    return {"schema": SCHEMA, "signature": digest.hexdigest(), **options}
