"""Vortex sheets: the surface of a light or heavy fluid, which moves itself and needs no grid."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus._meniscus import mesh as _mesh
from meniscus.core.solver import Solver, stage
from meniscus.fluids.sheets.circulation import CirculationRule, CirculationTransfer
from meniscus.fluids.sheets.single_layer import SheetSolids, SingleLayer
from meniscus.mesh.surface_like import SurfaceLike
from meniscus.numerics.multipole import BiotSavartKernel, FastMultipole
from meniscus.surface.tracking.tracked_surface import TrackedSurface

Floats = npt.NDArray[np.float64]
Potential = Callable[[Floats], npt.ArrayLike]
SheetMethod = Literal["rk2", "rk4"]
# Parts of a step at which a method looks, each along the slope before it, and the weights of its slopes.
_STAGES = {"rk2": ((0.0, 0.5), (0.0, 1.0)), "rk4": ((0.0, 0.5, 0.5, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6))}


@dataclass
class SheetReport:
    """Report of a step of a vortex sheet.

    Attributes:
        dt: s.
        triangles: at the end.
        speed: greatest one of a vertex, m/s.
        fraction: part of the first motion that was free of contacts, 1 where nothing was in the way.
        operations: on the mesh.
    """

    dt: float = 0.0
    triangles: int = 0
    speed: float = 0.0
    fraction: float = 1.0
    operations: int = 0


class VortexSheet(Solver[SheetReport]):
    """A surface between two fluids of slightly different density, with the vorticity that buoyancy creates in it.

    The flow has no viscosity, and no vorticity but in the sheet; it is at rest far away. A step improves the mesh, with merges and splits,
    and moves the sheet along its own velocity, with as many evaluations of it as the method has. Circulations follow all changes of the
    mesh. Velocities are sums over the triangles by `FastMultipole`.

    Args:
        surface: a closed `TrackedSurface`, which the sheet moves from now on.
        buoyancy: acceleration of the inside relative to the outside, m/s^2, three numbers; or a function of points (n, 3), m, that returns
            the potential (n,), m^2/s^2, whose gradient it is.
        kernel: of the law of Biot and Savart: "second-order", "mollified" (the printed one, of first order), or "singular".
        core: radius of vortices in edge lengths.
        accuracy: of velocities, relative.
        method: "rk2" or "rk4".
        rule: for circulations where the mesh changes, see `CirculationTransfer`.
        improve: whether a step improves the mesh.

    Attributes:
        surface: the surface; others may carry data on it, as an age.

    Raises:
        TypeError, ValueError: wrong types or values, a surface with holes.

    Source: Brochu 2012, chapter 6; the kernel of second order and the exact rules are ours.
    """

    stages: tuple[str, ...] = ("improve", "move")
    settings = ("solids",)
    report_type = SheetReport

    def __init__(
        self,
        surface: TrackedSurface,
        buoyancy: Sequence[float] | Potential = (0.0, 0.0, 3.0),
        kernel: BiotSavartKernel = "second-order",
        core: float = 0.75,
        *,
        accuracy: float = 1e-4,
        method: SheetMethod = "rk2",
        rule: CirculationRule = "exact",
        improve: bool = True,
    ) -> None:
        given = _checks.one_of_type("surface", surface, TrackedSurface)
        _checks.choice("kernel", kernel, BiotSavartKernel)
        self._kernel: tuple[BiotSavartKernel, float] = (kernel, 0.0 if kernel == "singular" else _checks.positive("core", core))
        self._accuracy = _checks.positive("accuracy", accuracy)
        self._method: SheetMethod = method
        _checks.choice("method", method, SheetMethod)
        self._improve = _checks.flag("improve", improve)
        self._gravity: Floats | None = None if callable(buoyancy) else np.array(_checks.vector("buoyancy", buoyancy, 3))
        self._potential: Potential | None = buoyancy if callable(buoyancy) else None
        carried = [data for data in given.carried if isinstance(data.rule, CirculationTransfer)]
        if not carried:
            if boundary := given.mesh.check_watertight().boundary_edges:
                raise ValueError(f"surface must be closed, but {boundary} of its edges have one triangle")
            carried = [given.carry(np.zeros(len(given.edges)), on="edges", rule=CirculationTransfer(rule))]
        self._carried = carried[0]
        self.surface = self.declare("surface", given)
        self.time = self.declare("time", 0.0)
        self.solids = SheetSolids()
        self._topology: tuple[int, Any] | None = None
        self._speed = 0.0

    @property
    def circulation(self) -> Floats:
        """(k,) m^2/s, of the edges of the surface, ascending: the jump of the potential from inside to outside; writable."""
        return self._carried.array

    @property
    def vorticity(self) -> Floats:
        """(m, 3) m^3/s, vorticity times area of the triangles; the sum is zero."""
        return self._vortices(self.surface.vertices)[0]

    def velocity(self, points: npt.ArrayLike) -> Floats:
        """Return the velocities (n, 3), m/s, at points (n, 3), m; on the sheet that of the sheet, the mean of both sides.

        Solids count with the sources that they had at the end of the last step.
        """
        vorticity, centres = self._vortices(self.surface.vertices)
        found = FastMultipole(centres, points, self._accuracy, kernel=self._kernel[0], core=self._core_length()).biot_savart(vorticity)
        return found + self.solids.velocity(points) if self.solids else found

    def impulse(self) -> Floats:
        """Return the impulse (3,) over the density, m^4/s: half the sum of centre x vorticity."""
        vorticity, centres = self._vortices(self.surface.vertices)
        return np.array(_fluids.sheet_impulse(vorticity, centres))

    def energy(self) -> float:
        """Return the kinetic energy over the density, m^5/s^2, without solids."""
        x, t = self.surface.vertices, self.surface.triangles
        vorticity, centres = self._vortices(x)
        tree = FastMultipole(centres, None, self._accuracy, kernel=self._kernel[0], core=self._core_length())
        return float(_fluids.sheet_energy(x, t, self._edges(), self.circulation, tree.biot_savart(vorticity)))

    def add_solid(self, mesh: SurfaceLike, velocity: Callable[[Floats], npt.ArrayLike] | None = None) -> SingleLayer:
        """Put a closed solid into the flow, which the sheet neither enters nor touches.

        Args:
            mesh: of the solid, normals out of it.
            velocity: function of points (n, 3) of its surface that returns theirs (n, 3), m/s; None: at rest.

        Returns:
            The layer of sources on the solid.

        Raises:
            TypeError, ValueError: what is no closed surface, is turned inside out, or meets the sheet or contains it.
        """
        layer = SingleLayer(mesh)
        layer.require_outside(self.surface.vertices)
        self.surface.add_obstacle((layer.vertices, layer.triangles))
        self.solids.add(layer, velocity)
        return layer

    def emit(self, mesh: SurfaceLike) -> bool:
        """Add a closed mesh without vorticity, as from a source; return False, and do nothing, where it would meet the surface."""
        with self.exclusive():
            try:
                self.surface.add_part(mesh)
            except ValueError as error:
                if "intersect" in str(error):
                    return False
                raise
            self._topology = None
            return True

    @stage()
    def improve(self, dt: float) -> None:
        """Improve the mesh, if the options say so."""
        if self._improve:
            self.running_report.operations = len(self.surface.improve())

    @stage()
    def add_buoyancy(self, dt: float) -> None:
        """Let buoyancy act alone, without a motion: no stage of a step, whose `move` has both."""
        self._carried.array = self.circulation + dt * self._rate(self.surface.vertices)

    @stage(positive=True)
    def move(self, dt: float) -> None:
        """Move the sheet and let buoyancy act, together by the method's steps."""
        left, report = dt, self.running_report
        for attempt in range(20):
            x, before = np.array(self.surface.vertices), self.circulation.copy()
            ends, circulation = self._after(x, before, left)
            motion = self.surface.move(ends, left)
            part = motion.fraction
            self._carried.array = before + part * (circulation - before)
            report.fraction = part if attempt == 0 else report.fraction
            self.surface.time += part * left
            left *= 1.0 - part
            if part == 1.0:
                break
        else:
            raise RuntimeError(f"the sheet is stuck: {left:g} s of a step of {dt:g} s are left; a shorter step helps")
        report.speed, report.triangles = self._speed, len(self.surface.triangles)

    def max_dt(self) -> float:
        """Return the step (s) in which buoyancy, or the speed of the last step, takes a vertex by about an edge."""
        edge = self.surface.edge_length
        pull = float(np.linalg.norm(self._gravity)) if self._gravity is not None else 0.0
        limits = [0.5 * edge / self._speed if self._speed > 0 else np.inf, (edge / pull) ** 0.5 if pull > 0 else np.inf]
        return float(min(limits))

    def __repr__(self) -> str:
        """One line with the counts."""
        return f"<VortexSheet: {len(self.surface.triangles)} triangles, {len(self.solids)} solids, time {self.time:g} s>"

    def _arguments(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Return the arguments of a copy, which owns its surface."""
        arguments, named = self._made_with
        if "surface" in named:
            return arguments, {**named, "surface": copy.deepcopy(self.surface)}
        return (copy.deepcopy(self.surface), *arguments[1:]), named

    def _settings(self) -> dict[str, Any]:
        """Return solids of a copy's own."""
        return {"solids": copy.deepcopy(self.solids)}

    def _state_replaced(self) -> None:
        self._topology = None

    def _complete(self, report: SheetReport) -> None:
        if not np.isfinite(self.circulation).all():
            raise ValueError("a circulation is no longer finite; a shorter step helps")

    def _edges(self) -> Any:
        """Return the edges and those of the triangles, of the mesh as it is."""
        generation = self.surface.generation
        if self._topology is None or self._topology[0] != generation:
            self._topology = generation, _mesh.TriangleTopology(np.array(self.surface.triangles))
        return self._topology[1]

    def _core_length(self) -> float:
        return self._kernel[1] * self.surface.edge_length

    def _vortices(self, vertices: Floats, circulation: Floats | None = None) -> tuple[Floats, Floats]:
        """Return vorticity times area (m, 3) and centres (m, 3) of the triangles, with the vertices elsewhere."""
        values = self.circulation if circulation is None else circulation
        vorticity, centres = _fluids.sheet_vorticity(vertices, self.surface.triangles, self._edges(), values)
        return vorticity, centres

    def _rate(self, vertices: Floats) -> Floats:
        """Return the change of the circulations in a second, m^2/s^2."""
        edges = self._edges().edges
        middles = 0.5 * (vertices[edges[:, 0]] + vertices[edges[:, 1]])
        if self._gravity is not None:
            values = [vertices @ self._gravity, middles @ self._gravity]
        else:
            assert self._potential is not None
            values = [np.ascontiguousarray(self._potential(x), np.float64) for x in (np.array(vertices), middles)]
            for value, x in zip(values, (vertices, middles), strict=True):
                if value.shape != (len(x),):
                    raise ValueError(f"buoyancy must return an array of shape ({len(x)},), not {value.shape}")
        rate: Floats = _fluids.buoyant_circulation(self._edges(), *values)
        return rate

    def _slopes(self, vertices: Floats, circulation: Floats) -> tuple[Floats, Floats]:
        """Return the velocities of vertices and the changes of circulations of a sheet that has its vertices elsewhere."""
        vorticity, centres = self._vortices(vertices, circulation)

        def of_sheet(points: Floats) -> Floats:
            tree = FastMultipole(centres, points, self._accuracy, kernel=self._kernel[0], core=self._core_length())
            return tree.biot_savart(vorticity)

        velocity = of_sheet(vertices)
        if self.solids:
            self.solids.solve(of_sheet)
            velocity += self.solids.velocity(vertices)
        return velocity, self._rate(vertices)

    def _after(self, vertices: Floats, circulation: Floats, dt: float) -> tuple[Floats, Floats]:
        """Return where vertices and circulations are after a step with nothing in the way."""
        parts, weights = _STAGES[self._method]
        velocity, rate = np.zeros_like(vertices), np.zeros_like(circulation)
        end, total = vertices.copy(), circulation.copy()
        self._speed = 0.0
        for part, weight in zip(parts, weights, strict=True):
            velocity, rate = self._slopes(vertices + part * dt * velocity, circulation + part * dt * rate)
            end += weight * dt * velocity
            total += weight * dt * rate
            self._speed = max(self._speed, float(np.linalg.norm(velocity, axis=1).max(initial=0.0)))
        return end, total
