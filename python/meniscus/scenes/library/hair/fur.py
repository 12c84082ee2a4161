"""Scene of a coat of fur on an animated creature."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.coupling import KDSM, HairCoat, HairPost
from meniscus.coupling.hair.hair_styles import places_along
from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.mesh import TriangleMesh
from meniscus.scenes.bodies.base import Surface, joined
from meniscus.scenes.bodies.strands import coat_colors, tubes
from meniscus.scenes.creatures import creature, motion
from meniscus.scenes.scene import Scene, parameter
from meniscus.solids import Groom

Floats = npt.NDArray[np.float64]
Style = Literal["dry", "clumped", "matted", "wetting"]


@dataclass(kw_only=True)
class Fur(Scene):
    """A creature, or any closed surface in a scripted motion, whose fur is carried by a mesh of air around it: each frame is a product of
    weights and positions, then hairs get their lengths back and are kept out of the skin. The style is dry, clumped or matted, or goes from
    the first to the last from the belly up.

    Source: Lee 2018, section 2.3, figures 2.3, 2.6 and 2.11.
    """

    name: ClassVar[str] = "fur"
    on_ranks: ClassVar[bool] = False
    summary: ClassVar[str] = "fur on an animated creature, carried by a mesh of air"
    stages: ClassVar[tuple[str, ...]] = ("coat",)
    frames_per_second: ClassVar[float] = 24.0

    creature: str = parameter("bear", "creature of the package: whale, bear")
    mesh: str = parameter("", "file of a closed surface, instead of the creature")
    motion: str = parameter("", "of the creature or of the mesh, as for `kdsm`")
    rate: float = parameter(24.0, "frames per second")
    frames: int = parameter(24, "frames to write")
    strands: int = parameter(20000, "their number")
    length: float = parameter(0.06, "of each, in parts of the longest side of the surface")
    segments: int = parameter(8, "of a strand")
    comb: float = parameter(0.7, "how far tips are combed down, in parts of the length")
    style: Style = parameter("dry", "of the fur: dry, clumped, matted, or wetting, from dry to matted")
    clumps: int = parameter(1500, "their number")
    cell_size: float = parameter(0.0, "of the mesh of air, m; 0: a fifteenth of the longest side of the surface")
    drawn_radius: float = parameter(0.0, "of the strands in pictures, m; 0: from the length")
    seed: int = parameter(0, "of the places of the roots")

    def setup(self) -> None:
        """Build the mesh of air for all frames, and hang the fur on it."""
        times = np.arange(_checks.integer("frames", self.frames, 1) + 1) / _checks.positive("rate", self.rate)
        if self.mesh:
            rest = TriangleMesh.read(self.mesh)
            frames = motion(self.motion or "nod", rest, duration=0.5 * float(times[-1])).vertices
        else:
            being = creature(self.creature, self.motion or None)
            rest, frames = being.rest, being.vertices
        side = float(np.ptp(rest.vertices, axis=0).max())
        cell = self.cell_size or side / 15.0
        long = _checks.positive("length", self.length) * side
        self.kdsm = KDSM.build(rest, frames, times, cell_size=cell, layers=1 + int(np.ceil(long / cell)))
        groom = Groom.grow(rest, self.strands, long, segments=self.segments, noise=0.25, seed=self.seed)
        along = places_along(groom)[:, None]
        combed = groom.points + self.comb * long * along**2 * np.array([0.0, -1.0, 0.0])
        groom = Groom(
            combed,
            groom.offsets,
            root_triangles=groom.root_triangles,
            root_weights=groom.root_weights,
            skin=rest,
            directors=groom.directors,
        )
        self.coat = HairCoat(self.kdsm, groom, post=HairPost(thickness=0.02 * long))
        if self.style != "dry":
            self.coat.styles["clumped"] = self.coat.clump(min(self.clumps, len(groom)), seed=self.seed)
            self.coat.styles["matted"] = self.coat.mat(0.85, style="clumped")
            self.coat.blend = ("dry", "clumped", "matted") if self.style == "wetting" else (self.style,)
        self.points = self.declare("points", self.coat.positions(0.0))
        self.skin = self.declare("skin", self.kdsm.skin_at(0.0))

    def max_dt(self) -> float:
        """Return the time between two frames."""
        return 1.0 / self.rate

    def advance(self, time: float, dt: float) -> None:
        """Carry the fur to the next frame."""
        t = min(time + dt, float(self.kdsm.times[-1]))
        with self.stage("coat"):
            if self.style == "wetting":
                height = self.coat.groom.points[:, 1]
                part = (height - height.min()) / np.ptp(height)
                done = t / float(self.kdsm.times[-1])
                self.coat.wetness[:] = np.clip(3.0 * done - 2.0 * part, 0.0, 1.0)
            self.coat.positions(t, self.points)
            self.skin[...] = self.kdsm.skin_at(t)

    def report(self, time: float) -> dict[str, float]:
        """Longest segment over its length at rest, mean wetness."""
        inner = np.ones(len(self.points) - 1, np.bool_)
        inner[self.coat.groom.offsets[1:-1] - 1] = False

        def lengths(x: Floats) -> Floats:
            return np.linalg.norm(np.diff(x, axis=0), axis=1)[inner]  # type: ignore[no-any-return]

        stretch = lengths(np.asarray(self.points)) / lengths(self.coat.groom.points)
        return {"longest segment": float(stretch.max()), "mean wetness": float(self.coat.wetness.mean())}

    def frame_data(self) -> Mapping[str, FrameItem]:
        """The skin and the strands."""
        return {
            "skin": FrameMesh(np.array(self.skin), self.kdsm.skin.triangles),
            "strands": FrameMesh(np.array(self.points), self.coat.groom.mesh.segments),
        }

    def draw(self, frame: FrameData) -> Any:
        """Show the strands as thin tubes, and the skin."""
        from meniscus import viz

        groom, skin = self.coat.groom, frame.meshes["skin"]
        radius = self.drawn_radius or 0.014 * float(groom.lengths.max())
        strands = tubes(np.asarray(frame.meshes["strands"].vertices, np.float64), groom, radius)
        colors = coat_colors(groom, len(skin.elements))
        low, high = skin.vertices.min(axis=0), skin.vertices.max(axis=0)
        middle, half = 0.5 * (low + high), 0.46 * float((high - low).max())
        body = Surface(np.asarray(skin.vertices, np.float64), np.asarray(skin.elements))
        return viz.surface(
            *joined([strands, body]),
            eye=(1.2, 0.5, 1.6),
            box=((middle - half).tolist(), (middle + half).tolist()),
            color=colors,
            back=colors,
            edges=False,
            title=f"{self.name}, t = {frame.time:.2f} s",
        )
