"""Reports of remeshing."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class RemeshReport:
    """What remeshing of cloth did.

    Attributes:
        splits, flips, collapses: operations that were done.
        refused: operations that were not, by cause: "contact" (a triangle would have met another one, or passed something), "shape" (an
            angle at rest, a triangle that turns over, an edge that is too long), "held" (what is held, the outline, the topology),
            "energy" (it waits).
        second_places: operations that were done at another place than the one with the least energy, because of contact.
        vertices, triangles: of the cloth now.
        momentum: change of the sum of mass times velocity (3,), kg m/s.
        energy: energies before and after, J: "kinetic", "elastic", "gravity", "total".
        in_bounds: part of the edges whose size was within bounds before.
    """

    splits: int = 0
    flips: int = 0
    collapses: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    second_places: int = 0
    vertices: int = 0
    triangles: int = 0
    momentum: Floats = field(default_factory=lambda: np.zeros(3))
    energy: tuple[dict[str, float], dict[str, float]] = field(default_factory=lambda: ({}, {}))
    in_bounds: float = 1.0

    @property
    def operations(self) -> int:
        """All operations that were done."""
        return self.splits + self.flips + self.collapses

    @property
    def energy_jump(self) -> float:
        """Change of the total energy, J."""
        return self.energy[1].get("total", 0.0) - self.energy[0].get("total", 0.0)


_CAUSES = {
    "contact": ("intersection", "enclosed"),
    "shape": ("shape", "normal"),
    "held": ("topology",),
    "energy": ("energy",),
}


def refusals(*counts: dict[str, int]) -> dict[str, int]:
    """Return how many operations were refused, by cause."""
    return {cause: sum(count[name] for count in counts for name in names) for cause, names in _CAUSES.items()}
