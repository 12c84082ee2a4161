"""Momentum that water in tetrahedra passes to a grid."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus.coupling.water.ledger import Transfers
from meniscus.coupling.water.ownership import centroids_of
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.tetrahedra.vof import TetVOF
from meniscus.grid import Grid
from meniscus.grid.fields import component_shapes

Floats = npt.NDArray[np.float64]


def blend(vof: TetVOF, liquid: LiquidSolver, transfers: Transfers, share: float, dt: float, *, owned: bool) -> None:
    """Draw the velocity of faces towards that of the water in tetrahedra around them, u = (m u + share M U) / (m + share M).

    m is the water of the grid around a face and M that in tetrahedra, whose centroids are spread over faces as by linear interpolation.
    With `owned`, tetrahedra lose the momentum that the grid gains.

    Source: Lee 2018, section 3.4, step 2a; the formula is ours.
    """
    wet = np.flatnonzero(vof.volume > 0)
    if not len(wet):
        return
    grid, dtype = liquid.grid, liquid.velocity.dtype
    at = centroids_of(vof.positions, vof.tets, wet)
    volume, velocity = vof.volume[wet], vof.velocity[wet]
    around = liquid.face_volumes(dt)
    values, weights, kernels = [], [], []
    for d, shape in enumerate(component_shapes(grid)):
        faces, kernel = _faces(grid, at, d, shape)
        mass, moving = np.zeros(shape).ravel(), np.zeros(shape).ravel()
        np.add.at(mass, faces, volume[:, None] * kernel)
        np.add.at(moving, faces, (volume * velocity[:, d])[:, None] * kernel)
        own = around[d].ravel()
        some = (mass > 0) & (own > 0)
        weight = np.divide(share * mass, own + share * mass, out=np.zeros_like(mass), where=some)
        values.append(np.divide(moving, mass, out=np.zeros_like(mass), where=some).reshape(shape).astype(dtype))
        weights.append(weight.reshape(shape).astype(dtype))
        kernels.append((faces, kernel, mass, own))
    before = [np.array(liquid.velocity.component(d), np.float64).ravel() for d in range(3)]
    gained = np.array(liquid.blend_velocity(values, weights, dt=dt).momentum)
    lost = np.zeros(3)
    if owned:
        change = np.zeros((len(vof.volume), 3))
        for d, (faces, kernel, mass, own) in enumerate(kernels):
            after = np.asarray(liquid.velocity.component(d), np.float64).ravel()
            per_mass = np.divide(own * (after - before[d]), mass, out=np.zeros_like(mass), where=mass > 0)
            change[wet, d] = -(per_mass[faces] * kernel).sum(axis=1)
        lost = -vof.push(change) / vof.options.density
    transfers.book("momentum of tetrahedra to grid", 0.0, lost, gained)


def _faces(grid: Grid, points: Floats, axis: int, shape: tuple[int, ...]) -> tuple[Any, Floats]:
    """Return the eight faces (k, 8) around each point, as indices of the component along an axis, and their weights in interpolation."""
    offset = np.where(np.arange(3) == axis, 0.0, 0.5)
    place = (points - np.array(grid.origin)) / grid.spacing - offset
    first = np.clip(np.floor(place).astype(np.int64), 0, np.array(shape) - 2)
    part = np.clip(place - first, 0.0, 1.0)
    faces = np.empty((len(points), 8), np.int64)
    weights = np.ones((len(points), 8))
    for k in range(8):
        step = np.array([(k >> d) & 1 for d in range(3)])
        faces[:, k] = np.ravel_multi_index(tuple((first + step).T), shape)
        weights[:, k] = np.prod(np.where(step == 1, part, 1.0 - part), axis=1)
    return faces, weights
