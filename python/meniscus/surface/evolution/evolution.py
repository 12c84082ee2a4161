"""Motion of level sets in a flow, along their normals and by their curvature."""

from __future__ import annotations

import math

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.grid import CellField, MacField, NodeField, ScalarField
from meniscus.grid.transport.advection import workspace_or_new
from meniscus.surface.redistancing.redistance import HoldsLevelSet, scalar_field


def evolve(
    levelset: HoldsLevelSet | ScalarField,
    duration: float,
    *,
    velocity: MacField | None = None,
    speed: float | ScalarField = 0.0,
    curvature: float = 0.0,
    cfl: float = 0.5,
    band: float | None = None,
    workspace: Workspace | None = None,
) -> int:
    """Move a level set for a time, in place: phi_t + u . grad phi + F |grad phi| = b k |grad phi|, with k the mean curvature.

    The steps are equal and as many as stability asks for. Upwind derivatives are weighted ENO of fifth order, the motion along normals has
    Godunov's Hamiltonian, curvatures are central differences of second order, and time steps are Runge-Kutta of third order. Terms may act
    together. Beyond sides of the domain that are not periodic the level set goes on linearly.

    Args:
        levelset: a `LevelSet`, or a field on cells or nodes, m.
        duration: s; not negative.
        velocity: u, m/s, of the grid and dtype of the level set and steady over the duration. Samples take the mean of the nearest faces.
        speed: F, m/s, outwards where positive: a number, or a field on the samples of the level set.
        curvature: b, m^2/s, not negative: the surface moves with b k towards its centres of curvature, where k is the sum of the principal
            curvatures, clamped to +-1 / spacing. The steps are of the order of the spacing squared then.
        cfl: the step as a share of the largest stable one, in (0, 1]: 1 / (sum |u_d| / h + sqrt(dim) |F| / h + 2 dim b / h^2).
        band: m, at least 6 spacings. Only samples closer to the surface than this move, those of the outer half slower than they should,
            and `redistance(band=band, at_sides="goes-on")` follows every step; phi must be a distance at the start. None: every sample
            moves, and nothing is redistanced.
        workspace: scratch memory to reuse.

    Returns:
        The number of steps.

    Raises:
        TypeError, ValueError: wrong type, dtype, grid or samples; numbers outside of their ranges; values that are not finite; nothing is
            changed.

    Source: Brochu 2012, sections 3.3.1 and 3.3.2; Jiang and Peng 2000; Shu and Osher 1988; Osher and Fedkiw 2003, chapters 3 to 6; band:
        Peng et al. 1999.
    """
    field = scalar_field(levelset)
    if velocity is not None:
        _checks.one_of_type("velocity", velocity, MacField)
    if isinstance(speed, (CellField, NodeField)):
        speeds, constant = speed._core, 0.0
    else:
        speeds, constant = None, _checks.number("speed", speed)
    return _surface.evolve(
        field._core,
        _checks.number("duration", duration),
        None if velocity is None else velocity._core,
        speeds,
        constant,
        _checks.number("curvature", curvature),
        _checks.number("cfl", cfl),
        math.inf if band is None else _checks.positive("band", band),
        workspace_or_new(workspace),
    )
