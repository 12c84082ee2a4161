"""Scene of a mesh of air that follows an animated creature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.collision import TetLocator
from meniscus.coupling import AirMaterial, Mode, Skinning
from meniscus.coupling.animation import Animation
from meniscus.coupling.follower import Follower
from meniscus.coupling.kdsm_parts import Plan, check_skin, make_parts
from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.mesh import Embedding, TriangleMesh
from meniscus.scenes.creatures import creature, motion
from meniscus.scenes.scene import Scene, parameter

Floats = npt.NDArray[np.float64]
Shown = Literal["quality", "layer"]

_TRAIL = 8  # positions of an embedded point that its trail joins


@dataclass(kw_only=True)
class FollowCreature(Scene):
    """A tetrahedral mesh of air around a creature, or around any closed surface in a scripted or given motion, with embedded points.

    Source: Lee 2018, sections 2.3.1, 2.4 and 3.2, figures 2.1, 2.3, 2.5 and 3.2.
    """

    name: ClassVar[str] = "kdsm"
    on_ranks: ClassVar[bool] = False
    summary: ClassVar[str] = "a mesh of air that follows an animated creature"
    stages: ClassVar[tuple[str, ...]] = ("animation", "skinning")
    frames_per_second: ClassVar[float] = 24.0

    creature: str = parameter("whale", "creature of the package: whale, bear")
    mesh: str = parameter("", "file of a closed surface, instead of the creature")
    motion: str = parameter("", "of the creature (whale: breach, swim, walk) or of the mesh: swim, nod, twist, hop, bend")
    animation: str = parameter("", "files of the frames of the mesh, as 'walk-*.ply', instead of the motion")
    rate: float = parameter(24.0, "frames per second")
    frames: int = parameter(48, "frames to write")
    cell_size: float = parameter(0.0, "edge of the cubes of the lattice, m; 0: a twentieth of the longest side of the surface")
    layers: int = parameter(2, "cells around the surface")
    levels: int = parameter(0, "of subdivision, told in the report")
    mode: Mode = parameter("dynamic", "with inertia, or each frame at rest")
    material: AirMaterial = parameter("springs", "of the mesh")
    density: float = parameter(1.2, "of the mesh, kg/m^3")
    points: int = parameter(400, "embedded points that are shown with their trails")
    show: Shown = parameter("quality", "colours of the picture")

    def make_animation(self) -> tuple[TriangleMesh, Animation]:
        """Return the surface at rest and its frames."""
        rate = _checks.positive("rate", self.rate)
        times = np.arange(_checks.integer("frames", self.frames, 1) + 1) / rate
        if not self.mesh:
            if self.animation:
                raise ValueError("animation needs mesh, the surface at rest")
            being = creature(self.creature, self.motion or None)
            return being.rest, Animation(being.rest, being.vertices, times)
        rest = TriangleMesh.read(self.mesh)
        if self.animation:
            return rest, Animation(rest, self.animation, times)
        moved = motion(self.motion or "nod", rest, duration=0.5 * float(times[-1]))
        return rest, Animation(rest, moved.vertices, times)

    def make_follower(self) -> Follower:
        """Make the mesh around the surface at rest."""
        rest, self.frames_of_skin = self.make_animation()
        check_skin(rest)
        if self.cell_size < 0:
            raise ValueError(f"cell_size must not be negative, but is {self.cell_size:g}")
        cell = self.cell_size or float(np.ptp(rest.vertices, axis=0).max()) / 20.0
        plan = Plan(cell_size=cell, layers=self.layers, subdivisions=self.levels)
        skinning = Skinning(mode=self.mode, material=self.material, density=self.density)
        parts, morph = make_parts(rest, plan)
        return Follower(parts, morph, plan, skinning)

    def setup(self) -> None:
        """Create the mesh and its first frame."""
        self.follower = self.make_follower()
        parts = self.follower.parts
        self.shown = self._embedded_points()
        first = self.follower.first(self.frames_of_skin.frame(0))
        self.body = self.declare("body", self.follower.run.body)
        self.trail = self.declare("trail", np.repeat(self.shown.evaluate(first.positions)[None], _TRAIL, axis=0))
        self.flags = self.declare("flags", first.flags)
        self.measures = self.declare("measures", first.measures)
        self.skin = self.declare("skin", first.skin)
        self.volumes = parts.mesh.volumes

    def _embedded_points(self) -> Embedding:
        """Scatter points outside of the skin, in the mesh."""
        parts = self.follower.parts
        rng = np.random.default_rng(7)
        x = parts.mesh.vertices
        tets = parts.mesh.tets[rng.integers(len(parts.mesh.tets), size=8 * max(self.points, 1))]
        weights = rng.dirichlet(np.ones(4), len(tets))
        at = np.einsum("nk,nkd->nd", weights, x[tets])
        outside = np.flatnonzero(np.einsum("nk,nk->n", weights, parts.distance[tets]) > 0)[: self.points]
        found = TetLocator(parts.mesh).locate(np.ascontiguousarray(at[outside]))
        return Embedding(np.ascontiguousarray(parts.mesh.tets[found.tets]), found.barycentric, len(x))

    def max_dt(self) -> float:
        """Return the time between two frames."""
        return 1.0 / self.rate

    def advance(self, time: float, dt: float) -> None:
        """Follow the creature to the next frame."""
        k = round((time + dt) * self.rate)
        with self.stage("animation"):
            if self.follower.at_frame != k - 1:  # a run that was resumed
                self.follower.take_up(k - 1, [np.array(self.skin)])
            skin = self.frames_of_skin.frame(k)
        with self.stage("skinning"):
            frame = self.follower.next(k, (time, time + dt), skin)
        self.flags[...], self.measures[...], self.skin[...] = frame.flags, frame.measures, frame.skin
        self.trail[:-1] = self.trail[1:]
        self.trail[-1] = self.shown.evaluate(frame.positions)

    def report(self, time: float) -> dict[str, float]:
        """Gaps between the skin and the mesh in coarse and fine cells, disabled elements, least volume and largest speed."""
        cell = self.follower.plan.cell_size
        mean, largest = float(self.measures[0]) / cell, float(self.measures[1]) / cell
        return {
            "mean gap (cells)": mean,
            "largest gap (cells)": largest,
            "largest gap (fine cells)": largest * 2.0**self.levels,
            "disabled": float(np.count_nonzero(self.flags)),
            "smallest volume ratio": float((self.follower.parts.mesh.measures(self.body.positions) / self.volumes).min()),
            "largest speed": float(np.linalg.norm(self.body.velocities, axis=1).max()),
        }

    def frame_data(self) -> Mapping[str, FrameItem]:
        """The skin, the mesh with quality, layers and flags, and the embedded points with their trails."""
        parts, x = self.follower.parts, np.array(self.body.positions)
        n = self.trail.shape[1]
        start = np.arange((_TRAIL - 1) * n, dtype=np.int32)
        return {
            "skin": FrameMesh(np.array(self.skin), parts.skin.triangles),
            "mesh": FrameMesh(
                x,
                parts.mesh.tets,
                {"rest distance": parts.distance},
                {"quality": parts.mesh.quality(x).radius_ratio, "layer": parts.layers, "disabled": np.array(self.flags)},
            ),
            "trails": FrameMesh(self.trail.reshape(-1, 3).copy(), np.stack([start, start + n], axis=1).astype(np.int32)),
        }

    def draw(self, frame: FrameData) -> Any:
        """Cut the mesh open and show the skin and the points in it."""
        from meniscus import viz
        from meniscus.mesh import TetMesh

        mesh, skin = frame.meshes["mesh"], frame.meshes["skin"]
        low, high = skin.vertices.min(axis=0), skin.vertices.max(axis=0)
        middle = 0.5 * (low + high)
        half = 0.75 * float((high - low).max())
        values = mesh.element_columns["quality" if self.show == "quality" else "layer"]
        count = len(frame.meshes["trails"].vertices) // _TRAIL
        return viz.cutaway(
            TetMesh(mesh.vertices, mesh.elements),
            surface=(skin.vertices, skin.elements),
            colors=viz.TetColors(values=values, limits=(0.0, 1.0) if self.show == "quality" else None),
            point=middle.tolist(),
            points=frame.meshes["trails"].vertices[-count:] if count else None,
            box=((middle - half).tolist(), (middle + half).tolist()),
            title=f"{self.name}, t = {frame.time:.2f} s",
        )
