"""Base of the scenes of water around a moving body: coupled to tetrahedra, or on a grid alone, for comparison."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.atomic_file import write_text
from meniscus.coupling import KDSM, DropSource, KDSMWater, WaterLedger
from meniscus.coupling.water.body_force import force_of_pressure
from meniscus.coupling.water.options import WaterExchange
from meniscus.fluids import LiquidOptions, LiquidParticles, LiquidSolver, LiquidSource, ParticleLiquidOptions, ParticleLiquidSolver
from meniscus.fluids.tetrahedra.options import WaterSampling
from meniscus.grid import Grid, Particles
from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.mesh import MovingTetMesh
from meniscus.scenes.curves import water_curves
from meniscus.scenes.frame_meshes import box_of, drops_of, surface_of
from meniscus.scenes.layers import layers
from meniscus.scenes.scene import Scene, parameter
from meniscus.scenes.tet_water import wet_tetrahedra
from meniscus.surface import LevelSet, Shape, Solid, WaterInDrops, WaterInTets, WaterSurface
from meniscus.viz.smoke import UpAxis

Floats = npt.NDArray[np.float64]
WaterSolver = Literal["coupled", "particle-level-set", "flip"]
Shown = Literal["water", "layers"]
LEDGER_FILE = "ledger.txt"


@dataclass(frozen=True, kw_only=True)
class Setting:
    """What a scene simulates, with any solver.

    Attributes:
        grid: of the liquid.
        solid: the body.
        gravity: m/s^2.
        pool: the water at the start, if there is any.
        sources: water that comes in on the grid.
        mesh: returns the mesh around the body, for coupled water.
        tet_sources: water that comes into the mesh or as drops, for coupled water.
    """

    grid: Grid
    solid: Solid
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    pool: Shape | LevelSet | None = None
    sources: Sequence[LiquidSource] = ()
    mesh: Callable[[], KDSM | MovingTetMesh]
    tet_sources: Sequence[LiquidSource | DropSource] = ()


@dataclass(kw_only=True)
class CoupledWater(Scene):
    """A scene of water around a body, with one of three solvers, its attribute `model`, which `setup` makes by `use`."""

    frames_per_second: ClassVar[float] = 24.0
    on_ranks: ClassVar[bool] = False
    stepped: ClassVar[str] = "model"
    up: ClassVar[UpAxis] = "z"
    aspect: ClassVar[float] = 1.2
    """Of pictures, width over height."""

    solver: WaterSolver = parameter("coupled", "tetrahedra, drops and grid; or a grid alone, tracked by a level set or by particles")
    scale: float = parameter(1.0, "the spacing of the grid and the edges of tetrahedra are divided by this")
    frames: int = parameter(60, "frames to write")
    rate: float = parameter(24.0, "frames per second of time")
    steps: int = parameter(2, "steps in a frame, at least")
    cfl: float = parameter(1.0, "cells of the grid that the fastest water passes in a step")
    drift_correction: bool = parameter(True, "keep the volume of every part of the grid's liquid; without, its transport loses")
    exchange: WaterExchange = parameter("owned", "water belongs to grid or tetrahedra, or is copied from the grid, as in the source")
    adhesion: float = parameter(2.0, "that holds water in tetrahedra to the body, m/s^2")
    vof_to_grid: float = parameter(0.0, "multiplier of the momentum that tetrahedra pass to the grid")
    samples: WaterSampling = parameter("random", "points that stand for a tetrahedron in transport, or exact overlaps")
    count: int = parameter(10, "points per tetrahedron")
    seed: int = parameter(0, "of all random numbers")
    refine: int = parameter(2, "fine cells of the surface that is shown in a cell of the grid, along each axis")
    beside: str | None = parameter(None, "folder of another run, whose error is drawn beside that of this one")
    show: Shown = parameter("water", "picture: all water; or the grid's, the wet tetrahedra by fill, drops, and all, in a row")
    width: int = parameter(420, "of pictures, pixels; a row of layers is 3.5 times as wide")
    caustics: bool = parameter(True, "light that the water gathers on the floor; pictures are a quarter faster without")
    azimuth: float = parameter(28.0, "of the camera, degrees")
    elevation: float = parameter(16.0, "of the camera, degrees")
    zoom: float = parameter(1.0, "of the camera; 1 shows the whole box")

    def __post_init__(self) -> None:
        """Check the parameters; the stages are those of the solver. Raises TypeError or ValueError that names one."""
        super().__post_init__()
        _checks.positive("scale", self.scale)
        _checks.integer("refine", self.refine, 1)
        _checks.integer("steps", self.steps, 1)
        _checks.integer("width", self.width, 64)
        known = {"coupled": KDSMWater.stages, "particle-level-set": LiquidSolver.stages, "flip": ParticleLiquidSolver.stages}
        vars(self)["stages"] = (*known[self.solver], "surface")

    def use(self, setting: Setting) -> None:
        """Make and declare the solver and the surface of its water at the start."""
        self.setting = setting
        self.model = self.declare("model", self._make(setting))
        overlap: Literal["sum", "union"] = "sum" if self.exchange == "owned" else "union"
        self.water = self.declare("water", WaterSurface(setting.grid, self.refine, overlap=overlap))
        self.shown_at = self.declare("shown_at", 0.0)
        self._show_surface(0.0)

    def _make(self, setting: Setting) -> LiquidSolver | ParticleLiquidSolver | KDSMWater:
        made: LiquidSolver | ParticleLiquidSolver
        parts: dict[str, Any] = {"solid": setting.solid, "sources": setting.sources}
        same: dict[str, Any] = {"gravity": setting.gravity, "cfl": self.cfl}
        if self.solver == "flip":
            made = ParticleLiquidSolver(setting.grid, ParticleLiquidOptions(**same, particles=LiquidParticles(seed=self.seed)), **parts)
        else:
            made = LiquidSolver(setting.grid, LiquidOptions(**same, seed=self.seed, drift_correction=self.drift_correction), **parts)
        if setting.pool is not None:
            made.fill(setting.pool)
        if self.solver != "coupled" or not isinstance(made, LiquidSolver):
            return made
        options = self.values("exchange", "adhesion", "vof_to_grid", "samples", "count", "seed")
        return KDSMWater(setting.mesh(), made, sources=setting.tet_sources, **options)

    @property
    def liquid(self) -> LiquidSolver | ParticleLiquidSolver:
        """The water on the grid."""
        return self.model.liquid if isinstance(self.model, KDSMWater) else self.model

    def max_dt(self) -> float:
        """Return the limit of the solver and of the number of steps in a frame, s."""
        return min(super().max_dt(), 1.0 / (self.rate * self.steps))

    def advance(self, time: float, dt: float) -> None:
        """Step the water; where the step ends a frame, its surface too."""
        super().advance(time, dt)
        frame = (time + dt) * self.rate
        if abs(frame - round(frame)) < 1e-6:
            with self.stage("surface"):
                self._show_surface(time + dt)

    def _show_surface(self, time: float) -> None:
        """Carry the surface that is shown on to the water as it is."""
        s, spray = self.liquid, self.spray()
        drops = None
        if spray is not None and len(spray):
            drops = WaterInDrops(*(np.array(a, np.float64) for a in (spray.positions, spray["radius"], spray["velocity"])))
        tets = None
        if isinstance(self.model, KDSMWater):
            v = self.model.vof
            tets = WaterInTets(np.array(v.positions), v.tets, v.volume, np.array(v.capacity), v.velocity)
        self.water.update(max(time - self.shown_at, 0.0), levelset=s.levelset, velocity=s.velocity, tets=tets, drops=drops)
        self.shown_at = time

    def spray(self) -> Particles | None:
        """Return the flying drops, with the columns velocity and radius; None with a solver that has none."""
        markers = self.liquid.particles if isinstance(self.liquid, LiquidSolver) else None
        return None if markers is None else markers.spray

    def report(self, time: float) -> dict[str, float]:
        """Volumes, m^3, their errors, and the force on the body, N (not of FLIP).

        Errors count what the surface on the grid encloses; relative ones refer to all water that has been there. `made` is water that
        literal exchange has copied, less what it has overwritten. `ledger error` counts what the grid is to hold instead.
        """
        if isinstance(self.model, KDSMWater):
            w, force = self.model.ledger(), self.model.force_on_body()
            come, gone = w.initial + w.injected + w.inflow, w.left + w.incompatible + w.drained
            volumes = (w.injected + w.inflow, w.tets, w.drops, w.grid, w.expected, gone, w.copied, w.measured_error, w.error)
        else:
            r = self.model.volume_report()
            force = force_of_pressure(self.model) if isinstance(self.model, LiquidSolver) else np.empty(0)
            come = r.initial + r.emitted + r.inflow
            volumes = (r.emitted + r.inflow, 0.0, r.spray, r.liquid, r.expected, r.drained + r.outflow, 0.0, r.error, 0.0)
        names = ("injected", "tetrahedra", "drops", "grid", "expected", "left", "made", "error", "ledger error")
        return {
            **dict(zip(names, volumes, strict=True)),
            "volume error": volumes[-2] / come if come > 0 else 0.0,
            "wet": float(np.count_nonzero(self.model.vof.volume)) if isinstance(self.model, KDSMWater) else 0.0,
            "flying": float(len(self.spray() or ())),
            **{f"force {axis}": float(f) for axis, f in zip("xyz", force, strict=False)},
        }

    def body(self, time: float) -> FrameMesh:
        """Return the surface of the body at a time (s)."""
        raise TypeError(f"scene {type(self).__name__} has no body()")

    def frame_data(self) -> Mapping[str, FrameItem]:
        """The surface of all water, the level set and the velocity on the grid, drops, the body, and wet tetrahedra with their owners."""
        s, mesh, spray = self.liquid, self.water.mesh(), self.spray()
        data: dict[str, FrameItem] = {"liquid": s.levelset, "velocity": s.velocity}
        data["surface"] = FrameMesh(mesh.vertices, mesh.triangles, {"normal": mesh.normals, "velocity": mesh.velocities})
        data["body"] = self.body(s.time)
        if spray is not None:
            data["spray"] = spray
        if isinstance(self.model, KDSMWater):
            data["wet"] = wet_tetrahedra(self.model.vof, owner=self.model.owner)
        return data

    def draw(self, frame: FrameData) -> Any:
        """Show the water, or the row of its layers."""
        from meniscus import viz

        if self.show == "layers":
            shown = {**self._shown(frame), "look": viz.WaterLook(edges=False, **self._look(frame))}
            return layers(frame, shown, round(0.875 * self.width), title=f"t = {frame.time:.2f} s")
        return viz.water(
            **self._shown(frame),
            size=(self.width, round(self.width / self.aspect)),
            look=viz.WaterLook(edges=False, caustics=self.caustics, **self._look(frame)),
        )

    def path_tracing_scene(self, frame: FrameData, size: tuple[int, int] | None = None) -> dict[str, Any] | None:
        """Describe the water, the body in it and the drops around it, on a floor."""
        from meniscus.viz import path_tracing

        return path_tracing.water_scene(**self._shown(frame), **self._look(frame), size=size or (640, round(640 / self.aspect)))

    def view(self, frame: FrameData) -> tuple[Floats, Floats]:
        """Return the lowest and the highest corner of what pictures contain, m."""
        return box_of(frame)

    def _shown(self, frame: FrameData) -> dict[str, Any]:
        """Return the arguments of both renderers."""
        from meniscus.viz import Camera

        box = self.view(frame)
        return {
            **surface_of(frame),
            "solids": [(frame.meshes["body"].vertices, frame.meshes["body"].elements)],
            **drops_of(frame, "spray"),
            "box": box,
            "up": self.up,
            "camera": Camera(azimuth=self.azimuth, elevation=self.elevation, zoom=self.zoom),
        }

    def _look(self, frame: FrameData) -> dict[str, Any]:
        """Return the colour of the body and how clear the water is, for both renderers."""
        return {"solid_color": (0.42, 0.16, 0.07), "clarity": 0.25 * math.dist(*self.view(frame))}

    def finish(self, out: Path, pictures: list[Path]) -> list[Path]:
        """Write the animation, curves of volumes, errors, force and seconds, and, of coupled water, the ledger."""
        files = [*super().finish(out, pictures), *water_curves(out, self.beside)]
        model = vars(self).get("model")
        if isinstance(model, KDSMWater):
            files.append(out / LEDGER_FILE)
            write_text(files[-1], ledger_text(model.ledger()))
        return files


def ledger_text(ledger: WaterLedger) -> str:
    """Return a ledger as lines of text."""
    numbers = {name: value for name, value in vars(ledger).items() if isinstance(value, float)}
    lines = [f"{name:40s} {value: .12g} m^3" for name, value in numbers.items()]
    lines += ["", "passed: volume, momentum that one side has lost and the other gained (m^4/s)"]
    for way, (volume, lost, gained) in ledger.transfers.items():
        lines.append(f"{way:40s} {volume: .12g} m^3   {np.array2string(lost, precision=6)}   {np.array2string(gained, precision=6)}")
    return "\n".join(lines) + "\n"
