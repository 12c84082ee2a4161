"""Limits of the strain of edges within a step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.mesh.arrays import index_rows

Floats = npt.NDArray[np.float64]
_FLOAT64 = np.dtype(np.float64)


class StrainReport(NamedTuple):
    """Report of `limit_strain`.

    Attributes:
        sweeps: sweeps over all edges, with the one that found nothing to do.
        impulses: impulses applied.
        before: greatest change of length over length at rest at the end of the step, before.
        after: the same, after; above the limit if the sweeps did not suffice.
    """

    sweeps: int
    impulses: int
    before: float
    after: float


def limit_strain(
    edges: npt.ArrayLike,
    rest_lengths: npt.ArrayLike,
    inverse_masses: npt.ArrayLike,
    positions: Floats,
    velocities: Floats,
    dt: float,
    *,
    limit: float = 0.1,
    sweeps: int = 100,
) -> StrainReport:
    """Change velocities such that no edge is stretched or shortened beyond a limit at the end of a step.

    An edge beyond the limit takes opposite impulses at its ends, so linear momentum is conserved. Edges take the newest velocities, colour
    by colour. Results do not depend on the number of threads.

    Args:
        edges: (m, 2) integers, nodes.
        rest_lengths: (m,) numbers, m.
        inverse_masses: (n,) numbers, 1/kg; 0 for nodes on given paths.
        positions: (n, 3) float64, C-contiguous, m: at the start of the step.
        velocities: (n, 3) float64, C-contiguous, m/s: of the step, changed in place.
        dt: s.
        limit: greatest change of length over length at rest, below 1.
        sweeps: most sweeps over all edges.

    Raises:
        TypeError, ValueError: wrong types, shapes or lengths, values that are not finite (the first is named), nodes that do not exist,
            lengths that are not positive, negative inverse masses, dt <= 0. The velocities are unchanged then.

    Source: Guendelman et al. 2005, section 2; Provot, "Deformation constraints in a mass-spring model to describe rigid cloth behavior",
    1995; Bridson, Fedkiw and Anderson, "Robust treatment of collisions, contact and friction for cloth animation", 2002, section 7.3.
    """
    x = _checks.points("positions", positions, _FLOAT64, 3)
    v = _checks.points("velocities", velocities, _FLOAT64, 3, writable=True)
    lengths = np.ascontiguousarray(_checks.numbers("rest_lengths", rest_lengths)).reshape(-1)
    masses = np.ascontiguousarray(_checks.numbers("inverse_masses", inverse_masses)).reshape(-1)
    most = _checks.number("limit", limit), _checks.integer("sweeps", sweeps, at_least=0)
    return StrainReport(*_solids.limit_strain(index_rows("edges", edges, 2), lengths, masses, x, v, _checks.positive("dt", dt), *most))
