"""Audits of water on tetrahedra: what is in the arrays against what the ledger says came and went."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from support.tet_vof.meshes import momentum, overfull


class Audit:
    """A hook that checks both ledgers, capacities and the drops at every stage.

    Args:
        bar: of both ledgers, relative to all water that came in and to all momentum that was booked.
    """

    def __init__(self, bar: float = 1e-12) -> None:
        self.bar = bar
        self.worst_volume = self.worst_momentum = self.worst_overfill = 0.0
        self.calls = 0
        self.taken = 0.0  # volume of drops that were removed by the caller

    def __call__(self, stage: str, vof: Any) -> None:
        book = vof.ledger()
        came = book.filled + book.inflow + book.sources + book.absorbed
        gone = book.emitted + book.drained
        scale = max(abs(book.filled) + book.inflow + book.sources + book.absorbed, vof.quantum)
        error = abs(book.in_tets + book.waiting - (came - gone)) / scale
        assert error <= self.bar, f"{stage}: volume {error:.3g}"
        assert abs(book.volume_error) <= self.bar * scale, f"{stage}: volume_error {book.volume_error:.3g}"
        # The drops are a separate array, of which nothing is known to the accounts.
        drops = math.fsum(vof.drops["volume"]) + self.taken
        assert abs(drops - book.emitted) <= self.bar * scale, f"{stage}: drops {drops:.17g}, emitted {book.emitted:.17g}"
        # The order of the sums is another one than that of the solver.
        if stage not in ("deliver",):
            assert book.in_tets == math.fsum(vof.volume), stage
        parts = book.impulses
        said = sum(v for k, v in parts.items() if k not in ("emitted", "drained")) - parts["emitted"] - parts["drained"]
        off = float(np.abs(book.momentum - said).max() / max(book.momentum_scale, 1e-300))
        assert off <= self.bar, f"{stage}: momentum {off:.3g}"
        if stage not in ("deliver", "smear") and not len(vof._left):
            own = vof.options.density * (momentum(vof) + vof.waiting.total()[1])
            assert np.abs(own - book.momentum).max() <= self.bar * max(book.momentum_scale, 1e-300), stage
        assert (vof.volume >= 0).all(), stage
        assert (np.rint(vof.volume / vof.quantum) == vof.volume / vof.quantum).all(), f"{stage}: not multiples of the quantum"
        if stage == "push_out" and vof.options.conservation != "projection" and vof.running_report.enclosed == 0:
            self.worst_overfill = max(self.worst_overfill, overfull(vof))
        self.worst_volume, self.worst_momentum = max(self.worst_volume, error), max(self.worst_momentum, off)
        self.calls += 1

    def remove_drops(self, vof: Any, which: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Remove drops. Returns their volumes and velocities."""
        volume, velocity = vof.drops["volume"][which].copy(), vof.drops["velocity"][which].copy()
        vof.drops.remove(which)
        self.taken += math.fsum(volume)
        return volume, velocity
