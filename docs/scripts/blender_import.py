"""Open a run in Blender: meshes and volumes with simple materials, a light, a camera, times as they are.

In Blender: Scripting, open this file, set FRAMES, run. From a shell:

    blender --python blender_import.py -- out/plume/usd/frames.usda
"""

import sys

import bpy
from mathutils import Vector

FRAMES = "out/plume/usd/frames.usda"


def material(name: str, kind: str, values: dict[str, object], socket: str) -> bpy.types.Material:
    """Return a material of one node."""
    made = bpy.data.materials.new(name)
    made.use_nodes = True
    tree = made.node_tree
    tree.nodes.clear()
    shader, output = tree.nodes.new(kind), tree.nodes.new("ShaderNodeOutputMaterial")
    for key, value in values.items():
        shader.inputs[key].default_value = value
    tree.links.new(shader.outputs[0], output.inputs[socket])
    return made


def open_run(path: str, *, density: str | None = None, points: bool = False) -> list[bpy.types.Object]:
    """Import the frames, give all shapes simple materials, and return them.

    Volumes are drawn by the field `density`, or by the first one called density, smoke, soot or dye; points, such as drops
    and vortices, only on demand.
    """
    before = set(bpy.data.objects)
    bpy.ops.wm.usd_import(filepath=path, set_frame_range=True)
    shapes = [o for o in bpy.data.objects if o not in before and o.type in ("MESH", "VOLUME", "CURVES", "POINTCLOUD")]
    fields = [field for shape in shapes if shape.type == "VOLUME" and shape.data.grids.load() for field in shape.data.grids]
    named = [field.name for field in fields if field.name in ("density", "smoke", "soot", "dye")]
    density = density or (named[0] if named else "density")
    smoke = material("Smoke", "ShaderNodeVolumePrincipled", {"Density Attribute": density, "Density": 30.0}, "Volume")
    water = material("Water", "ShaderNodeBsdfGlass", {"IOR": 1.33, "Roughness": 0.0}, "Surface")
    solid = material("Solid", "ShaderNodeBsdfPrincipled", {"Base Color": (0.8, 0.45, 0.3, 1.0)}, "Surface")
    for shape in shapes:
        liquid = any(word in shape.name.lower() for word in ("liquid", "water", "surface"))
        shape.hide_render = shape.type == "POINTCLOUD" and not points
        shape.data.materials.append(smoke if shape.type == "VOLUME" else water if liquid else solid)
    return shapes


def light_and_look(lower: Vector, upper: Vector) -> None:
    """Put a sun, a bright sky and a camera around a box."""
    scene, middle, size = bpy.context.scene, (lower + upper) / 2, (upper - lower).length
    sun = bpy.data.objects.new("Sun", bpy.data.lights.new("Sun", "SUN"))
    sun.data.energy, sun.rotation_euler = 10.0, (0.6, 0.3, 0.8)
    camera = bpy.data.objects.new("Camera", bpy.data.cameras.new("Camera"))
    camera.location = middle + size * Vector((0.6, -0.95, 0.2))
    camera.rotation_euler = (middle - camera.location).to_track_quat("-Z", "Y").to_euler()
    for thing in (sun, camera):
        scene.collection.objects.link(thing)
    scene.camera = camera
    scene.world = scene.world or bpy.data.worlds.new("World")
    scene.world.use_nodes = True
    scene.world.node_tree.nodes["Background"].inputs["Color"].default_value = (0.1, 0.14, 0.2, 1.0)


def box(shapes: list[bpy.types.Object]) -> tuple[Vector, Vector]:
    """Return the corners of the box around shapes."""
    corners = [shape.matrix_world @ Vector(corner) for shape in shapes for corner in shape.bound_box]
    return tuple(Vector(pick(c[i] for c in corners) for i in range(3)) for pick in (min, max))


if __name__ == "__main__":
    shapes = open_run(sys.argv[sys.argv.index("--") + 1] if "--" in sys.argv else FRAMES)
    light_and_look(*box(shapes))
