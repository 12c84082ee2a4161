"""Measured memory bandwidth, for comparison with the memory traffic of the cases.

The triad a = b + s c is two NumPy calls without temporaries, `multiply(c, s, out=a)` and `add(a, b, out=a)`, on one piece of the arrays per
thread; NumPy releases the interpreter lock inside. All bytes that move between memory and caches count: c read, a fetched for ownership and
written, a and b read, a written again, six arrays in all.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import numpy as np
from harness import THREADS, Case

import meniscus as ms

MEBIBYTE = 1 << 20


class Triad:
    """Three arrays of `array_bytes` each."""

    ARRAYS_MOVED = 6

    def __init__(self, array_bytes: int) -> None:
        n = array_bytes // 8
        self.a = np.zeros(n)
        self.b = np.full(n, 1.5)
        self.c = np.full(n, 0.25)
        self.pool = ThreadPoolExecutor(max(THREADS))

    def __call__(self) -> None:
        threads = ms.core.num_threads()
        if threads == 1:
            self._piece(slice(None))
            return
        ends = [len(self.a) * t // threads for t in range(threads + 1)]
        list(self.pool.map(self._piece, [slice(b, e) for b, e in pairwise(ends)]))

    def _piece(self, piece: slice) -> None:
        a = self.a[piece]
        np.multiply(self.c[piece], 3.0, out=a)
        np.add(a, self.b[piece], out=a)


def probes(*, quick: bool) -> list[Case]:
    """Probes from the size of a small case, which a large last-level cache may hold, to one that goes beyond most caches."""
    cases = []
    for mebibytes in (1, 2) if quick else (8, 32, 256):
        triad = Triad(mebibytes * MEBIBYTE)
        work = Triad.ARRAYS_MOVED * triad.a.nbytes
        name = f"bandwidth/{3 * mebibytes}-MiB"
        cases.append(Case(name, "bandwidth", work, "GB/s", triad, state_bytes=3 * triad.a.nbytes))
    return cases
