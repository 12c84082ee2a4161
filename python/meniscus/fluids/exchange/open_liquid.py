"""Exchange of a liquid solver with other representations of water."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus._meniscus import grid as _grid
from meniscus.core.stateful import exclusively
from meniscus.fluids.exchange.expansion import Expansion
from meniscus.fluids.exchange.reports import Drops, LiquidExchange
from meniscus.fluids.fluid_solver import Acceleration, FluidSolver
from meniscus.fluids.liquid.options import LiquidOptions, LiquidReport
from meniscus.fluids.liquid.pockets import AirPockets
from meniscus.fluids.liquid.surface import LiquidSurface
from meniscus.fluids.liquid.volume import LiquidVolume
from meniscus.grid import Particles
from meniscus.grid.fields import CellField, MacField, component_shapes
from meniscus.parallel.communicator import one_rank
from meniscus.surface import LevelSet, ParticleLevelSet, SolidBoundary, SprayFlight
from meniscus.surface.shapes.sampled import as_shape

Floats = npt.NDArray[np.float64]
_FASTEST = 1e6  # m/s; the path of a drop is followed around solids in steps of parts of a cell


class OpenLiquid(FluidSolver[LiquidReport]):
    """The part of a `LiquidSolver` that gives water to others and takes it from them, with its volume and its momentum.

    Whatever comes in is counted as `received` in the volume report, whatever goes out as `given`. Momenta are per density.

    On ranks all methods are collective, and what they return of volumes and momenta is of the whole domain. Drops and volumes that are
    added are the same on all ranks, each of which keeps those in its block; fields, faces and drops that are returned are the rank's.
    """

    has_surface = True
    options: LiquidOptions
    surface: LiquidSurface
    volume: LiquidVolume
    expansion: Expansion
    pockets: AirPockets | None
    gravity: Acceleration
    _curvature: CellField | None

    @property
    def levelset(self) -> LevelSet:
        """Signed distance to the surface, m, on cells: liquid where <= 0. After writing to it, call `set_surface`."""
        return self.surface.levelset

    @property
    def particles(self) -> ParticleLevelSet | None:
        """The particle level set, with markers and spray; None if the surface is tracked by the level set alone."""
        return self.surface.particles

    def momentum(self) -> tuple[float, ...]:
        """Return the momentum of the liquid per density, m^4/s (in 2-D m^3/s), without drops.

        A face represents the liquid in half of each cell next to it, without what is in the solid.
        """
        return self._momentum(self.sampled_solid.at(self.time))

    @exclusively
    def add_drops(self, positions: npt.ArrayLike, velocities: npt.ArrayLike, volumes: npt.ArrayLike) -> LiquidExchange:
        """Add drops, which fly from now on.

        Args:
            positions: (n, dim), m, in the domain; as everything here the same on all ranks.
            velocities: (n, dim), m/s, at most 1e6.
            volumes: (n,), m^3 (in 2-D m^2), positive.

        Returns:
            What the drops hold. It differs from what was given by round-off: drops store their radius, in the dtype of the solver.

        Raises:
            TypeError, ValueError: wrong types, shapes or values, or a surface without drops; nothing is added.
        """
        spray, dim = self.require_spray(), self.grid.dimension
        x, v, volume = (_checks.numbers(n, a) for n, a in (("positions", positions), ("velocities", velocities), ("volumes", volumes)))
        if volume.ndim != 1:
            raise ValueError(f"volumes must have shape (n,), not {volume.shape}")
        for name, values in (("positions", x), ("velocities", v)):
            if values.shape != (len(volume), dim):
                raise ValueError(f"{name} must have shape ({len(volume)}, {dim}) for as many volumes, not {values.shape}")
        dtype = self.velocity.dtype
        with np.errstate(over="ignore", invalid="ignore"):
            places, speeds = x.astype(dtype), v.astype(dtype)
            radius = (np.sqrt(volume / math.pi) if dim == 2 else np.cbrt(0.75 * volume / math.pi)).astype(dtype)
        for name, values in (("positions", places), ("velocities", speeds), ("volumes", volume)):
            _checks.require_finite(name, values)
        if len(speeds) and np.abs(speeds).max() > _FASTEST:
            raise ValueError(f"velocities must be at most {_FASTEST:g} m/s, not {np.abs(speeds).max():g}")
        if not (volume > 0).all():
            raise ValueError(f"volumes must be positive, not {volume[~(volume > 0)][0]:g}")
        for side in self.grid.sides:
            d = "xyz".index(side[0])
            low = self.grid.origin[d]
            outside = x[:, d] < low if side[1] == "-" else x[:, d] > low + self.grid.extent[d]
            if outside.any():
                raise ValueError(f"positions must be in the domain, but drop {int(outside.argmax())} is not")
        spray.append(places, velocity=speeds, radius=radius, replicated=True, grid=self.grid)
        added = self._exchanged(places, speeds, radius, replicated=True)[1]
        self.volume.totals["received"] += added.volume
        return added

    @exclusively
    def take_drops(self, which: Any) -> Drops:
        """Take drops out of the flight, and return those of this rank.

        Args:
            which: bool mask (n,) over the drops, in the order of `particles.spray`; or a region, as that of a `LiquidSource`: the drops
                with their centres in it.

        Raises:
            TypeError, ValueError: neither, or a surface without drops; nothing is taken.
        """
        spray = self.require_spray()
        if isinstance(which, (np.ndarray, list)) and np.asarray(which).dtype == np.bool_:
            mask = _checks.mask("which", which, (len(spray),))
        else:
            shape = as_shape("which", which, self.grid.dimension)
            mask = shape.signed_distance(np.ascontiguousarray(spray.positions, np.float64)) <= 0
        x, v, r = (np.ascontiguousarray(a[mask]) for a in (spray.positions, spray["velocity"], spray["radius"]))
        drops, taken = self._exchanged(x, v, r)
        spray.remove(mask, workspace=self._workspace)
        self.volume.totals["given"] += taken.volume
        return drops

    @exclusively
    def fly(self, dt: float) -> SprayFlight:
        """Move the drops for dt around the solid as it is at the end of the step; the first half of the stage `spray`.

        Raises TypeError or ValueError for a dt that is not positive.
        """
        dt = _checks.positive("dt", dt)
        return self.surface.fly(dt, self.gravity, self.sampled_solid.at(self.time + dt, dt), self.time, self.volume)

    @exclusively
    def rejoin(self, dt: float, *, expand: bool | None = None) -> LiquidExchange:
        """Let drops that are in the liquid join it; the second half of the stage `spray`.

        Args:
            dt: length of the step, s: the liquid and the solid are those at its end.
            expand: whether the liquid makes room for them. Then all momentum of a drop whose centre is in the liquid goes to the liquid up
                to a cell around it: each face takes the mean by volume of its own velocity and those of the drops. The volume waits in
                `expansion` for the next projections. Otherwise drops become markers as soon as they touch the liquid, and the volume is
                for the drift correction to add. Default: `options.expansion`.

        Raises:
            TypeError, ValueError: dt is not positive; nothing joins.

        Source: Lee 2018, section 3.4; Losasso, Talton, Kwatra and Fedkiw 2008, section 4; Guendelman et al. 2005, section 8.
        """
        dt = _checks.positive("dt", dt)
        expanding = self.options.expansion if expand is None else _checks.flag("expand", expand)
        solid = self.sampled_solid.at(self.time + dt, dt)
        if not self.surface.drops:
            return self._nothing()
        if expanding:
            return self.surface.absorb(self.velocity, self.time + dt, solid, self.expansion)
        return self.surface.rejoin(self.velocity, self.time + dt, solid, self.volume)

    @exclusively
    def gather(self, dt: float) -> LiquidExchange:
        """Let drops that fill a cell where no liquid is become liquid there, with their volume and the mean of their velocities.

        A cell of air is full when the volumes of the drops in it add up to what the solid leaves of it. The stage `spray` ends with this
        where `options.gather` says so.

        Args:
            dt: length of the step, s: the liquid and the solid are those at its end.

        Raises:
            TypeError, ValueError: dt is not positive; nothing becomes liquid.
        """
        dt = _checks.positive("dt", dt)
        solid = self.sampled_solid.at(self.time + dt, dt)
        if not self.surface.drops:
            return self._nothing()
        return self.surface.gather(self.velocity, solid, self.volume)

    @exclusively
    def hand_over(self, region: Any, *, dt: float = 0.0) -> LiquidExchange:
        """Empty a region, and return the volume and the momentum of the liquid that was in it, which is another's from now on.

        The volume is what the region's absence changes, and what waited in it for room; as much less is expected. With the last of a
        body of liquid goes what is still expected of it, also if that is less than it measures, or even less than nothing. Drops stay.

        Args:
            region: as that of a `LiquidSource`.
            dt: within a step, its length, s: the solid is that at its end.

        Raises:
            TypeError, ValueError: no such region, or one of another dimension; nothing is changed.
        """
        phi, solid = self._sampled(region), self.solid_after(dt)
        volume, momentum = self.expansion.take_in(phi, self.velocity)
        self.volume.totals["given"] += volume
        if self.surface.would_change(phi, filled=False):
            nodes = self._outside(solid)
            self.volume.measure(self.levelset, nodes)
            before = np.array(self._momentum(solid))
            self.surface.drain(phi)
            gone, rest = self.volume.update_after_giving(self.levelset, nodes)
            volume += gone + rest
            # The rest moves as the others, but brings no more than they do: of next to nothing, no velocity is known.
            moves = min(max(1.0 + rest / gone, 0.0), 2.0) if gone > 0 else 1.0
            momentum += moves * (before - self._momentum(solid))
            self.surface.redistance(solid)
            self.surface.remove_stray_markers()
        return LiquidExchange(0, volume, tuple(momentum.tolist()))

    @exclusively
    def take_back(self, region: Any, volume: float | None = None, velocity: Sequence[float] | None = None) -> LiquidExchange:
        """Fill a region with liquid that was another's.

        Args:
            region: as that of a `LiquidSource`.
            volume: that the liquid receives, m^3 (in 2-D m^2), not negative. What filling the region does not bring of it waits in
                `expansion`, in the region. Default: what filling brings.
            velocity: of the new liquid, m/s; each face takes the mean of it and its own by volume. Default: the faces stay as they are.

        Returns:
            The volume, and with a velocity its product with that; else what the momentum has changed by.

        Raises:
            TypeError, ValueError: no such region, numbers of the wrong size or sign, or nothing in the region that could take the
                volume; nothing is changed.
        """
        phi, solid = self._sampled(region), self.sampled_solid.at(self.time)
        given = None if velocity is None else np.array(_checks.vector("velocity", velocity, self.grid.dimension))
        if volume is not None and _checks.number("volume", volume) < 0:
            raise ValueError(f"volume must not be negative, not {volume:g}")
        filling = self.surface.would_change(phi, filled=True)
        holds = self._cells_of(phi)
        count = self.grid.comm.total(len(holds))
        if volume and not count:
            raise ValueError("region must hold the centre of a cell, so that there is liquid to receive the volume")
        nodes, before = self._outside(solid), np.array(self.momentum())
        wet = [v / self.grid.spacing**self.grid.dimension for v in self.face_volumes()]
        change = 0.0
        if filling:
            self.volume.measure(self.levelset, nodes)
            self.surface.fill(phi)
            change = self.volume.update_after_sources("received", self.levelset, nodes)
        received = change if volume is None else float(volume)
        if given is not None:
            args = self.velocity._core, self.levelset.field._core, _nodes(self.sampled_solid.at(self.time)), phi._core
            _fluids.give_to_region(*args, wet, received, given.tolist())
        gained = np.array(self.momentum()) - before
        if filling:
            self.surface.redistance(solid)
        if received != change:
            self.volume.totals["received"] += received - change
            self.expansion.wait(holds, np.full(len(holds), (received - change) / count))
        momentum = gained if given is None else received * given
        return LiquidExchange(0, received, tuple(momentum.tolist()), tuple(gained.tolist()))

    @exclusively
    def expand(self, positions: npt.ArrayLike, volumes: npt.ArrayLike, *, dt: float = 0.0) -> float:
        """Let the liquid make room for volumes that it receives, or close up after volumes that it gives; return their sum.

        They wait in `expansion` for the next projections. Velocities stay: what is received moves as the liquid around it.

        Args:
            positions: (n, dim), m, in the liquid or within two cells of it; farther away the volume waits until there is liquid. The same
                on all ranks.
            volumes: (n,), m^3 (in 2-D m^2): positive for what is received, negative for what is given.
            dt: within a step, its length, s: the solid is that at its end.

        Raises:
            TypeError, ValueError: wrong types or shapes, or values that are not finite; nothing is changed.
        """
        x, v = _checks.numbers("positions", positions), _checks.numbers("volumes", volumes)
        if v.ndim != 1 or x.shape != (len(v), self.grid.dimension):
            raise ValueError(f"positions must have shape (n, {self.grid.dimension}) for n volumes, not {x.shape} for {v.shape}")
        _checks.require_finite("positions", x)
        _checks.require_finite("volumes", v)
        nodes = self._outside(self.solid_after(dt))
        own = _grid.points_in_block(self.grid._core, np.ascontiguousarray(x, np.float64))
        self.expansion.add(np.ascontiguousarray(x[own], np.float64), np.ascontiguousarray(v[own], np.float64), self.levelset, nodes)
        self.volume.totals["received"] += float(v[v > 0].sum())
        self.volume.totals["given"] -= float(v[v < 0].sum())
        return float(v.sum())

    @exclusively
    def blend_velocity(
        self, values: MacField | Sequence[npt.NDArray[Any]], weights: Sequence[npt.NDArray[Any]], *, dt: float = 0.0
    ) -> LiquidExchange:
        """Draw the velocity of faces towards values: u + w (v - u).

        Args:
            values: m/s, a MacField of this grid and dtype, or one array per axis.
            weights: one array per axis of the shape and dtype of the component, 0 to 1; faces with 0 keep every bit.
            dt: within a step, its length, s: the solid is that at its end.

        Returns:
            The momentum that the liquid has gained, and whoever has lent the values has lost.

        Raises:
            TypeError, ValueError: wrong types, shapes or dtypes, weights out of range, values that are not finite where the weight is not
                zero; nothing is changed.

        Source: Lee 2018, section 3.4 (averaging the momentum of tetrahedra with the velocity of the grid).
        """
        v, w = self._face_arrays("values", values), self._face_arrays("weights", weights)
        gained = tuple(_fluids.blend_velocity(self.velocity._core, self.levelset.field._core, _nodes(self.solid_after(dt)), v, w))
        return LiquidExchange(0, 0.0, gained, gained)

    @exclusively
    def pressure_gradient_at(self, points: npt.ArrayLike) -> npt.NDArray[Any]:
        """Return the gradient of the pressure of the last projection at points, Pa/m, as the projection has applied it to faces.

        In water at rest it is the weight of the water, exactly, up to the surface. Ask before the surface moves again. Up to two cells
        beyond the liquid the gradient goes on; farther away it is zero.

        Args:
            points: (n, dim), m.

        Returns:
            (n, dim), of the dtype of the solver.

        Raises:
            TypeError, ValueError: wrong types or shapes, points that are not finite.
        """
        o, dtype = self.options, self.velocity.dtype
        x = _checks.numbers("points", points).astype(dtype)
        if x.ndim != 2 or x.shape[1] != self.grid.dimension:
            raise ValueError(f"points must have shape (n, {self.grid.dimension}), not {x.shape}")
        _checks.require_finite("points", x)
        solid = self.sampled_solid.at(self.time)
        if self._curvature is not None:
            self.levelset.curvature(out=self._curvature)
            self._curvature.array *= dtype.type(o.surface_tension)
        out = np.empty(x.shape, dtype)
        _fluids.sample_pressure_gradient(
            self.pressure._core,
            self.levelset.field._core,
            self._air_with_pressure(),
            o.air_pressure,
            None if self._curvature is None else self._curvature._core,
            None if solid is None else solid.inside_faces,
            np.ascontiguousarray(x),
            out,
        )
        return out

    def face_volumes(self, dt: float = 0.0) -> list[Floats]:
        """Return the liquid that each face stands for, m^3 (in 2-D m^2), one array per axis; `dt` as for `expand`."""
        nodes = _nodes(self.solid_after(dt))
        volumes = [np.empty(shape) for shape in component_shapes(self.grid)]
        for d, v in enumerate(volumes):
            _fluids.face_volumes(self.levelset.field._core, nodes, d, v)
            v *= self.grid.spacing**self.grid.dimension
        return volumes

    def _air_with_pressure(self) -> npt.NDArray[np.bool_] | None:
        """Return the mask of the air whose pressure the last projection has solved for, or None."""
        return None if self.pockets is None or not self.pockets.count else self.pockets.cells

    def _outside(self, solid: SolidBoundary | None) -> Any:
        """Return the level set of the solid on nodes, or None."""
        return None if solid is None else solid.levelset

    def solid_after(self, dt: float) -> SolidBoundary | None:
        """Return the solid dt seconds from now."""
        return self.sampled_solid.at(self.time + _checks.number("dt", dt), dt or None)

    def _momentum(self, solid: SolidBoundary | None) -> tuple[float, ...]:
        return tuple(_fluids.liquid_momentum(self.velocity._core, self.levelset.field._core, _nodes(solid)))

    def require_spray(self) -> Particles:
        """Return the drops. Raises ValueError for a surface without drops."""
        if self.particles is None or self.options.air == "fluid":
            raise ValueError("drops need tracking='particle-level-set', and air that is no fluid of its own")
        return self.particles.spray

    def _nothing(self) -> LiquidExchange:
        zero = (0.0,) * self.grid.dimension
        return LiquidExchange(0, 0.0, zero, zero)

    def _exchanged(
        self, x: npt.NDArray[Any], v: npt.NDArray[Any], radius: npt.NDArray[Any], *, replicated: bool = False
    ) -> tuple[Drops, LiquidExchange]:
        """Return drops and what they hold together, those of all ranks; `replicated`: they are the same on all."""
        r = radius.astype(np.float64)
        volumes = math.pi * r**2 if self.grid.dimension == 2 else 4.0 / 3.0 * math.pi * r**3
        comm = one_rank() if replicated else self.grid.comm
        momentum = tuple(comm.exact_sum(volumes * v[:, d]) for d in range(self.grid.dimension))
        return Drops(x, v, volumes), LiquidExchange(comm.total(len(r)), comm.exact_sum(volumes), momentum)

    def _cells_of(self, region: CellField) -> npt.NDArray[np.int64]:
        """Return the C-ordered indices in the domain of the cells of the block with their centres in a region."""
        places = np.nonzero(region.array <= 0)
        first = self.grid.first_cell
        return np.ravel_multi_index(tuple(i + f for i, f in zip(places, first, strict=True)), self.grid.shape)

    def _sampled(self, region: Any) -> CellField:
        """Return the signed distance of a region on the cells."""
        shape = as_shape("region", region, self.grid.dimension)
        phi = CellField(self.grid, self.velocity.dtype)
        shape.sample(phi, band=(self.options.band + 1) * self.grid.spacing, workspace=self._workspace)
        return phi

    def _face_arrays(self, name: str, given: Any) -> tuple[npt.NDArray[Any], ...]:
        if isinstance(given, MacField):
            if given.grid != self.grid:
                raise ValueError(f"{name} must have the grid of the liquid, {self.grid}, not {given.grid}")
            given = [given.component(d) for d in range(self.grid.dimension)]
        if isinstance(given, (str, bytes)) or not isinstance(given, (Sequence, np.ndarray)) or len(given) != self.grid.dimension:
            raise TypeError(f"{name} must hold {self.grid.dimension} arrays, one per axis")
        arrays = []
        for d, (a, shape) in enumerate(zip(given, component_shapes(self.grid), strict=True)):
            array = np.asarray(a)
            if array.dtype != self.velocity.dtype:
                raise TypeError(f"{name}[{d}] must be of dtype {self.velocity.dtype}, not {array.dtype}")
            if array.shape != shape:
                raise ValueError(f"{name}[{d}] must have shape {shape}, not {array.shape}")
            arrays.append(np.ascontiguousarray(array))
        return tuple(arrays)


def _nodes(solid: SolidBoundary | None) -> Any:
    """Return the level set of a solid on nodes, for the core."""
    return None if solid is None else solid.levelset._core
