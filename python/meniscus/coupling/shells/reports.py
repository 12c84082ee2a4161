"""Reports of steps with thin shells."""

from __future__ import annotations

from dataclasses import dataclass, field

from meniscus.fluids.gas.options import SmokeReport
from meniscus.fluids.liquid.options import LiquidReport
from meniscus.fluids.particles.options import ParticleLiquidReport


@dataclass(kw_only=True)
class ShellReport:
    """Report of one step of a `ShellCoupling`.

    Attributes:
        dt: seconds.
        next_dt: length of the step whose shell velocities the projection has used, s.
        fluid: report of the solver.
        marked_cells: that the shells come near, at the end.
        blocked_faces: between cells that the shells keep apart, at the end.
        swept: samples of each quantity that shells have passed or cover, by name.
        replaced: of which no visible neighbour knew a value, by name.
        deleted_markers, deleted_drops: of water, that found no way past the shells; the particles of a `ParticleLiquidSolver` count as
            markers, and what they carried is lost.
        pushed_markers: of water, that were nearer to a shell than their distance, and were pushed away from it; see `marker_distances`.
        blocked_markers: of which the way out was not free.
        deleted_vortices: vortex particles likewise.
        revalidated: change of the smoke, as `fluid.smoke`, by new values for swept cells: smoke is not pushed along, it appears and
            disappears with the cells.
        closed_regions: that shells or walls close all around; in "monolithic" mode those that have no outlet but the give of shells, in
            "lumped" and "printed" mode not counted.
        impulse: (3,) from the fluid on all shells in their next step, N s; 0 in one-way mode.
        inner_iterations: of the shells' answers in the solve of the pressure.
    """

    dt: float = 0.0
    next_dt: float = 0.0
    fluid: SmokeReport | LiquidReport | ParticleLiquidReport | None = None
    marked_cells: int = 0
    blocked_faces: int = 0
    swept: dict[str, int] = field(default_factory=dict)
    replaced: dict[str, int] = field(default_factory=dict)
    deleted_markers: int = 0
    deleted_drops: int = 0
    pushed_markers: int = 0
    blocked_markers: int = 0
    deleted_vortices: int = 0
    revalidated: float = 0.0
    closed_regions: int = 0
    impulse: tuple[float, ...] = (0.0, 0.0, 0.0)
    inner_iterations: int = 0


@dataclass(frozen=True, kw_only=True)
class ClosedShellAudit:
    """Smoke inside of and around one closed shell, by crossing parity of cell centres with its mesh.

    Attributes:
        body: its place among the bodies.
        cells: whose centre is inside, and not in a solid.
        smoke: integral of the density in them.
        least, most: of the density in them.
        outside: integral of the density elsewhere.
        least_outside, most_outside: of the density elsewhere.
    """

    body: int
    cells: int
    smoke: float
    least: float
    most: float
    outside: float
    least_outside: float
    most_outside: float


@dataclass(frozen=True, kw_only=True)
class ClosedWaterAudit:
    """Water inside of and around one closed shell, by crossing parity with its mesh.

    Attributes:
        body: its place among the bodies.
        cells: whose centre is inside, and neither in the thickness of the shell nor in a solid.
        wet, wet_outside: cells with water at their centre, inside and outside; those with the shell at their centre are neither.
        markers, markers_outside: of water; those of a `ParticleLiquidSolver` are its particles.
        drops, drops_outside: in flight.
    """

    body: int
    cells: int
    wet: int
    wet_outside: int
    markers: int
    markers_outside: int
    drops: int
    drops_outside: int
