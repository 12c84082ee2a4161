"""Reader of OpenVDB files with trees 5-4-3 of floats and vectors, from one end to the other, apart from the writer."""

from __future__ import annotations

import io
import struct
import zlib
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

NODE_BITS = (5, 4, 3)
VALUES = {"double": "<d", "int64": "<q", "bool": "<?", "vec3i": "<3i"}


@dataclass
class StoredGrid:
    """A grid of a file: active voxels by their index, and the inactive ones of leaves."""

    kind: str
    background: float
    metadata: dict[str, object]
    transform: np.ndarray
    active: dict[tuple[int, int, int], np.ndarray] = field(default_factory=dict)
    inactive: dict[tuple[int, int, int], float] = field(default_factory=dict)


class _Stream(io.BytesIO):
    def numbers(self, form: str) -> tuple:
        return struct.unpack(form, self.read(struct.calcsize(form)))

    def text(self) -> str:
        return self.read(self.numbers("<I")[0]).decode()

    def described(self) -> dict[str, object]:
        found = {}
        for _ in range(self.numbers("<I")[0]):
            name, kind = self.text(), self.text()
            data = self.read(self.numbers("<I")[0])
            values = data.decode() if kind == "string" else struct.unpack(VALUES[kind], data)
            found[name] = values[0] if isinstance(values, tuple) and len(values) == 1 else values
        return found

    def mask(self, bits: int) -> np.ndarray:
        return np.unpackbits(np.frombuffer(self.read(bits // 8), np.uint8), bitorder="little").astype(bool)

    def packed(self, size: int) -> bytes:
        (length,) = self.numbers("<q")
        data = self.read(-length) if length <= 0 else zlib.decompress(self.read(length))
        assert len(data) == size
        return data


def read_vdb(path: Path) -> tuple[dict[str, StoredGrid], dict[str, object]]:
    """Return the grids of a file by name, and what it says of itself."""
    s = _Stream(path.read_bytes())
    assert s.numbers("<qI") == (0x56444220, 224)
    s.numbers("<II")
    assert s.numbers("<?") == (True,)
    assert s.read(36).count(b"-") == 4
    about = s.described()
    grids = {}
    for _ in range(s.numbers("<i")[0]):
        name, kind = s.text(), s.text()
        assert s.text() == ""
        start, samples, end = s.numbers("<3q")
        assert s.tell() == start
        grids[name] = _grid(s, kind, samples)
        assert s.tell() == end
    assert s.read() == b""
    return grids, about


def _grid(s: _Stream, kind: str, samples: int) -> StoredGrid:
    width = {"Tree_float_5_4_3": 1, "Tree_vec3s_5_4_3": 3}[kind]
    assert s.numbers("<I") == (3,)
    metadata = s.described()
    assert s.text() == "UniformScaleTranslateMap"
    transform = np.array(s.numbers("<18d")).reshape(6, 3)
    assert s.numbers("<i") == (1,)
    background = s.numbers(f"<{width}f")[0]
    grid = StoredGrid(kind, background, metadata, transform)
    tiles, children = s.numbers("<II")
    assert tiles == 0
    leaves: list[tuple[np.ndarray, np.ndarray]] = []
    for _ in range(children):
        _topology(s, np.array(s.numbers("<3i")), NODE_BITS, leaves)
    assert s.tell() == samples
    for corner, mask in leaves:
        _samples(s, grid, corner, mask, width)
    return grid


def _topology(s: _Stream, corner: np.ndarray, bits: tuple[int, ...], leaves: list) -> None:
    count = 1 << 3 * bits[0]
    children = s.mask(count)
    if len(bits) == 1:
        leaves.append((corner, children))
        return
    assert not s.mask(count).any()
    assert s.read(1) == b"\0"
    s.packed(0)
    for n in np.flatnonzero(children):
        side, mask = 1 << sum(bits[1:]), (1 << bits[0]) - 1
        place = np.array([n >> 2 * bits[0], (n >> bits[0]) & mask, n & mask])
        _topology(s, corner + side * place, bits[1:], leaves)


def _samples(s: _Stream, grid: StoredGrid, corner: np.ndarray, mask: np.ndarray, width: int) -> None:
    assert (s.mask(512) == mask).all()
    (rule,) = s.read(1)
    outside = {0: np.ones(512, bool), 1: np.zeros(512, bool)}[rule] if rule != 3 else s.mask(512)
    values = iter(np.frombuffer(s.packed(4 * width * int(mask.sum())), np.float32).reshape(-1, width))
    for n in range(512):
        at = tuple(int(i) for i in corner + np.array([n >> 6, (n >> 3) & 7, n & 7]))
        if mask[n]:
            grid.active[at] = next(values)
        else:
            grid.inactive[at] = grid.background if outside[n] else -grid.background
