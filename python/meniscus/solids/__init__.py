"""Deformable solids: bodies, the forces in them, and how they move."""

from meniscus.solids.body import DeformableBody
from meniscus.solids.elements import (
    DegeneratePolicy,
    FaceForceFormula,
    FiniteElements,
    Material,
    StiffnessBlocks,
    StiffnessFormula,
    StiffnessStorage,
    StrainMeasure,
    StressMeasure,
    TetElements,
    element_face_forces,
    element_stiffness,
)
from meniscus.solids.force import Force
from meniscus.solids.membrane import TriangleMembrane
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
    "FiniteElements",
    "Force",
    "IntegratorName",
    "Material",
    "NewtonInfo",
    "StepInfo",
    "StiffnessBlocks",
    "StiffnessFormula",
    "StiffnessStorage",
    "StrainMeasure",
    "StressMeasure",
    "TangentName",
    "TetElements",
    "TimeStepLimits",
    "TriangleMembrane",
    "VerletFormName",
    "advance_positions",
    "commit",
    "element_face_forces",
    "element_stiffness",
    "extrapolate_velocity",
    "solve_velocity",
]
