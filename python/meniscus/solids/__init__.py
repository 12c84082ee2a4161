"""Deformable solids: bodies, their forces and constraints, and time integration."""

from meniscus.solids.body import DeformableBody
from meniscus.solids.cloth.adaptive_cloth import AdaptiveCloth
from meniscus.solids.cloth.options import ClothBending, ClothMaterial, RemeshOptions, SheetSizing
from meniscus.solids.cloth.reports import RemeshReport
from meniscus.solids.contact.barrier_options import BarrierOptions
from meniscus.solids.contact.reports import ContactError, ContactInfo, WorldInfo
from meniscus.solids.contact.solid_contacts import SolidContacts
from meniscus.solids.elements.membrane import TriangleMembrane
from meniscus.solids.elements.plate_bending import PlateBending
from meniscus.solids.elements.quadratic import QuadraticTetElements
from meniscus.solids.elements.tetrahedra import (
    DegeneratePolicy,
    FiniteElements,
    Material,
    SolidElements,
    StiffnessBlocks,
    StiffnessStorage,
    StrainMeasure,
    StressMeasure,
    TetElements,
)
from meniscus.solids.external import Drag, PointLoads, Pressure, WindDrag
from meniscus.solids.force import FORCES, Force, Tangent
from meniscus.solids.hair.groom import Groom
from meniscus.solids.hair.hair_body import HairBody, StrandInfo
from meniscus.solids.hair.rest_shapes import SagReport
from meniscus.solids.hair.rod_force import RodForce
from meniscus.solids.hair.stiction import Stiction
from meniscus.solids.hair.strip_force import AltitudeModel, StripForce
from meniscus.solids.integrators.stages import advance_positions, commit, extrapolate_velocity, solve_velocity
from meniscus.solids.interaction.applied_field import AppliedField
from meniscus.solids.interaction.attachment import Attachment
from meniscus.solids.interaction.budget import Budget
from meniscus.solids.interaction.fields import Attractor, Explosion, Fan, ForceField, FunctionField, Wind
from meniscus.solids.interaction.grip import Grip
from meniscus.solids.interaction.handle import Handle, HandleKind
from meniscus.solids.interaction.interaction import Interaction
from meniscus.solids.interaction.pose_target import KinematicPath, PoseTarget
from meniscus.solids.interaction.pull import PullReport
from meniscus.solids.interaction.recorder import Recorder, replay
from meniscus.solids.interaction.sanity import Sanity
from meniscus.solids.options import (
    FrictionOptions,
    ImplicitElasticity,
    Integrator,
    NewmarkFinish,
    NewtonInfo,
    StepInfo,
    TimeStepLimits,
    VerletForm,
)
from meniscus.solids.penalty.tet_penalty import PenaltyForces, TetPenalty
from meniscus.solids.position.position_body import PositionBody
from meniscus.solids.position.position_constraints import (
    AttachmentConstraints,
    BendingConstraints,
    BendingMeasure,
    ClosedVolumeConstraint,
    DistanceConstraints,
    NeoHookeanConstraints,
    PositionConstraint,
    PositionConstraintKind,
    PositionConstraints,
    VolumeConstraints,
)
from meniscus.solids.position.position_contacts import PositionContactReport, PositionContacts
from meniscus.solids.position.position_step import PositionMethod
from meniscus.solids.position.shape_matching import QuadraticBasis, ShapeMatching, ShapeMotion, near_clusters
from meniscus.solids.positions_world.positions_world import FrameInfo, PositionsWorld
from meniscus.solids.reduced.reduced_body import ReducedBody, ReducedMethod, ReducedStepInfo
from meniscus.solids.reduced.reduced_model import Compliance, ComponentModes, Cubature, ReducedForces, ReducedModel
from meniscus.solids.rigid.complementarity import solve_lcp
from meniscus.solids.rigid.joints import RigidJoint
from meniscus.solids.rigid.mass_properties import MassProperties
from meniscus.solids.rigid.rigid_body import RigidBody, RigidMethod
from meniscus.solids.rigid.rigid_options import (
    FrictionLaw,
    JointKind,
    RigidContacts,
    RigidFormKind,
    RigidFriction,
    RigidInfo,
    RigidOptions,
    RigidSolver,
)
from meniscus.solids.rigid.rigid_system import RigidSystem
from meniscus.solids.springs.altitude_and_bending import (
    AltitudeSelection,
    AltitudeSprings,
    DihedralBending,
    ShellAltitudeSprings,
    dihedral_angles,
)
from meniscus.solids.springs.edge_springs import BendingSprings, EdgeSprings, SoftBindings
from meniscus.solids.springs.options import SpringOptions
from meniscus.solids.strain_limiting import StrainReport, limit_strain
from meniscus.solids.world import World

__all__ = [
    "FORCES",
    "AdaptiveCloth",
    "AltitudeModel",
    "AltitudeSelection",
    "AltitudeSprings",
    "AppliedField",
    "Attachment",
    "AttachmentConstraints",
    "Attractor",
    "BarrierOptions",
    "BendingConstraints",
    "BendingMeasure",
    "BendingSprings",
    "Budget",
    "ClosedVolumeConstraint",
    "ClothBending",
    "ClothMaterial",
    "Compliance",
    "ComponentModes",
    "ContactError",
    "ContactInfo",
    "Cubature",
    "DeformableBody",
    "DegeneratePolicy",
    "DihedralBending",
    "DistanceConstraints",
    "Drag",
    "EdgeSprings",
    "Explosion",
    "Fan",
    "FiniteElements",
    "Force",
    "ForceField",
    "FrameInfo",
    "FrictionLaw",
    "FrictionOptions",
    "FunctionField",
    "Grip",
    "Groom",
    "HairBody",
    "Handle",
    "HandleKind",
    "ImplicitElasticity",
    "Integrator",
    "Interaction",
    "JointKind",
    "KinematicPath",
    "MassProperties",
    "Material",
    "NeoHookeanConstraints",
    "NewmarkFinish",
    "NewtonInfo",
    "PenaltyForces",
    "PlateBending",
    "PointLoads",
    "PoseTarget",
    "PositionBody",
    "PositionConstraint",
    "PositionConstraintKind",
    "PositionConstraints",
    "PositionContactReport",
    "PositionContacts",
    "PositionMethod",
    "PositionsWorld",
    "Pressure",
    "PullReport",
    "QuadraticBasis",
    "QuadraticTetElements",
    "Recorder",
    "ReducedBody",
    "ReducedForces",
    "ReducedMethod",
    "ReducedModel",
    "ReducedStepInfo",
    "RemeshOptions",
    "RemeshReport",
    "RigidBody",
    "RigidContacts",
    "RigidFormKind",
    "RigidFriction",
    "RigidInfo",
    "RigidJoint",
    "RigidMethod",
    "RigidOptions",
    "RigidSolver",
    "RigidSystem",
    "RodForce",
    "SagReport",
    "Sanity",
    "ShapeMatching",
    "ShapeMotion",
    "SheetSizing",
    "ShellAltitudeSprings",
    "SoftBindings",
    "SolidContacts",
    "SolidElements",
    "SpringOptions",
    "StepInfo",
    "Stiction",
    "StiffnessBlocks",
    "StiffnessStorage",
    "StrainMeasure",
    "StrainReport",
    "StrandInfo",
    "StressMeasure",
    "StripForce",
    "Tangent",
    "TetElements",
    "TetPenalty",
    "TimeStepLimits",
    "TriangleMembrane",
    "VerletForm",
    "VolumeConstraints",
    "Wind",
    "WindDrag",
    "World",
    "WorldInfo",
    "advance_positions",
    "commit",
    "dihedral_angles",
    "extrapolate_velocity",
    "limit_strain",
    "near_clusters",
    "replay",
    "solve_lcp",
    "solve_velocity",
]
