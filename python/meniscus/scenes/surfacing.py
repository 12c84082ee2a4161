"""Surface of the water of a finished run, made from its frames."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus.core.atomic_file import write_bytes, write_text
from meniscus.fluids import particle_levelset
from meniscus.grid import Grid
from meniscus.io import vtk
from meniscus.io.frames import FrameData, FrameMesh
from meniscus.io.names import SERIES_FILE
from meniscus.io.run_frames import frames_of
from meniscus.scenes.pictures import picture_path, scene_of
from meniscus.scenes.scene import Scene
from meniscus.surface import LevelSet, WaterInDrops, WaterInTets, WaterMesh, WaterSurface, bumpiness, flicker, water_points
from meniscus.viz.picture import png

SURFACE_FOLDER = "surface"
"""Folder of surfaces in the folder of a run."""
MEASURES_FILE = "surface.csv"
SurfaceMethod = Literal["advected", "rebuilt", "anisotropic"]

_Floats = npt.NDArray[np.float64]
_TET_COLUMNS = {"fill", "volume", "velocity"}
_DROP_COLUMNS = {"position", "velocity", "radius"}
_EDGES = 1.5  # of tetrahedra in a cell of the grid that a run without one gets
_HALF = 2048  # cells of that grid on each side of the first water
_POINT, _SUPPORT = 0.5, 4.0  # fine cells, of the anisotropic kernels


@dataclass(frozen=True)
class FrameWater:
    """The water of a frame."""

    levelset: LevelSet | None
    velocity: npt.NDArray[Any] | None
    tets: WaterInTets | None
    drops: dict[str, WaterInDrops]

    @property
    def all_drops(self) -> WaterInDrops | None:
        """All drops, one set after the other."""
        sets = list(self.drops.values())
        if not sets:
            return None
        return WaterInDrops(*(np.concatenate([getattr(s, name) for s in sets]) for name in ("positions", "radius", "velocity")))


def water_of(frame: FrameData) -> FrameWater:
    """Return the water that the files of a frame hold.

    That is the level set `liquid` with the velocity on the cells, every mesh of tetrahedra with the columns fill, volume and velocity, and
    every set of particles with the columns velocity and radius.
    """
    levelset = velocity = None
    if frame.grid is not None and frame.grid.dimension == 3 and "liquid" in frame.cells:
        levelset = LevelSet(frame.grid, "cells")
        levelset.array = frame["liquid"].astype(np.float64)
        velocity = frame.cells.get("velocity")
    parts = []
    vertices = 0
    for mesh in frame.meshes.values():
        if mesh.elements.shape[1] == 4 and set(mesh.element_columns) >= _TET_COLUMNS:
            volume, fill = (np.asarray(mesh.element_columns[name], np.float64) for name in ("volume", "fill"))
            room = np.divide(volume, fill, out=np.zeros_like(volume), where=fill > 0)
            moving = np.asarray(mesh.element_columns["velocity"], np.float64)
            parts.append((np.asarray(mesh.vertices, np.float64), mesh.elements + np.int32(vertices), volume, room, moving))
            vertices += len(mesh.vertices)
    tets = WaterInTets(*(np.concatenate(column) for column in zip(*parts, strict=True))) if parts else None
    drops = {}
    for name, columns in frame.particles.items():
        if set(columns) >= _DROP_COLUMNS and columns["position"].shape[1] == 3:
            x, r, v = (np.ascontiguousarray(columns[c], np.float64) for c in ("position", "radius", "velocity"))
            drops[name] = WaterInDrops(x, r, v)
    return FrameWater(levelset, velocity, tets, drops)


def surface_frames(
    folder: str | os.PathLike[str],
    *,
    refine: int = 3,
    method: SurfaceMethod = "advected",
    cell_size: float | None = None,
    frames: Collection[int] | None = None,
    scene: Scene | None = None,
    pictures: bool = True,
    on_frame: Callable[[int, int], None] | None = None,
    **options: Any,
) -> list[Path]:
    """Make the surface of the water of a run from the frames in its folder, without simulating.

    The folder `surface` gets a mesh per frame with normals and velocities (`.vtu`), a `frames.pvd`, `surface.csv` with the measures of each
    frame, and pictures with an animation. What was there is replaced.

    Args:
        folder: the `out` of the run.
        refine: fine cells in a cell of the grid, along each axis.
        method: 'advected': carried along from frame to frame. 'rebuilt': made anew for each frame. 'anisotropic': by kernels around points
            in wet tetrahedra and drops (Yu and Turk 2013), for runs without water on a grid.
        cell_size: m, of the grid for a run without one; default: 1.5 of the longest edges of its first wet tetrahedra.
        frames: numbers of the frames; default: all.
        scene: draws the pictures; default: the scene and the parameters of the run.
        pictures: whether to draw.
        on_frame: called with the number of each frame and the number of the last one.
        **options: fields of `WaterSurfaceOptions`, such as gain.

    Returns:
        The files that were written.

    Raises:
        ValueError, TypeError: the folder holds no run or no frames, no water in three dimensions, another option.
        OSError: frames cannot be read or files cannot be written.
        ImportError: vtk or a library for pictures is missing.

    Source: Lee 2018, section 3.4.2.
    """
    out = Path(folder)
    _checks.choice("method", method, SurfaceMethod)
    drawer = scene or (scene_of(out) if pictures else None)
    series = frames_of(out, frames)
    last = max(series, default=0)
    water: WaterSurface | None = None
    before: tuple[float, WaterMesh] | None = None
    written, drawn, listed = [], [], []
    rows = ["frame,time,vertices,area,flicker,bumpiness"]
    target = out / SURFACE_FOLDER
    for number, files_of_frame in series.items():
        frame = vtk.read_frame(files_of_frame, number)
        given = water_of(frame)
        if water is None:
            grid = _grid_of(frame, given, cell_size)
            if grid is not None:
                water = WaterSurface(grid, refine, **{"gain": 1.0 if method != "advected" else 0.25, **options})
        mesh, spray = _nothing(), {name: np.ones(len(d.radius), bool) for name, d in given.drops.items()}
        if water is not None:
            dt = 0.0 if before is None else frame.time - before[0]
            mesh = water.update(dt, levelset=given.levelset, velocity=given.velocity, tets=given.tets, drops=given.all_drops)
            ends = np.cumsum([len(d.radius) for d in given.drops.values()])[:-1]
            spray = dict(zip(given.drops, np.split(water.spray, ends), strict=True)) if given.drops else {}
            if method == "anisotropic":
                mesh = _by_kernels(given, water, mesh)
        made = FrameMesh(mesh.vertices, mesh.triangles, {"normal": mesh.normals, "velocity": mesh.velocities})
        files = vtk.write_frame(target, FrameData(number, frame.time, meshes={"surface": made}), frames=last)
        written += files
        listed.append((frame.time, files))
        vtk.write_series(target / SERIES_FILE, listed)
        rows.append(_measures(number, frame.time, mesh, before, 0.0 if water is None else water.spacing))
        write_text(target / MEASURES_FILE, "\n".join(rows) + "\n")
        before = frame.time, WaterMesh(mesh.vertices, mesh.triangles, mesh.normals, mesh.velocities)
        picture = None if drawer is None else drawer.draw(_shown(frame, made, given, spray))
        if picture is not None:
            drawn.append(picture_path(target, number, last))
            write_bytes(drawn[-1], png(picture))
        if on_frame is not None:
            on_frame(number, last)
    if water is None:
        raise ValueError(f"{out} holds no water in three dimensions: no level set 'liquid', no filled tetrahedra and no drops")
    animated = drawer.finish(target, drawn) if drawer is not None and drawn and frames is None else []
    return [*written, target / SERIES_FILE, target / MEASURES_FILE, *drawn, *animated]


def _grid_of(frame: FrameData, given: FrameWater, cell_size: float | None) -> Grid | None:
    """Return the grid of a frame with water on it, or one around other water; None as long as there is none."""
    if given.levelset is not None:
        if cell_size is not None:
            raise ValueError("cell_size is for runs without a grid; this one has a grid, and refine says how much finer the surface is")
        return given.levelset.grid
    size = None if cell_size is None else _checks.positive("cell_size", cell_size)
    drops = given.all_drops
    if given.tets is not None and len(given.tets.tets):
        corners = given.tets.positions[given.tets.tets]
        longest = np.max([np.linalg.norm(corners[:, i] - corners[:, j], axis=1) for i in range(4) for j in range(i)], axis=0)
        middle, size = corners.mean(axis=(0, 1)), size or _EDGES * float(longest.mean())
    elif drops is not None and len(drops.radius) and size is not None:
        middle = drops.positions.mean(axis=0)
    else:
        return None
    # Memory is that of the water, so the grid may be as large as it takes.
    return Grid((2 * _HALF,) * 3, size, (np.round(middle / size) * size - _HALF * size).tolist())


def _by_kernels(given: FrameWater, water: WaterSurface, mesh: WaterMesh) -> WaterMesh:
    """Return the surface of kernels around points in wet tetrahedra and in drops, with velocities from the other surface."""
    if given.levelset is not None:
        raise ValueError("method 'anisotropic' is for water in tetrahedra and drops, but the run has water on a grid")
    if given.tets is None:
        return _nothing()
    h = water.spacing
    points, velocities = water_points(given.tets, _POINT * h, drops=given.all_drops)
    if not len(points):
        return _nothing()
    low = np.floor(points.min(axis=0) / h) * h - 6 * h
    grid = Grid((np.ceil((points.max(axis=0) - low) / h).astype(int) + 6).tolist(), h, low.tolist())
    vertices, triangles, normals = particle_levelset(points, grid, method="anisotropic", support=_SUPPORT * h).to_mesh(normals=True)
    cells = np.floor((np.concatenate([points, vertices]) - low) / h).astype(np.int64)
    keys = np.ravel_multi_index(tuple(np.clip(cells, 0, np.array(grid.shape) - 1).T // 4), tuple(n // 4 + 1 for n in grid.shape))
    names, of = np.unique(keys, return_inverse=True)
    mine, theirs = of[: len(points)], of[len(points) :]
    count = np.bincount(mine, minlength=len(names))
    means = np.stack([np.bincount(mine, v, len(names)) for v in velocities.T], axis=1) / np.maximum(count, 1)[:, None]
    return WaterMesh(vertices, triangles, normals, means[theirs])


def _measures(number: int, time: float, mesh: WaterMesh, before: tuple[float, WaterMesh] | None, spacing: float) -> str:
    """Return the row of a frame: flicker and bumpiness in fine cells, area in m^2."""
    corners = mesh.vertices[mesh.triangles]
    area = 0.5 * float(np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1).sum())
    moved = math.nan
    if before is not None and time > before[0] and len(mesh.triangles) and len(before[1].triangles):
        moved = flicker(before[1], mesh, time - before[0]) / spacing
    rough = bumpiness(mesh.vertices, mesh.triangles, spacing) if len(mesh.triangles) else math.nan
    return f"{number},{time!r},{len(mesh.vertices)},{area!r},{moved!r},{rough!r}"


def _shown(frame: FrameData, made: FrameMesh, given: FrameWater, spray: dict[str, npt.NDArray[np.bool_]]) -> FrameData:
    """Return a frame with this surface in place of its own, and with the drops that are no part of it."""
    particles = {
        name: {c: values[spray[name]] for c, values in columns.items()} if name in spray else columns
        for name, columns in frame.particles.items()
        if name != "apart" or given.tets is None
    }
    return dataclasses.replace(frame, meshes={**frame.meshes, "surface": made}, particles=particles)


def _nothing() -> WaterMesh:
    none = np.empty((0, 3))
    return WaterMesh(none, np.empty((0, 3), np.int32), none, none)
