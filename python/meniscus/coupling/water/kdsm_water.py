"""Water around a moving body: tetrahedra near it, drops, and a grid farther away, as one."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.solver import Solver, stage
from meniscus.core.stateful import exclusively
from meniscus.coupling.kdsm import KDSM
from meniscus.coupling.water.accounts import SharedAccounts
from meniscus.coupling.water.blending import blend
from meniscus.coupling.water.body_force import force_of_pressure
from meniscus.coupling.water.drop_source import DropSource
from meniscus.coupling.water.ledger import Transfers, WaterLedger
from meniscus.coupling.water.options import KDSMWaterOptions, KDSMWaterReport, multiplier, rank
from meniscus.coupling.water.ownership import GRID, Owners
from meniscus.coupling.water.passing import Passing, grid_beyond_mesh
from meniscus.coupling.water.setting import check_setting, is_body_of, time_of_edges
from meniscus.fluids.liquid.solver import LiquidSolver
from meniscus.fluids.liquid.sources import Drain, LiquidSource
from meniscus.fluids.tetrahedra.options import TetVOFOptions, WallAdhesion
from meniscus.fluids.tetrahedra.vof import TetVOF
from meniscus.mesh import MovingTetMesh
from meniscus.surface import WaterInDrops, WaterInTets, WaterSurface

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


class KDSMWater(Solver[KDSMWaterReport]):
    """Water around a moving body, in three representations: tetrahedra that move with the body, drops, and a grid.

    One step takes all three from one time to the next, in named stages inside of one transaction: an error or Ctrl-C leaves everything as
    it was. With `exchange="owned"` every litre belongs to one of them, and whatever passes from one to another is taken from the first.

    Args:
        kdsm: a `KDSM`, or any `mesh.MovingTetMesh`.
        liquid: the water on the grid, whose solid is the body in the mesh.
        adhesion: see `fluids.TetVOF`; also a function of the time, s.
        sources: a `LiquidSource` fills tetrahedra, a `DropSource` emits drops; those of the grid belong to `liquid`.
        drains: empty tetrahedra.
        options: see `KDSMWaterOptions`.
        tet_options: see `fluids.TetVOFOptions`, by default with columns="lower"; gravity and density are those of `liquid`.
        **changes: fields of either that are to have other values; `jitter` and `drop_radius` may be functions of the time, s.

    Attributes:
        vof: the water in the tetrahedra.
        liquid: the water on the grid, and all drops.
        owner: (m,) uint8 of each tetrahedron: 0 if water in it is its own, 1 if it is the grid's.
        transfers: sums of all that has passed.
        report: of the last step.

    Raises:
        TypeError, ValueError: other arguments; a mesh outside of the grid, a body that is not that of the mesh, tetrahedra larger than the
            cells of the grid, a liquid at a time without a mesh.

    Source: Lee 2018, section 3.4.
    """

    stages = (
        "emit",
        "read_pressure",
        "move",
        "advect_tets",
        "advect_grid",
        "fly",
        "own",
        "tets_to_grid",
        "grid_to_tets",
        "drops_to_tets",
        "accelerate_tets",
        "conserve",
        "drops_to_grid",
        "correct_volume",
        "accelerate_grid",
        "diffuse",
        "project",
        "extend",
        "overwrite",
    )
    """Stages of a step, in this order; each is a method that takes dt, s."""
    report_type = KDSMWaterReport
    step_writes = ("vof", "liquid", "time", "_accounts")
    settings = ("stages", "vof_to_grid", "protect_rank", "adhesion", "jitter", "drop_radius")

    def __init__(
        self,
        kdsm: KDSM | MovingTetMesh,
        liquid: LiquidSolver,
        *,
        adhesion: WallAdhesion | float | Callable[[float], WallAdhesion | float] | None = None,
        sources: Sequence[LiquidSource | DropSource] = (),
        drains: Sequence[Drain] = (),
        options: KDSMWaterOptions | None = None,
        tet_options: TetVOFOptions | None = None,
        **changes: Any,
    ) -> None:
        self.liquid = self.declare("liquid", _checks.one_of_type("liquid", liquid, LiquidSolver))
        if liquid.grid.dimension != 3:
            raise ValueError("liquid must be 3-D, as tetrahedra are")
        liquid.require_spray()
        if liquid.grid.comm.size > 1:
            raise ValueError(f"water on tetrahedra is for one rank: the grid of liquid is cut among {liquid.grid.comm.size}")
        mesh = kdsm.moving() if isinstance(kdsm, KDSM) else _checks.one_of_type("kdsm", kdsm, MovingTetMesh)
        if isinstance(kdsm, KDSM) and not is_body_of(kdsm, liquid.solid):
            raise ValueError("the solid of liquid must be that of the mesh: pass solid=kdsm.solid to the LiquidSolver")
        self.jitter, self.drop_radius = (changes.pop(name) if callable(changes.get(name)) else None for name in ("jitter", "drop_radius"))
        own = KDSMWaterOptions() if options is None else _checks.one_of_type("options", options, KDSMWaterOptions)
        names = [f.name for f in dataclasses.fields(KDSMWaterOptions)]
        self.options = dataclasses.replace(own, **{n: changes.pop(n) for n in names if n in changes})
        self.vof_to_grid, self.protect_rank = self.options.vof_to_grid, self.options.protect_rank
        kinds: Any = (LiquidSource, DropSource)
        _checks.items("sources", sources, kinds)
        self._drop_sources = [s for s in sources if isinstance(s, DropSource)]
        if tet_options is None:
            # Pools are the grid's. With whole columns a jet would stop over all its height whenever it is full down to the body.
            tet_options = TetVOFOptions(columns="lower")
        for name in ("gravity", "density"):
            if name in changes:
                raise TypeError(f"{name} is that of liquid, and cannot be given for the tetrahedra alone")
        changes |= {"gravity": tuple(liquid.gravity.tolist()), "density": liquid.options.density}
        outside = partial(grid_beyond_mesh, liquid) if self.options.exchange == "literal" else None
        filled = [s for s in sources if isinstance(s, LiquidSource)]
        if not mesh.start <= liquid.time <= mesh.end:
            raise ValueError(f"liquid must be within the motion of the mesh, {mesh.start:g} s to {mesh.end:g} s, not at {liquid.time:g} s")
        vof = TetVOF(mesh, liquid.solid, outside=outside, sources=filled, drains=drains, options=tet_options, **changes)
        vof.time = liquid.time
        self.vof = self.declare("vof", vof)
        self.adhesion = adhesion
        self.time = self.declare("time", vof.time)
        self.owner: Owners = self.declare("owner", np.zeros(len(vof.volume), np.uint8))
        self.transfers = self.declare("transfers", Transfers())
        self._accounts = self.declare("_accounts", SharedAccounts())
        self._gradient: Floats | None = None
        self._passing = Passing(vof, liquid, self.owner, self.transfers, self.options)
        self._surface: WaterSurface | None = None
        self._surface_refine, self._surface_time = 0, 0.0
        check_setting(vof, liquid)
        if self.options.exchange == "owned":
            self._passing.own(0.0)

    @property
    def adhesion(self) -> WallAdhesion | float | Callable[[float], WallAdhesion | float] | None:
        """The force that holds water in tetrahedra to the body; may be set, also to a function of the time, s."""
        return self._adhesion

    @adhesion.setter
    def adhesion(self, value: WallAdhesion | float | Callable[[float], WallAdhesion | float] | None) -> None:
        self.vof.adhesion = value(self.vof.time) if callable(value) else value
        self._adhesion = value

    # --- steps -----------------------------------------------------------------------------------------------------------------------

    def max_dt(self) -> float:
        """Return the step (s) that the grid allows, and in which nearly all water in tetrahedra passes at most `edges` of their edges.

        Tetrahedra are stable with any step, but ways of many edges take longer than the steps that they save.
        """
        return min(self.liquid.max_dt(), time_of_edges(self.vof, self.options.edges))

    def begin(self, dt: float) -> None:
        """Begin a step of dt seconds whose stages somebody else calls; `end` ends it, and whoever calls undoes it after an error.

        Raises:
            ValueError: tetrahedra, grid and this object are not at one time, as after a step of one of them alone.
        """
        if not self.vof.time == self.liquid.time == self.time:
            raise ValueError(
                f"tetrahedra, grid and the whole must be at one time, not at {self.vof.time:g}, {self.liquid.time:g} and {self.time:g} s: "
                "step them together"
            )
        super().begin(dt)
        self._set_parameters()
        self._accounts.begin(self.vof, self.liquid, self.transfers)
        self.vof.begin(dt)
        self.liquid.begin(dt)

    def _complete(self, report: KDSMWaterReport) -> None:
        report.tets, report.grid = self.vof.end(), self.liquid.end()
        self._accounts.end(self.vof, self.liquid, self.transfers)

    def _members(self) -> tuple[TetVOF, LiquidSolver]:
        return self.vof, self.liquid

    def _leave_step(self) -> None:
        super()._leave_step()
        self._gradient = None
        self._passing.forget()

    def _set_parameters(self) -> None:
        """Give parameters that are functions of the time their present values."""
        if callable(self._adhesion):
            self.vof.adhesion = self._adhesion(self.time)
        changed = {name: f(self.time) for name, f in (("jitter", self.jitter), ("drop_radius", self.drop_radius)) if f is not None}
        if changed:
            self.vof.options = dataclasses.replace(self.vof.options, **changed)

    # --- stages ----------------------------------------------------------------------------------------------------------------------

    @stage(writes=("vof", "liquid", "transfers"))
    def emit(self, dt: float) -> None:
        """Stage 1: fill and empty the regions of sources and drains on the grid, and emit drops."""
        self.liquid.emit(dt)
        for source in self._drop_sources:
            volume = source.volume(self.time, dt)
            if volume > 0:
                x, v, volumes = source.drops(volume, self.vof.steps % 2**32)
                self._passing.add_drops("source to drops", x, v, volumes)

    @stage(writes=())
    def read_pressure(self, dt: float) -> None:
        """Stage 2: read the pressure gradient of the last projection where tetrahedra with water are within that of the grid."""
        self._gradient = None
        if self.options.buoyancy:
            self._gradient = self._passing.pressure_gradient(dt)

    @stage(writes=("vof",))
    def move(self, dt: float) -> None:
        """Stage 3: move mesh and body to the end of the step."""
        self.vof.move(dt)

    @stage(writes=("vof",))
    def advect_tets(self, dt: float) -> None:
        """Stage 4: transport the water of the tetrahedra; their sources and drains."""
        for name in ("request", "deliver", "forward", "enter"):
            getattr(self.vof, name)(dt)

    @stage(writes=("liquid",))
    def advect_grid(self, dt: float) -> None:
        """Stage 5: transport the water of the grid."""
        self.liquid.transport(dt)

    @stage(writes=("liquid",))
    def fly(self, dt: float) -> None:
        """Stage 6: let drops fly."""
        if self.liquid.surface.drops:
            self.liquid.fly(dt)

    @stage(writes=("vof", "liquid", "owner", "transfers"))
    def own(self, dt: float) -> None:
        """Stage 7: find which tetrahedra are the grid's now; water that was theirs becomes drops."""
        if self.options.exchange == "owned":
            self._passing.own(dt)

    @stage(writes=("vof", "liquid", "transfers"))
    def tets_to_grid(self, dt: float) -> None:
        """Stage 8: pass momentum from the tetrahedra to the grid, if `vof_to_grid` is not zero."""
        share = multiplier("vof_to_grid", self.vof_to_grid, self.time)
        if share > 0:
            blend(self.vof, self.liquid, self.transfers, share, dt, owned=self.options.exchange == "owned")

    @stage(writes=("vof", "liquid", "owner", "transfers"))
    def grid_to_tets(self, dt: float) -> None:
        """Stage 9: pass water that is too thin for the grid to tetrahedra; with literal exchange, copy that of the grid."""
        if self.options.exchange == "owned":
            self._passing.hand_to_tets(dt)
        else:
            self._passing.copy_to_tets(rank("protect_rank", self.protect_rank, self.time), fill=True)

    @stage(writes=("vof", "liquid", "transfers"))
    def drops_to_tets(self, dt: float) -> None:
        """Stage 10: take drops into tetrahedra that hold water or stand on the body."""
        self._passing.absorb(dt)

    @stage(writes=("vof",))
    def accelerate_tets(self, dt: float) -> None:
        """Stage 11: gravity, adhesion, and the pressure of the grid, on the water in tetrahedra."""
        self.vof.accelerate(dt)
        if self._gradient is not None:
            self.vof.push(self._gradient * (-dt / self.vof.options.density), "pressure")

    @stage(writes=("vof", "liquid", "transfers"))
    def conserve(self, dt: float) -> None:
        """Stage 12: smear, push out and correct the water in tetrahedra; what leaves them becomes drops."""
        for name in ("smear", "push_out", "project", "correct", "emit"):
            getattr(self.vof, name)(dt)
        self._passing.release_drops()

    @stage(writes=("liquid", "transfers"))
    def drops_to_grid(self, dt: float) -> None:
        """Stage 13: let drops that are in the water of the grid join it, and those that fill cells of air become such."""
        self._passing.join(dt)

    @stage(writes=("liquid",))
    def correct_volume(self, dt: float) -> None:
        """Stage 14: move the surface on the grid so that the volume is right."""
        self.liquid.correct_volume(dt)

    @stage(writes=("liquid",))
    def accelerate_grid(self, dt: float) -> None:
        """Stage 15: gravity on the water of the grid."""
        self.liquid.add_forces(dt)

    @stage(writes=("liquid",))
    def diffuse(self, dt: float) -> None:
        """Stage 16: viscosity on the grid."""
        self.liquid.diffuse(dt)

    @stage(writes=("liquid",))
    def project(self, dt: float) -> None:
        """Stage 17: the pressure of the grid."""
        self.liquid.project(dt)

    @stage(writes=("liquid",))
    def extend(self, dt: float) -> None:
        """Stage 18: extend the velocity of the grid into the air."""
        self.liquid.extend(dt)

    @stage(writes=("vof", "liquid", "transfers"))
    def overwrite(self, dt: float) -> None:
        """Stage 19: with literal exchange, give tetrahedra in the water of the grid its new velocity."""
        if self.options.exchange == "literal":
            self._passing.copy_to_tets(rank("protect_rank", self.protect_rank, self.time), fill=False)

    # --- what users ask for ----------------------------------------------------------------------------------------------------------

    @exclusively
    def ledger(self) -> WaterLedger:
        """Return where the water is and where it has come from, all summed anew."""
        return self._accounts.ledger(self.vof, self.liquid, self.transfers)

    def force_on_body(self) -> Floats:
        """Return the force (3,) of all water on the body, N: of the tetrahedra, mean over the last step, and of the grid's pressure."""
        return self.vof.force_on_body() + force_of_pressure(self.liquid)

    def surface(self, refine: int = 2) -> tuple[Floats, Ints, Floats]:
        """Return one surface of all water now: vertices (n, 3), m, triangles (k, 3), and velocities (n, 3), m/s.

        It is carried along from the last call, see `surface.WaterSurface`.

        Raises:
            TypeError, ValueError: no such refinement.
        """
        with self.exclusive():
            if self._surface is None or self._surface_refine != refine:
                self._surface, self._surface_refine, self._surface_time = WaterSurface(self.liquid.grid, refine), refine, self.time
            v, drops = self.vof, self.liquid.surface.particles
            tets = WaterInTets(np.array(v.positions), v.tets, v.volume, np.array(v.capacity), v.velocity)
            spray = None
            if drops is not None and len(drops.spray):
                s = drops.spray
                spray = WaterInDrops(*(np.array(a, np.float64) for a in (s.positions, s["radius"], s["velocity"])))
            made = self._surface.update(
                max(self.time - self._surface_time, 0.0),
                levelset=self.liquid.levelset,
                velocity=self.liquid.velocity,
                tets=tets,
                drops=spray,
            )
            self._surface_time = self.time
            return made.vertices, made.triangles, made.velocities

    def _state_replaced(self) -> None:
        self._gradient = self._surface = None
        self._passing.forget()
        if self.options.exchange == "owned":
            self.vof.excluded = self.owner == GRID

    def __repr__(self) -> str:
        """One line: the parts, and who owns how much."""
        mine = int((self.owner == GRID).sum())
        return f"<KDSMWater t = {self.time:g} s, {mine} of {len(self.owner)} tetrahedra the grid's; {self.vof!r}; {self.liquid!r}>"
