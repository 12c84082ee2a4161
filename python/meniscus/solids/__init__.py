"""Deformable solids: bodies, the forces in them, and how they move."""

from meniscus.solids.body import DeformableBody
from meniscus.solids.options import Elasticity, Finish, IntegratorName, NewtonInfo, StepInfo, TangentName, TimeStepLimits, VerletFormName
from meniscus.solids.stages import advance_positions, commit, extrapolate_velocity, solve_velocity

__all__ = [
    "DeformableBody",
    "Elasticity",
    "Finish",
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
