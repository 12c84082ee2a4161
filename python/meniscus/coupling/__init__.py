"""Coupling of solids and fluids: the mesh of air around an animated creature."""

from meniscus.coupling.degenerate_elements import Cause, Degenerate
from meniscus.coupling.kdsm import KDSM, KDSMReport
from meniscus.coupling.skinning import AirMaterial, Mode, Skinning

__all__ = ["KDSM", "AirMaterial", "Cause", "Degenerate", "KDSMReport", "Mode", "Skinning"]
