"""Surfaces: signed distances of triangle meshes and level sets on grids."""

from meniscus.surface.levelset import LevelSet
from meniscus.surface.mesh_distance import MeshDistance, NotWatertightWarning

__all__ = ["LevelSet", "MeshDistance", "NotWatertightWarning"]
