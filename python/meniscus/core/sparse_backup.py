"""Backup of an array most of whose rows are zero."""

from __future__ import annotations

from typing import Any

from meniscus._meniscus import core as _core
from meniscus.core.state import Backup


class SparseBackup(Backup):
    """An array of float64, (n,) or (n, k), and a copy of the rows that are not zero, in memory that is reused."""

    @staticmethod
    def _copied(value: Any, last: Any) -> Any:
        copy = _core.NonzeroRows() if last is None else last
        copy.take(value)
        return copy

    def bring_back(self) -> Any:
        """Restore the array from the copy, bit by bit, and return it."""
        self.copy.bring_back(self.value)
        return self.value
