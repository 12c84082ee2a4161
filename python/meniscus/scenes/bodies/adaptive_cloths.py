"""Base of the scenes of cloth that remeshes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.mesh import TriangleMesh
from meniscus.scenes.bodies.base import GREY, Surface, joined
from meniscus.scenes.scene import parameter
from meniscus.scenes.touching import Touching
from meniscus.solids import AdaptiveCloth, ClothMaterial, RemeshOptions, SheetSizing, World
from meniscus.solids.cloth.options import ClothBending

Adaptivity = Literal["adaptive", "fixed"]
_FRONT = np.array(((0.35, 0.55, 0.80), (0.40, 0.65, 0.45), (0.72, 0.42, 0.55), (0.75, 0.65, 0.35)))
_BACK = np.array(((0.85, 0.55, 0.30), (0.85, 0.75, 0.40), (0.45, 0.60, 0.65), (0.45, 0.55, 0.40)))

_PAPER = (0.93, 0.93, 0.90)  # of meshes at rest


@dataclass(kw_only=True)
class AdaptiveCloths(Touching):
    """Sheets of adaptive cloth in one `World`; z is up. With `mesh="fixed"` they are not remeshed.

    The diagnostics of `Touching`, and of remeshing since the last ones: `triangles`, `operations`, `refused`; `energy jumps`, the sum of
    their sizes so far, J; `in bounds`, part of the edges.

    Source: Brochu 2012, section 4.5.6.
    """

    gravity: ClassVar[tuple[float, float, float]] = (0.0, 0.0, -9.81)
    edges: ClassVar[bool] = True
    picture_size: ClassVar[tuple[float, float]] = (12.0, 7.0)

    mesh_kind: Adaptivity = parameter("adaptive", "whether cloth is remeshed, or keeps its first mesh")
    shortest: float = parameter(0.02, "edges that are wanted, m")
    longest: float = parameter(0.1, "edges that are wanted, m")
    sizing: SheetSizing = parameter("curvature", "of the edges")
    turn: float = parameter(30.0, "of an edge of the wanted length where cloth is curved, degrees")
    density: float = parameter(0.2, "mass per area, kg/m^2")
    stretch: float = parameter(100.0, "stiffness against stretch, N/m")
    bending: float = parameter(2e-5, "stiffness against bending, N m")
    poissons_ratio: float = parameter(0.3, "of the cloth")
    bending_by: ClothBending = parameter("plate", "what resists bending")
    damping: float = parameter(2e-3, "in proportion to the stiffness, s")
    steps_per_loop: int = parameter(4, "steps from one certified state to the next")
    thickness: float = parameter(0.006, "distance at which surfaces repel each other, m")
    friction: float = parameter(0.3, "of cloth")

    def material(self) -> ClothMaterial:
        """Return the material of all cloth."""
        t = 5e-4
        return ClothMaterial(
            density=self.density,
            youngs_modulus=self.stretch / t,
            thickness=t,
            bending=self.bending,
            poissons_ratio=self.poissons_ratio,
            damping=self.damping,
            resists_bending=self.bending_by,
        )

    def make_body(self, mesh: TriangleMesh) -> AdaptiveCloth:
        """Return cloth of a mesh that is flat."""
        return AdaptiveCloth(
            mesh,
            material=self.material(),
            edges=(self.shortest, self.longest),
            sizing=self.sizing,
            options=RemeshOptions(turn=self.turn),
            gravity=self.gravity,
        )

    def make_world(self, bodies: Sequence[Any]) -> World:
        """The sheets, and what `add_obstacles` adds."""
        world = World(
            steps_per_loop=self.steps_per_loop,
            elasticity="full-step",
            tolerance=1e-3,
            friction_solves=0,
            preconditioner="blocks",
            gravity=self.gravity,
        )
        for body in bodies:
            every = 1 if self.mesh_kind == "adaptive" else 0
            world.add(body, thickness=self.thickness, friction=self.friction, remesh_every=every)
        self.add_obstacles(world)
        return world

    def add_obstacles(self, world: World) -> None:
        """Add the obstacles to the world."""

    def declare_bodies(self, bodies: list[Any]) -> None:
        """Declare the world, and sums over all remeshing so far."""
        super().declare_bodies(bodies)
        self.remeshing = self.declare("remeshing", np.zeros(3))

    def sheets(self) -> list[AdaptiveCloth]:
        """Return the sheets of the world."""
        return [body for body in self.world.bodies if isinstance(body, AdaptiveCloth)]

    def before_loop(self, time: float) -> None:
        """Remember how often each sheet has been remeshed."""
        self._before = [body.remeshed for body in self.sheets()]

    def advance(self, time: float, dt: float) -> None:
        """Take a loop, and add up what remeshing did before it."""
        super().advance(time, dt)
        for body, before in zip(self.sheets(), self._before, strict=True):
            report = body.remeshed
            if report is not None and report is not before:
                self.remeshing += (report.operations, sum(report.refused.values()), abs(report.energy_jump))

    def report(self, time: float) -> dict[str, float]:
        """As for all that touch; with remeshing."""
        reports = [body.remeshed for body in self.sheets() if body.remeshed is not None]
        return {
            **super().report(time),
            "triangles": float(sum(len(body.triangles) for body in self.sheets())),
            "operations": float(self.remeshing[0]),
            "refused": float(self.remeshing[1]),
            "energy jumps": float(self.remeshing[2]),
            "in bounds": float(np.mean([r.in_bounds for r in reports])) if reports else 1.0,
        }

    def frame_data(self) -> Mapping[str, FrameItem]:
        """The surfaces of all sheets as one, with velocities, rest coordinates and numbers of the sheets at the nodes."""
        bodies = self.sheets()
        whole = joined(Surface(body.positions, body.triangles) for body in bodies)
        data = {
            "velocity": np.concatenate([body.velocities for body in bodies]),
            "rest": np.concatenate([body.rest_mesh.vertices for body in bodies]),
            "sheet": np.concatenate([np.full(len(body), float(k)) for k, body in enumerate(bodies)]),
        }
        return {self.drawn: FrameMesh(np.asarray(whole.vertices), whole.triangles, data)}

    def rest_view(self, sheet: int, rest: npt.NDArray[np.float64]) -> npt.NDArray[np.float64] | None:
        """Return where pictures show rest coordinates (n, 3) of a sheet, m; None: nowhere."""
        return None

    def draw(self, frame: FrameData) -> Any:
        """Show the sheets, their rest meshes and the obstacles."""
        from meniscus import viz

        shown = frame.meshes[self.drawn]
        triangles = np.asarray(shown.elements)
        sheet = np.asarray(shown.columns["sheet"])[triangles[:, 0]].astype(int)
        parts = [Surface(np.asarray(shown.vertices), triangles)]
        colors = [np.concatenate([_FRONT[sheet % len(_FRONT)], _BACK[sheet % len(_BACK)]], axis=1)]
        for k in range(int(sheet.max()) + 1):
            own = triangles[sheet == k]
            beside = self.rest_view(k, np.asarray(shown.columns["rest"]))
            if beside is not None:
                parts.append(Surface(beside, own))
                colors.append(np.tile(_PAPER, (len(own), 2)))
        for other in self.obstacles(frame.time):
            parts.append(Surface(other.vertices, other.triangles))
            colors.append(np.tile((*GREY, *GREY), (len(other.triangles), 1)))
        both = np.concatenate(colors)
        return viz.surface(
            *joined(parts),
            eye=self.eye,
            up=(0, 0, 1),
            box=self.shown_box(),
            color=np.ascontiguousarray(both[:, :3]),
            back=np.ascontiguousarray(both[:, 3:]),
            edges=self.edges,
            size=self.picture_size,
            title=f"{self.name}, t = {frame.time:.2f} s, {len(triangles)} triangles",
        )


def sheet_mesh(size: tuple[float, float], edge: float, height: float) -> TriangleMesh:
    """Return a flat sheet around the z axis with edges of about that length (m), at a height (m)."""
    from meniscus.mesh import cloth_mesh

    cells = [max(2, round(side / edge)) for side in size]
    return cloth_mesh(cells[0], cells[1], size, origin=(-0.5 * size[0], -0.5 * size[1], height))
