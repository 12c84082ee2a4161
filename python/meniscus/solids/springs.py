"""Springs between nodes: edges, and ends that are embedded in elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.solids.force import Floats, Force, Ints, coefficients, inverse_masses, of_mesh, per_element, rest_positions

ZeroLength = Literal["none", "last"]


class EdgeSprings(Force):
    """Linear springs between pairs of nodes, with damping along the springs.

    A spring of length l along the unit vector d pulls its ends together with k (l - l0) and damps the rate of l with b. With `stiffness`
    E, k = E / l0: a chain of springs then behaves alike however finely it is divided.

    Args:
        mesh: a mesh, whose edges become springs, or an (m, 2) int32 array of nodes.
        rest_positions: (n, 3) float64, m; the mesh's own vertices if left out.
        stiffness: E, N; a number or one per spring.
        spring_constant: k, N/m, instead of `stiffness`.
        damping: b, N s/m; a number or one per spring.
        damping_fraction: instead of `damping`; 1 is critical for two free masses joined by one spring, more is overdamped. Needs `masses`.
        masses: kg, a number or one per node; infinite for nodes that nothing moves.
        rest_lengths: (m,), m, instead of the distances of the rest positions.
        shortest: rest lengths below it are raised to it, m.
        pieces: a piecewise linear law as pairs (strain, factor) of ascending strain: from this strain on, the slope of the stress is
            this factor of the stiffness; the first factor holds below its strain as well. [(-1, 0.2), (0, 1), (0.1, 10)] is softer in
            compression and ten times as stiff from 10 % stretch on. None is the linear law.
        zero_length: what a spring does whose ends coincide (to 1e-12 of its rest length) and which therefore has no direction: "none"
            nothing; "last" it keeps the direction in which it was last linearised, and at first that of the rest positions. Springs
            without rest length need no direction.

    Raises:
        TypeError, ValueError: wrong dtype or shape, nodes without a position, both or neither of `stiffness` and `spring_constant`, of
            `damping` and `damping_fraction`; negative values; `stiffness` or `pieces` with springs that have no rest length.

    Source: Selle 2008, sections 5.3.1, 5.3.2 and 5.5; Mueller et al., "Real time physics class notes", 2008, section 3; Choi and Ko,
    "Stable but responsive cloth", 2002, for the definite tangent.
    """

    _core: _solids.EdgeSprings

    def __init__(
        self,
        mesh: Any,
        rest_positions: Floats | None = None,
        *,
        stiffness: npt.ArrayLike | None = None,
        spring_constant: npt.ArrayLike | None = None,
        damping: npt.ArrayLike | None = None,
        damping_fraction: npt.ArrayLike | None = None,
        masses: npt.ArrayLike | None = None,
        rest_lengths: npt.ArrayLike | None = None,
        shortest: float = 0.0,
        pieces: Sequence[tuple[float, float]] | None = None,
        zero_length: ZeroLength = "none",
    ) -> None:
        self._connect(
            of_mesh("mesh", mesh, "edges", 2),
            mesh,
            rest_positions,
            stiffness=stiffness,
            spring_constant=spring_constant,
            damping=damping,
            damping_fraction=damping_fraction,
            masses=masses,
            rest_lengths=rest_lengths,
            shortest=shortest,
            pieces=pieces,
            zero_length=zero_length,
        )

    def _connect(
        self,
        edges: Ints,
        mesh: Any,
        positions: Floats | None,
        *,
        stiffness: npt.ArrayLike | None,
        spring_constant: npt.ArrayLike | None,
        damping: npt.ArrayLike | None,
        damping_fraction: npt.ArrayLike | None,
        masses: npt.ArrayLike | None,
        rest_lengths: npt.ArrayLike | None,
        shortest: float,
        pieces: Sequence[tuple[float, float]] | None,
        zero_length: ZeroLength,
    ) -> None:
        n = len(edges)
        last = _checks.choice("zero_length", zero_length, ZeroLength) == "last"
        along = np.zeros((0, 3))
        if rest_lengths is None or last:
            x = rest_positions(mesh, positions, edges)
            along = x[edges[:, 1]] - x[edges[:, 0]]
        lengths = np.linalg.norm(along, axis=1) if rest_lengths is None else per_element("rest_lengths", rest_lengths, n)
        lengths = np.maximum(lengths, _checks.number("shortest", shortest))
        k = _spring_constants(stiffness, spring_constant, lengths)
        b = coefficients(damping, damping_fraction, masses, k, lambda m: inverse_masses(m, edges).sum(axis=1))
        self._core = _solids.EdgeSprings(edges, lengths, k, b, list(pieces or ()), last, along)
        self._edges = edges

    @property
    def edges(self) -> Ints:
        """The ends (m, 2) of the springs."""
        return self._edges

    @property
    def rest_lengths(self) -> Floats:
        """Rest lengths (m,), m."""
        return np.asarray(self._core.rest_length)

    @property
    def spring_constants(self) -> Floats:
        """Force per elongation k (m,), N/m."""
        return np.asarray(self._core.stiffness)

    @property
    def damping(self) -> Floats:
        """Damping coefficients b (m,), N s/m."""
        return np.asarray(self._core.damping)


def _spring_constants(stiffness: npt.ArrayLike | None, spring_constant: npt.ArrayLike | None, lengths: Floats) -> Floats:
    """Return k, N/m, from a stiffness E in N, or as given."""
    if (stiffness is None) == (spring_constant is None):
        raise ValueError("give stiffness (N) or spring_constant (N/m), one of the two")
    if spring_constant is not None:
        return per_element("spring_constant", spring_constant, len(lengths))
    modulus = per_element("stiffness", stiffness if stiffness is not None else 0.0, len(lengths))
    if (lengths <= 0).any():
        raise ValueError(
            f"spring {int(np.argmax(lengths <= 0))} has no rest length, which stiffness is relative to; give spring_constant or shortest"
        )
    return np.asarray(modulus / lengths, np.float64)
