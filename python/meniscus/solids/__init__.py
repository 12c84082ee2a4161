"""Deformable solids: forces between nodes and the bodies that they move."""

from meniscus.solids.element_springs import (
    AltitudeSelection,
    AltitudeSprings,
    DihedralBending,
    ShellAltitudeSprings,
    dihedral_angles,
)
from meniscus.solids.external import Drag, PointLoads, Pressure, WindDrag
from meniscus.solids.force import Force
from meniscus.solids.springs import BendingSprings, EdgeSprings, SoftBindings

__all__ = [
    "AltitudeSelection",
    "AltitudeSprings",
    "BendingSprings",
    "DihedralBending",
    "Drag",
    "EdgeSprings",
    "Force",
    "PointLoads",
    "Pressure",
    "ShellAltitudeSprings",
    "SoftBindings",
    "WindDrag",
    "dihedral_angles",
]
