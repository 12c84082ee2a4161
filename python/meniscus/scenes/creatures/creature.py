"""Creatures with limbs and joints whose skin is a closed surface at every moment."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.grid import Grid
from meniscus.mesh import TriangleMesh
from meniscus.scenes.creatures import bear, whale
from meniscus.scenes.creatures.skeleton import Skeleton, Turns
from meniscus.surface import LevelSet, Shape

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Anatomy:
    """What a creature is made of.

    Attributes:
        shape: its body at rest.
        skeleton: its bones.
        motions: by name: turns of the bones and place of the root (m) as a function of time (s), and the duration (s).
        spacing: of the grid on which the skin is extracted by default, m.
        place: of the origin of the body at rest by default, m.
    """

    shape: Callable[[], Shape]
    skeleton: Skeleton
    motions: Mapping[str, tuple[Callable[[float], tuple[Turns, Sequence[float]]], float]]
    spacing: float
    place: tuple[float, float, float]


CREATURES = {
    "bear": Anatomy(bear.shape, bear.SKELETON, bear.MOTIONS, bear.SPACING, bear.PLACE),
    "whale": Anatomy(whale.shape, whale.SKELETON, whale.MOTIONS, whale.SPACING, whale.PLACE),
}
"""The creatures of the package, by name."""


class Creature:
    """A creature with joints in one of its motions; made by `creature`.

    Attributes:
        name, motion: of the creature and of what it does.
        rest: its closed skin at rest, m.
        duration: of the motion, s; before and after, the creature holds still, except in motions that repeat (`swim`, `walk`).
    """

    def __init__(self, name: str, motion: str, at: Sequence[float] | None, spacing: float | None) -> None:
        anatomy = CREATURES[name]
        self.name, self.motion = name, motion
        self._skeleton = anatomy.skeleton
        self._turns, self.duration = anatomy.motions[motion]
        self._at = np.array(anatomy.place if at is None else _checks.vector("at", at, 3), np.float64)
        h = anatomy.spacing if spacing is None else _checks.positive("spacing", spacing)
        shape = anatomy.shape()
        box = shape.bounds
        low = np.floor(np.asarray(box[0]) / h - 2.5) * h
        count = np.ceil((np.asarray(box[1]) - low) / h + 2.5).astype(int)
        grid = Grid(tuple(int(n) for n in count), h, origin=tuple(float(x) for x in low))
        levelset = LevelSet.from_shape(grid, shape)
        mesh = TriangleMesh(*levelset.to_mesh()[:2])
        self._points = mesh.vertices
        self._weights = self._skeleton.weights(self._points)
        self.rest = TriangleMesh(self._points + self._at, mesh.triangles)

    @property
    def joints(self) -> dict[str, Floats]:
        """Where the joints are at rest (3,), m, by the names of the bones that turn about them."""
        return {bone.name: np.array(bone.joint) + self._at for bone in self._skeleton.bones}

    def vertices(self, t: float) -> Floats:
        """Return where the vertices of the skin are at a time (s): (n, 3), m."""
        turns, place = self._turns(_checks.number("t", t))
        result: Floats = self._skeleton.skin(self._points, self._weights, turns) + (self._at + np.asarray(place))
        return result

    def __repr__(self) -> str:
        """One line."""
        return f"<Creature: {self.name} that does {self.motion!r} for {self.duration:g} s, {len(self.rest.triangles)} triangles>"


def creature(
    name: str = "whale", motion: str | None = None, *, at: Sequence[float] | None = None, spacing: float | None = None
) -> Creature:
    """Return a creature of the package: a closed skin with limbs, and its vertices as a function of time.

    It looks along +x at rest; y points up.

    Args:
        name: "whale": 8 m long, with flukes, flippers and fins; its motions are "breach" (default; it leaps with its body bent by 60
            degrees and its flippers turned by 45), "swim" and "walk" (on its flippers, as seals do). "bear": 2 m long, on four legs; its
            motions are "walk" (default), "shake" and "swim".
        motion: what it does.
        at: where its origin is at rest, m.
        spacing: of the grid on which the skin is extracted, m: the length of its edges.

    Raises:
        TypeError, ValueError: an unknown creature or motion, other arguments.
    """
    if name not in CREATURES:
        raise ValueError(f"there is no creature {name!r}; choose from {', '.join(CREATURES)}")
    motions = CREATURES[name].motions
    chosen = next(iter(motions)) if motion is None else motion
    if chosen not in motions:
        raise ValueError(f"a {name} has no motion {chosen!r}; choose from {', '.join(motions)}")
    return Creature(name, chosen, at, spacing)
