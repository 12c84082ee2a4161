"""Surface of a liquid solver: a level set, with or without marker particles, and drops in flight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus._meniscus import fluids as _fluids
from meniscus._meniscus import grid as _grid
from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.core.stateful import Stateful
from meniscus.fluids.exchange.expansion import Expansion
from meniscus.fluids.exchange.reports import LiquidExchange
from meniscus.fluids.liquid.options import LiquidOptions
from meniscus.fluids.liquid.volume import LiquidVolume
from meniscus.fluids.vorticity.vortex_particles import VortexParticles
from meniscus.grid.boundary import Open, Prescribed, ZeroGradient
from meniscus.grid.fields import CellField, MacField
from meniscus.grid.transport.advection import Trace, advect
from meniscus.grid.transport.visibility import Visibility
from meniscus.grid.uniform import Grid
from meniscus.surface import LevelSet, ParticleLevelSet, ParticleOptions, SolidBoundary, SprayFlight
from meniscus.surface.markers.options import EscapedMarkers, MarkerTransport

Floats = npt.NDArray[np.float64]
_AIR_DEPTH = {2: 0.1, 3: 0.2}
# Cells, by dimension; measured on dam breaks. With half the depth the liquid gains volume after the first impact, with twice the depth it
# loses several times as much.
_FILL, _DRAIN = _surface.SetOperation.unite, _surface.SetOperation.subtract
_STRAY = 2.0  # cells from the liquid beyond which none of its markers is, but for the radius: it would have become a drop
_GAP = 2.5  # cells; as wide as the air that is made divergence-free
_NO_FILM = 0.34  # of the second distance from a side: the line through both passes the side in air


class LiquidSurface(Stateful):
    """The level set of a liquid, on cells, and its motion.

    Args:
        grid: of the solver.
        options: of the solver.
        velocity: gives the dtype, and the sides through which drops leave.

    Attributes:
        open_sides: those sides, by name.
        shells: what moves the surface and drops beside thin shells, within a step of a `ShellCoupling`; else None.
    """

    def __init__(self, grid: Grid, options: LiquidOptions, velocity: MacField) -> None:
        self._options = options
        self._workspace = Workspace()
        particles = None
        if options.tracking == "particle-level-set":
            chosen = ParticleOptions(
                per_cell=options.per_cell,
                reseed_every=options.reseed_every or None,
                escaped=EscapedMarkers(
                    spray=options.spray and options.air != "fluid",
                    escaped_outside="keep" if options.air == "fluid" else "delete",
                    max_outside_depth=None if options.air == "fluid" else _AIR_DEPTH[grid.dimension],
                ),
                transport=MarkerTransport(trace=options.transport.trace),
                seed=options.seed,
            )
            particles = ParticleLevelSet(grid, "cells", velocity.dtype, options=chosen)
        self.particles = self.declare("particles", particles)
        self.levelset = particles.levelset if particles is not None else self.declare("levelset", LevelSet(grid, "cells", velocity.dtype))
        self.levelset.array[...] = (options.band + 1) * grid.spacing
        self._near = np.zeros(grid.local_shape, bool) if self.particles is None else None
        self._trap = CellField(grid, velocity.dtype) if self.particles is not None and grid.dimension == 2 else None
        self._scratch: CellField | None = None
        self.shells: Any = None
        self._first_new: int | None = None
        sides = velocity.boundary
        self.open_sides = [n for n in sides if isinstance(sides[n], (Open, ZeroGradient, Prescribed))]
        self._outlets = [n for n in sides if isinstance(sides[n], (Open, ZeroGradient))]

    @property
    def band(self) -> float:
        """Distance from the surface within which the level set is a distance, m."""
        return (self._options.band + 1) * self.levelset.grid.spacing

    @property
    def trace(self) -> Trace:
        """How ways along the velocity are followed."""
        return self._options.transport.trace

    @property
    def drops(self) -> int:
        """Number of flying drops, on all ranks; collective."""
        return 0 if self.particles is None else self.levelset.grid.comm.total(len(self.particles.spray))

    @property
    def spray_volume(self) -> float:
        """Their volume, m^dim."""
        return 0.0 if self.particles is None or not self.drops else self.particles.spray_volume

    def reset(self, solid: SolidBoundary | None, time: float) -> None:
        """Start from the level set as it is: no drops, new markers."""
        self._redistance(solid)
        if self.particles is not None:
            self.particles.spray.remove(np.ones(len(self.particles.spray), bool))
            seeded = self.particles.seed(solid=solid, time=time)
            if self.shells is not None:
                self.shells.remove_hidden_seeds(seeded.added)
        self._first_new = None

    def redistance(self, solid: SolidBoundary | None) -> None:
        """Redistance the level set after sources and drains."""
        self._redistance(solid)
        if self.particles is not None:
            self.particles.adjust_radii(every=True)

    def extend_into(self, solid: SolidBoundary, workspace: Workspace) -> None:
        """Continue the level set into a solid at the angle at which it meets the wall."""
        solid.extend_level_set(self.levelset.field, workspace)
        if self.shells is not None:
            self.shells.continue_into(solid)

    def advance(self, velocity: MacField, dt: float, time: float, solid: SolidBoundary | None) -> None:
        """Advect the surface along a velocity for dt; `solid` is that at the end of the step."""
        self._advance(velocity, dt, time, solid)
        self._let_films_leave()

    def _advance(self, velocity: MacField, dt: float, time: float, solid: SolidBoundary | None) -> None:
        if self.particles is not None:
            self._first_new = len(self.particles.spray)
            self._remove_trapped_air(velocity, solid)
        if self.shells is not None:
            self.shells.advance(velocity, dt, time, solid)
            return
        if self.particles is not None:
            self.particles.advance(velocity, dt, solid=solid, outside=_outside(solid), time=time)
            return
        self.advect_band(velocity, dt, time)
        self._redistance(solid)

    def advect_band(self, velocity: MacField, dt: float, time: float) -> None:
        """Advect a level set without markers near the surface."""
        assert self._near is not None
        _grid.mark_band(self.levelset.field._core, self.band, self._near)
        advect(
            self.levelset.field,
            velocity,
            dt,
            method="semi-lagrangian",
            trace=self._options.transport.trace,
            visibility=Visibility(active=self._near),
            time=time,
            workspace=self._workspace,
        )

    def _let_films_leave(self) -> None:
        """Empty the outer halves of cells at open sides of films that lie below their centres: these cells have no pressure, and would keep
        for good what has gone but for that."""
        grid, phi = self.levelset.grid, self.levelset.array
        for name in self._outlets:
            axis, upper = "xyz".index(name[0]), name[1] == "+"
            n = grid.local_shape[axis]
            at_side = grid.first_cell[axis] + n == grid.shape[axis] if upper else grid.first_cell[axis] == 0
            if not at_side or n < 2:
                continue
            planes = np.moveaxis(phi, axis, 0)
            last, before = (planes[-1], planes[-2]) if upper else (planes[0], planes[1])
            np.copyto(last, _NO_FILM * before, where=(last > 0) & (last < _NO_FILM * before) & (before < self.band))

    def _remove_trapped_air(self, velocity: MacField, solid: SolidBoundary | None) -> None:
        """Remove markers of the air between the liquid and a wall that it meets: they could not get out of its way, and would hold it up.

        In two dimensions only. In three, where the air leaves on more sides, sloshing liquid would gain more than landing liquid loses.
        """
        if self._trap is None or self.particles is None:
            return
        closed = None if solid is None else solid.inside_faces
        distance = _GAP * self.levelset.grid.spacing
        _fluids.mark_gaps_at_walls(velocity._core, self.levelset.field._core, distance, closed, self._trap._core)
        _surface.remove_markers_in(self._trap._core, self.particles.particles._core, 1, self._workspace)

    def surface_moved(self, distance: float) -> None:
        """Fit the markers to a surface that was moved by at most a distance, m: those that it has passed are removed, as they would undo
        the motion."""
        if self.particles is None or distance <= 0:
            return
        if self.shells is None:
            self.particles.accept_levelset(distance)
        else:
            self.shells.accept_levelset(self.particles, distance)

    def would_change(self, phi: CellField, *, filled: bool) -> bool:
        """Return whether the liquid would change if the region where phi <= 0 were filled, or else drained."""
        near = 2.0 * self.levelset.grid.spacing
        changes = _surface.combining_moves_surface(self.levelset.field._core, _FILL if filled else _DRAIN, phi._core, near)
        return self.levelset.grid.comm.total(changes) > 0

    def change_regions(self, regions: Sequence[CellField], total: str, solid: SolidBoundary | None, volume: LiquidVolume) -> float:
        """Fill ('emitted') regions, or empty them ('drained'), each where phi <= 0; `volume` accounts for the change, which is returned."""
        nodes = None if solid is None else solid.levelset
        volume.measure(self.levelset, nodes)
        for phi in regions:
            (self.fill if total == "emitted" else self.drain)(phi)
        # Before redistancing: what that changes is for the correction to mend.
        change = volume.update_after_sources(total, self.levelset, nodes)
        self.redistance(solid)
        return change

    def fill(self, phi: CellField) -> None:
        """Fill the region where phi <= 0."""
        self._combine(_FILL, phi, 1)

    def drain(self, phi: CellField) -> None:
        """Empty the region where phi <= 0, but for drops."""
        self._combine(_DRAIN, phi, -1)

    def remove_stray_markers(self) -> None:
        """Remove the markers of liquid that another owner has taken, where none is left: they would become drops of the same water."""
        if self.particles is None:
            return
        if self._scratch is None:
            self._scratch = CellField(self.levelset.grid, self.levelset.dtype)
        np.subtract(_STRAY * self.levelset.grid.spacing, self.levelset.array, out=self._scratch.array)
        _surface.remove_markers_in(self._scratch._core, self.particles.particles._core, -1, self._workspace)

    def drain_drops(self, phi: CellField) -> float:
        """Remove the drops where phi <= 0; returns their volume, m^dim."""
        if self.particles is None:
            return 0.0
        return float(_surface.remove_spray_in(phi._core, self.particles.spray._core, self._workspace)[1])

    def account_new_drops(self, solid: SolidBoundary | None, volume: LiquidVolume) -> None:
        """Let `volume` account for the markers that have become drops in the last `advance`."""
        first, particles = self._first_new, self.particles
        if first is not None and particles is not None and self.levelset.grid.comm.total(max(len(particles.spray) - first, 0)) > 0:
            nodes = None if solid is None else solid.levelset
            volume.subtract_drops(particles.spray, self.levelset, first, nodes)
        self._first_new = None

    def fly(self, dt: float, gravity: Floats, solid: Any, time: float, volume: LiquidVolume) -> SprayFlight:
        """Let drops fly for dt from `time` on, hit solids, and leave; `volume` accounts for those that do."""
        if self.particles is None or not self.drops:
            return SprayFlight()
        o = self._options
        near = None if self.shells is None else self.shells.take_drops(self.particles.spray, dt, gravity)
        flight = self.particles.advance_spray(
            dt, gravity.tolist(), solid, drag=o.drag, restitution=o.restitution, open_sides=self.open_sides, time=time
        )
        if near is not None:
            near, gone = self.shells.fly(near, dt, gravity, o.drag)
            near.put_back(self.particles.spray)
            volume.totals["outflow"] += float(_surface.total_volume(self.levelset.grid._core, gone.astype(self.levelset.dtype)))
        volume.totals["outflow"] += flight.left.volume + flight.in_solid.volume
        return flight

    def rejoin(self, velocity: MacField, time: float, solid: SolidBoundary | None, volume: LiquidVolume) -> LiquidExchange:
        """Turn drops that touch the liquid into markers; `volume` accounts for them."""
        assert self.particles is not None
        nodes = None if solid is None else solid.levelset
        near = None if self.shells is None else self.shells.drops_beside_shells(self.particles.spray)
        volume.add_joining_drops(self.particles.spray, self.levelset, time, nodes)
        joined = self.particles.reincorporate(velocity, deposit="liquid", time=time)
        if near is not None:
            self.shells.rejoin(near)
        return LiquidExchange(joined.spray.count, joined.spray.volume, joined.momentum)

    def absorb(self, velocity: MacField, time: float, solid: SolidBoundary | None, expansion: Expansion) -> LiquidExchange:
        """Let the liquid take up drops that are in it; their volumes wait in `expansion`."""
        assert self.particles is not None
        args = velocity._core, self.levelset.field._core, _nodes(solid), self.particles.spray._core, time, self._workspace
        count, volume, momentum, impulse, positions, volumes = _fluids.absorb_drops(*args)
        expansion.add(positions, volumes, self.levelset, None if solid is None else solid.levelset)
        return LiquidExchange(count, volume, momentum, impulse)

    def gather(self, velocity: MacField, solid: SolidBoundary | None, volume: LiquidVolume) -> LiquidExchange:
        """Fill the cells of air that drops fill; `volume` accounts for them."""
        assert self.particles is not None
        spray, nodes = self.particles.spray, None if solid is None else solid.levelset
        # Drops of a cell become markers in the order of their ids, wherever the blocks of ranks have brought them from.
        spray.sort_by_cell(self.levelset.grid, workspace=self._workspace)
        gathered = np.zeros(len(spray), bool)
        if self._scratch is None:
            self._scratch = CellField(self.levelset.grid, velocity.dtype)
        count, total, momentum, positions, volumes = _fluids.gather_drops(
            velocity._core,
            self.levelset.field._core,
            _nodes(solid),
            spray._core,
            self.band,
            self._scratch._core,
            gathered,
            self._workspace,
        )
        if count:
            self.fill(self._scratch)
            volume.measure(self.levelset, nodes)
            volume.add_volumes(positions, volumes, nodes)
            self.redistance(solid)
            least, most = (r * self.levelset.grid.spacing for r in self.particles.options.radii)
            new = self.particles.particles.append(
                spray.positions[gathered],
                sign=np.full(gathered.sum(), -1, np.int8),
                radius=np.clip(spray["radius"][gathered], least, most).astype(velocity.dtype),
            )
            _grid.number_new_particles(self.particles.particles._core, new.start, self.levelset.grid._core)
            spray.remove(gathered, workspace=self._workspace)
        return LiquidExchange(count, total, momentum)

    def remove_outside(self, vortices: VortexParticles) -> None:
        """Remove vortex particles that are not in the liquid."""
        _surface.remove_outside(self.levelset.field._core, vortices._core, self._workspace)

    def _redistance(self, solid: SolidBoundary | None) -> None:
        if self.shells is None:
            self._redistance_all(solid)
        else:
            self.shells.redistance(self.levelset, self.band, lambda: self._redistance_all(solid), _outside(solid))

    def _redistance_all(self, solid: SolidBoundary | None) -> None:
        self.levelset.redistance(band=self.band, at_sides="goes-on", outside=_outside(solid), workspace=self._workspace)

    def _state_replaced(self) -> None:
        self._first_new = None

    def _combine(self, operation: Any, region: CellField, sign: int) -> None:
        """Change the level set by a region, and remove the markers of a sign from where that is."""
        _surface.combine_level_sets(self.levelset.field._core, operation, region._core)
        if self.particles is not None:
            _surface.remove_markers_in(region._core, self.particles.particles._core, sign, self._workspace)


def _nodes(solid: SolidBoundary | None) -> Any:
    """Return the level set of a solid on nodes, for the core."""
    return None if solid is None else solid.levelset._core


def _outside(solid: SolidBoundary | None) -> npt.NDArray[np.bool_] | None:
    """Return the mask of the cells outside of a solid, for redistancing."""
    return None if solid is None else solid.outside_cells
