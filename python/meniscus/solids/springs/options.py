"""Options of springs: stiffness, damping, and stress as a function of strain."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.solids.force import node_masses, per_element


@dataclass(frozen=True, eq=False, kw_only=True)
class SpringOptions:
    """Options of springs. Each is a number for all springs of a force, or an array with one value per spring.

    Attributes:
        stiffness: E, N; a spring of rest length l0 has the spring constant E / l0. Of `DihedralBending`: N m per hinge.
        spring_constant: k, N/m, instead of `stiffness`.
        damping: b, N s/m; of `DihedralBending`: N s. None is no damping.
        damping_fraction: instead of `damping`; 1 is critical for two free masses joined by one spring, more is overdamped. Where an end
            of a spring is a weighted mean of nodes, its mass is 1 / sum(w^2 / m). Needs `masses`.
        masses: kg, a number or one per node; infinite for nodes that no force moves.
        pieces: a piecewise linear law as pairs (strain, factor) of ascending strain: from this strain on, the slope of the stress is
            this factor of the stiffness; the first factor holds below its strain as well. [(-1, 0.2), (0, 1), (0.1, 10)] is softer in
            compression and ten times as stiff from 10 % stretch on; [(-1, 1), (-0.1, 0)] acts, without a jump, where a spring is
            compressed by more than 10 %. None is the linear law.

    Raises:
        ValueError: both of `stiffness` and `spring_constant`, or neither; both of `damping` and `damping_fraction`; no `masses` for
            `damping_fraction`. Values are checked when a force takes the options.

    Source: Selle 2008, sections 5.3.1 and 5.3.2.
    """

    stiffness: npt.ArrayLike | None = None
    spring_constant: npt.ArrayLike | None = None
    damping: npt.ArrayLike | None = None
    damping_fraction: npt.ArrayLike | None = None
    masses: npt.ArrayLike | None = None
    pieces: Sequence[tuple[float, float]] | None = None

    def __post_init__(self) -> None:
        """Check which options go together, and the numbers among them. Raises TypeError or ValueError."""
        for name in ("stiffness", "spring_constant", "damping", "damping_fraction"):
            value = getattr(self, name)
            if value is not None and np.ndim(value) == 0 and _checks.number(name, value) < 0:
                raise ValueError(f"{name} must be finite and at least 0, but [0] is {value:g}")
        if (self.stiffness is None) == (self.spring_constant is None):
            raise ValueError("give stiffness (N) or spring_constant (N/m), one of the two")
        if self.damping is not None and self.damping_fraction is not None:
            raise ValueError("give damping or damping_fraction, not both")
        if self.damping_fraction is not None and self.masses is None:
            raise ValueError("damping_fraction needs the masses of the nodes")


def core_options(options: SpringOptions, count: int, nodes: int, refused: Sequence[str] = ()) -> _solids.SpringOptions:
    """Check the options for `count` springs between `nodes` nodes and translate them; `refused` names those that do not apply."""
    _checks.one_of_type("options", options, SpringOptions)
    for name in refused:
        if getattr(options, name) is not None:
            raise ValueError(f"{name} is no option of this kind of spring")
    name = "spring_constant" if options.stiffness is None else "stiffness"
    damping = "damping" if options.damping_fraction is None else "damping_fraction"
    b = getattr(options, damping)
    inverse = np.zeros(0)
    if options.damping_fraction is not None and options.masses is not None:
        inverse = 1.0 / node_masses(options.masses, nodes)
    return _solids.SpringOptions(
        per_element(name, getattr(options, name), count),
        options.stiffness is not None,
        per_element(damping, 0.0 if b is None else b, count),
        inverse,
        list(options.pieces or ()),
    )
