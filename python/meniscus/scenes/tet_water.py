"""Base of the scenes of water on moving tetrahedra: stepping, flying drops, diagnostics, frames and pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.fluids import TetVOF
from meniscus.fluids.tetrahedra.options import Conservation, TetVOFOptions, TetVOFReport, WaterSampling
from meniscus.grid import Particles
from meniscus.io.frames import FrameData, FrameItem, FrameMesh, collect
from meniscus.mesh import TetMesh
from meniscus.scenes.frame_meshes import drops_of, surface_of, towards_eye
from meniscus.scenes.scene import Scene, parameter
from meniscus.surface import filled_surface

Floats = npt.NDArray[np.float64]
Box = tuple[tuple[float, float, float], tuple[float, float, float]]
Shown = Literal["water", "fill", "rank"]
_SHOWN_APART = 0.1  # fill from which on a tetrahedron that the surface leaves out is drawn as a drop
_SHOWN_WET = 0.02  # fill from which on a tetrahedron is drawn as one


@dataclass(kw_only=True)
class TetWaterScene(Scene):
    """A scene that steps one `TetVOF`, its attribute `vof`, which `setup` passes to `use`."""

    stages: ClassVar[tuple[str, ...]] = ("fly", *TetVOF.stages)
    stepped: ClassVar[str] = "vof"
    frames_per_second: ClassVar[float] = 24.0
    on_ranks: ClassVar[bool] = False

    samples: WaterSampling = parameter("random", "points that stand for a tetrahedron in transport, or exact overlaps")
    count: int = parameter(10, "points per tetrahedron")
    seed: int = parameter(0, "of random points and of the jitter of drops")
    conservation: Conservation = parameter("push-out", "what keeps water from occupying more than there is room for")
    columns: Literal["lower", "whole"] = parameter("lower", "whether full columns hand on within a rank that they stand on the solid")
    rate: float = parameter(30.0, "frames per second of time")
    steps: int = parameter(2, "steps per frame")
    end: float = parameter(1.0, "length of the run, s")
    show: Shown = parameter("water", "picture: the water, or the wet tetrahedra by fill or by rank")
    level: float = parameter(0.08, "fill at which pictures show the surface of the water; a low one shows thin films")
    azimuth: float = parameter(28.0, "of the camera, degrees")
    elevation: float = parameter(16.0, "of the camera, degrees")

    def use(self, vof: TetVOF, view: Box, *, fall: float = math.inf) -> None:
        """Declare the solver; `view` is what pictures contain, and drops more than `fall` (m) beyond it are removed."""
        self.vof = self.declare("vof", vof)
        self.gone = self.declare("gone", np.zeros(1))
        self._view, self._fall = view, fall

    def options(self) -> TetVOFOptions:
        """Return the options of the solver that follow from the parameters."""
        return TetVOFOptions(**self.values("samples", "count", "seed", "conservation", "columns"))

    def max_dt(self) -> float:
        """Return the time of a step."""
        return 1.0 / (self.rate * _checks.integer("steps", self.steps, 1))

    def advance(self, time: float, dt: float) -> None:
        """Let drops fly, then step the water."""
        with self.stage("fly"):
            self.gone += fly(self.vof, dt, self._view, self._fall)
        flying = len(self.vof.drops)
        super().advance(time, dt)
        self.left(flying)

    def left(self, first: int) -> None:
        """Called after each step: the drops from number `first` on have just left the mesh."""

    def report(self, time: float) -> dict[str, float]:
        """Volumes, the errors of both ledgers, wet tetrahedra, drops, and the force on the solid."""
        v = self.vof
        ledger, last = v.ledger(), v.report or TetVOFReport()
        drops = math.fsum(v.drops["volume"])
        put_in = ledger.filled + ledger.inflow + ledger.sources
        there = ledger.in_tets + ledger.waiting + drops + float(self.gone[0])
        return {
            "volume": ledger.in_tets,
            "drops": drops,
            "gone": float(self.gone[0]),
            "volume error": ledger.volume_error / max(put_in, v.quantum),
            "volume error with drops": (there - put_in + ledger.drained) / max(put_in, v.quantum),
            "momentum error": float(np.abs(ledger.momentum_error).max()) / max(ledger.momentum_scale, 1e-300),
            "occupied": float(np.minimum(v.volume, v.capacity).sum()),
            "wet": float(last.wet),
            "flying": float(len(v.drops)),
            "enclosed": float(last.enclosed),
            **{f"force {axis}": float(f) for axis, f in zip("xyz", v.force_on_body(), strict=True)},
        }

    def body_meshes(self, time: float) -> Mapping[str, FrameMesh]:
        """Return the surfaces of solids that pictures show, by name; here none."""
        return {}

    def frame_data(self) -> Mapping[str, FrameItem]:
        """The wet tetrahedra with fill, rank, velocity and flags, the surface of the water for pictures, drops and solids."""
        return {**water_frame(self.vof, self.distance, level=self.level), **self.body_meshes(self.vof.time)}

    def distance(self, points: Floats) -> Floats:
        """Return the signed distance (k,) of the solid at points (k, 3), m, now; here nothing is near."""
        return np.full(len(points), math.inf)

    def picture(self, size: tuple[int, int] = (640, 480)) -> Any:
        """Return a ray-traced picture of the present state; `size` is its width and height, pixels."""
        frame = collect(self.frame_data(), 0, self.vof.time)
        return water_picture(frame, self._view, _solids(frame), azimuth=self.azimuth, elevation=self.elevation, size=size)

    def draw(self, frame: FrameData) -> Any:
        """Show the water, or the wet tetrahedra."""
        from meniscus import viz

        solids = _solids(frame)
        low, high = self._view_box()
        if self.show != "water":
            mesh = frame.meshes["wet"]
            seen = mesh.element_columns["fill"] > _SHOWN_WET
            return viz.wet_tets(
                TetMesh(mesh.vertices, mesh.elements[seen]),
                mesh.element_columns[self.show][seen],
                name=self.show,
                surfaces=solids,
                box=(low, high),
                eye=towards_eye(self.azimuth, self.elevation),
                title=f"{self.name}, t = {frame.time:.2f} s",
            )
        return water_picture(frame, (low, high), solids, azimuth=self.azimuth, elevation=self.elevation)

    def _view_box(self) -> Box:
        if not hasattr(self, "_view"):
            self.setup()  # a picture that is drawn again from files
        return self._view


def fly(vof: TetVOF, dt: float, view: Box, fall: float) -> float:
    """Move the drops of a solver for dt; those that meet its water or its solid are taken in again. Returns the volume (m^3) that is gone.

    Drops are gone below the box `view`, and more than `fall` (m) beside it or above. They feel nothing but gravity.

    Source: Lee 2018, section 3.4.
    """
    drops = vof.drops
    if not len(drops):
        return 0.0
    g = np.array(vof.options.gravity)
    drops.positions[...] += dt * (drops["velocity"] + 0.5 * dt * g)
    drops["velocity"][...] += dt * g
    x = drops.positions
    low, high = np.array(view[0]), np.array(view[1])
    far = ((x < low - fall) | (x > high + fall)).any(axis=1) | (x[:, 2] < low[2])
    gone = math.fsum(drops["volume"][far])
    drops.remove(far)
    tets = vof.mesh.locate(np.ascontiguousarray(drops.positions), vof.time).tets
    met = tets >= 0
    met[met] = (vof.volume[tets[met]] > 0) | (vof.rank[tets[met]] == 0)
    met &= vof.rank[np.maximum(tets, 0)] >= 0
    if met.any():
        vof.absorb(tets[met], drops["volume"][met], drops["velocity"][met])
        drops.remove(met)
    return gone


def wet_tetrahedra(vof: TetVOF, **more: npt.NDArray[Any]) -> FrameMesh:
    """Return the tetrahedra that hold water, with columns; `more` are columns (m,) of all tetrahedra."""
    room = np.array(vof.capacity)
    wet = np.flatnonzero(vof.volume > 0)
    used, index = np.unique(vof.tets[wet], return_inverse=True)
    return FrameMesh(
        np.array(vof.positions)[used],
        index.reshape(-1, 4).astype(np.int32),
        {},
        {
            "fill": np.divide(vof.volume, room, out=np.zeros_like(room), where=room > 0)[wet],
            "volume": vof.volume[wet],
            "rank": vof.rank[wet].astype(np.int32),
            "velocity": vof.velocity[wet],
            "above capacity": (vof.volume[wet] > room[wet] * (1 + 1e-12)).astype(np.int8),
            "cut": (vof.rank[wet] == 0).astype(np.int8),
            **{name: column[wet] for name, column in more.items()},
        },
    )


def water_frame(vof: TetVOF, solid: Callable[[Floats], Floats], prefix: str = "", *, level: float = 0.08) -> dict[str, FrameItem]:
    """Return the data of a frame: wet tetrahedra, the surface of the water, what it leaves out, and the drops."""
    x, tets, room = np.array(vof.positions), vof.tets, np.array(vof.capacity)
    surface = filled_surface(x, tets, vof.volume, room, solid=solid, level=level)
    alone = surface.apart[vof.volume[surface.apart] > _SHOWN_APART * room[surface.apart]]
    corners = x[tets[alone]]
    weights = np.random.default_rng(len(alone)).dirichlet(np.ones(4), len(alone))
    drops = vof.drops
    return {
        f"{prefix}wet": wet_tetrahedra(vof),
        f"{prefix}surface": FrameMesh(surface.vertices, surface.triangles, {"normal": surface.normals}),
        f"{prefix}apart": Particles(np.einsum("nk,nkd->nd", weights, corners), radius=_radius(vof.volume[alone])),
        f"{prefix}drops": Particles(drops.positions.copy(), velocity=drops["velocity"].copy(), radius=_radius(drops["volume"])),
    }


def water_picture(frame: FrameData, box: Box, solids: list[Any], *, prefix: str = "", azimuth: float, elevation: float, **more: Any) -> Any:
    """Return a ray-traced picture of a frame made by `water_frame`."""
    from meniscus import viz

    return viz.water(
        **surface_of(frame, f"{prefix}surface"),
        solids=solids,
        **drops_of(frame, f"{prefix}apart", f"{prefix}drops"),
        box=box,
        look=viz.WaterLook(edges=False, solid_color=(0.42, 0.16, 0.07), clarity=0.15 * math.dist(*box)),
        camera=viz.Camera(azimuth=azimuth, elevation=elevation),
        **more,
    )


def _solids(frame: FrameData) -> list[Any]:
    """Return the solids of a frame as meshes."""
    return [(mesh.vertices, mesh.elements) for name, mesh in frame.meshes.items() if name.startswith("body")]


def _radius(volume: Floats) -> Floats:
    """Return the radii of balls, m."""
    result: Floats = np.cbrt(0.75 / math.pi * volume)
    return result
