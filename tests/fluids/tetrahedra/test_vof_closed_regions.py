"""Walls that press on water in tetrahedra without a way out: what there is no room for is told and counted."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from support.tet_vof.meshes import lattice, still

import meniscus as ms
from meniscus.core import SolverWarning
from meniscus.fluids import TetVOF
from meniscus.surface import Box, KinematicSolid, Pose

FAR = 4.0
SPEED, DT, STEPS = 0.2, 0.05, 8


def piston(begin: float) -> KinematicSolid:
    return KinematicSolid(Box((-FAR, -FAR, -FAR), (begin, FAR, FAR)), lambda t: Pose((SPEED * t, 0.0, 0.0)))


def run(solver: Any, steps: int, dt: float) -> None:
    for _ in range(steps):
        solver.step(dt)


def cylinder(level: float, outside: Any = "wall") -> TetVOF:
    """A box of 1 m, in which a piston of 0.3 m moves up along x."""
    block = ms.mesh.tet_block(4, 4, 4)
    mesh = ms.mesh.TetMesh(np.ascontiguousarray(block.vertices / block.vertices.max(axis=0)), block.tets)
    vof = TetVOF(still(mesh), piston(0.3), outside=outside, gravity=(0.0, 0.0, 0.0))
    vof.fill(lambda p: np.full(len(p), -1.0), level=level)
    return vof


def test_a_piston_on_full_water_is_told_and_counted() -> None:
    vof = cylinder(1.0)
    filled = math.fsum(vof.volume)
    assert vof.ledger().incompatible == 0.0
    with pytest.warns(SolverWarning, match="is where there is no room for it, which is `incompatible` in the ledger") as told:
        run(vof, STEPS, DT)
    assert len(told) == 1
    book = vof.ledger()
    assert book.incompatible == pytest.approx(SPEED * DT * STEPS, rel=1e-9)  # swept by a piston of 1 m^2
    assert book.incompatible == pytest.approx(vof.report.enclosed_volume, rel=1e-9)
    assert book.in_tets == filled
    assert abs(book.volume_error) <= 1e-15


@pytest.mark.parametrize(("level", "outside"), [(0.5, "wall"), (1.0, None)])
def test_a_piston_on_water_with_air_or_an_open_side_warns_of_nothing(level: float, outside: Any) -> None:
    vof = cylinder(level, outside)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run(vof, STEPS, DT)
    assert vof.ledger().incompatible == 0.0


@pytest.mark.filterwarnings("ignore:the solid does not reach")
def test_water_on_a_grid_and_tetrahedra_tells_what_its_grid_loses() -> None:
    """What closed regions of the grid lose has an entry of its own, and is not what has left."""
    liquid = ms.fluids.LiquidSolver(ms.Grid((8, 8, 8), 1 / 8), solid=piston(0.25))
    liquid.fill(Box((-FAR,) * 3, (FAR,) * 3))
    mesh = lattice(0.1, (3, 3, 3), 1)
    rest = ms.mesh.TetMesh(np.ascontiguousarray(mesh.vertices - mesh.vertices.mean(axis=0) + [0.7, 0.5, 0.5]), mesh.tets)
    water = ms.coupling.KDSMWater(still(rest), liquid, resolved=0.0)
    with pytest.warns(SolverWarning, match="has vanished"):
        run(water, 4, 0.02)
    book = water.ledger()
    assert book.incompatible == pytest.approx(SPEED * 0.08, rel=1e-6)
    assert book.left == 0.0
    assert abs(book.error) <= 1e-12
