"""Exchange of fields between ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy.typing as npt

from meniscus import _checks


@runtime_checkable
class Exchanged(Protocol):
    """Fields, scalar and staggered."""

    @property
    def grid(self) -> Any:
        """The grid."""

    def exchanged_arrays(self) -> list[tuple[tuple[int, ...], npt.NDArray[Any]]]:
        """Return position (per axis 0 in cells, 1 on sides) and samples of every array."""

    def gather(self, root: int = 0) -> Any:
        """Return the samples of the whole domain on one rank."""


class HaloExchange:
    """An exchange that has begun; the fields must not be changed before `wait` has returned."""

    __slots__ = ("_plan",)

    def __init__(self, plan: Any) -> None:
        self._plan = plan

    def wait(self) -> None:
        """Wait until the ghosts are filled. Raises RankError if another rank fails meanwhile."""
        if self._plan is not None:
            plan, self._plan = self._plan, None
            plan.wait()


def start_exchange(fields: Sequence[Exchanged], width: int | None = None) -> HaloExchange:
    """Begin to fill the ghosts of fields of one grid that other ranks own, and return what waits for the end; collective.

    Every neighbour gets one message with the layers of all fields, edges and corners included. Ghosts around periodic axes are filled too;
    those beyond the sides of the domain are not, see `fill_ghosts`. Plans are kept with the grid.

    Args:
        fields: of any positions and dtypes, the same on all ranks.
        width: layers, 1 to 3; default: all 3.

    Raises:
        TypeError, ValueError: something that is no field, fields on different grids, other fields on other ranks.
    """
    given: Any = fields
    listed: list[Any] = list(given) if isinstance(given, (list, tuple)) else [given]
    if not listed:
        raise ValueError("fields must hold at least one field")
    for f in listed:
        if not isinstance(f, Exchanged):
            raise TypeError(f"fields must be a sequence of fields, not of {f!r}")
    grid = listed[0].grid
    for f in listed:
        if f.grid != grid:
            raise ValueError(f"the fields of an exchange must be on one grid, not on {grid} and {f.grid}")
    layers = 3 if width is None else _checks.integer("width", width, 1, 4)
    arrays = [pair for f in listed for pair in f.exchanged_arrays()]
    plan = grid.exchange_plan(tuple((place, int(a.itemsize)) for place, a in arrays), layers)
    plan.start([a for _, a in arrays])
    return HaloExchange(plan)


def exchange(fields: Sequence[Exchanged], width: int | None = None) -> None:
    """Fill the ghosts of fields of one grid that other ranks own; collective. See `start_exchange`."""
    start_exchange(fields, width).wait()


def gather(field: Exchanged, root: int = 0) -> Any:
    """Return the samples of a field on the whole domain on rank `root`, None on others; collective. A staggered field gives a tuple.

    Raises TypeError or ValueError for something else than a field or a rank that is not there.
    """
    if not isinstance(field, Exchanged):
        raise TypeError(f"field must be a field, not {field!r}")
    return field.gather(root)
