"""Springs between strands that stick together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from meniscus import _checks
from meniscus._meniscus import solids as _solids
from meniscus.solids.force import Floats, Force
from meniscus.solids.hair.hair_body import HairBody

Ints = npt.NDArray[np.int32]


class Stiction(Force):
    """Springs that join segments of different strands once they are near, and break when they are long: dry or wet friction, glue.

    Add it to the body with `hair.add`; before every `step`, long springs break and near segments are joined. `advance_strands`, which
    solves each strand alone, does not know it.

    Args:
        hair: the body whose strands stick.
        near: m: segments at a smaller distance are joined.
        apart: m: longer springs break, at once; None: 2.5 times `near`.
        rest_length: of the springs, m; None: `near`, so that a new spring pulls little. More makes hair voluminous.
        stiffness: N: the force at twice the rest length.
        most: springs of a segment; the shortest are made first.
        exclude_near: segments that are near each other at the start are not joined; else a dense groom sticks at once.

    Raises:
        TypeError, ValueError: wrong types, numbers that are not positive, `apart` below `near`.

    Source: Selle 2008, section 7.5.2.
    """

    _core: _solids.Stiction

    def __init__(
        self,
        hair: HairBody,
        *,
        near: float = 2e-3,
        apart: float | None = None,
        rest_length: float | None = None,
        stiffness: float = 1e-3,
        most: int = 5,
        exclude_near: bool = True,
    ) -> None:
        _checks.one_of_type("hair", hair, HairBody)
        close = _checks.positive("near", near)
        segments = np.ascontiguousarray(hair.nodes[hair.groom.mesh.segments])
        strands = np.repeat(np.arange(len(hair.groom), dtype=np.int32), np.diff(hair.groom.offsets) - 1)
        far = 2.5 * close if apart is None else _checks.positive("apart", apart)
        rest = close if rest_length is None else _checks.positive("rest_length", rest_length)
        numbers = (close, far, rest, _checks.positive("stiffness", stiffness), _checks.integer("most", most, 1))
        self.segments = segments
        self._make(_solids.Stiction, segments, strands, len(hair), *numbers)
        self._start: Floats | None = hair.positions.copy() if _checks.flag("exclude_near", exclude_near) else None
        if self._start is not None:
            self._core.update(self._start, True)

    def prepare(self, x: Floats, v: Floats, time: float) -> None:
        """Break long springs, and join near segments, at positions `x` (n, 3), m."""
        self._core.update(x, False)

    @property
    def springs(self) -> int:
        """Number of springs."""
        return int(self._core.springs)

    @property
    def pairs(self) -> Ints:
        """The two segments (k, 2) of each spring, rows of `segments`."""
        return self._core.table()[:, :2].astype(np.int32)

    @property
    def parts(self) -> Floats:
        """Where each spring ends (k, 2), as parts of the way along its segments."""
        return self._core.table()[:, 2:]

    def _changes(self) -> Floats | None:
        return self._start

    def _restore(self, changes: Floats | None) -> None:
        if changes is not None:
            self._core.update(changes, True)
