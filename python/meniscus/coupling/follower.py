"""A mesh of air that follows a creature from frame to frame: morph of the inside, skinning run, repair and report."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision import CollisionMesh
from meniscus.coupling.degenerate_elements import causes_of, repaired
from meniscus.coupling.in_between import in_between
from meniscus.coupling.interior_morph import InteriorMorph
from meniscus.coupling.kdsm_parts import Parts, Plan
from meniscus.coupling.skinning import Skinning, SkinningRun
from meniscus.numerics.solve import ConvergenceError

Floats = npt.NDArray[np.float64]

MEASURES = ("mean gap", "largest gap", "drift", "converged")
_POSE = 1.0 / 24.0  # s between the poses from rest to the first frame
_FARTHEST_CELLS = 2.0  # cells: motion of the skin in a step
_FARTHEST = 1.5  # edges: relative motion of two ends in one frame; a turn by 97 degrees


@dataclass(frozen=True, eq=False)
class FollowedFrame:
    """The mesh at a frame.

    Attributes:
        positions: (n, 3) of the nodes, m.
        velocities: (n, 3) of the nodes in the run, m/s; 0 in quasi-static mode.
        memory: what forces remember.
        skin: (k, 3), m.
        flags: (m,) causes of disabled elements, 0 for the others.
        measures: (4,): see `MEASURES`; gaps and drift in m.
    """

    positions: Floats
    velocities: Floats
    memory: Floats
    skin: Floats
    flags: npt.NDArray[np.uint8]
    measures: Floats

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return all by name."""
        return dict(vars(self))


class Follower:
    """The state between frames, and how it goes on.

    Args:
        parts: mesh, creature and bindings.
        morph: of the inside.
        plan, skinning: options.
    """

    def __init__(self, parts: Parts, morph: InteriorMorph, plan: Plan, skinning: Skinning) -> None:
        self.parts, self.plan, self.skinning = parts, plan, skinning
        self._morph = morph
        self._lock = threading.Lock()
        self.run = SkinningRun(parts.mesh, parts.skin, parts.given, parts.distance >= 0, parts.bindings, skinning)
        self._is_given = np.zeros(len(parts.mesh.vertices), bool)
        self._is_given[parts.given] = True
        self._edges = parts.mesh.edges[self._is_given[parts.mesh.edges].all(axis=1)]
        self._lengths = np.linalg.norm(parts.mesh.vertices[self._edges[:, 0]] - parts.mesh.vertices[self._edges[:, 1]], axis=1)
        self._collision = CollisionMesh(None, parts.skin.triangles)
        self.at_frame = -1
        """The frame that the run is at; -1: none."""
        self._skin: Floats = parts.skin.vertices
        self._given: Floats = parts.mesh.vertices[parts.given]

    @property
    def keeps_history(self) -> bool:
        """Whether going on needs the skins of all frames before."""
        return self._morph.keeps_history

    def copy(self) -> Follower:
        """Return one in the rest pose, for another thread."""
        other = Follower(self.parts, self._morph.copy(), self.plan, self.skinning)
        other._lock = self._lock
        return other

    def first(self, skin: Floats) -> FollowedFrame:
        """Go from rest to the first frame, by an animation of its own if that is another pose."""
        if self.skinning.mode == "quasi-static":
            return self.alone(0, skin)
        poses = self._poses(skin)
        self._given = self._morph.positions(self._skin)
        clock = -len(poses) * _POSE
        for pose in poses:
            self._advance(0, (clock, clock + _POSE), pose)
            clock += _POSE
        return self._finish(0, skin, True)

    def next(self, k: int, times: tuple[float, float], skin: Floats) -> FollowedFrame:
        """Go to frame k. Raises ValueError or ConvergenceError that names it."""
        if self.skinning.mode == "quasi-static":
            return self.alone(k, skin)
        self._advance(k, times, skin)
        return self._finish(k, skin, True)

    def alone(self, k: int, skin: Floats) -> FollowedFrame:
        """Return the mesh at rest around frame k, whatever came before."""
        given = self._morph.positions(skin)
        with _Naming(k):
            converged = self.run.come_to_rest(given, skin)
        return self._finish(k, skin, converged)

    def go_on(self, k: int, skins: list[Floats], positions: Floats, velocities: Floats, memory: Floats) -> None:
        """Continue from frame k, which was stored; `skins` are those of all frames up to it if the morph `keeps_history`, or its own."""
        self.take_up(k, skins)
        self.run.go_on(positions, velocities, memory)

    def take_up(self, k: int, skins: list[Floats]) -> None:
        """Continue from frame k, whose body has been restored; see `go_on`."""
        before = [self.parts.skin.vertices, *self._poses(skins[0]), *skins] if self.keeps_history else skins[-1:]
        for pose in before:
            self._given = self._morph.positions(pose)
        self._skin, self.at_frame = skins[-1], k

    def _advance(self, k: int, times: tuple[float, float], skin: Floats) -> None:
        self._require_slow(k, times[1] - times[0], skin)
        given = self._morph.positions(skin)
        self._require_close(k, self._given, given)
        with _Naming(k):
            self.run.advance(times, (self._given, given), (self._skin, skin))
        self._skin, self._given = skin, given

    def _poses(self, first: Floats) -> list[Floats]:
        """Return the poses between rest and the first frame, and those of the hold."""
        rest = self.parts.skin.vertices
        if np.abs(rest - first).max() <= 1e-9 * np.ptp(rest, axis=0).max():
            return []
        return in_between(rest, first, max(1, round(self.plan.following.in_between / _POSE))) + [first] * round(
            self.plan.following.hold / _POSE
        )

    def _finish(self, k: int, skin: Floats, converged: bool) -> FollowedFrame:
        """Repair and edit a frame, and measure how it follows."""
        self.at_frame = k
        mesh = self.parts.mesh
        x, bad = self._repaired(skin)
        if self.plan.following.edit is not None:
            with self._lock:  # a function of the user is called by one thread at a time
                edited = self.plan.following.edit(k, np.array(x))
            if edited is not None:
                x = np.ascontiguousarray(_checks.incoming("what edit returns", edited, np.dtype(np.float64), x.shape))
                _checks.require_finite("what edit returns", x)
                bad = mesh.degenerate(x)
        self.run.body.positions = x
        gaps = self.parts.bindings.gaps(x, skin)
        measures = np.array([gaps.mean() if len(gaps) else 0.0, gaps.max(initial=0.0), self._morph.drift, float(converged)])
        flags = causes_of(mesh, bad, self._is_given, x, self._collision, skin)
        memory = self.run.memory() if self.skinning.mode == "dynamic" else np.empty(0)
        return FollowedFrame(x, np.array(self.run.body.velocities), memory, np.array(skin), flags, measures)

    def _repaired(self, skin: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return the positions with fewer degenerate elements, and no node of the air in the creature, and which are left."""
        mesh, body = self.parts.mesh, self.run.body
        x = np.array(body.positions)
        bad = mesh.degenerate(x)
        if not bad.any() or self.plan.following.repair == 0:
            return x, bad
        body.positions, _ = repaired(mesh, x, ~self._is_given, self.plan.following.repair)
        self.run.push_out(skin, np.zeros_like(skin))
        self.run.keep_apart(x)
        mended = np.array(body.positions)
        left = mesh.degenerate(mended)
        return (mended, left) if left.sum() < bad.sum() else (x, bad)

    def _require_slow(self, k: int, seconds: float, skin: Floats) -> None:
        """Refuse motion of the skin by more than some cells in a step, which no element can follow."""
        motion = np.linalg.norm(skin - self._skin, axis=1) / (self.run.substeps(seconds) * self.plan.cell_size)
        worst = int(np.argmax(motion))
        if motion[worst] > _FARTHEST_CELLS:
            bound = np.flatnonzero(self.parts.bindings.vertices == worst)
            where = f"vertex {worst} of the surface"
            if len(bound):
                element = np.flatnonzero((self.parts.mesh.tets == self.parts.bindings.parents[bound[0]]).all(axis=1))
                where += f", in element {int(element[0])},"
            raise ValueError(
                f"frame {k} of the animation moves farther than the mesh can follow: {where} moves by {motion[worst]:.1f} cells in a step "
                f"(at most {_FARTHEST_CELLS:g}); give more frames per second or more substeps"
            )

    def _require_close(self, k: int, before: Floats, after: Floats) -> None:
        """Refuse motion in one frame that turns or stretches the inside by more than its elements can follow in a straight line."""
        if not len(self._edges):
            return
        motion = np.zeros((len(self._is_given), 3))
        motion[self.parts.given] = after - before
        relative = np.linalg.norm(motion[self._edges[:, 0]] - motion[self._edges[:, 1]], axis=1) / self._lengths
        worst = int(np.argmax(relative))
        if not relative[worst] <= _FARTHEST:
            tets = self.parts.mesh.tets
            element = int(np.flatnonzero(np.isin(tets, self._edges[worst]).sum(axis=1) == 2)[0])
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
