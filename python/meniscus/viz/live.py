"""A live view of a world: pictures of it, and a hand that takes hold of what is seen. Its events are plain methods."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.mesh.surface_like import surface_arrays
from meniscus.solids import Budget, Handle
from meniscus.solids.interaction.interactive_world import InteractiveWorld
from meniscus.viz.facets import Sight, corners_of
from meniscus.viz.optics import normalized
from meniscus.viz.picture import Picture, pillow, png

Floats = npt.NDArray[np.float64]

_COLORS = ((0.36, 0.56, 0.84), (0.85, 0.55, 0.29), (0.41, 0.66, 0.36), (0.72, 0.39, 0.56), (0.54, 0.49, 0.76), (0.76, 0.66, 0.24))
_STILL = (0.62, 0.62, 0.62)
_BACKGROUND = (247, 247, 244)
_HAND = (200, 30, 30)
_AMBIENT = 0.4
_MARGIN = 1.08  # of what is shown around the box


class LiveView:
    """Pictures of a world as seen from far away, and a hand. In a notebook it shows its picture; `widget` is the live one.

    Places in the picture are pixels from its left and upper edge.

    See `live`.

    Attributes:
        handle: what the hand holds, or None.
        options: of `World.pick`.
        world, rate, budget: see `live`.
    """

    def __init__(
        self,
        world: Any,
        size: tuple[int, int],
        sight: Sight,
        box: Floats,
        rate: float,
        budget: float | Budget | None,
        still: Sequence[tuple[Floats, npt.NDArray[np.int32]]],
        options: dict[str, Any],
    ) -> None:
        self.world, self.rate, self.budget, self.options = world, rate, budget, options
        self.handle: Handle | None = None
        self._size, self._sight, self._still = size, sight, still
        self._middle = box.mean(axis=0)
        self._fit(box)
        self._start = self._target = np.zeros(3)

    def _fit(self, box: Floats) -> None:
        flat = (box - self._middle) @ self._sight.screen
        width, height = self._size
        spread = np.maximum(np.abs(flat).max(axis=0), 1e-9)
        self._scale = min(width / (2 * _MARGIN * spread[0]), height / (2 * _MARGIN * spread[1]))
        self._box = box

    # --- events --------------------------------------------------------------------------------------------------------------

    def press(self, x: float, y: float) -> Handle | None:
        """Take hold of what is seen at a pixel; return the handle, or None where there is nothing."""
        self.release()
        origin, direction = self.ray(x, y)
        self.handle = self.world.interaction.pick(origin.tolist(), direction.tolist(), **self.options)
        if self.handle is not None:
            self._start, self._target = self.ray(x, y)[0], self.handle.target
        return self.handle

    def drag(self, x: float, y: float) -> None:
        """Move the hand to a pixel, in the plane of the picture. Without anything in it this does nothing."""
        if self.handle is not None:
            self.handle.target = (self._target + self.ray(x, y)[0] - self._start).tolist()

    def release(self) -> None:
        """Open the hand. Without anything in it this does nothing."""
        if self.handle is not None:
            self.handle.release()
            self.handle = None

    def turn(self, azimuth: float, elevation: float = 0.0) -> None:
        """Go around what is shown by angles, degrees: to the right, and upward."""
        up = self._sight.screen[:, 1]
        a, e = np.radians([_checks.number("azimuth", azimuth), _checks.number("elevation", elevation)])
        right = self._sight.screen[:, 0]
        toward = np.cos(a) * self._sight.toward + np.sin(a) * right
        eye = np.cos(e) * toward + np.sin(e) * up
        self._sight = Sight(eye.tolist(), (np.cos(e) * up - np.sin(e) * toward).tolist())
        self._fit(self._box)

    def ray(self, x: float, y: float) -> tuple[Floats, Floats]:
        """Return origin (m) and direction of the ray through a pixel."""
        width, height = self._size
        place = np.array([_checks.number("x", x) - 0.5 * width, 0.5 * height - _checks.number("y", y)]) / self._scale
        far = 10.0 * float(np.abs(self._box - self._middle).max() + 1.0)
        origin: Floats = self._middle + self._sight.screen @ place + far * self._sight.toward
        return origin, -self._sight.toward

    def pixel(self, point: Sequence[float] | Floats) -> tuple[float, float]:
        """Return where a point (m) is seen."""
        at = (np.array(_checks.vector("point", point, 3)) - self._middle) @ self._sight.screen * self._scale
        return float(0.5 * self._size[0] + at[0]), float(0.5 * self._size[1] - at[1])

    # --- pictures ------------------------------------------------------------------------------------------------------------

    def step(self) -> Picture:
        """Advance the world by the time of a frame; return the picture after it."""
        self.world.advance(1.0 / self.rate, budget=self.budget)
        return self.frame()

    def frame(self) -> Picture:
        """Return the picture (height, width, 3) uint8 of the world as it is."""
        image = pillow()
        draw: Any = importlib.import_module("PIL.ImageDraw")
        canvas = image.new("RGB", self._size, _BACKGROUND)
        pen = draw.Draw(canvas)
        flat, fill = self._triangles()
        for points, color in zip(flat, fill, strict=True):
            pen.polygon(points, fill=color)
        if self.handle is not None and self.handle.active:
            (x0, y0), (x1, y1) = self.pixel(self.handle.position), self.pixel(self.handle.target)
            pen.line((x0, y0, x1, y1), fill=_HAND, width=2)
            for x, y in ((x0, y0), (x1, y1)):
                pen.ellipse((x - 4, y - 4, x + 4, y + 4), outline=_HAND, width=2)
        return Picture(np.asarray(canvas))

    def _triangles(self) -> tuple[list[list[float]], list[tuple[int, ...]]]:
        """Return corners in pixels, and colours, of all triangles, those behind first."""
        acting = self.world.interaction
        corners, colors = [np.zeros((0, 3, 3))], [np.zeros((0, 3))]
        behind = sum(len(triangles) for _, triangles in self._still)
        for vertices, triangles in self._still:
            corners.append(vertices[triangles])
            colors.append(np.broadcast_to(_STILL, (len(triangles), 3)))
        for k, name in enumerate(acting.bodies):
            surface = acting.surface(name)
            if surface is not None:
                corners.append(surface.vertices[surface.triangles])
                colors.append(np.broadcast_to(_COLORS[k % len(_COLORS)], (len(surface.triangles), 3)))
        for mesh in getattr(self.world, "meshes", ()):
            corners.append(mesh.vertices(self.world.time)[mesh.triangles])
            colors.append(np.broadcast_to(_STILL, (len(mesh.triangles), 3)))
        x = np.concatenate(corners)
        depth = x.mean(axis=1) @ self._sight.toward
        depth[:behind] -= np.ptp(depth) + 1.0
        order = np.argsort(depth, kind="stable")
        x = x[order]
        shade = _AMBIENT + (1.0 - _AMBIENT) * np.abs(normalized(np.cross(x[:, 1] - x[:, 0], x[:, 2] - x[:, 0])) @ self._sight.light)
        fill = (255 * np.clip(np.concatenate(colors)[order] * shade[:, None], 0.0, 1.0)).astype(np.int64)
        at = (x - self._middle) @ self._sight.screen * self._scale
        flat = at * np.array([1.0, -1.0]) + 0.5 * np.array(self._size)
        return flat.reshape(-1, 6).tolist(), list(map(tuple, fill.tolist()))

    def widget(self) -> Any:
        """Return a widget for notebooks: the picture, with a hand that follows the mouse where ipyevents is there, or sliders.

        Raises:
            ImportError: ipywidgets is missing.
        """
        make: Callable[[LiveView], Any] = importlib.import_module("meniscus.viz.live_widget").widget_of
        return make(self)

    def _repr_png_(self) -> bytes:
        return png(np.asarray(self.frame()))

    def __repr__(self) -> str:
        """One line: size and what is held."""
        return f"<LiveView {self._size[0]}x{self._size[1]}, {'nothing held' if self.handle is None else self.handle!r}>"


def live(
    world: Any,
    *,
    size: tuple[int, int] = (640, 480),
    eye: Sequence[float] = (0.6, -1.0, 0.5),
    up: Sequence[float] = (0.0, 0.0, 1.0),
    box: Any = None,
    rate: float = 60.0,
    budget: float | Budget | None = None,
    still: Sequence[Any] = (),
    **options: Any,
) -> LiveView:
    """Return a live view of a world, with a hand that drags bodies.

    Everything that the mouse does is a method too: `press`, `drag`, `release`, `turn`, `step`, `frame`. A `Recorder` of the world sees
    all of it.

    Args:
        world: the world. Its bodies and mesh obstacles are shown.
        size: width and height of the picture, pixels.
        eye: direction from what is shown to the eye.
        up: direction that points up in the picture.
        box: lowest and highest corner of what is shown, m; default: that of all bodies now.
        rate: frames per second of the time of the world.
        budget: s per frame, or a `Budget`, as for `World.advance`.
        still: meshes that are shown behind everything else, such as a floor.
        **options: of `World.pick`, such as `kind`, `stiffness` and `radius`.

    Raises:
        TypeError, ValueError: wrong types or values; a world without anything to see.
    """
    _checks.one_of_type("world", world, InteractiveWorld)
    width, height = _checks.integer("size[0]", size[0], 16), _checks.integer("size[1]", size[1], 16)
    meshes = [surface_arrays(mesh) for mesh in still]
    if box is None:
        surfaces = [world.interaction.surface(name) for name in world.interaction.bodies]
        points = [s.vertices for s in surfaces if s is not None] + [vertices for vertices, _ in meshes]
        if not points:
            raise ValueError("there is nothing to see: add bodies to the world, or give a box")
        everything = np.concatenate(points)
        box = (everything.min(axis=0).tolist(), everything.max(axis=0).tolist())
    sight = Sight(eye, up)
    return LiveView(world, (width, height), sight, corners_of(box), _checks.positive("rate", rate), budget, meshes, options)
