"""Particle level sets: level sets that marker particles correct."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import surface as _surface
from meniscus.core import Workspace
from meniscus.core.stateful import Stateful
from meniscus.grid import Grid, MacField
from meniscus.surface.levelset import LevelSet, Location
from meniscus.surface.markers.options import (
    DEPOSIT,
    Correction,
    Deposit,
    MarkerMotion,
    ParticleOptions,
    ParticleReport,
    Reincorporation,
    Removal,
    Seeding,
    SprayFlight,
    Transfer,
)
from meniscus.surface.markers.particle_sets import no_markers, require_velocity, window_of
from meniscus.surface.markers.removed_particles import escape_rules, fly, none_removed, rejoin
from meniscus.surface.redistancing.redistance import redistance
from meniscus.surface.shapes.constructive import Shape
from meniscus.surface.shapes.solid import Solid, SolidSample
from meniscus.surface.shapes.solid_boundary import SolidLike, solid_core

# Cells beyond the band of particles within which the level set is kept a distance: correction and the widest interpolation look two
# cells farther.
_MARGIN = 2.0


class ParticleLevelSet(Stateful):
    """A level set with marker particles on both sides of its surface, which correct it where they are on the wrong side.

    A step is `advance`: the level set and the markers are advected, the markers correct the level set, it is redistanced and corrected
    again, markers that have escaped too far are removed, radii are adjusted, and at intervals the band is reseeded. Every stage is a
    method. Set `levelset.array` to a distance function (m, at least within the band; `redistance` helps), then `seed`.

    On ranks each has the particles of its block, whatever stage comes; stages are collective, and reports are those of all ranks.

    A marker takes 25 bytes in 3-D with float32 (position 12, id 8, radius 4, sign 1), 41 with float64; 33 in 2-D. Work and memory of
    a step are those of the band, except for readings of the whole field that find the band, and two scratch blocks of the size of the
    field.

    Args:
        grid: 2-D or 3-D.
        location: of the samples, 'cells' or 'nodes'.
        dtype: of samples and particles, float64 (default), or float32 in three dimensions.
        options: a ParticleOptions; default ParticleOptions().
        window: of a grid that is a window into a larger one, the place of its first cell there and the shape of the larger one: markers are
            then seeded as they would be there. Default: the grid is all.

    Raises:
        TypeError, ValueError: not a grid, unknown location, another dtype, wrong options.

    Source: Enright, Fedkiw, Ferziger and Mitchell 2002; Selle 2008, section 4.4.3.
    """

    def __init__(
        self,
        grid: Grid,
        location: Location = "cells",
        dtype: npt.DTypeLike = np.float64,
        *,
        options: ParticleOptions | None = None,
        window: tuple[Sequence[int], Sequence[int]] | None = None,
    ) -> None:
        self._window = ([0, 0, 0], [0, 0, 0]) if window is None else window_of(window, grid.dimension)
        self._options = ParticleOptions() if options is None else _checks.one_of_type("options", options, ParticleOptions)
        self.levelset = self.declare("levelset", LevelSet(grid, location, dtype))
        none = np.empty((0, grid.dimension), self.levelset.dtype)
        self.particles = self.declare("particles", no_markers(none))
        self.spray = self.declare("spray", none_removed(none))
        self.bubbles = self.declare("bubbles", none_removed(none))
        self.steps = self.declare("steps", 0)
        self.seedings = self.declare("seedings", 0)
        self._workspace = Workspace()
        self._solid_sample: SolidSample | None = None

    @property
    def options(self) -> ParticleOptions:
        """Numbers and schemes."""
        return self._options

    @property
    def grid(self) -> Grid:
        """The grid."""
        return self.levelset.grid

    @property
    def dtype(self) -> np.dtype[Any]:
        """Of samples and particles."""
        return self.levelset.dtype

    @property
    def band(self) -> float:
        """Half width of the band with particles, m."""
        return self._options.band * self.grid.spacing

    @property
    def spray_volume(self) -> float:
        """Volume of the droplets, m^3 (in 2-D the area of discs, m^2)."""
        return float(_surface.spray_volume(self.grid._core, self.spray._core))

    @property
    def bytes_per_particle(self) -> int:
        """Of a marker."""
        p = self.particles
        return sum(a.itemsize * math.prod(a.shape[1:]) for a in (p.positions, p.ids, p["sign"], p["radius"]))

    def seed(self, *, solid: SolidLike | None = None, time: float = 0.0) -> Seeding:
        """Remove all markers and seed the band, as if for the first time. Arguments and what is raised: as `reseed`."""
        core = self._solid(solid, time)
        self.steps = self.seedings = 0
        self.particles.remove(np.ones(len(self.particles), bool), workspace=self._workspace)
        return self._seed(core, time)

    def reseed(self, *, solid: SolidLike | None = None, time: float = 0.0) -> Seeding:
        """Remove markers out of the band and surplus ones, and add missing ones. Escaped markers stay.

        A cell whose centre is within the band wants `per_cell` markers, in cells that the surface cuts divided between the signs by
        volume. Of each sign, a cell keeps at most `per_cell`, those with the smallest s phi - r. The random numbers are those of the cell
        and of this reseeding, so nothing depends on the number of threads.

        Args:
            solid: region without markers: a `SolidSample`, a level set on the nodes (float64), or a `Solid`, as of `time`.
            time: s.

        Raises:
            TypeError, ValueError: a solid of another grid or type, samples that are not finite; nothing is added or removed.

        Source: Enright et al. 2002, sections 3.1 and 3.6.
        """
        return self._seed(self._solid(solid, time), time)

    def advance(
        self,
        velocity: MacField,
        dt: float,
        *,
        solid: SolidLike | None = None,
        outside: npt.ArrayLike | None = None,
        time: float = 0.0,
    ) -> ParticleReport:
        """Do one step: all stages in their order. Droplets move in `advance_spray` and return in `reincorporate`.

        Args:
            velocity: m/s, of the grid and dtype of the level set, extended into the outside at least as far as the band; frozen during the
                step (for a given flow: at the middle of the step).
            dt: s, positive.
            solid: keeps markers out, as of the end of the step: a `SolidSample`, a level set on the nodes (float64), or a `Solid`.
            outside: mask for redistancing, if the level set was continued into a solid; see `meniscus.surface.redistancing.redistance`.
            time: s, at the start of the step; passed to boundary functions.

        Raises:
            TypeError, ValueError: wrong types, dtypes or grids, a dt that is not positive, values that are not finite.

        Source: Enright et al. 2002, section 3; Selle 2008, section 4.4.3.
        """
        seconds, start = _checks.positive("dt", dt), _checks.number("time", time)
        end = start + seconds
        require_velocity(velocity, self.levelset)
        # Radii that follow the flow are adjusted by the reading of the level set that finds escaped markers.
        fused = self._options.radii_from == "flow"
        step = _surface.LevelSetStep(
            self._options.moving(self.grid.spacing),
            self._options.correction_threshold,
            self._reach,
            escape_rules(self._options, self.grid, self._options.radius_bounds if fused else None),
            self._options.escaped.escaped_outside == "bubbles",
        )
        mask = None if outside is None else _checks.mask("outside", outside, self.levelset.field.shape)
        args = *self._sets(), velocity._core, seconds, step, self._solid(solid, end), mask, start, self._workspace
        (advected, markers), corrections, gone = _surface.advance_particle_level_set(*args)
        if not fused:
            self.adjust_radii(time=end)
        self.steps += 1
        every = self._options.reseed_every
        seeding = None
        if every is not None and self.steps % every == 0:
            if self._options.reset_radii_on_reseed:
                self.reset_radii(time=end)
            seeding = self.reseed(solid=solid, time=end)
        first, second = (Correction(*c) for c in corrections)
        return ParticleReport(advected, MarkerMotion(*markers), (first, second), _removal(gone), seeding)

    def advect(self, velocity: MacField, dt: float, *, solid: SolidLike | None = None, time: float = 0.0) -> tuple[int, MarkerMotion]:
        """Advect the level set, the markers and the bubbles; return the number of advected samples and the report of the markers.

        Markers that cross walls of the domain are put onto them, those that cross other sides are removed, those that end in the solid
        are pushed out of it. Arguments and what is raised: as `advance`.
        """
        seconds, start = _checks.positive("dt", dt), _checks.number("time", time)
        require_velocity(velocity, self.levelset)
        how, inside = self._options.moving(self.grid.spacing), self._solid(solid, start + seconds)
        core = _surface.advect_particle_level_set
        advected, markers = core(*self._sets(), velocity._core, seconds, how, inside, start, self._workspace)
        return advected, MarkerMotion(*markers)

    def correct(self, *, time: float = 0.0) -> Correction:
        """Correct the level set at the samples around escaped markers.

        A marker of sign s, radius r at x_p is a ball with the level set s (r - |x - x_p|). At every corner of the lattice cell around it,
        take the largest of phi and the values of escaped outside markers, and the smallest of phi and the values of escaped inside markers;
        the one of smaller magnitude becomes the new value. The result does not depend on the order of the markers.

        Args:
            time: s, passed to boundary functions.

        Source: Enright et al. 2002, section 3.3.
        """
        when, threshold = _checks.number("time", time), self._options.correction_threshold
        return Correction(*_surface.correct_by_particles(self.levelset.field._core, self.particles._core, threshold, when, self._workspace))

    def redistance(self, max_motion: float = 0.0, *, outside: npt.ArrayLike | None = None) -> int:
        """Redistance the level set as far as markers and the next step need it; return the number of samples in reach.

        Args:
            max_motion: m; largest motion of the surface in the next step.
            outside: as in `meniscus.surface.redistancing.redistance`.
        """
        band = self._reach + _checks.number("max_motion", max_motion)
        return redistance(self.levelset, band=band, at_sides="goes-on", outside=outside, workspace=self._workspace)

    def adjust_radii(self, *, every: bool = False, time: float = 0.0) -> None:
        """Set radii to s phi, between the bounds: of every marker, or if radii follow the flow, of markers beyond the largest radius.

        Args:
            every: set those of all markers in any case: for changes of the level set that the markers have not followed.
            time: s, passed to boundary functions.

        Source: Enright et al. 2002, section 3.5.
        """
        which = _surface.RadiusOf.every if every or self._options.radii_from == "levelset" else _surface.RadiusOf.far
        self._read_radii(which, time)

    def reset_radii(self, *, time: float = 0.0) -> None:
        """Set the radii of markers on their own side to s phi, between the bounds; who has escaped keeps his.

        Args:
            time: s, passed to boundary functions.
        """
        self._read_radii(_surface.RadiusOf.inside, time)

    def accept_levelset(self, moved: float = math.inf, *, time: float = 0.0) -> int:
        """Accept a changed level set: remove markers on its wrong side, set all radii from it; return the number of markers removed.

        For changes from outside, such as liquid from a source: escaped markers would undo them. `reseed` then fills the new band.

        Args:
            moved: m; by how much the surface may have been moved at most: markers on the wrong side that are farther from it stay.
            time: s, passed to boundary functions.
        """
        return self._remove_on_wrong_side(moved, time, self._options.radii)

    def remove_on_wrong_side(self, reach: float = math.inf, *, time: float = 0.0) -> int:
        """Remove the markers on the wrong side of the surface no farther from it than `reach` (m); return how many went.

        Args:
            reach: how far the surface may have been moved by something that the markers do not know of.
            time: s, passed to boundary functions.
        """
        return self._remove_on_wrong_side(reach if reach == math.inf else _checks.number("reach", reach), time, None)

    def remove_escaped(self, velocity: MacField, *, time: float = 0.0) -> Removal:
        """Remove markers with -s phi > `removal_distance` * r: of the inside as spray, of the outside as bubbles or altogether, or not at
        all, as the options say.

        Droplets and bubbles get the velocity of the flow at their place.

        Args:
            velocity: as in `advance`.
            time: s, passed to boundary functions.

        Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 8.
        """
        require_velocity(velocity, self.levelset)
        return self._remove_escaped(velocity, _checks.number("time", time), adjust_far=False)

    def advance_spray(
        self,
        dt: float,
        gravity: Sequence[float],
        solid: SolidLike | None = None,
        *,
        drag: float = 0.0,
        restitution: float = 0.0,
        open_sides: Sequence[str] = (),
        time: float = 0.0,
    ) -> SprayFlight:
        """Move the droplets for dt: exact parabolas between contacts, which stop the velocity across the surface.

        The path is followed against the level set of the solid, so that nothing is passed through however long the step.

        Args:
            dt: s, positive.
            gravity: m/s^2.
            solid: as of the end of the step: a `SolidSample` (its velocity counts in contacts), a level set on the nodes (float64), or
                a `Solid`.
            drag: 1/s: dv/dt = gravity - drag v.
            restitution: part of the velocity across a surface that is reflected, 0 to 1.
            open_sides: names of the sides ('x-', ...) through which droplets leave and are removed; the others stop them.
            time: s, at the start of the step.

        Raises:
            TypeError, ValueError: wrong types, dtypes or grids, numbers out of range, unknown sides; nothing moves.

        Source: Guendelman et al. 2005, section 8 (ballistic motion and collision).
        """
        end = _checks.positive("dt", dt) + _checks.number("time", time)
        core = self._solid(solid, end)
        return fly(self.spray, self.grid, dt, gravity, core, (drag, restitution), open_sides, end, self._workspace)

    def reincorporate(
        self,
        velocity: MacField | None = None,
        *,
        fraction: float = 1.0,
        scale: float = 1.0,
        deposit: Deposit = "momentum",
        time: float = 0.0,
    ) -> Reincorporation:
        """Turn droplets with phi <= fraction * r, and bubbles with phi >= -fraction * r, into markers again.

        Args:
            velocity: gets the momentum of the droplets: each of the two faces per axis of a droplet's cell w v, with
                w = 0.5 * scale * V_ball / V_cell. None: none.
            fraction: in radii.
            scale: of the momentum, not negative.
            deposit: 'momentum': all of it, as if the liquid in the cell kept its mass; 'mean': with the mass that it belongs to. The sum is
                divided by 1 + w, and many droplets cannot make the liquid faster than they are. 'liquid': faces beside liquid up to one
                cell away take a part scale * V_ball / V_liquid of the difference to the velocity of the droplet, V_liquid being the volume
                of liquid around them; all of the momentum arrives wherever the surface lies.
            time: s, passed to boundary functions.

        Raises:
            TypeError, ValueError: wrong types, dtypes or grids, numbers that are not finite; nothing is changed.

        Source: Guendelman et al. 2005, section 8.
        """
        if velocity is not None:
            require_velocity(velocity, self.levelset)
        part, factor = _checks.number("fraction", fraction), _checks.number("scale", scale)
        args = part, self._options.radii, factor, DEPOSIT("deposit", deposit), _checks.number("time", time), self._workspace
        droplets = rejoin(self.levelset, self.spray, -1, self.particles, None if velocity is None else velocity._core, *args)
        bubbles = rejoin(self.levelset, self.bubbles, 1, self.particles, None, *args)
        return Reincorporation(Transfer(*droplets[:2]), Transfer(*bubbles[:2]), tuple(droplets[2][: self.grid.dimension]))

    def __repr__(self) -> str:
        """One line: the level set, and how many particles there are."""
        extra = "".join(f", {len(p)} {name}" for name, p in (("droplets", self.spray), ("bubbles", self.bubbles)) if len(p))
        return f"<ParticleLevelSet {self.levelset!r}, {len(self.particles)} markers{extra}>"

    def _seed(self, solid: Any, time: float) -> Seeding:
        options, when = self._options.seeding(self.grid.dimension, self.seedings, self._window), _checks.number("time", time)
        info = _surface.seed_particles(self.levelset.field._core, self.particles._core, solid, options, when, self._workspace)
        self.seedings += 1
        return Seeding(*info)

    def _remove_escaped(self, velocity: MacField, time: float, *, adjust_far: bool) -> Removal:
        rules = escape_rules(self._options, self.grid, self._options.radius_bounds if adjust_far else None)
        bubbles = self.bubbles._core if self._options.escaped.escaped_outside == "bubbles" else None
        args = self.levelset.field._core, self.particles._core, rules, velocity._core, self.spray._core, bubbles
        return _removal(_surface.remove_escaped(*args, time, self._workspace))

    def _remove_on_wrong_side(self, reach: float, time: float, radii: tuple[float, float] | None) -> int:
        args = self.levelset.field._core, self.particles._core, reach, radii, _checks.number("time", time)
        return int(_surface.remove_markers_on_wrong_side(*args, self._workspace))

    def _read_radii(self, which: Any, time: float) -> None:
        bounds = self._options.radius_bounds if which == _surface.RadiusOf.far else self._options.radii
        args = self.levelset.field._core, self.particles._core, bounds, which, _checks.number("time", time)
        _surface.adjust_radii(*args, self._workspace)

    @property
    def _reach(self) -> float:
        """Distance from the surface, m, within which corrections need the level set to be a distance."""
        return (max(self._options.radii[1], 1.0) + _MARGIN + self._options.band) * self.grid.spacing

    def _sets(self) -> tuple[Any, Any, Any, Any]:
        """Return the level set and all particles, as the core takes them."""
        return self.levelset.field._core, self.particles._core, self.spray._core, self.bubbles._core

    def _solid(self, solid: SolidLike | None, time: float) -> Any:
        """Return the boundary of a solid, or None, as the core takes it."""
        if isinstance(solid, (Solid, Shape)) and self._solid_sample is None:
            self._solid_sample = SolidSample(self.grid, self.dtype)
        return solid_core(solid, self.grid, self.dtype, time, sample=self._solid_sample)


def _removal(gone: Any) -> Removal:
    return Removal(Transfer(*gone[:2]), Transfer(*gone[2:]))
