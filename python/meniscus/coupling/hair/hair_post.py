"""Treatment of hair after a mesh has carried it: lengths, and points inside of the creature."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from meniscus import _checks

LengthMode = Literal["free", "shorten", "keep"]
PushoutMode = Literal["none", "inside", "order"]


@dataclass(frozen=True, kw_only=True)
class HairPost:
    """Treatment of segments that the mesh has stretched, and of points inside of the creature.

    Attributes:
        length: "shorten": segments that are too long get their rest length, from root to tip; "keep": all do; "free": none.
        pushout: "order": depths between -`depth` and `thickness` go to distances between 0 and `thickness`, so that their order is kept;
            "inside": those below 0 alone, the deepest to the surface, as printed; "none".
        thickness: m, of the layer next to the skin that pushed points fill.
        depth: m: deeper points go to the surface; infinite: all, in "inside" mode, to the thickness.
        spacing: m, of the grid with the distance from the skin; None: a quarter of the cells of the mesh of air.

    Raises:
        TypeError, ValueError: other values.

    Source: Lee 2018, section 2.3.1.
    """

    length: LengthMode = "shorten"
    pushout: PushoutMode = "order"
    thickness: float = 0.0
    depth: float | None = None
    spacing: float | None = None

    def __post_init__(self) -> None:
        """Check the values."""
        _checks.choice("length", self.length, LengthMode)
        _checks.choice("pushout", self.pushout, PushoutMode)
        if _checks.number("thickness", self.thickness) < 0:
            raise ValueError(f"thickness must not be negative, not {self.thickness:g}")
        for name in ("depth", "spacing"):
            if getattr(self, name) is not None:
                _checks.positive(name, getattr(self, name))

    @property
    def codes(self) -> tuple[int, int]:
        """Numbers of both modes in the core."""
        return get_args(LengthMode).index(self.length), get_args(PushoutMode).index(self.pushout)

    def depth_beside(self, cell: float) -> float:
        """Depth that goes to the surface, m; a quarter of the cells of the mesh, of size `cell`, if none is given."""
        return 0.25 * cell if self.depth is None else min(self.depth, math.inf)
