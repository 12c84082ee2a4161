"""Momentum and energy of a fluid and the bodies in it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.coupling.bodies.bodies_on_grid import BodySample
from meniscus.coupling.bodies.momentum import open_parts
from meniscus.coupling.bodies.pushed_form import PushedForm
from meniscus.coupling.bodies.reports import FluidWorldLedger
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.grid.face_arrays import each_face_once, with_neighbours
from meniscus.grid.fields import CellField

Floats = npt.NDArray[np.float64]


def ledger_of(fluid: SmokeSolver | LiquidSolver, sample: BodySample, forms: Sequence[PushedForm], attached: Floats) -> FluidWorldLedger:
    """Return what a fluid and bodies have.

    Args:
        fluid: a gas is what its pressure acts on, the open parts of faces; a liquid what of it is around each face.
        sample: the bodies where they are.
        forms: of all bodies.
        attached: (n, 6, 6) inertia of the gas that moves with each.
    """
    grid = fluid.grid
    momentum, energy = np.zeros(3), 0.0
    if isinstance(fluid, LiquidSolver):
        density, parts = fluid.options.density, _liquid_parts(fluid, sample)
    else:
        density, parts = fluid.options.air_density, [open_parts(sample, d) for d in range(grid.dimension)]
    mass = density * grid.spacing**grid.dimension
    for d in range(grid.dimension):
        part, u = (each_face_once(grid, v, d) for v in (parts[d], np.asarray(fluid.velocity.component(d), np.float64)))
        momentum[d] = mass * float((part * u).sum())
        energy += 0.5 * mass * float((part * u * u).sum())
    motions = np.array([form.motion for form in forms]).reshape(-1, 6)
    if isinstance(fluid, SmokeSolver) and len(motions) == len(attached):
        moved = np.einsum("bij,bj->bi", attached, motions)
        momentum += moved.sum(axis=0)[:3]
        energy += 0.5 * float((moved * motions).sum())
    moving = [form for form in forms if form.is_dynamic]
    return FluidWorldLedger(
        fluid_momentum=momentum,
        body_momentum=np.sum([form.mass * form.motion[:3] for form in moving], axis=0) if moving else np.zeros(3),
        fluid_energy=energy,
        body_energy=float(sum(form.energies[0] for form in moving)),
        gravity=float(-sum(form.mass * (form.gravity @ form.center) for form in moving)),
        elastic_energy=float(sum(form.energies[1] for form in moving)),
    )


def _liquid_parts(fluid: LiquidSolver, sample: BodySample) -> list[Floats]:
    """Return per axis the liquid around each face, in cells: half of that in each of the two beside it."""
    grid, parts = fluid.grid, []
    liquid = CellField(grid)
    _surface.fractions_below(fluid.levelset.field._core, sample.boundary.levelset._core, liquid._core, Workspace())
    for d in range(grid.dimension):
        beside = with_neighbours(grid, liquid.array, d)
        n = grid.shape[d]
        parts.append(0.5 * (beside.take(range(n + 1), axis=d) + beside.take(range(1, n + 2), axis=d)))
    return parts
