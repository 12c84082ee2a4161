"""Two-way coupling of thin shells and incompressible fluid: pressure and implicit velocities of solids in one symmetric solve."""

from meniscus.coupling.shell_pressure.fluid_masses import face_masses, liquid_face_masses, side_masses
from meniscus.coupling.shell_pressure.printed_transfer import printed_impulses
from meniscus.coupling.shell_pressure.rims import open_at_rims, open_free_rims
from meniscus.coupling.shell_pressure.sheet_faces import SheetFaces
from meniscus.coupling.shell_pressure.sheet_solids import SheetSolid
from meniscus.coupling.shell_pressure.shell_pressure import ShellMode, ShellPressure, ShellPressureResult

__all__ = [
    "SheetFaces",
    "SheetSolid",
    "ShellMode",
    "ShellPressure",
    "ShellPressureResult",
    "face_masses",
    "liquid_face_masses",
    "open_at_rims",
    "open_free_rims",
    "printed_impulses",
    "side_masses",
]
