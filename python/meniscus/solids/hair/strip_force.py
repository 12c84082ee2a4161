"""Altitude-spring hair as a force between points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.solids.force import FLOAT64, Floats, Force, per_element
from meniscus.solids.hair.groom import Groom

Ints = npt.NDArray[np.int32]
ExtraParticles = Literal["always", "colinear"]


@dataclass(frozen=True)
class AltitudeModel:
    """How altitude-spring hair is made of springs.

    Attributes:
        extra: "always": every segment has a particle beside it, so that it carries a frame; "colinear", as printed: only segments that are
            in line with a neighbour or in one plane with the next two, so that curls have no more particles than points.
        moduli: of edge, bending, torsion and altitude springs, N: constants are modulus / rest length, as printed (the public code has 1e4,
            1e3, 1e3, 1e3). They belong to one length of segments. None: fitted to EI, GJ and EA, strand by strand.
        beyond: altitude springs act once they are compressed by more than this fraction, so that they prevent collapse and add nothing to
            the stiffness of small deformations; negative: always, as printed.

    Raises:
        TypeError, ValueError: other choices; moduli that are not four positive numbers; `beyond` of 1 or more.

    Source: Selle 2008, section 7.3.1. Fit of the constants: own.
    """

    extra: ExtraParticles = "always"
    moduli: tuple[float, float, float, float] | None = None
    beyond: float = 0.1

    def __post_init__(self) -> None:
        """Check the values."""
        _checks.choice("extra", self.extra, ExtraParticles)
        if self.moduli is not None:
            if len(self.moduli) != 4:
                raise ValueError(f"moduli must be four numbers, not {len(self.moduli)}")
            for value in self.moduli:
                _checks.positive("moduli", value)
        if _checks.number("beyond", self.beyond) >= 1:
            raise ValueError(f"beyond must be below 1, not {self.beyond}")


class StripShape:
    """Particles of altitude-spring hair.

    Attributes:
        offsets: (m + 1,) int64: strand s has the particles offsets[s] to offsets[s + 1] - 1.
        particles: (k, 3), m.
        kinds: (k,) 0: a point of the hair; 1: beside a segment; 2: behind a root, where two hold its direction and twist.
        nodes: (n,) particle of each point of the hair.
        lengths: (k,) mass of each particle over mass per length, m.
        edges: (k, 2) whether the springs to the next particle and to the one after it are edges, which hardly stretch.
        parents: (k,) particle to which the distance is limited from root to tip; -1: none.
    """

    def __init__(self, groom: Groom, framed: bool, extra: ExtraParticles) -> None:
        self._core = _solids.StripShape(groom.offsets, groom.points, groom.directions, groom.directors, framed, extra == "always")
        self.offsets, self.particles, self.kinds = self._core.offsets, self._core.particles, self._core.kinds
        self.nodes, self.lengths = self._core.nodes, self._core.lengths
        self.edges, self.parents = self._core.edges, self._core.parents

    def fit(self, EI: Floats, GJ: Floats, EA: Floats) -> tuple[Floats, Floats]:
        """Return constants (k, 4), N/m, and the largest relative difference of a fitted compliance per strand; stiffness (m,) each."""
        misfit = np.empty(len(self.offsets) - 1)
        return self._core.fit(np.ascontiguousarray(np.stack([EI, GJ, EA], axis=1)), misfit), misfit

    def of_moduli(self, moduli: tuple[float, float, float, float]) -> Floats:
        """Return constants (k, 4) of given moduli (N) of edge, bending, torsion and altitude springs."""
        edge, bending, torsion, altitude = moduli
        x, out = self.particles, np.zeros((len(self.particles), 4))
        each = np.stack([np.full(len(x), edge), np.where(self.edges[:, 1] > 0, edge, bending), np.full(len(x), torsion)], axis=1)
        for step in range(3):
            length = np.linalg.norm(x[step + 1 :] - x[: -step - 1], axis=1)
            out[: len(length), step] = each[: len(length), step] / np.maximum(length, 1e-300)
        p = [x[k : len(x) - 3 + k] for k in range(4)]
        e = {(a, b): p[b] - p[a] for a in range(4) for b in range(a + 1, 4)}
        bases = [(e[0, 1], e[0, 2]), (e[0, 1], e[0, 3]), (e[0, 2], e[0, 3]), (e[1, 2], e[1, 3])]
        bases += [(e[0, 1], e[2, 3]), (e[0, 2], e[1, 3]), (e[0, 3], e[1, 2])]
        widest = np.max([np.linalg.norm(np.cross(u, v), axis=1) for u, v in bases], axis=0)
        volume = np.abs(np.einsum("ki,ki->k", np.cross(e[0, 1], e[0, 2]), e[0, 3]))
        out[: len(volume), 3] = altitude * widest / np.maximum(volume, 1e-300)  # over the shortest altitude
        return out


class StripForce(Force):
    """Springs of altitude-spring hair: each particle of a strand with the next three, and on each tetrahedron of four in a row.

    Args:
        offsets: (m + 1,) int64: strand s has the particles offsets[s] to offsets[s + 1] - 1, three at least.
        rest_positions: (k, 3), m.
        constants: (k, 4), N/m: of the springs to the next particle, the one after it and the third, and of the altitude spring.
        edges: (k, 2) uint8, see `StripShape`.
        beyond: see `AltitudeModel`.

    Raises:
        TypeError, ValueError: wrong types or shapes, particles that coincide.

    Source: Selle 2008, sections 5.3.4 and 7.3.1. Altitudes are chosen at the start of each solve and keep their ends until its end.
    """

    _core: _solids.StripForce

    def __init__(
        self, offsets: npt.ArrayLike, rest_positions: Floats, constants: Floats, edges: npt.NDArray[np.uint8], beyond: float
    ) -> None:
        x = np.ascontiguousarray(_checks.points("rest_positions", rest_positions, FLOAT64, 3))
        k = np.ascontiguousarray(_checks.incoming("constants", constants, FLOAT64, (len(x), 4)))
        self.edges = np.ascontiguousarray(edges, np.uint8)
        self._make(_solids.StripForce, np.ascontiguousarray(offsets, np.int64), x, k, float(beyond))

    @property
    def strands(self) -> Any:
        """The compiled strands, which steps of `HairBody` advance."""
        return self._core.strands

    @property
    def constants(self) -> Floats:
        """Constants (k, 4), N/m."""
        out = np.empty((self.nodes, 4))
        self.strands.constants(out)
        return out

    @property
    def rest_lengths(self) -> Floats:
        """Rest lengths (k, 3) of the springs to the next three particles, m; assignable."""
        out = np.empty((self.nodes, 3))
        self.strands.rest_lengths(out)
        return out

    @rest_lengths.setter
    def rest_lengths(self, value: npt.ArrayLike) -> None:
        self.strands.set_rest_lengths(np.array(_checks.incoming("rest_lengths", value, FLOAT64, (self.nodes, 3))))

    def rest_at(self, x: Floats, masses: Floats, gravity: Floats, chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Let strands be in balance at `x` (k, 3) under gravity; return which of them (m,) have rest lengths that can be."""
        lengths = np.ones(len(chosen))
        self.strands.rest_at(x, masses, tuple(gravity), chosen.astype(np.uint8), lengths)
        possible: npt.NDArray[np.bool_] = lengths > _SHORTEST
        return possible

    def stiffen(self, factors: Floats) -> None:
        """Multiply the constants of bending, torsion and altitude springs of each strand (m,)."""
        f = np.array(per_element("factors", factors, self.strands.strands, strictly=True))
        self.strands.stiffen(f, self.edges)
        self._made_of[2][...] = self.constants

    def stable(self, x: Floats, held: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Return per strand whether `x` (k, 3), with `held` particles (k,) fixed, is a minimum as far as second derivatives say."""
        out = np.empty(self.strands.strands, np.uint8)
        self.strands.stable(x, held.astype(np.uint8), out)
        return out.astype(np.bool_)

    def _changes(self) -> Floats:
        return self.rest_lengths

    def _restore(self, changes: Floats) -> None:
        self.rest_lengths = changes


_SHORTEST = 0.5  # of a rest length, relative to the distance in the style
