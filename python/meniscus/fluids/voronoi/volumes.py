"""Volumes that the parts of a tracked liquid have and should have."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus.surface.tracking.tracked_surface import TrackedSurface

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class PartVolumes:
    """Volumes of the parts of a surface in a box, which may enclose liquid or, where negative, a bubble.

    Attributes:
        volumes: (k,), m^3.
        targets: (k,), what they should be, m^3.
        areas: (k,), m^2.
        centroids: (k, 3), m.
        start: of the whole liquid in the beginning, with what sources added since, m^3.
    """

    volumes: Floats
    targets: Floats
    areas: Floats
    centroids: Floats
    start: float

    @property
    def total(self) -> float:
        """Of the whole liquid, m^3."""
        return float(self.volumes.sum())

    @property
    def drift(self) -> float:
        """Of the whole liquid, relative to the beginning."""
        return self.total / self.start - 1.0


def measured(surface: TrackedSurface, box: tuple[Floats, Floats]) -> tuple[Ints, Floats]:
    """Return the part (m,) that each triangle is in, and per part the rows volume, moment, area within a box."""
    part = np.ascontiguousarray(surface.components(), np.int32)
    count = int(part.max()) + 1 if len(part) else 0
    return part, _fluids.measure_in_box(surface.vertices, surface.triangles, part, count, *box)


def part_of_vertices(surface: TrackedSurface, part: Ints) -> Ints:
    """Return the part (n,) that each vertex is in."""
    out = np.zeros(len(surface.vertices), np.int32)
    out[np.asarray(surface.triangles)] = part[:, None]
    return out


def followed_targets(targets: Floats, old_part: Ints, new_part: Ints, volumes: Floats) -> Floats:
    """Return the targets of parts after merges and splits, whose sum is that of the old ones.

    Old and new parts that have vertices in common are one group, whose targets are shared in proportion to the new volumes.

    Args:
        targets: (k,), m^3, of the old parts.
        old_part: (n,) of each vertex of the new surface, the old part that it comes from.
        new_part: (n,), its new one.
        volumes: of the new parts, m^3.
    """
    k = len(targets)
    group = np.arange(k + len(volumes))

    def root(i: int) -> int:
        while group[i] != i:
            group[i] = group[group[i]]
            i = int(group[i])
        return i

    for pair in np.unique(np.stack([old_part, new_part + k], axis=1), axis=0):
        a, b = sorted((root(int(pair[0])), root(int(pair[1]))))
        group[b] = a
    roots = np.array([root(i) for i in range(len(group))])
    out = np.zeros(len(volumes))
    for r in np.unique(roots):
        new = np.flatnonzero(roots[k:] == r)
        if not len(new):
            continue  # a part that has gone: what it had is shared by all
        have, should = volumes[new].sum(), targets[roots[:k] == r].sum()
        out[new] = volumes[new] * (should / have) if have else should / len(new)
    rest = targets.sum() - out.sum()
    if len(volumes) and rest:
        out += rest * np.abs(volumes) / max(np.abs(volumes).sum(), 1e-300)
    return out
