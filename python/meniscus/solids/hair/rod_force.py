"""Elastic rods as a force between points."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.solids.force import FLOAT64, Floats, Force, per_element

_LARGEST_TURN = 2.5  # rad: beyond it the natural shape of a point folds back on itself
_SHORTEST = 0.5  # of a rest length, relative to the segment in the style


class RodForce(Force):
    """Discrete elastic rods: stretching, bending in all directions with natural curvature, and twist, which is in balance at all times.

    Args:
        offsets: (m + 1,) int64: strand s has the points offsets[s] to offsets[s + 1] - 1.
        rest_positions: (n, 3), m.
        EI: bending stiffness, N m^2; a number or one per strand.
        GJ: twisting stiffness, N m^2.
        EA: stretching stiffness, N.
        roots: (m,) whether frames hold the directions of the first points and stop the twist there; the positions do not follow from it.
        tips: (m,) likewise of the last points.
        curved: the rest positions have no bending forces; else straight strands have none.

    Raises:
        TypeError, ValueError: wrong types or shapes, strands of one point, points that coincide, negative values.

    Source: Bergou, Wardetzky, Robinson, Audoly and Grinspun, "Discrete elastic rods", 2008; Bergou, Audoly, Vouga, Wardetzky and Grinspun,
    "Discrete viscous threads", 2010. Bending is 4 tan^2(turn / 2) without natural curvature, whatever the twist.
    """

    _core: _solids.RodForce

    def __init__(
        self,
        offsets: npt.ArrayLike,
        rest_positions: Floats,
        *,
        EI: float | Floats,
        GJ: float | Floats,
        EA: float | Floats,
        roots: npt.NDArray[np.bool_] | bool = True,
        tips: npt.NDArray[np.bool_] | bool = False,
        curved: bool = True,
    ) -> None:
        ends = np.ascontiguousarray(offsets, np.int64)
        x = np.ascontiguousarray(_checks.points("rest_positions", rest_positions, FLOAT64, 3))
        m = len(ends) - 1
        named = {"EI": EI, "GJ": GJ, "EA": EA}
        stiffness = np.stack([per_element(name, value, m, strictly=True) for name, value in named.items()], axis=1)
        clamped = [np.ascontiguousarray(np.broadcast_to(np.asarray(c, np.bool_), (m,))) for c in (roots, tips)]
        self._make(_solids.RodForce, ends, x, stiffness, *clamped, _checks.flag("curved", curved))

    @property
    def strands(self) -> Any:
        """The compiled strands, which steps of `HairBody` advance."""
        return self._core.strands

    @property
    def natural_shape(self) -> Floats:
        """Natural curvature binormals per point along the two directors, 2 tan(turn / 2), and natural twist, rad (n, 3); assignable."""
        parts = [np.empty(self.nodes) for _ in range(3)]
        self.strands.natural(*parts)
        return np.stack(parts, axis=1)

    @natural_shape.setter
    def natural_shape(self, value: npt.ArrayLike) -> None:
        kappa = _checks.incoming("natural_shape", value, FLOAT64, (self.nodes, 3))
        self.strands.set_natural(*(np.ascontiguousarray(column) for column in kappa.T))

    @property
    def rest_lengths(self) -> Floats:
        """Rest lengths (n,) of the segments behind each point, m; 0 at tips; assignable."""
        out = np.empty(self.nodes)
        self.strands.rest_lengths(out)
        return out

    @rest_lengths.setter
    def rest_lengths(self, value: npt.ArrayLike) -> None:
        self.strands.set_rest_lengths(np.array(_checks.incoming("rest_lengths", value, FLOAT64, (self.nodes,))))

    @property
    def directors(self) -> Floats:
        """Unit vectors (n, 3) that turn with the material of the segment behind each point."""
        return self._frames()[0]

    @property
    def twists(self) -> Floats:
        """Angles (n,) by which the material turns from the segment before each point to that behind it, rad; clamped ends included."""
        return self._frames()[1]

    def _frames(self) -> tuple[Floats, Floats]:
        directors, twists = np.empty((self.nodes, 3)), np.empty(self.nodes)
        self.strands.frames(directors, twists)
        return directors, twists

    def set_frames(self, directions: Floats, directors: Floats, *, tips: bool = False) -> None:
        """Turn the frames of the roots, or of the tips, which point out: vectors (m, 3) along the strands and across."""
        m = self.strands.strands
        t, d = (
            np.ascontiguousarray(_checks.incoming(name, value, FLOAT64, (m, 3)))
            for name, value in (("directions", directions), ("directors", directors))
        )
        self.strands.set_clamps(_checks.flag("tips", tips), t, d)

    def rest_at(self, x: Floats, masses: Floats, gravity: Floats, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Let strands be in balance at `x` (n, 3) under gravity; return which of them (m,) have natural shapes that can be."""
        turns, lengths = np.zeros(len(chosen)), np.ones(len(chosen))
        self.strands.rest_at(x, masses, tuple(gravity), chosen.astype(np.uint8), turns, lengths)
        possible: npt.NDArray[np.bool_] = (turns < _LARGEST_TURN) & (lengths > _SHORTEST)
        return possible

    def stiffen(self, factors: Floats) -> None:
        """Multiply the bending and twisting stiffness of each strand (m,)."""
        f = np.ascontiguousarray(_checks.incoming("factors", factors, FLOAT64, (self.strands.strands,)))
        self.strands.stiffen(f)
        self._made_of[2][:, :2] *= f[:, None]

    def stable(self, x: Floats, held: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return per strand whether `x` (n, 3), with `held` points (n,) fixed, is a minimum as far as second derivatives say."""
        out = np.empty(self.strands.strands, np.uint8)
        self.strands.stable(x, held.astype(np.uint8), out)
        return out.astype(np.bool_)

    def _changes(self) -> tuple[Floats, Floats]:
        return self.natural_shape, self.rest_lengths

    def _restore(self, changes: tuple[Floats, Floats]) -> None:
        self.natural_shape, self.rest_lengths = changes
