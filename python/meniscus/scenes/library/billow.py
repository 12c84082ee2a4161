"""Scene of smoke with and without vortex particles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from meniscus.fluids.vorticity.measures import energy_spectrum
from meniscus.scenes.gas import WIDTH, RisingSmoke
from meniscus.scenes.scene import parameter

Floats = npt.NDArray[np.float64]


@dataclass(kw_only=True)
class Billow(RisingSmoke):
    """Hot smoke that rises freely, to be run with and without vortex particles: the same seeds, sources and steps of the same CFL number.

    Its diagnostics split the energy of the spectrum by wavelength: large above 1/4 of the width of the box, small below 1/12 of it, middle
    between.

    Source: Selle 2008, sections 3.2.1 (confinement) and 3.3 to 3.5 (vortex particles).
    """

    name: ClassVar[str] = "billow"
    summary: ClassVar[str] = "free smoke, to compare with and without vortex particles"

    confinement: float = parameter(0.0, "epsilon of vorticity confinement")

    def setup(self) -> None:
        """Create the smoke."""
        self.start()

    def spectrum(self) -> tuple[Floats, Floats]:
        """Return wave numbers, rad/m, and the energy at each, as `fluids.energy_spectrum`."""
        return energy_spectrum(self.solver.velocity)

    def report(self, time: float) -> dict[str, float]:
        """As for smoke in a box; with the energy of three bands of wavelengths, per volume."""
        k, energy = self.spectrum()
        middle, small = 2 * np.pi / (WIDTH / 4), 2 * np.pi / (WIDTH / 12)
        bands = {"large": k < middle, "middle": (k >= middle) & (k < small), "small": k >= small}
        return {**super().report(time), **{f"{name} scales": float(energy[band].sum()) * k[1] for name, band in bands.items()}}
