"""Bodies that a fluid moves, as solves see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, eq=False)
class PushedBodies:
    """Bodies that the pressure or the stresses of a fluid move in one solve.

    Attributes:
        core: inertia, motion and constraints of the bodies; after the solve, their velocities and impulses.
        owners: per axis an int32 array over the faces, the number of the body to which a face near bodies belongs, else -1; on sides of
            the domain -2 minus the number.
        films: per axis a bool mask of faces along gaps between solids that are narrower than a cell.
    """

    core: Any
    owners: tuple[npt.NDArray[np.int32], ...]
    films: tuple[npt.NDArray[np.bool_], ...]
