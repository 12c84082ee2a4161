"""Pictures: plots, smoke and animations, all without a display. Needs the extra `viz`."""

from meniscus.viz.animation import animate, animations
from meniscus.viz.meshes import surface
from meniscus.viz.plots import contours, image, lines, liquid2d, streamlines
from meniscus.viz.smoke import Camera, smoke
from meniscus.viz.water import water

__all__ = [
    "Camera",
    "animate",
    "animations",
    "contours",
    "image",
    "lines",
    "liquid2d",
    "smoke",
    "streamlines",
    "surface",
    "water",
]
