"""What is painted on the vertices of a solid's skin, and moves with it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.surface.tetrahedra.solid_at_time import SolidAtTime, members_at

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


class SkinPaint:
    """Strengths and directions of a force, one for each vertex of the skin of a solid.

    Directions are painted on the skin at one time. Later they turn with it: each keeps its angles to the normal of its vertex and to an
    edge there. Where the skin is rigid, that is the rotation of the body.

    Args:
        solid: a single surface of triangles in motion.
        time: at which the directions are what they are, s.
        strength: (n,) m/s^2, or None.
        direction: (n, 3), or None.

    Raises:
        ValueError: the solid is something else; other numbers of vertices.
    """

    def __init__(self, solid: Any, time: float, strength: Floats | None, direction: Floats | None) -> None:
        vertices, triangles = _skin(members_at(solid, time, None))
        for name, values in (("strength", strength), ("direction", direction)):
            if values is not None and len(values) != len(vertices):
                raise ValueError(
                    f"the {name} of the adhesion must have a row for each of the {len(vertices)} vertices of the skin, not {len(values)}"
                )
        self.strength = strength
        self._triangles = triangles
        self._beside = _neighbours(triangles, len(vertices))
        self._turned: Floats | None = None
        if direction is not None:
            self._turned = np.einsum("nkd,nd->nk", self._axes(vertices), direction)

    def at(self, members: list[SolidAtTime], points: Floats) -> tuple[Floats | None, Floats | None]:
        """Return strengths (k,) and directions (k, 3) at the points of the skin closest to given ones; None for what is not painted."""
        vertices, _ = _skin(members)
        corners, weights = members[0].on_surface(points)
        strength = None if self.strength is None else np.einsum("nk,nk->n", weights, self.strength[corners])
        if self._turned is None:
            return strength, None
        used, place = np.unique(corners, return_inverse=True)
        now = np.einsum("nkd,nk->nd", self._axes(vertices)[used], self._turned[used])
        return strength, np.einsum("nk,nkd->nd", weights, now[place.reshape(corners.shape)])

    def _axes(self, x: Floats) -> Floats:
        """Return three axes (n, 3, 3) at each vertex: its normal, the edge to a neighbour without its part along that, and across."""
        t = self._triangles
        face = np.cross(x[t[:, 1]] - x[t[:, 0]], x[t[:, 2]] - x[t[:, 0]])
        normal = np.zeros_like(x)
        for k in range(3):
            np.add.at(normal, t[:, k], face)
        normal = _unit(normal)
        along = x[self._beside] - x
        along = _unit(along - np.einsum("nd,nd->n", along, normal)[:, None] * normal)
        return np.stack([normal, along, np.cross(normal, along)], axis=1)


def _skin(members: list[SolidAtTime]) -> tuple[Floats, Ints]:
    surface = members[0].surface if len(members) == 1 else None
    if surface is None or not members[0].has_skin:
        raise ValueError(
            "adhesion painted per vertex needs a solid that is one mesh of triangles, such as KDSM.solid or KinematicSolid(mesh); use a "
            "function of points for others"
        )
    return surface


def _neighbours(triangles: Ints, count: int) -> Ints:
    """Return for each vertex one that it shares an edge with; itself where it is in no triangle."""
    beside = np.arange(count, dtype=np.int32)
    for k in range(3):
        beside[triangles[:, k]] = triangles[:, (k + 1) % 3]
    return beside


def _unit(a: Floats) -> Floats:
    length = np.linalg.norm(a, axis=1)
    result: Floats = np.divide(a, length[:, None], out=np.zeros_like(a), where=length[:, None] > 0)
    return result
