"""Path-traced pictures of smoke, liquids and surfaces by Mitsuba 3. Needs the extra `render`.

A picture is described by a dictionary of numbers, strings and arrays, in the form of Mitsuba's own scene dictionaries, so that it can be
looked at and changed without the renderer:

    scene = ms.viz.path_tracing.smoke_scene(density, size=(480, 640))
    picture = ms.viz.path_tracing.render(scene, samples=128)
"""

from meniscus.viz.path_tracing.renderer import available, render, require
from meniscus.viz.path_tracing.smoke import smoke_scene
from meniscus.viz.path_tracing.surfaces import Surface, surface_scene
from meniscus.viz.path_tracing.water import water_scene

__all__ = ["Surface", "available", "render", "require", "smoke_scene", "surface_scene", "water_scene"]
