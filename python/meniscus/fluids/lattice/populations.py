"""Populations of a lattice as state: snapshots, copies, backups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import fluids as _fluids
from meniscus.core.state import Arguments, State
from meniscus.fluids.lattice.options import LATTICE_SET, LATTICE_STORAGE, LATTICE_STREAMING

# Deviation of a population from its weight that 16 bits can hold, times the weight and the largest speed in cells per step: three times
# the linear part along a diagonal, with as much again for density and squares.
_RANGE_OF_SPEED = 3.0 * 3.0**0.5 * 2.0


class LatticePopulations(State):
    """Populations of all cells.

    Args:
        shape: cells per axis.
        lattice: set of velocities.
        storage: scalar type of each number.
        streaming: in place or from one copy to another; snapshots fit both.
        lattice_speed: cells per step of the fastest fluid; 16-bit numbers resolve up to it.
    """

    def __init__(self, shape: Sequence[int], lattice: str, storage: str, streaming: str, lattice_speed: float) -> None:
        self._made_with: Arguments = (tuple(shape), lattice, storage, streaming, lattice_speed), {}
        self.shape = tuple(shape)
        self.storage = storage
        unit = _RANGE_OF_SPEED * lattice_speed / 32767
        options = LATTICE_SET("lattice", lattice), LATTICE_STORAGE("storage", storage), LATTICE_STREAMING("streaming", streaming)
        self.core = _fluids.new_lattice_flow(*options, list(shape), unit)

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return int(self.core.nbytes)

    def snapshot(self) -> dict[str, Any]:
        """Return the stored bits, and what else the next step needs: the leak of walls, and what outflows remember."""
        return {"populations": self.core.save(), "memory": np.array(self.core.memory, np.float64)}

    def restore(self, snapshot: object) -> None:
        """Restore a snapshot of the same shape, lattice and storage. Raises ValueError or TypeError for others; then nothing changes."""
        if not isinstance(snapshot, dict) or snapshot.keys() != {"populations", "memory"}:
            raise ValueError("snapshot must be one of populations of a lattice")
        bits, memory = snapshot["populations"], snapshot["memory"]
        if not isinstance(bits, np.ndarray) or bits.dtype != np.uint8:
            raise TypeError("populations in the snapshot must be an array of uint8")
        if not isinstance(memory, np.ndarray) or len(memory) != len(self.core.memory):
            raise ValueError("memory in the snapshot must be that of the same sides")
        _checks.require_finite("memory", memory)
        stored: npt.NDArray[Any] = np.ascontiguousarray(bits).view(self.storage)
        if stored.dtype.kind == "f" and not np.isfinite(stored).all():
            raise ValueError("populations in the snapshot must be finite")
        self.core.restore(np.ascontiguousarray(bits))
        self.core.set_memory(memory.tolist())

    def assign(self, other: LatticePopulations) -> None:
        """Copy those of another flow of the same kind."""
        self.core.restore(other.core.save())
        self.core.set_memory(other.core.memory)

    def _arguments(self) -> Arguments:
        return self._made_with
