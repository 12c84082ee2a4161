"""Coupling of solids and fluids: the mesh of air around an animated creature, and water around it."""

from meniscus.coupling.degenerate_elements import Cause, Degenerate
from meniscus.coupling.kdsm import KDSM, KDSMReport
from meniscus.coupling.skinning import AirMaterial, Mode, Skinning
from meniscus.coupling.water.drop_source import DropSource
from meniscus.coupling.water.kdsm_water import KDSMWater
from meniscus.coupling.water.ledger import WaterLedger
from meniscus.coupling.water.options import KDSMWaterOptions, KDSMWaterReport

__all__ = [
    "KDSM",
    "AirMaterial",
    "Cause",
    "Degenerate",
    "DropSource",
    "KDSMReport",
    "KDSMWater",
    "KDSMWaterOptions",
    "KDSMWaterReport",
    "Mode",
    "Skinning",
    "WaterLedger",
]
