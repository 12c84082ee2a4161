"""Pictures: plots, smoke and animations, all without a screen. Needs the extra `viz`."""

from meniscus.viz.animation import animate, animations
from meniscus.viz.plots import contours, image, lines

__all__ = ["animate", "animations", "contours", "image", "lines"]
