"""Closed forms of docs/parallel.md: messages and bytes that a rank sends, and rounds in which it waits, from the cut of a grid alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import product

import meniscus as ms

Place = tuple[int, ...]
"""Samples in the cells (0) or on their sides (1), per axis."""
Arrays = Sequence[tuple[Place, int]]
"""Places and bytes of a sample of arrays that are exchanged together."""

GHOSTS = 3
EXACT_SUM = 560
BINNED_SUM = 40


@dataclass(frozen=True)
class Count:
    """Messages, bytes and rounds; they add up."""

    messages: int = 0
    bytes: int = 0
    rounds: int = 0

    def __add__(self, other: Count) -> Count:
        return Count(self.messages + other.messages, self.bytes + other.bytes, self.rounds + other.rounds)

    def __rmul__(self, times: int) -> Count:
        return Count(times * self.messages, times * self.bytes, times * self.rounds)


def sent(work: Callable[[], object], comm: ms.parallel.Communicator) -> Count:
    """Return what this rank sends while it works."""
    before = comm.traffic()
    work()
    now = comm.traffic() - before
    return Count(now.total_messages, now.total_bytes, now.rounds)


def faces(dimension: int, size: int) -> Arrays:
    """Return the components of a staggered velocity."""
    return [(tuple(int(a == d) for a in range(dimension)), size) for d in range(dimension)]


class Cut:
    """The blocks of a grid, seen by the own rank."""

    def __init__(self, grid: ms.Grid) -> None:
        self.shape, self.periodic, self.cells = grid.shape, grid.periodic, grid.blocks
        self.size, self.rank = grid.comm.size, grid.comm.rank
        self.dimension = len(self.shape)
        self.counts = tuple(len(c) for c in self.cells)
        # C order.
        self.places = list(product(*(range(n) for n in self.counts)))

    def first(self, rank: int, axis: int) -> int:
        """First cell of a block."""
        return sum(self.cells[axis][: self.places[rank][axis]])

    def extent(self, rank: int, axis: int) -> int:
        """Cells of a block."""
        return self.cells[axis][self.places[rank][axis]]

    def shared(self, rank: int, axis: int, upper: int) -> bool:
        """Return whether a block, perhaps the same one, lies beyond a side."""
        at = self.places[rank][axis] + (1 if upper else -1)
        return self.periodic[axis] or 0 <= at < self.counts[axis]

    def halo(self, arrays: Arrays, ghosts: int = GHOSTS, *, corners: bool = True) -> Count:
        """Axis after axis, one message to each side that another block shares, with all arrays.

        All axes are done at once where no array has corners or samples on sides.
        """
        total = Count()
        for axis in range(self.dimension):
            if self.counts[axis] == 1:
                continue
            sides = [upper for upper in (0, 1) if self.shared(self.rank, axis, upper)]
            size = 0
            for upper in sides:
                for place, item in arrays:
                    layers = ghosts + (place[axis] if upper else 0)
                    for other in range(self.dimension):
                        if other != axis:
                            beyond = 2 * ghosts if other < axis and corners else 0
                            layers *= self.extent(self.rank, other) + place[other] + beyond
                    size += layers * item
            total += Count(len(sides), size, 1)
        at_once = not corners and not any(any(place) for place, _ in arrays)
        return Count(total.messages, total.bytes, min(total.rounds, 1)) if at_once else total

    def gather(self, size: int) -> Count:
        """What every block tells all others: so many bytes each."""
        rounds = math.ceil(math.log2(self.size)) if self.size > 1 else 0
        return Count(rounds, (self.size - 1) * size, rounds)

    def reduce(self, size: int) -> Count:
        """A sum, maximum or agreement over all blocks, by recursive doubling among the first 2^k of them."""
        power = 2 ** int(math.log2(self.size))
        if self.rank >= power:
            return Count(1, size, 1)
        rounds = int(math.log2(power)) + (self.rank + power < self.size)
        return Count(rounds, rounds * size, rounds)

    def gathered_list(self, own: int, lengths: Sequence[int], size: int) -> Count:
        """Lists of different lengths: first the lengths, then all as long as the longest."""
        assert lengths[self.rank] == own
        most = max(lengths)
        return self.gather(8) + (self.gather(most * size) if most else Count())

    def owned(self, rank: int, place: Place) -> list[range]:
        """Samples of a block, per axis. The lower of two blocks owns those on the side between them."""
        return [
            range(
                self.first(rank, d) + (place[d] if self.shared(rank, d, 0) else 0),
                self.first(rank, d) + self.extent(rank, d) + place[d],
            )
            for d in range(self.dimension)
        ]

    def boxes(self, windows: Callable[[int], list[range]], place: Place, size: int, *, planned: bool) -> Count:
        """Windows of all blocks, one message from each owner of a part; `planned`: all have told theirs before."""
        parts = [self._overlap(self.owned(self.rank, place), windows(r)) for r in range(self.size)]
        wanted = [self._overlap(self.owned(r, place), windows(self.rank)) for r in range(self.size)]
        others = [n for r, n in enumerate(parts) if r != self.rank and n]
        waits = any(n for r, n in enumerate(wanted) if r != self.rank)
        plan = Count() if planned else self.gather(4 * self.dimension * 8)
        return plan + Count(len(others), sum(others) * size, int(waits))

    def far(self, array: tuple[Place, int], width: int, *, planned: bool = False) -> Count:
        """Samples farther than the ghosts, up to `width` beyond the block along axes that are cut."""
        place, size = array

        def window(rank: int) -> list[range]:
            result = []
            for d, own in enumerate(self.owned(rank, place)):
                first = self.first(rank, d)
                if self.counts[d] == 1:
                    result.append(own)
                elif not self.periodic[d]:
                    result.append(range(max(first - width, 0), min(own.stop + width, self.shape[d] + place[d])))
                elif own.stop - first + 2 * width < self.shape[d]:
                    result.append(range(first - width, own.stop + width))
                else:
                    result.append(range(own.start, own.start + self.shape[d]))
            return result

        return Count() if width <= GHOSTS else self.boxes(window, place, size, planned=planned)

    def exchange(self, arrays: Arrays, width: int = GHOSTS) -> Count:
        """All arrays in one message to each block that touches."""
        messages = size = 0
        for rank in range(self.size):
            if rank == self.rank:
                continue
            here = 0
            for place, item in arrays:
                window = []
                for d in range(self.dimension):
                    first, last = self.first(rank, d), self.first(rank, d) + self.extent(rank, d) + place[d]
                    first -= width if self.shared(rank, d, 0) else 0
                    last += width if self.shared(rank, d, 1) else 0
                    window.append(range(first, last) if self.periodic[d] else range(max(first, 0), min(last, self.shape[d] + place[d])))
                here += item * self._overlap(self.owned(self.rank, place), window)
            messages += here > 0
            size += here
        return Count(messages, size, int(messages > 0))

    def _overlap(self, own: list[range], window: Iterable[range]) -> int:
        """Samples of a window that a block owns, around periodic axes too."""
        samples = 1
        for d, (mine, theirs) in enumerate(zip(own, window, strict=True)):
            n = self.shape[d]
            samples *= sum(((i - mine.start) % n + mine.start if self.periodic[d] else i) in mine for i in theirs)
        return samples
