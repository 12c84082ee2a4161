"""Material of cloth, and options of its remeshing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus._options import CoreOption
from meniscus.solids.elements.tetrahedra import Material

ClothBending = Literal["plate", "hinges", "springs"]
"""What resists bending: the curvature of the material, angles of hinges, springs across edges (as printed)."""
SheetSizing = Literal["curvature", "tensor"]
"""What wanted lengths of edges come from: the largest curvature at their ends (as printed), or curvature and compression along them."""
SHEET_SIZING = CoreOption(SheetSizing, _solids.SheetSizing)


@dataclass(frozen=True, kw_only=True)
class ClothMaterial:
    """Material of cloth, a thin plate.

    Attributes:
        density: kg/m^2.
        youngs_modulus: Pa.
        thickness: of the cloth itself, m. The stiffness against stretch is Young's modulus times this, N/m.
        poissons_ratio: above -1 and below 1.
        bending: stiffness of the plate, N m; None: Young's modulus times thickness^3 / 12 / (1 - nu^2).
        damping: s, of stretch and of bending, in proportion to their stiffness.
        model: law of stretch, as for `TriangleMembrane`.
        resists_bending: "plate" (`PlateBending`), the same on every mesh; or, for comparison, "hinges" (`DihedralBending`) or "springs"
            (`BendingSprings`, which resist the bending of a flat sheet with the fourth power of the angle), which depend on it.

    Raises:
        TypeError, ValueError: values of another kind or out of range.
    """

    density: float = 0.2
    youngs_modulus: float = 2e5
    thickness: float = 5e-4
    poissons_ratio: float = 0.3
    bending: float | None = None
    damping: float = 0.0
    model: Material = "corotational"
    resists_bending: ClothBending = "plate"

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("density", "youngs_modulus", "thickness"):
            _checks.positive(name, getattr(self, name))
        if self.bending is not None:
            _checks.positive("bending", self.bending)
        nu = _checks.number("poissons_ratio", self.poissons_ratio)
        if not -1 < nu < 1:
            raise ValueError(f"poissons_ratio must be above -1 and below 1, not {nu:g}")
        if _checks.number("damping", self.damping) < 0:
            raise ValueError(f"damping must not be negative, but is {self.damping:g}")
        _checks.choice("resists_bending", self.resists_bending, ClothBending)

    @property
    def stiffness_of_bending(self) -> float:
        """N m."""
        if self.bending is not None:
            return self.bending
        return self.youngs_modulus * self.thickness**3 / (12 * (1 - self.poissons_ratio**2))


@dataclass(frozen=True, kw_only=True)
class RemeshOptions:
    """What remeshing of an `AdaptiveCloth` does. The size of an edge is its length over the wanted one.

    Attributes:
        turn: where cloth has the curvature k, edges of this angle over k are wanted, degrees.
        bounds: edges of a size below the first collapse, those above the second are split.
        longest: size that no edge gets by a collapse; with the bounds it keeps operations from coming and going.
        grading: wanted lengths grow at most by this times the distance.
        least_angle: of triangles at rest, degrees: no operation makes a smaller one than this where there was none.
        butterfly: new vertices may also lie on a smooth surface through their neighbours, at rest with the same weights; of this place and
            the middle, the one with less energy is taken.
        energy_rise: an operation waits if it raises the energy of the triangles around it by more than this part of it.
        operations: some of "split", "flip", "collapse".

    Raises:
        TypeError, ValueError: values of another kind or out of range.
    """

    turn: float = 20.0
    bounds: tuple[float, float] = (0.4, 1.25)
    longest: float = 0.95
    grading: float = 0.5
    least_angle: float = 15.0
    butterfly: bool = True
    energy_rise: float = 0.5
    operations: tuple[str, ...] = ("split", "flip", "collapse")

    def __post_init__(self) -> None:
        """Check the values."""
        for name in ("turn", "grading", "least_angle"):
            _checks.positive(name, getattr(self, name))
        if self.least_angle > 30:
            raise ValueError(f"least_angle must be at most 30 degrees, not {self.least_angle:g}: no mesh would do")
        low, high = (_checks.positive("bounds", value) for value in self.bounds)
        if not 2 * low <= _checks.positive("longest", self.longest) <= high or high < 2 * low:
            raise ValueError(f"longest must be between twice the lower bound and the upper one, {low:g} and {high:g}, not {self.longest:g}")
        if _checks.number("energy_rise", self.energy_rise) < 0:
            raise ValueError(f"energy_rise must not be negative, but is {self.energy_rise:g}")
        if unknown := set(self.operations) - {"split", "flip", "collapse"}:
            raise ValueError(f"operations are split, flip and collapse, not {sorted(unknown)[0]!r}")


def core_options(material: ClothMaterial, edges: tuple[float, float], sizing: SheetSizing, options: RemeshOptions) -> _solids.SheetOptions:
    """Return the options of the compiled core."""
    core = _solids.SheetOptions()
    core.shortest, core.longest = edges
    core.turn, core.sizing = math.radians(options.turn), SHEET_SIZING("sizing", sizing)
    core.collapse_below, core.split_above = options.bounds
    core.collapse_to = options.longest
    core.grading, core.least_angle, core.butterfly = options.grading, math.radians(options.least_angle), options.butterfly
    for name in ("split", "flip", "collapse"):
        setattr(core, name, name in options.operations)
    nu, membrane = material.poissons_ratio, material.youngs_modulus * material.thickness
    core.density, core.bending = material.density, material.stiffness_of_bending
    core.lame_lambda, core.lame_mu = membrane * nu / (1 - nu**2), membrane / (2 * (1 + nu))
    core.energy_rise = options.energy_rise
    # A tenth of what a hinge of the wanted angle stores.
    core.energy_floor = 0.1 * core.bending * core.turn**2
    return core
