"""Ways of water through a step, tested against the moving meshes of shells: the audit of shells that are open."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from meniscus.coupling.shell_water.near_particles import BEGIN
from meniscus.coupling.shells.moving_contact import paths_that_meet
from meniscus.coupling.shells.shells import Shells
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.particles.solver import ParticleLiquidSolver
from meniscus.grid import Particles
from meniscus.grid.face_arrays import domain_images, shifts_to_images

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class PathAudit:
    """Ways of the markers of water and of drops through one step.

    Attributes:
        markers, drops: those at the end of the step whose place at its start is known.
        crossed_markers, crossed_drops: those of them that have met a shell on the straight way between.
        new_markers, new_drops: of which no place at the start is known: seeded, poured in, or turned from drops to markers or the other way
            round far from shells.
    """

    markers: int
    drops: int
    crossed_markers: int
    crossed_drops: int
    new_markers: int
    new_drops: int


class FollowedWater:
    """Markers and drops that tell at the end of a step where they were at its start.

    Args:
        solver: of water; its particles get one more column.
        shells: that move in the step.
    """

    def __init__(self, solver: LiquidSolver | ParticleLiquidSolver, shells: Shells) -> None:
        self._solver, self._shells = solver, shells
        self._sets: list[Particles] = []
        if isinstance(solver, ParticleLiquidSolver):
            self._sets = [solver.particles]
        elif (particles := solver.surface.particles) is not None:
            self._sets = [particles.particles, particles.spray]
        self._before = shells.positions
        # Markers may become drops beside shells, and drops markers: one numbering for both.
        self._places: list[Floats] = []
        count = 0
        for s in self._sets:
            s.add_column(BEGIN, np.int64)[...] = count + 1 + np.arange(len(s))
            count += len(s)
            self._places.append(np.array(s.positions, np.float64))

    def audit(self) -> PathAudit:
        """Return what the ways since then have met."""
        counts: list[tuple[int, int, int]] = [(0, 0, 0), (0, 0, 0)]
        if self._sets:
            places = np.concatenate(self._places)
            water = [s["sign"] < 0 if "sign" in s.columns else np.ones(len(s), bool) for s in self._sets]
            counts[: len(water)] = [self._audited(s, places, mask) for s, mask in zip(self._sets, water, strict=True)]
        (markers, crossed, new), (drops, crossed_drops, new_drops) = counts
        return PathAudit(
            markers=markers, drops=drops, crossed_markers=crossed, crossed_drops=crossed_drops, new_markers=new, new_drops=new_drops
        )

    def _audited(self, particles: Particles, places: Floats, mask: npt.NDArray[np.bool_]) -> tuple[int, int, int]:
        begin = np.array(particles[BEGIN][mask])
        ends = np.array(particles.positions[mask], np.float64)
        known = begin > 0
        begins, ends = places[begin[known] - 1], ends[known]
        grid = self._solver.grid
        begins = begins + shifts_to_images(grid, begins, ends)
        met = np.zeros(len(begins), bool)
        shifts = self._shells.shifts(self._before)
        x0, x1 = self._before + shifts, self._shells.positions + shifts
        for image in domain_images(grid):
            met[paths_that_meet(x0 + image, x1 + image, self._shells.elements, begins, ends)] = True
        return int(known.sum()), int(met.sum()), int((~known).sum())
