"""Triangle meshes: reading them from files, and whether they are watertight."""

from meniscus.mesh.files import read
from meniscus.mesh.watertight import WatertightReport, check_watertight

__all__ = ["WatertightReport", "check_watertight", "read"]
