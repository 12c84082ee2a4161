"""Skeletons: bones that turn about joints, and the skin that follows them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus.numerics.axis_angle import rotation_about

Floats = npt.NDArray[np.float64]
Turns = Mapping[str, tuple[Sequence[float] | Floats, float]]
"""Axis and angle (rad) by the name of the bone that turns about its joint; the others stay with their parent."""


@dataclass(frozen=True)
class Bone:
    """A segment from a joint to a tip, m.

    Attributes:
        name: of the bone.
        parent: name of the bone that it turns with; None for the root.
        joint: where it turns about.
        tip: its other end.
        radius: of the flesh around it, m; distances to bones are compared in this unit.
    """

    name: str
    parent: str | None
    joint: tuple[float, float, float]
    tip: tuple[float, float, float]
    radius: float


class Skeleton:
    """Bones in an order in which parents come first.

    A skin follows by linear blend skinning: each of its vertices is the mean of where the bones take it, with weights that fall off with
    the distance from a bone.
    """

    def __init__(self, bones: Sequence[Bone], softness: float = 0.25) -> None:
        self.bones = tuple(bones)
        self.softness = softness
        self._index = {bone.name: i for i, bone in enumerate(self.bones)}
        self._parents = [-1 if bone.parent is None else self._index[bone.parent] for bone in self.bones]

    def weights(self, points: Floats) -> Floats:
        """Return the weight of each bone at points (n, 3): (n, bones), positive, with sum 1."""
        distances = np.empty((len(points), len(self.bones)))
        for i, bone in enumerate(self.bones):
            a, b = np.array(bone.joint), np.array(bone.tip)
            along = np.clip((points - a) @ (b - a) / ((b - a) @ (b - a)), 0.0, 1.0)
            distances[:, i] = np.linalg.norm(points - a - along[:, None] * (b - a), axis=1) / bone.radius
        closeness = np.exp((distances.min(axis=1, keepdims=True) - distances) / self.softness)
        result: Floats = closeness / closeness.sum(axis=1, keepdims=True)
        return result

    def pose(self, turns: Turns) -> tuple[Floats, Floats]:
        """Return rotations (bones, 3, 3) and translations (bones, 3), m, that take points at rest to where the bones take them."""
        rotations, translations = np.empty((len(self.bones), 3, 3)), np.empty((len(self.bones), 3))
        for i, bone in enumerate(self.bones):
            axis, angle = turns.get(bone.name, ((1.0, 0.0, 0.0), 0.0))
            turn = rotation_about(axis, angle)
            offset = np.array(bone.joint) - turn @ np.array(bone.joint)
            parent = self._parents[i]
            if parent < 0:
                rotations[i], translations[i] = turn, offset
            else:
                rotations[i] = rotations[parent] @ turn
                translations[i] = rotations[parent] @ offset + translations[parent]
        return rotations, translations

    def skin(self, points: Floats, weights: Floats, turns: Turns) -> Floats:
        """Return where points (n, 3) of a skin at rest are, m."""
        rotations, translations = self.pose(turns)
        blended = np.einsum("nb,bij->nij", weights, rotations)
        result: Floats = np.einsum("nij,nj->ni", blended, points) + weights @ translations
        return result


def ramp(t: float, begin: float, end: float) -> float:
    """Return a value that rises from 0 to 1 between two times, smooth up to its second derivative."""
    s = min(max((t - begin) / (end - begin), 0.0), 1.0)
    return s**3 * (10.0 - 15.0 * s + 6.0 * s * s)


def bump(t: float, begin: float, top: float, end: float) -> float:
    """Return a value that rises from 0 to 1 and falls to 0 again."""
    return ramp(t, begin, top) - ramp(t, top, end)
