"""Deformable solids: bodies, the forces in them, and how they move."""

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
from meniscus.solids.body import DeformableBody
from meniscus.solids.force import Force
from meniscus.solids.options import Elasticity, Finish, IntegratorName, NewtonInfo, StepInfo, TangentName, TimeStepLimits, VerletFormName
from meniscus.solids.springs import EdgeSprings
from meniscus.solids.stages import advance_positions, commit, extrapolate_velocity, solve_velocity

__all__ = [
    "DeformableBody",
    "EdgeSprings",
    "Elasticity",
    "Finish",
    "Force",
    "IntegratorName",
    "NewtonInfo",
    "StepInfo",
    "TangentName",
    "TimeStepLimits",
    "VerletFormName",
    "advance_positions",
    "commit",
    "extrapolate_velocity",
    "solve_velocity",
]
