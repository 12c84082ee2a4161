"""Pressure of a fluid and velocities of the thin shells in it: together, or one after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import coupling as _coupling
from meniscus.coupling.shell_pressure.sheet_faces import SheetFaces
from meniscus.coupling.shell_pressure.sheet_solids import SheetSolid
from meniscus.grid import Grid
from meniscus.grid.face_arrays import close_faces
from meniscus.grid.poisson.solver import PoissonSolver
from meniscus.numerics.solve import ConvergenceError, SolveInfo, facts, solve_options

Floats = npt.NDArray[np.float64]
ShellMode = Literal["monolithic", "lumped", "printed"]
"""How the pressure knows about the inertia of shells."""


@dataclass(frozen=True)
class ShellPressureResult:
    """Velocities after a solve, and what fluid and shells gave each other.

    Attributes:
        faces: per axis the velocities of all faces, m/s; those of the sheet where one cuts.
        pressure: pressure times dt per cell, N s/m^2 (N s/m in 2-D per metre of depth).
        velocities: (nodes, 3) of all solids, one after the other, m/s.
        impulses: (nodes, 3) from the fluid on the nodes, N s. The solids' own step with these leads to `velocities`.
        side_impulses: (sides,) along the axis of each side on its sheet, at the hit, N s.
        jumps: (sides,) pressure times dt below minus above the face of each side.
        info: report of the solve.
        inner_iterations: of the solids' answers, all together.
        inner_residual: the largest of theirs, relative; well below the tolerance of the solve.
        incompatible: the volume flux per cell, m^3/s, that regions without an outlet are given and cannot keep.
    """

    faces: tuple[Floats, ...]
    pressure: Floats
    velocities: Floats
    impulses: Floats
    side_impulses: Floats
    jumps: Floats
    info: SolveInfo
    inner_iterations: int
    inner_residual: float
    incompatible: float


class ShellPressure:
    """Makes a fluid and the thin shells in it incompressible together.

    `prepare` takes the geometry of a step, `solve` velocities.

    Args:
        grid: 2-D or 3-D, not cut into blocks. On a 2-D grid all masses and impulses are those of one metre of depth.

    Raises:
        TypeError, ValueError: no grid, or one that is cut.

    Source: Guendelman, Selle, Losasso and Fedkiw 2005, section 5.1; the single symmetric solve, the fluid that is counted with the sheet,
    and the transfer by the adjoint are in place of the printed split.
    """

    def __init__(self, grid: Grid) -> None:
        self._grid = _checks.one_of_type("grid", grid, Grid)
        self._core: Any = getattr(_coupling, f"ShellSystem{grid.dimension}")(grid._core)
        self._poisson: PoissonSolver | None = None
        self._walled: PoissonSolver | None = None
        self._sides: SheetFaces | None = None
        self._flux: Floats | None = None

    @property
    def grid(self) -> Grid:
        """The grid."""
        return self._grid

    @property
    def closed_regions(self) -> tuple[int, ...]:
        """Cells of each region of fluid that has no outlet but the give of shells; of the monolithic coupling."""
        return tuple(self._core.closed_regions)

    @property
    def null_vectors(self) -> int:
        """Combinations of closed regions whose pressure nothing determines; of the monolithic coupling."""
        return int(self._core.null_vectors)

    def prepare(
        self,
        areas: Sequence[Floats],
        masses: Sequence[Floats],
        active: npt.NDArray[np.bool_],
        sides: SheetFaces,
        solids: Sequence[SheetSolid],
        side_masses: npt.ArrayLike,
        mode: ShellMode = "monolithic",
        transfer: Callable[[Floats], Floats] | None = None,
    ) -> None:
        """Set masses and geometry of a step.

        Args:
            areas: per axis the area of each face through which fluid flows, m^2 (m in 2-D).
            masses: per axis the mass of the fluid of each face, kg; infinite where the velocity is given. `face_masses` makes them.
            active: cells with fluid. The pressure is zero in others, and beyond sides of the domain whose faces have finite masses.
            sides: faces that sheets cut.
            solids: their nodes are numbered one solid after the other.
            side_masses: (sides,) mass of the fluid between the centre of the cell and the sheet, kg; zero where there is none.
            mode: "monolithic"; "lumped": sheets are faces with masses of their own, in a pressure solve alone; "printed": the same with the
                masses of the sheets at rest and without the fluid at them. Both then project the fluid once more, between sheets that move
                as their solids do with the forces of the first solve.
            transfer: for the last two, impulses on nodes as a function of the pressure jumps of sides, such as `printed_impulses`; default
                the exact adjoint.

        Raises:
            TypeError, ValueError: wrong types, shapes or values.
        """
        _checks.choice("mode", mode, ShellMode)
        grid = self._grid
        self._mode, self._solids, self._sides, self._given = mode, tuple(solids), sides, transfer
        self._areas = tuple(np.ascontiguousarray(a, dtype=np.float64) for a in areas)
        self._masses = tuple(np.ascontiguousarray(m, dtype=np.float64) for m in masses)
        self._active = _checks.mask("active", active, grid.shape)
        nodes = sum(len(s) for s in self._solids)
        if len(sides) and not 0 <= sides.nodes.min() <= sides.nodes.max() < nodes:
            raise ValueError(f"nodes must be those of the solids, 0 to {nodes - 1}, not {sides.nodes.min()} to {sides.nodes.max()}")
        cells = sides.cells(grid)
        self._cells = np.where((cells >= 0) & self._active.ravel()[cells], cells, -1)
        self._at = tuple(sides.face.T)
        area = np.empty(len(sides))
        # The part of each face through which fluid flows.
        self._left = tuple(a.copy() for a in self._areas)
        self._fluid = tuple(np.empty_like(a) for a in self._areas)
        _coupling.find_face_conductances(grid._core, self._areas, self._masses, self._fluid)
        for k in range(grid.dimension):
            on = sides.axis == k
            index = tuple(i[on] for i in self._at)
            area[on] = self._areas[k][index] * (1.0 - sides.open[on])
            for values in (self._left[k], self._fluid[k]):
                values[index] *= sides.open[on]
                close_faces(grid, values, k)
        self._side_area = area
        self._side_mass = np.where(mode == "printed", 0.0, np.where(self._cells >= 0, np.asarray(side_masses, dtype=np.float64), 0.0))
        self._sheet_mass = self._masses_of_sheets()
        total = self._sheet_mass + self._of_pairs(self._side_mass)
        links = np.divide(area * area, np.repeat(total, 2), out=np.zeros(len(sides)), where=np.repeat(total, 2) > 0)
        # Faces that a solid closes have neither area nor mass, and nothing is asked of them.
        self._face_mass = np.repeat(np.where(total > 0, total, 1.0), 2)
        linked = [f.copy() for f in self._fluid]
        pair = self._cells.reshape(-1, 2)
        open_cut = (pair >= 0).any(axis=1)
        links[np.repeat(~open_cut, 2)] = 0.0
        for k in range(grid.dimension):
            on = sides.axis == k
            # Both sides of a face name it, and it is counted once.
            linked[k][tuple(i[on] for i in self._at)] += links[on]
            close_faces(grid, linked[k], k)
        if mode == "monolithic":
            valid = self._core.prepare(
                list(self._fluid),
                linked,
                self._active,
                np.ascontiguousarray(self._cells),
                np.ascontiguousarray(sides.axis, dtype=np.int32),
                sides.sign,
                area,
                self._side_mass,
                np.ascontiguousarray(sides.nodes, dtype=np.int32),
                np.ascontiguousarray(sides.weights),
                np.ascontiguousarray(pair),
                np.ascontiguousarray(links[::2]),
                [s._core for s in self._solids],
            )
            if not valid:
                raise ValueError("areas and masses of faces must be finite or infinite masses, and not negative")
        else:
            self._poisson = self._poisson or PoissonSolver(grid)
            self._poisson.set_coefficients(linked, self._active)
            self._walled = self._walled or PoissonSolver(grid)
            self._walled.set_coefficients(self._fluid, self._active)

    def solve(
        self,
        velocities: Sequence[Floats],
        *,
        side_velocities: Floats | None = None,
        flux: Floats | None = None,
        tolerance: float = 1e-8,
        max_iterations: int = 200,
        raise_on_failure: bool = True,
    ) -> ShellPressureResult:
        """Return velocities without divergence.

        Args:
            velocities: per axis those of all faces after advection and forces, m/s.
            side_velocities: (sides,) of the fluid at the sheet along the axis; default those of `velocities` on the faces that are cut.
            flux: per cell the volume flux out of it through what is no part of the areas, m^3/s, such as the walls of a solid.
            tolerance: of the residual, relative to the right-hand side.
            max_iterations: limit.
            raise_on_failure: raise if the tolerance is not met; else return the last iterate.

        Raises:
            ConvergenceError: the tolerance was not met.
            ValueError: `prepare` was not called, wrong shapes.
        """
        if self._sides is None:
            raise ValueError("prepare must come before solve")
        self._flux = flux
        u = tuple(np.array(v, dtype=np.float64) for v in velocities)
        near = self._on_sides(u) if side_velocities is None else np.asarray(side_velocities, dtype=np.float64)
        options = solve_options(tolerance, max_iterations, "multigrid")
        result = self._monolithic(u, near, options) if self._mode == "monolithic" else self._split(u, near, tolerance, max_iterations)
        if raise_on_failure and not result.info.converged:
            i = result.info
            raise ConvergenceError(
                f"the solve ended after {i.iterations} iterations with a relative residual of {i.residual:.2g}: {i.reason}", i
            )
        return result

    # --- together ------------------------------------------------------------------------------------------------------------

    def _monolithic(self, u: tuple[Floats, ...], near: Floats, options: Any) -> ShellPressureResult:
        sign, mass, area = self._known_sides.sign, self._side_mass, self._side_area
        wet = self._cells >= 0
        free = self._joined([s.free for s in self._solids])
        late = mass * (near - self._sheet_velocities(free))
        began = free + self._answers(self._gathered(late))
        rhs = -self._divergence(u)
        np.subtract.at(rhs.ravel(), self._cells[wet], (sign * area * self._sheet_velocities(began))[wet])
        p = np.zeros(self._grid.shape)
        raw, inner, inaccurate, incompatible = self._core.solve(rhs, p, options)
        push = np.where(wet, sign * area * p.ravel()[self._cells], 0.0)
        v = free + self._answers(self._gathered(late + push))
        on_sides = self._sheet_velocities(v)
        impulses = mass * (near - on_sides) + push
        faces = self._accelerated(u, p)
        self._put(faces, 0.5 * np.repeat(self._of_pairs(on_sides), 2))
        info = SolveInfo(**facts(raw, 0.0))
        return ShellPressureResult(
            faces, p, v, self._gathered(impulses), impulses, self._jumps(p), info, int(inner), float(inaccurate), float(incompatible)
        )

    def _sheet_velocities(self, v: Floats) -> Floats:
        out: Floats = np.einsum("sk,sk->s", self._known_sides.weights, v[self._known_sides.nodes, self._known_sides.axis[:, None]])
        return out

    def _gathered(self, values: Floats) -> Floats:
        sides = self._known_sides
        out = np.zeros((sum(len(s) for s in self._solids), 3))
        np.add.at(out, (sides.nodes, sides.axis[:, None]), sides.weights * values[:, None])
        return out

    def _answers(self, impulses: Floats) -> Floats:
        first, parts = 0, []
        for s in self._solids:
            parts.append(s.respond(impulses[first : first + len(s)]))
            first += len(s)
        return self._joined(parts)

    # --- one after the other -------------------------------------------------------------------------------------------------

    def _split(self, u: tuple[Floats, ...], near: Floats, tolerance: float, max_iterations: int) -> ShellPressureResult:
        assert self._poisson is not None
        assert self._walled is not None
        sign, mass, area = self._known_sides.sign, self._side_mass, self._side_area
        wet = self._cells >= 0
        free = self._joined([s.free if self._mode == "lumped" else s.velocities for s in self._solids])
        sheet = np.repeat(self._sheet_mass, 2)
        on_sides = 0.5 * np.repeat(self._of_pairs(self._sheet_velocities(free)), 2)
        carried = np.repeat(self._of_pairs(mass * near), 2)
        held = ~np.isfinite(sheet)
        before = np.where(held, on_sides, (carried + np.where(held, 0.0, sheet) * on_sides) / np.where(held, 1.0, self._face_mass))
        rhs = -self._divergence(u)
        np.subtract.at(rhs.ravel(), self._cells[wet], (sign * area * before)[wet])
        p, info = self._poisson.solve(rhs, tolerance=tolerance, max_iterations=max_iterations, raise_on_failure=False)
        jumps = self._jumps(p)
        after = before + np.where(held, 0.0, area * jumps / self._face_mass)
        push = np.where(wet, sign * area * p.ravel()[self._cells], 0.0)
        impulses = mass * (near - after) + push
        f = self._gathered(impulses) if self._given is None else self._given(jumps)
        v = self._joined([s.free for s in self._solids]) + self._answers(f)
        # The fluid goes with what the solids make of that.
        moved = self._sheet_velocities(v)
        rhs = -self._divergence(u)
        np.subtract.at(rhs.ravel(), self._cells[wet], (sign * area * moved)[wet])
        q, last = self._walled.solve(rhs, tolerance=tolerance, max_iterations=max_iterations, raise_on_failure=False)
        faces = self._accelerated(u, q)
        self._put(faces, 0.5 * np.repeat(self._of_pairs(moved), 2))
        return ShellPressureResult(faces, p, v, f, impulses, jumps, last if info.converged else info, 0, 0.0, 0.0)

    # --- parts ---------------------------------------------------------------------------------------------------------------

    @property
    def _known_sides(self) -> SheetFaces:
        assert self._sides is not None
        return self._sides

    @staticmethod
    def _joined(parts: list[Floats]) -> Floats:
        return np.concatenate([np.zeros((0, 3)), *parts])

    @staticmethod
    def _of_pairs(values: Floats) -> Floats:
        """Return the sum over the two sides of each face."""
        pairs: Floats = values.reshape(-1, 2).sum(axis=1)
        return pairs

    def _masses_of_sheets(self) -> Floats:
        """Return the mass of the sheet behind each face that is cut: its density there, over what the face covers of it."""
        sides = self._known_sides
        if len(sides) == 0:
            return np.zeros(0)
        parts = {
            "monolithic": [s.linked for s in self._solids],
            "lumped": [s.lumped for s in self._solids],
            "printed": [np.repeat(s.masses[:, None], 3, axis=1) for s in self._solids],
        }
        values = self._joined(parts[self._mode])
        covered = np.zeros_like(values)
        # Half of the area of each side: together the faces have all of the mass of the sheet along each axis.
        rows = (sides.nodes, sides.axis[:, None])
        np.add.at(covered, rows, 0.5 * sides.weights * self._side_area[:, None])
        per_area = np.divide(values, covered, out=np.zeros_like(values), where=covered > 0)
        # Zero times infinity is a corner that counts nothing.
        behind = np.multiply(sides.weights, per_area[rows], out=np.zeros_like(sides.weights), where=sides.weights > 0).sum(axis=1)
        # A face that a solid closes has no sheet, however heavy.
        return 0.5 * self._of_pairs(np.multiply(self._side_area, behind, out=np.zeros(len(sides)), where=self._side_area > 0))

    def _on_sides(self, u: Sequence[Floats]) -> Floats:
        sides = self._known_sides
        out = np.zeros(len(sides))
        for k in range(self._grid.dimension):
            on = sides.axis == k
            out[on] = u[k][tuple(i[on] for i in self._at)]
        return out

    def _put(self, faces: tuple[Floats, ...], values: Floats) -> None:
        for k in range(self._grid.dimension):
            on = self._known_sides.axis == k
            index = tuple(i[on] for i in self._at)
            part = self._known_sides.open[on]
            faces[k][index] = part * faces[k][index] + (1.0 - part) * values[on]
            close_faces(self._grid, faces[k], k)

    def _divergence(self, u: tuple[Floats, ...]) -> Floats:
        """Return the volume flux out of each active cell through what sheets leave of faces, and what is given."""
        out = np.empty(self._grid.shape)
        _coupling.find_face_divergence(self._grid._core, self._left, u, self._active, out)
        if self._flux is not None:
            out += np.where(self._active, self._flux, 0.0)
        return out

    def _accelerated(self, u: tuple[Floats, ...], p: Floats) -> tuple[Floats, ...]:
        """Return the velocities with what the pressure adds to them."""
        out = tuple(v.copy() for v in u)
        _coupling.accelerate_faces(self._grid._core, self._areas, self._masses, p, out)
        return out

    def _jumps(self, p: Floats) -> Floats:
        values = np.where(self._cells >= 0, p.ravel()[self._cells], 0.0).reshape(-1, 2)
        return np.repeat(values[:, 0] - values[:, 1], 2)
