"""Base of the scenes of shallow water."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.fluids import ShallowWater
from meniscus.grid.fields import CellField
from meniscus.io.frames import FrameData, FrameItem
from meniscus.scenes.scene import Scene


@dataclass(kw_only=True)
class ShallowScene(Scene):
    """A scene whose `solver` is a `ShallowWater`, drawn as depths from above, or in a channel as its surface over the ground."""

    stages: ClassVar[tuple[str, ...]] = ("step",)
    on_ranks: ClassVar[bool] = False
    colors: ClassVar[str] = "Blues"
    as_surface: ClassVar[bool] = False
    """Whether the height of the surface is drawn, not the depth."""
    solver: ShallowWater

    def max_dt(self) -> float:
        """Return infinity: a step takes the substeps that it needs."""
        return float("inf")

    def report(self, time: float) -> dict[str, float]:
        """Volume, m^3, largest depth, m, and speed, m/s, of the water."""
        speed = max(float(np.abs(component).max()) for component in self.solver.velocity)
        area = self.solver.grid.spacing**2
        return {"volume": float(self.solver.depth.sum()) * area, "max depth": float(self.solver.depth.max()), "max speed": speed}

    def frame_data(self) -> Mapping[str, FrameItem]:
        """Return depth and ground, m, as fields."""
        fields = {"depth": CellField(self.solver.grid), "ground": CellField(self.solver.grid)}
        for name, field in fields.items():
            field.array[...] = getattr(self.solver, name)
        return fields

    def draw(self, frame: FrameData) -> Any:
        """Show depth, or the height of the surface where there is water."""
        from meniscus import viz

        depth, ground = (array_of(frame[name]) for name in ("depth", "ground"))
        grid = self.solver.grid
        (x0, y0), (width, height) = grid.origin, grid.extent
        title = f"{self.name}, t = {frame.time:.2f} s"
        if grid.shape[1] == 1:
            x = grid.cell_centers()[0][:, 0]
            return viz.lines(x, {"ground": ground[:, 0], "surface": (ground + depth)[:, 0]}, xlabel="m", ylabel="m", title=title)
        wet = depth > 1e-4
        values = np.where(wet, ground + depth if self.as_surface else depth, np.nan)
        return viz.image(values, extent=(x0, x0 + width, y0, y0 + height), title=title, limits=self.limits(), colors=self.colors)

    def limits(self) -> tuple[float, float] | None:
        """Return the values at the ends of the colour scale."""
        return None


def array_of(item: npt.ArrayLike) -> npt.NDArray[Any]:
    """Return the numbers of a field of a frame."""
    return np.asarray(getattr(item, "array", item))
