"""Nodes and elements of Gmsh files (.msh), versions 2.2 and 4.1, text and binary.

meshio reads these files too, but takes elements with nodes that are not there for good, and reserves what a damaged file asks for.

Source: Gmsh reference manual, sections "MSH file format" and "MSH file format version 2 (Legacy)".
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt

Arrays = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]

# Number of nodes of elements by their type: points, lines, triangles, quadrangles, tetrahedra and so on, of first and higher orders.
_NODES = {1: 2, 2: 3, 3: 4, 4: 4, 5: 8, 6: 6, 7: 5, 8: 3, 9: 6, 10: 9, 11: 10, 12: 27, 13: 18, 14: 14, 15: 1, 16: 8, 17: 20, 18: 15, 19: 13}
_NODES |= {20: 9, 21: 10, 22: 12, 23: 15, 24: 15, 25: 21, 26: 4, 27: 5, 28: 6, 29: 20, 30: 35, 31: 56, 92: 64, 93: 125}
# Types by our names, and where our nodes are among those of Gmsh, which has the last two edges of a tetrahedron in another order.
_TYPES = {"triangle": (2, range(3)), "tetra": (4, range(4)), "tetra10": (11, (0, 1, 2, 3, 4, 5, 6, 7, 9, 8))}


def version_of(content: bytes) -> str:
    """Return the version in the head of a file. Raises ValueError for a file without."""
    words = content[:200].split()
    if len(words) < 4 or words[0] != b"$MeshFormat":
        raise ValueError("it does not begin with $MeshFormat")
    return words[1].decode(errors="replace")


def read_gmsh(content: bytes, kind: str) -> Arrays:
    """Return the nodes (n, 3) in the order of the file, and the elements (m, k) of one kind as rows of these.

    Raises:
        ValueError: a damaged file, an element with a node that is not there.
    """
    words = content[:200].split()
    if words[3] != b"8":
        raise ValueError(f"its numbers have {words[3].decode(errors='replace')} bytes, not 8")
    order = ""
    if words[2] == b"1":
        start = content.find(b"\n", content.find(b"\n") + 1) + 1
        order = "<" if content[start : start + 4] == b"\x01\x00\x00\x00" else ">"
    modern = version_of(content) == "4.1"
    nodes = _Section(content, "Nodes", order)
    tags, points = (_nodes_41 if modern else _nodes_22)(nodes)
    nodes.close()
    elements = _Section(content, "Elements", order)
    found = (_elements_41 if modern else _elements_22)(elements, _TYPES[kind][0])
    elements.close()
    width = len(_TYPES[kind][1])
    rows = np.concatenate(found) if found else np.empty((0, width), np.int64)
    return points, _places(tags, rows)[:, list(_TYPES[kind][1])]


class _Section:
    """The numbers of one section, from first to last."""

    def __init__(self, content: bytes, name: str, order: str) -> None:
        start = content.find(b"\n$" + name.encode())
        start = content.find(b"\n", start + 1) + 1 if start >= 0 else 0
        if start == 0:
            raise ValueError(f"it has no section ${name}")
        self._name, self.order, self._at = name, order, 0
        self._bytes = content[start:]
        self._end = b"$End" + name.encode()
        if not order:  # a text
            text, end, _ = self._bytes.partition(self._end)
            if not end:
                raise ValueError(f"${name} has no end")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of text that is no number; it is missed below
                self._numbers = np.fromstring(text.decode("latin-1"), np.float64, sep=" ")

    def take(self, kind: str, count: int) -> npt.NDArray[Any]:
        """Return the next numbers, of a type of NumPy. Raises ValueError if there are not so many."""
        if count < 0:
            raise ValueError(f"${self._name} has a negative count, {count}")
        dtype = np.dtype(f"{self.order or '<'}{kind}")
        left = (len(self._bytes) - self._at) // dtype.itemsize if self.order else len(self._numbers) - self._at
        if count > left:
            raise ValueError(f"${self._name} ends too early: {count} numbers are said to follow, and {left} can")
        if self.order:
            values = np.frombuffer(self._bytes, dtype, count, self._at)
            self._at += count * dtype.itemsize
        else:
            values = self._numbers[self._at : self._at + count]
            self._at += count
            if dtype.kind != "f" and not (np.abs(values) < 2.0**53).all():
                raise ValueError(f"${self._name} has numbers that are no integers")
        return values.astype(dtype.newbyteorder("="), copy=False)

    def one(self, kind: str) -> int:
        """Return the next number."""
        return int(self.take(kind, 1)[0])

    def word(self) -> int:
        """Return the count that stands in text in both kinds of files of version 2.2."""
        if not self.order:
            return self.one("i8")
        line, _, _ = self._bytes[self._at : self._at + 32].partition(b"\n")
        self._at += len(line) + 1
        return int(line)

    def close(self) -> None:
        """Check that nothing is left. Raises ValueError otherwise."""
        rest = self._bytes[self._at : self._at + 64].lstrip() if self.order else b""
        if (self.order and not rest.startswith(self._end)) or (not self.order and self._at != len(self._numbers)):
            raise ValueError(f"${self._name} holds more than it says")


def _nodes_41(section: _Section) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    blocks, total = (int(n) for n in section.take("i8", 4)[:2])
    tags, points = [np.empty(0, np.int64)], [np.empty((0, 3))]
    for _ in range(blocks):
        dimension, _, parametric = (int(n) for n in section.take("i4", 3))
        count = section.one("i8")
        tags.append(section.take("i8", count).astype(np.int64))
        columns = 3 + (dimension if parametric else 0)
        points.append(section.take("f8", columns * count).reshape(count, columns)[:, :3])
    if sum(map(len, tags)) != total:
        raise ValueError(f"$Nodes holds {sum(map(len, tags))} nodes, not {total}")
    return np.concatenate(tags), np.concatenate(points)


def _nodes_22(section: _Section) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.float64]]:
    count = section.word()
    tag_and_position = np.dtype([("tag", "i4"), ("x", "f8", 3)])
    if section.order:
        rows = section.take(f"V{tag_and_position.itemsize}", count).view(
            tag_and_position if section.order == "<" else tag_and_position.newbyteorder(">")
        )
        return rows["tag"].astype(np.int64), rows["x"].astype(np.float64)
    table = section.take("f8", 4 * count).reshape(count, 4)
    return table[:, 0].astype(np.int64), table[:, 1:]


def _elements_41(section: _Section, wanted: int) -> list[npt.NDArray[np.int64]]:
    blocks, total = (int(n) for n in section.take("i8", 4)[:2])
    found, seen = [], 0
    for _ in range(blocks):
        kind = int(section.take("i4", 3)[2])
        count, columns = section.one("i8"), 1 + _nodes_of(kind)
        rows = section.take("i8", columns * count).reshape(count, columns)
        seen += count
        if kind == wanted:
            found.append(rows[:, 1:].astype(np.int64))
    if seen != total:
        raise ValueError(f"$Elements holds {seen} elements, not {total}")
    return found


def _elements_22(section: _Section, wanted: int) -> list[npt.NDArray[np.int64]]:
    total = section.word()
    found, seen = [], 0
    while seen < total:
        if section.order:
            kind, count, tags = (int(n) for n in section.take("i4", 3))
            columns = 1 + tags + _nodes_of(kind)
            if count < 1 or tags < 0:
                raise ValueError("$Elements has a block without elements")
            rows = section.take("i4", columns * count).reshape(count, columns)
        else:
            _, kind, tags = (int(n) for n in section.take("i8", 3))
            count = 1
            rows = section.take("i8", tags + _nodes_of(kind))[None]
        seen += count
        if kind == wanted:
            found.append(rows[:, -_nodes_of(kind) :].astype(np.int64))
    return found


def _nodes_of(kind: int) -> int:
    if kind not in _NODES:
        raise ValueError(f"$Elements has elements of a type that is not known, {kind}")
    return _NODES[kind]


def _places(tags: npt.NDArray[np.int64], rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the places of nodes in the order of the file."""
    order = np.argsort(tags, kind="stable")
    sorted_tags = tags[order]
    if (np.diff(sorted_tags) == 0).any():
        raise ValueError("two nodes have the same number")
    at = np.searchsorted(sorted_tags, rows)
    missing = (at >= len(tags)) | (sorted_tags[np.minimum(at, len(tags) - 1)] != rows) if len(tags) else np.ones(rows.shape, bool)
    if missing.any():
        raise ValueError(f"an element has node {rows[missing][0]}, which the file does not hold")
    return np.asarray(order[at], np.int64)
