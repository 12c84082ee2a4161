"""Styles of hair at rest, blends along the hair, and interpolation from guides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.coupling.kdsm import KDSM
from meniscus.mesh import TriangleMesh
from meniscus.solids import AltitudeSprings, DeformableBody, EdgeSprings, Groom, SoftBindings, SpringOptions
from meniscus.surface import MeshDistance

Floats = npt.NDArray[np.float64]

_ROWS = 256  # points that are searched at a time
_STILL = 1e6  # s: the step of implicit Euler that leads to rest
_EDGE, _ALTITUDE = 41.4, 4.14  # N: springs of the mesh (Lee 2018, figure 2.4)


def places_along(groom: Groom) -> Floats:
    """Return how far each point (n,) is along its strand: 0 at the root, 1 at the tip, by length."""
    steps = np.append(np.linalg.norm(np.diff(groom.points, axis=0), axis=1), 0.0)
    steps[groom.offsets[1:] - 1] = 0.0
    along = np.concatenate([[0.0], np.cumsum(steps)])[:-1]
    counts = np.diff(groom.offsets)
    part: Floats = (along - np.repeat(along[groom.offsets[:-1]], counts)) / np.repeat(groom.lengths, counts)
    return part


def _part(name: str, value: float) -> float:
    if not 0 <= _checks.number(name, value) <= 1:
        raise ValueError(f"{name} must be within [0, 1], not {value:g}")
    return value


def _nearest(points: Floats, targets: Floats, k: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Distances (n, k), ascending, and numbers (n, k) of the nearest of some targets (m, 3) to points (n, 3)."""
    far, which = np.empty((len(points), k)), np.empty((len(points), k), np.int64)
    for a in range(0, len(points), _ROWS):
        square = ((points[a : a + _ROWS, None] - targets[None]) ** 2).sum(axis=2)
        which[a : a + _ROWS] = np.argsort(square, axis=1, kind="stable")[:, :k]
        far[a : a + _ROWS] = np.sqrt(np.take_along_axis(square, which[a : a + _ROWS], axis=1))
    return far, which


def clumped(groom: Groom, points: Floats, count: int, strength: float, seed: int) -> Floats:
    """Strands that gather towards `count` of them; see `HairCoat.clump`."""
    m = len(groom)
    if _checks.integer("count", count, 1) > m:
        raise ValueError(f"there are {m} strands, too few for {count} clumps")
    _part("strength", strength)
    centres = np.sort(np.random.default_rng(_checks.integer("seed", seed, 0)).permutation(m)[:count])
    of = centres[_nearest(groom.roots, groom.roots[centres], 1)[1][:, 0]]
    along = places_along(groom)
    off: Floats = np.zeros(points.shape)
    for c in centres:
        mine = np.flatnonzero(of == c)
        a, b = groom.offsets[c], groom.offsets[c + 1]
        rows = np.concatenate([np.arange(groom.offsets[s], groom.offsets[s + 1]) for s in mine])
        s = along[rows]
        middle = np.stack([np.interp(s, along[a:b], points[a:b, k]) for k in range(3)], axis=1)
        off[rows] = (strength * s)[:, None] * (middle - points[rows])
    return points + off


def matted(groom: Groom, points: Floats, skin: TriangleMesh, amount: float) -> Floats:
    """Strands that lie on the skin; see `HairCoat.mat`."""
    _part("amount", amount)
    closest = np.asarray(MeshDistance(skin).closest(np.ascontiguousarray(points)).positions)
    # Most of the way lies close to the root already.
    share = amount * np.sqrt(places_along(groom))[:, None]
    return points + share * (closest - points)


def sagged_nodes(kdsm: KDSM, gravity: Floats, density: float, hold: float) -> Floats:
    """Nodes (k, 3) of the mesh of air, which is heavy and tied to its place, at rest under gravity."""
    mesh = kdsm.rest
    body = DeformableBody(mesh, density=_checks.positive("density", density), gravity=gravity)
    edge = float(np.linalg.norm(mesh.vertices[mesh.edges[:, 1]] - mesh.vertices[mesh.edges[:, 0]], axis=1).mean())
    body.add(EdgeSprings(mesh, SpringOptions(stiffness=_EDGE)))
    body.add(AltitudeSprings(mesh, SpringOptions(stiffness=_ALTITUDE)))
    inside = kdsm.rest_distance <= 0
    inside[kdsm.given] = True
    free = np.flatnonzero(~inside).astype(np.int32)
    spring = SpringOptions(spring_constant=_checks.positive("hold", hold) / edge)
    body.add(SoftBindings(free, spring, targets=mesh.vertices[free]))
    body.pin(np.flatnonzero(inside))
    body.step(_STILL, "implicit-euler", max_newton=400)
    nodes: Floats = body.positions.copy()
    return nodes


def blend_along(groom: Groom, shapes: Sequence[Floats], weights: Sequence[npt.ArrayLike]) -> Floats:
    """Return a blend (n, 3) of shapes of the strands with weights that depend on the place along the hair.

    Args:
        groom: the strands.
        shapes: (n, 3) each, such as simulated, column and kinematic positions, m.
        weights: of each shape, values (k,) at equal distances from root (first) to tip (last), or a number; they sum to 1 everywhere.

    Raises:
        ValueError: other numbers of weights and shapes, weights that do not sum to 1 or are negative.

    Source: Lee 2018, section 2.3.2 (more kinematic motion near the root, more dynamic motion near the tip).
    """
    if len(shapes) != len(weights) or not shapes:
        raise ValueError(f"there must be as many weights as shapes, not {len(weights)} for {len(shapes)}")
    along = places_along(groom)
    each = []
    for w in weights:
        values = np.atleast_1d(np.asarray(w, np.float64))
        each.append(np.interp(along, np.linspace(0, 1, len(values)), values) if len(values) > 1 else np.full(len(along), values[0]))
    total = np.sum(each, axis=0)
    if min(w.min() for w in each) < 0 or np.abs(total - 1).max() > 1e-9:
        raise ValueError("weights must not be negative, and sum to 1 everywhere")
    out = np.zeros_like(groom.points)
    for w, x in zip(each, shapes, strict=True):
        if np.asarray(x).shape != out.shape:
            raise ValueError(f"shapes must have shape {out.shape}, not {np.asarray(x).shape}")
        out += w[:, None] * x
    return out


class GuideHairs:
    """Some strands that lead all others: what guides do beside their kinematic positions, the strands around them do too.

    Args:
        groom: all strands.
        guides: (g,) which of them are guides.
        neighbours: number of guides that lead a strand, by the distance of the roots.

    Raises:
        ValueError: no guides, or numbers of no strands.

    Source: the deviation from the mesh is what is interpolated, so that the motion of the mesh stays exact. Lee 2018, section 2.3.2,
    mentions guides; the weights, inverse squared distances of roots, are our choice.
    """

    def __init__(self, groom: Groom, guides: npt.ArrayLike, neighbours: int = 3) -> None:
        self.groom, self.guides = groom, np.unique(np.asarray(guides, np.int64))
        if len(self.guides) == 0 or self.guides[0] < 0 or self.guides[-1] >= len(groom):
            raise ValueError(f"guides must be among the {len(groom)} strands, and one at least")
        k = min(_checks.integer("neighbours", neighbours, 1), len(self.guides))
        far, which = _nearest(groom.roots, groom.roots[self.guides], k)
        w = 1 / np.maximum(far, 1e-12 * max(float(np.ptp(groom.roots)), 1e-300)) ** 2
        self._weights: Floats = w / w.sum(axis=1)[:, None]
        self._weights[self.guides] = 0.0
        own = np.searchsorted(self.guides, self.guides)
        which[self.guides, 0] = own
        self._weights[self.guides, 0] = 1.0
        self._which = self.guides[which]
        self._along = places_along(groom)

    def lead(self, kinematic: Floats, moved: Floats) -> Floats:
        """Return all strands (n, 3) where the rows of guides in `moved` (n, 3) differ from those in `kinematic` (n, 3), m."""
        g, out = self.groom, np.array(kinematic, np.float64)
        off = np.asarray(moved) - kinematic
        for s in range(len(g)):
            a, b = g.offsets[s], g.offsets[s + 1]
            for w, guide in zip(self._weights[s], self._which[s], strict=True):
                if w == 0:
                    continue
                c, d = g.offsets[guide], g.offsets[guide + 1]
                if w == 1.0 and guide == s:
                    out[a:b] = moved[a:b]
                    continue
                out[a:b] += w * np.stack([np.interp(self._along[a:b], self._along[c:d], off[c:d, k]) for k in range(3)], axis=1)
        return out
