"""Pictures: plots, smoke, water, surfaces and animations, all without a display. Needs the extra `viz`; `path_tracing` needs `render`,
`view3d` needs `view`."""

from meniscus.viz import path_tracing
from meniscus.viz.animation import animate, animations
from meniscus.viz.comparison import compare, compare_runs
from meniscus.viz.cutaway import TetColors, cutaway
from meniscus.viz.interactive import View, view3d
from meniscus.viz.live import LiveView, live
from meniscus.viz.meshes import surface
from meniscus.viz.picture import Picture
from meniscus.viz.plots import contours, image, lines, liquid2d, streamlines
from meniscus.viz.smoke import Camera, smoke
from meniscus.viz.tet_slices import tet_slice, transport_slice, way_out_slice
from meniscus.viz.water import WaterLook, water
from meniscus.viz.wet_tets import wet_tets

__all__ = [
    "Camera",
    "LiveView",
    "Picture",
    "TetColors",
    "View",
    "WaterLook",
    "animate",
    "animations",
    "compare",
    "compare_runs",
    "contours",
    "cutaway",
    "image",
    "lines",
    "liquid2d",
    "live",
    "path_tracing",
    "smoke",
    "streamlines",
    "surface",
    "tet_slice",
    "transport_slice",
    "view3d",
    "water",
    "way_out_slice",
    "wet_tets",
]
