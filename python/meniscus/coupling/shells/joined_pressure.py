"""The pressure of air and the velocities of shells in it, in one step of a `ShellCoupling`."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import numpy.typing as npt

from meniscus.coupling.shell_pressure import SheetSolid, ShellPressure, ShellPressureResult, face_masses, open_free_rims, side_masses
from meniscus.coupling.shell_pressure.sheet_faces import SheetFaces
from meniscus.coupling.shell_pressure.shell_pressure import ShellMode as PressureMode
from meniscus.coupling.shell_pressure.solid_parts import SolidParts
from meniscus.coupling.shells.bodies import KinematicShell, PushedShellBody
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.coupling.shells.shells import Shells
from meniscus.coupling.shells.wall_sides import wall_sides
from meniscus.coupling.shells.world_loads import require_loadable
from meniscus.fluids.gas.solver import SmokeSolver
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.grid.boundary import Open, ZeroGradient
from meniscus.solids import DeformableBody, RigidBody
from meniscus.surface import SolidBoundary

Floats = npt.NDArray[np.float64]


class JoinedPressure:
    """Makes smoke incompressible together with the shells in it.

    Args:
        solver: a `SmokeSolver`; the density is `air_density`.
        shells: as `require_two_ways` allows.
        mode: of `ShellPressure.prepare`.
        open_rims: whether faces beside free rims are open in part.
        one_way: whether bodies go their way whatever the fluid gives them.

    Attributes:
        sides: of the last solve.
        result: of the last solve.
    """

    def __init__(self, solver: Any, shells: Shells, mode: str, open_rims: bool = False, one_way: bool = False) -> None:
        self._solver, self._shells = solver, shells
        self._mode = cast(PressureMode, mode)
        self._rims, self._one_way = open_rims, one_way
        self._past_rims: list[Floats] | None = None
        self._pressure = ShellPressure(solver.grid)
        self._active = np.ones(solver.grid.shape, bool)
        self._parts = SolidParts(solver.grid, solver.velocity.dtype)
        self._solid: SolidBoundary | None = None
        self._walls: ShellWalls | None = None
        self.sides: SheetFaces | None = None
        self.result: ShellPressureResult | None = None

    @property
    def closed_regions(self) -> tuple[int, ...]:
        """As of `ShellPressure`; empty in the modes that do not look for them."""
        return self._pressure.closed_regions if self._mode == "monolithic" else ()

    def hold(self, walls: ShellWalls) -> None:
        """Give blocked faces of the velocity of the solver that of the shells; what flows past rims is kept aside for the next solve."""
        velocity = self._solver.velocity
        before = [np.array(velocity.component(k), np.float64) for k in range(velocity.grid.dimension)] if self._rims else []
        walls.hold_faces(velocity)
        self._past_rims = [u - velocity.component(k) for k, u in enumerate(before)] if self._rims else None

    def act(self, walls: ShellWalls, dt: float, solid: SolidBoundary | None = None) -> ShellPressureResult:
        """Make the velocity of the solver divergence-free, in place.

        Args:
            walls: of the shells where they are now.
            dt: s, of the next step of the shells, in which the impulses of the result act.
            solid: as it is now, with the velocity of the step that ends here; or none.

        Raises:
            ConvergenceError: the tolerance was not met.
        """
        solver, grid = self._solver, self._solver.grid
        boundary = solver.velocity.boundary
        free = [side for side in grid.sides if isinstance(boundary[side], (Open, ZeroGradient))]
        self._solid, self._walls = solid, walls
        self._parts.place(solid)
        areas, masses, active, density = self._fluid(free)
        x = self._shells.positions
        sides = wall_sides(walls, x, tuple(~np.isfinite(m) for m in masses))
        areas, masses, active = self._parts.cut(areas, masses, active)
        if self._rims:
            shut = [mask | ~np.isfinite(m) for mask, m in zip(walls.blocked_faces, masses, strict=True)]
            if solid is not None:
                shut = [mask | (part == 0) for mask, part in zip(shut, self._parts.open, strict=True)]
            sides = open_free_rims(grid, sides, x, self._shells.elements, shut)
        solids = self._solids(dt)
        beside = side_masses(grid, density, sides)
        if solid is not None:
            beside *= sides.of_faces(self._parts.open)
        self._pressure.prepare(areas, masses, active, sides, solids, beside, self._mode)
        # Forces have acted on faces of walls as well.
        solver.velocity.enforce_boundary(solver.time)
        solver.velocity.fill_ghosts(solver.time)
        u = tuple(np.asarray(solver.velocity.component(k), np.float64) for k in range(grid.dimension))
        velocities = None
        if self._past_rims is not None:
            velocities = _of_sides(sides, u)
            u = tuple(np.where(_opened(sides, v.shape, k), v + past, v) for k, (v, past) in enumerate(zip(u, self._past_rims, strict=True)))
            self._past_rims = None
        result = self._pressure.solve(u, side_velocities=velocities, flux=self._parts.flux, tolerance=solver.options.tolerance)
        for k, values in enumerate(result.faces):
            solver.velocity.component(k)[...] = values
        self._parts.hold_closed(solver.velocity)
        if self._rims:
            self._set_past_rims(sides, result)
        self.sides, self.result = sides, result
        return result

    def _set_past_rims(self, sides: SheetFaces, result: ShellPressureResult) -> None:
        """Give faces that are open in part the velocity of the fluid there, without that of the sheet."""
        every = np.arange(len(sides))
        sheet = np.einsum("sk,sk->s", sides.weights, result.velocities[sides.nodes, sides.axis[:, None]])
        sheet = np.repeat(sheet.reshape(-1, 2).mean(axis=1), 2)
        velocity = self._solver.velocity
        for k in range(velocity.grid.dimension):
            rows = every[(sides.axis == k) & (sides.open > 0)]
            at, part = tuple(sides.face[rows].T), sides.open[rows]
            velocity.component(k)[at] = (result.faces[k][at] - (1.0 - part) * sheet[rows]) / part

    def _fluid(self, open_sides: list[str]) -> tuple[tuple[Floats, ...], tuple[Floats, ...], npt.NDArray[np.bool_], npt.ArrayLike]:
        """Return areas and masses of faces, the cells with fluid, and its density, kg/m^3, a number or by cell."""
        density = self._solver.options.air_density
        return *face_masses(self._solver.grid, density, open_sides=open_sides), self._active, density

    def _solids(self, dt: float) -> list[SheetSolid]:
        shells = self._shells
        x = shells.positions
        if self._one_way:
            v = np.zeros((len(x), 3))
            v[:, : x.shape[1]] = (shells.look_ahead(dt) - x) / dt
            return [SheetSolid.kinematic(v)]
        # First, because a body that steps linearises its forces anew.
        told = any(not (isinstance(b, DeformableBody) or (isinstance(b, RigidBody) and b.is_dynamic)) for b in shells.bodies)
        ahead = (shells.look_ahead(dt) - x) / dt if told else None
        solids = []
        for i, body in enumerate(shells.bodies):
            rows = shells.rows(i)
            if isinstance(body, RigidBody) and body.is_dynamic:
                share = _corner_areas(x[rows], shells.parts[i].elements)
                solids.append(SheetSolid.rigid(body, x[rows], dt, masses=body.mass * share / share.sum()))
            elif isinstance(body, DeformableBody):
                solids.append(SheetSolid.deformable(body, dt))
            else:
                assert ahead is not None
                v = np.zeros((rows.stop - rows.start, 3))
                v[:, : x.shape[1]] = ahead[rows]
                if isinstance(body, PushedShellBody):
                    masses = np.asarray(body.masses, np.float64)
                    held = np.flatnonzero(~np.isfinite(masses))
                    moves = (True, True, x.shape[1] == 3)
                    solids.append(SheetSolid.elastic(np.where(np.isfinite(masses), masses, 1.0), None, v, held=held, directions=moves))
                else:
                    solids.append(SheetSolid.kinematic(v))
        return solids


def _of_sides(sides: SheetFaces, faces: tuple[Floats, ...]) -> Floats:
    """Return the values of the faces of sides."""
    values = np.empty(len(sides))
    for k, u in enumerate(faces):
        on = sides.axis == k
        values[on] = u[tuple(sides.face[on].T)]
    return values


def _opened(sides: SheetFaces, shape: tuple[int, ...], axis: int) -> npt.NDArray[np.bool_]:
    """Return which faces along an axis are open in part."""
    mask = np.zeros(shape, bool)
    mask[tuple(sides.face[(sides.axis == axis) & (sides.open > 0)].T)] = True
    return mask


def _corner_areas(x: Floats, triangles: npt.NDArray[np.int32]) -> Floats:
    """Return, per vertex, the area of its triangles, m^2."""
    a, b = x[triangles[:, 1]] - x[triangles[:, 0]], x[triangles[:, 2]] - x[triangles[:, 0]]
    area = 0.5 * np.linalg.norm(np.cross(a, b), axis=1)
    shares: Floats = np.bincount(triangles.ravel(), np.repeat(area, 3), len(x)).astype(np.float64)
    return shares


def require_two_ways(solver: SmokeSolver | LiquidSolver, shells: Shells, mode: str, *, one_way: bool = False) -> None:
    """Raise ValueError for what a joined pressure does not go with; bodies are whatever they are where nothing pushes them."""
    if shells._world is not None and not one_way:
        require_loadable(shells._world, mode)
    for i, (body, part) in enumerate(zip(() if one_way else shells.bodies, () if one_way else shells.parts, strict=True)):
        if isinstance(body, (RigidBody, DeformableBody)) or isinstance(part, KinematicShell):
            continue
        if not isinstance(body, PushedShellBody):
            raise ValueError(f'mode "{mode}" needs the masses of body {i} and how to push it, which {type(body).__name__} does not tell')
        if mode == "monolithic":
            raise ValueError(f'mode "{mode}" needs the inertia of body {i}, which {type(body).__name__} does not tell; take "lumped"')
        if np.shape(body.masses) != (len(part.positions),) or not (np.asarray(body.masses) > 0).all():
            raise ValueError(f"masses of body {i} must be {len(part.positions)} positive numbers, one for each of its nodes")
    what = "open_rims" if one_way else f'mode "{mode}"'
    if any(isinstance(side, Open) and side.pressure != 0.0 for side in solver.velocity.boundary.values()):
        raise ValueError(f"{what} needs a pressure of 0 at open sides")
    if isinstance(solver, LiquidSolver):
        if solver.options.air_pressure != 0.0:
            raise ValueError(f"{what} needs air_pressure=0")
        if solver.options.expansion and any(isinstance(body, (RigidBody, DeformableBody)) for body in shells.bodies):
            raise ValueError(f'mode "{mode}" does not go with expansion=True beside bodies that water moves')
    elif solver.source_divergence is not None:
        raise ValueError(f"{what} does not go with emitters that have a divergence")
