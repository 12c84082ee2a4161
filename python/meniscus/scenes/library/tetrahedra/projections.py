"""Scene that compares three ways to keep the volume of water on tetrahedra."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, get_args

import numpy as np

from meniscus import _checks
from meniscus.fluids import TetVOF
from meniscus.fluids.tetrahedra.options import Conservation, WaterSampling
from meniscus.io.frames import FrameData, FrameItem, FrameMesh
from meniscus.mesh import MovingTetMesh, bcc_lattice, icosphere, tet_block
from meniscus.scenes.curves import save_curves, table_of
from meniscus.scenes.record import DIAGNOSTICS_FILE
from meniscus.scenes.scene import Scene, parameter
from meniscus.scenes.tet_water import Box as Box3
from meniscus.scenes.tet_water import fly, water_frame, water_picture
from meniscus.surface import Box, Sphere

_WAYS: dict[str, Conservation] = {
    "projection": "projection",
    "both": "push-out and projection",
    "push_out": "push-out",
}
_VIEW: Box3 = ((-0.6, -0.6, -0.3), (0.6, 0.6, 0.9))
assert set(_WAYS.values()) == set(get_args(Conservation))


@dataclass(kw_only=True)
class Projections(Scene):
    """The same water falls on a ball three times: with a pressure projection alone, with push-out before it, and with push-out alone.

    All three conserve the sum of the volumes. What the first loses is the volume that the water occupies: tetrahedra hold more than they
    have room for. The seconds of each are among those of the run.

    Source: Lee 2018, section 3.3.3, figure 3.9.
    """

    name: ClassVar[str] = "projections"
    on_ranks: ClassVar[bool] = False
    summary: ClassVar[str] = "pressure projection and push-out compared: occupied volume and seconds, on tetrahedra"
    stages: ClassVar[tuple[str, ...]] = tuple(_WAYS)
    frames_per_second: ClassVar[float] = 24.0

    cells: int = parameter(14, "of the lattice across the mesh, which is 1 m wide")
    samples: WaterSampling = parameter("random", "points that stand for a tetrahedron in transport, or exact overlaps")
    count: int = parameter(10, "points per tetrahedron")
    seed: int = parameter(0, "of random points")
    rate: float = parameter(30.0, "frames per second of time")
    steps: int = parameter(2, "steps per frame")
    end: float = parameter(0.6, "length of the run, s")
    azimuth: float = parameter(28.0, "of the camera, degrees")
    elevation: float = parameter(16.0, "of the camera, degrees")

    def setup(self) -> None:
        """Create the same water three times."""
        n = _checks.integer("cells", self.cells, 4)
        h = 1.0 / n
        rest = bcc_lattice((-0.5, -0.5, -2 * h), h, (n, n, n + 2))
        still = MovingTetMesh(rest, lambda t: rest.vertices)
        self._solid = Box((-2.0, -2.0, -2.0), (2.0, 2.0, 0.0)) | Sphere((0.05, 0.03, 0.2), 0.15)
        self.vofs = {}
        for name, conservation in _WAYS.items():
            vof = TetVOF(still, self._solid, conservation=conservation, **self.values("samples", "count", "seed"))
            vof.fill(Box((-0.25, -0.25, 0.45), (0.25, 0.25, 0.85)))
            self.vofs[name] = self.declare(name, vof)
            setattr(self, name, vof)

    def max_dt(self) -> float:
        """Return the time of a step."""
        return 1.0 / (self.rate * _checks.integer("steps", self.steps, 1))

    def advance(self, time: float, dt: float) -> None:
        """Step all three."""
        for name, vof in self.vofs.items():
            fly(vof, dt, _VIEW, 1.0)
            with self.stage(name):
                vof.step(dt)

    def report(self, time: float) -> dict[str, float]:
        """For each: the occupied part of the volume in the mesh, the error of the ledger, the speed, and the iterations of the pressure."""
        result = {}
        for name, v in self.vofs.items():
            ledger = v.ledger()
            result[f"{name}: occupied"] = float(np.minimum(v.volume, v.capacity).sum() / max(v.total_volume(), v.quantum))
            result[f"{name}: volume error"] = ledger.volume_error / ledger.filled
            result[f"{name}: speed"] = float(np.linalg.norm(v.velocity, axis=1).max())
            solved = None if v.report is None else v.report.projection
            result[f"{name}: iterations"] = float(getattr(solved, "iterations", 0))
        return result

    def frame_data(self) -> Mapping[str, FrameItem]:
        """Of each, what `water_frame` returns."""
        items: dict[str, FrameItem] = {}
        for name, v in self.vofs.items():
            items |= water_frame(v, self._solid.signed_distance, f"{name}-")
        ball = icosphere(4, 0.15, (0.05, 0.03, 0.2))
        plate = tet_block(1, 1, 1, (1.0, 1.0, 0.05), origin=(-0.5, -0.5, -0.05)).boundary
        bodies = {"body": FrameMesh(ball.vertices, ball.triangles), "body-plate": FrameMesh(plate.vertices, plate.triangles)}
        return {**items, **bodies}

    def draw(self, frame: FrameData) -> Any:
        """Show the three beside each other."""
        more: dict[str, Any] = {"azimuth": self.azimuth, "elevation": self.elevation, "size": (360, 400)}
        solids = [(m.vertices, m.elements) for m in (frame.meshes["body"], frame.meshes["body-plate"])]
        pictures = [water_picture(frame, _VIEW, solids, prefix=f"{name}-", **more) for name in _WAYS]
        return np.concatenate([np.asarray(p) for p in pictures], axis=1)

    def finish(self, out: Path, pictures: list[Path]) -> list[Path]:
        """Write the animation, and the curves of the occupied volume and of the seconds of each step."""
        from meniscus import viz

        files = super().finish(out, pictures)
        if not (out / DIAGNOSTICS_FILE).exists():
            return files
        table = {name: values[1:] for name, values in table_of(out).items()}
        occupied, seconds = ({name: table[column.format(name)] for name in _WAYS} for column in ("{}: occupied", "seconds {}"))
        drawn = {
            "projections-occupied": viz.lines(table["time"], occupied, xlabel="time, s", ylabel="occupied part of the volume"),
            "projections-seconds": viz.lines(table["time"], seconds, xlabel="time, s", ylabel="s per step"),
        }
        return [*files, *save_curves(out, drawn)]
