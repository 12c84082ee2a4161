"""Deformable solids: bodies, the forces in them, and how they move."""

from meniscus.solids.body import DeformableBody
from meniscus.solids.elements import (
    DegeneratePolicy,
    FaceForceFormula,
    Material,
    StiffnessBlocks,
    StiffnessFormula,
    StiffnessStorage,
    TetElements,
    element_face_forces,
    element_stiffness,
)
from meniscus.solids.force import Force
from meniscus.solids.options import Elasticity, Finish, IntegratorName, NewtonInfo, StepInfo, TangentName, TimeStepLimits, VerletFormName
from meniscus.solids.springs import EdgeSprings
from meniscus.solids.stages import advance_positions, commit, extrapolate_velocity, solve_velocity

__all__ = [
    "DeformableBody",
    "DegeneratePolicy",
    "EdgeSprings",
    "Elasticity",
    "FaceForceFormula",
    "Finish",
    "Force",
    "IntegratorName",
    "Material",
    "NewtonInfo",
    "StepInfo",
    "StiffnessBlocks",
    "StiffnessFormula",
    "StiffnessStorage",
    "TangentName",
    "TetElements",
    "TimeStepLimits",
    "VerletFormName",
    "advance_positions",
    "commit",
    "element_face_forces",
    "element_stiffness",
    "extrapolate_velocity",
    "solve_velocity",
]
