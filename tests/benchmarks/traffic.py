"""Memory traffic of the operators, counted by hand from their source.

A pass over the grid reads each of its input arrays at least once and writes each of its outputs once, whatever the caches do with the
neighbours of a sample: the compulsory traffic. It is a lower bound. A line that is written without having been read in the same pass is
fetched first (read for ownership); these bytes are counted separately. Ghost layers and masks that are not given are left out.

The second count is that of gathered values: numbers that a lane loads from its own address because its trace ended there. They mostly come
from the first- or second-level cache, but each is a load.
"""

from __future__ import annotations

from dataclasses import dataclass

TRACE_STAGES = {"euler": 1, "midpoint": 2, "rk3": 3}


@dataclass(frozen=True)
class Pass:
    """Values per item: read, written, and written without having been read before in the pass; `gathered` of those that are loaded."""

    label: str
    reads: float
    writes: float = 0.0
    unread: float = 0.0
    gathered: float = 0.0


@dataclass(frozen=True)
class Traffic:
    """The passes of one call, in values of `value_bytes` each, per item (cell, point or particle)."""

    passes: tuple[Pass, ...]
    value_bytes: int

    @property
    def moved(self) -> float:
        """Bytes read and written per item."""
        return self.value_bytes * sum(p.reads + p.writes for p in self.passes)

    @property
    def ownership(self) -> float:
        """Bytes fetched per item only because their line is about to be written."""
        return self.value_bytes * sum(p.unread for p in self.passes)

    @property
    def gathered(self) -> float:
        """Values loaded per item from addresses of their own."""
        return sum(p.gathered for p in self.passes)


def _interpolated(dimension: int, interpolation: str) -> int:
    """Values of one interpolation: the corners of the cell, and for 'cubic' also the wider stencil (the corners give the bounds)."""
    return 2**dimension + (4**dimension if interpolation == "cubic" else 0)


def _step(method: str, block: str, trace: str, interpolation: str, limiter: str, dimension: int, own: float) -> tuple[Pass, ...]:
    """The passes of a scheme of advection (grid/transport/schemes).

    `own`: arrays of the carried scalar that are not part of the velocity.
    """
    d = dimension
    gathered = 0.0
    if block == "semi-lagrangian":
        gathered = d * 2**d * (TRACE_STAGES[trace] - 1) + _interpolated(d, interpolation)
    bounds = 0 if limiter == "none" else 2
    if method in ("upwind", "semi-lagrangian"):
        return (Pass("pass", d + own, 1, 1, gathered),)
    forward = Pass("forward: value and bounds", d + own, 1 + bounds, 1 + bounds, gathered)
    # The result overwrites the lower bound, which has just been read.
    fresh = 0 if bounds else 1
    if method == "maccormack":
        return forward, Pass("back, correct, limit", d + 1 + own + bounds, 1, fresh, gathered)
    back = Pass("back: compensated start", d + 1 + own, 1, 1, gathered)
    last = Pass("forward again, limit", d + 1 + (1 if bounds else 0) + bounds, 1, fresh, gathered)
    return forward, back, last


def scalar_transport(method: str, block: str, trace: str, interpolation: str, limiter: str, dimension: int, value_bytes: int) -> Traffic:
    """`advect` of a scalar without masks, in one substep."""
    d = dimension
    passes = [Pass("largest speed", d), Pass("field is finite", 1)]
    if block == "upwind":
        passes.append(Pass("stability limit", d))
    passes += _step(method, block, trace, interpolation, limiter, d, own=1)
    passes.append(Pass("commit", 1, 1, 1))
    return Traffic(tuple(passes), value_bytes)


def velocity_transport(method: str, block: str, trace: str, interpolation: str, limiter: str, dimension: int, value_bytes: int) -> Traffic:
    """`advect` of a velocity along itself: each component is a part of the velocity that its pass reads anyway."""
    d = dimension
    passes = [Pass("largest speed", d)]
    for axis in range(d):
        for p in _step(method, block, trace, interpolation, limiter, d, own=0):
            passes.append(Pass(f"{'uvw'[axis]}, {p.label}", p.reads, p.writes, p.unread, p.gathered))
    passes.append(Pass("commit", d, d, d))
    return Traffic(tuple(passes), value_bytes)


def point_trace(trace: str, dimension: int, cells_per_point: float, value_bytes: int) -> Traffic:
    """`trace` of points (advance_points, grid/transport/point_transport.cpp), per point; the whole velocity is read at least once."""
    d = dimension
    velocity = d * cells_per_point
    gathered = d * 2**d * TRACE_STAGES[trace]
    passes = (
        Pass("points are finite", d),
        Pass("velocity is finite", velocity),
        Pass("trace", d + velocity, d, d, gathered),
        Pass("commit", d, d, d),
    )
    return Traffic(passes, value_bytes)


def particle_sort(row_bytes: tuple[int, ...], position_bytes: int, cells: int, cells_per_particle: float) -> Traffic:
    """`Particles.sort_by_cell` (grid/particles/particles.cpp, core/radix_sort.cpp), in bytes per particle; keys and order have 8 each."""
    digits = -(-max(cells - 1, 1).bit_length() // 11)
    passes = [Pass("keys", position_bytes, 8, 8), Pass("order", 0, 8, 8)]
    for i in range(digits):
        passes += [Pass(f"count digit {i + 1}", 8), Pass(f"scatter digit {i + 1}", 16, 16, 16, gathered=0)]
    if digits % 2:
        passes.append(Pass("keys and order back", 16, 16, 16))
    for row in row_bytes:
        passes += [Pass("permute a column", 8 + row, row, row, gathered=1), Pass("column back", row, row, row)]
    passes.append(Pass("runs", 8, 16 * cells_per_particle, 16 * cells_per_particle))
    return Traffic(tuple(passes), 1)


def ghost_fill(value_bytes: int) -> Traffic:
    """`fill_ghosts`, per ghost sample: its image is read and it is written."""
    return Traffic((Pass("copy", 1, 1, 1),), value_bytes)
