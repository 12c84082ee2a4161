"""Coupling of solids and fluids: the mesh of air around an animated creature, water around it, and thin shells in smoke."""

from meniscus.coupling.bodies.fluid_bodies import FluidBodies, FluidBodiesReport
from meniscus.coupling.bodies.fluid_world import FluidWorld
from meniscus.coupling.bodies.reports import BodyForce, FluidWorldLedger, FluidWorldReport
from meniscus.coupling.degenerate_elements import Cause, Degenerate
from meniscus.coupling.hair.hair_coat import CoatStyles, HairCoat
from meniscus.coupling.hair.hair_drag import HairDrag, HairVolume, cylinder_drag, exchange_momentum
from meniscus.coupling.hair.hair_post import HairPost, LengthMode, PushoutMode
from meniscus.coupling.hair.hair_styles import GuideHairs, blend_along
from meniscus.coupling.hair.simulated_hairs import HairColumns, HairSimulation, SimulatedHairs
from meniscus.coupling.kdsm import KDSM, KDSMReport
from meniscus.coupling.kdsm_parts import AirMesh, Following
from meniscus.coupling.shell_pictures.smooth_shells import smooth_shells
from meniscus.coupling.shell_pictures.water_mesh import ShellWaterMesh, water_surface
from meniscus.coupling.shell_water.path_audit import PathAudit
from meniscus.coupling.shells.bodies import KinematicShell, PushedShellBody, ShellBody
from meniscus.coupling.shells.reports import ClosedShellAudit, ShellReport
from meniscus.coupling.shells.shell_coupling import ShellCoupling, ShellMode
from meniscus.coupling.shells.shell_walls import ShellWalls
from meniscus.coupling.shells.shells import Shells
from meniscus.coupling.skinning import AirMaterial, AirSprings, Mode, Skinning
from meniscus.coupling.water.drop_source import DropSource
from meniscus.coupling.water.kdsm_water import KDSMWater
from meniscus.coupling.water.ledger import WaterLedger
from meniscus.coupling.water.options import KDSMWaterOptions, KDSMWaterReport

__all__ = [
    "KDSM",
    "AirMaterial",
    "AirMesh",
    "AirSprings",
    "BodyForce",
    "Cause",
    "ClosedShellAudit",
    "CoatStyles",
    "Degenerate",
    "DropSource",
    "FluidBodies",
    "FluidBodiesReport",
    "FluidWorld",
    "FluidWorldLedger",
    "FluidWorldReport",
    "Following",
    "GuideHairs",
    "HairCoat",
    "HairColumns",
    "HairDrag",
    "HairPost",
    "HairSimulation",
    "HairVolume",
    "KDSMReport",
    "KDSMWater",
    "KDSMWaterOptions",
    "KDSMWaterReport",
    "KinematicShell",
    "LengthMode",
    "Mode",
    "PathAudit",
    "PushedShellBody",
    "PushoutMode",
    "ShellBody",
    "ShellCoupling",
    "ShellMode",
    "ShellReport",
    "ShellWalls",
    "ShellWaterMesh",
    "Shells",
    "SimulatedHairs",
    "Skinning",
    "WaterLedger",
    "blend_along",
    "cylinder_drag",
    "exchange_momentum",
    "smooth_shells",
    "water_surface",
]
