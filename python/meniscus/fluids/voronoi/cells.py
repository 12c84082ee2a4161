"""Voronoi cells of a liquid at one time: samples, faces and velocity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus._meniscus import mesh as _mesh
from meniscus.core.memory import MemoryOwner
from meniscus.fluids.voronoi.options import VoronoiLiquidOptions

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
OfPoints = Callable[[Floats], Floats]


@dataclass(frozen=True)
class CellPhysics:
    """What the cells of a liquid depend on beside its surface.

    Attributes:
        box: both corners, m.
        cell: m.
        tension: of the surface, N/m.
        air_pressure: Pa.
        options: schemes.
    """

    box: tuple[Floats, Floats]
    cell: float
    tension: float
    air_pressure: float
    options: VoronoiLiquidOptions


class LiquidCells(MemoryOwner):
    """Voronoi cells of a liquid, which of them are liquid, and what is beyond their faces.

    Args:
        physics: box, lengths, surface tension.
        surface: vertices (n, 3), m, and triangles (m, 3).
        sites: (k, 3), m; None: they are placed.
        distance: of points to the solid, m; None: there is none.
        solid_velocity: of points in the solid, m/s.

    Attributes:
        sites: (k, 3), m.
        mesh: the Voronoi mesh, of the core.
        core: the liquid on it, of the core.
        states: (n,) and (n,) int8, states of the samples in the liquid and in the air beside each vertex; None where sites were given.
    """

    def __init__(
        self,
        physics: CellPhysics,
        surface: tuple[Floats, Ints],
        sites: Floats | None,
        distance: OfPoints | None = None,
        solid_velocity: OfPoints | None = None,
    ) -> None:
        low, high = physics.box
        hits = _fluids.SurfaceHits(*surface)
        self.states: tuple[Any, Any] | None = None
        if sites is None:
            sites, _, *states, _ = _fluids.place_samples(hits, low, high, distance, physics.options.sampling.core(physics.cell))
            self.states = states[0], states[1]
        self.sites = sites
        self.hits = hits
        self.mesh = _mesh.VoronoiMesh(sites, low, high)
        pressure = np.full(len(surface[0]), physics.air_pressure)
        if physics.tension:
            pressure += physics.tension * hits.curvature(physics.options.curvature_limit / physics.cell)
        gap, exact = physics.options.sampling.gap * physics.cell, physics.options.crossings == "exact"
        self.core = _fluids.LiquidCells(self.mesh, hits, pressure, gap, exact, distance, solid_velocity)

    def field(self, physics: CellPhysics, face_velocity: Floats) -> _fluids.CellVelocity:
        """Return the continuous velocity of the liquid around that of its faces, (f, 2)."""
        o = physics.options
        return _fluids.CellVelocity(self.mesh, self.core, face_velocity, physics.cell, o.corrections, 6, o.fit == "averages")
