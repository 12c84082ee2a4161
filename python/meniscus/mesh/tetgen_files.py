"""Meshes of TetGen: nodes in a .node file, tetrahedra in the .ele file beside it.

Source: Si, "TetGen, a Delaunay-based quality tetrahedral mesh generator", 2015, and its manual, section 5, "File formats".
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import numpy.typing as npt


def read_tetgen(file: Path) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """Return nodes (n, 3) and tetrahedra (m, 4) of a pair of files, given one of them.

    Raises:
        OSError: one of them is missing.
        ValueError: a damaged file, nodes that are not numbered one by one, elements that are no tetrahedra of four nodes.
    """
    head, nodes = _table(file.with_suffix(".node"), 4, lambda h: (h[0], 1 + h[1] + h[2] + h[3]))
    if head[1] != 3:
        raise ValueError(f"the nodes have {head[1]} coordinates, not 3")
    first = nodes[0, 0] if len(nodes) else 0
    if first not in (0, 1) or not np.array_equal(nodes[:, 0], first + np.arange(len(nodes))):
        raise ValueError("the nodes are not numbered one by one from 0 or 1")
    head, elements = _table(file.with_suffix(".ele"), 3, lambda h: (h[0], 1 + h[1] + h[2]))
    if head[1] != 4:
        raise ValueError(f"the elements have {head[1]} nodes, not 4")
    corners = elements[:, 1:5]
    if (corners != np.round(corners)).any() or (np.abs(corners) > 2**31).any():
        raise ValueError("the corners of the elements are no numbers of nodes")
    return np.ascontiguousarray(nodes[:, 1:4]), corners.astype(np.int64) - int(first)


def _table(path: Path, heading: int, shape: Callable[[list[int]], tuple[int, int]]) -> tuple[list[int], npt.NDArray[np.float64]]:
    """Return the numbers of the first line, and the table whose shape follows from them."""
    text = "\n".join(line.partition("#")[0] for line in path.read_text(encoding="latin-1").splitlines())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of text that is no number; it is missed below
        numbers = np.fromstring(text, np.float64, sep=" ")
    head = numbers[:heading]
    if len(head) < heading or not ((head == np.round(head)) & (head >= 0) & (head < 2**31)).all():
        raise ValueError(f"{path.name} does not begin with {heading} counts")
    counts = [int(n) for n in head]
    rows, columns = shape(counts)
    if rows * columns != len(numbers) - heading:
        raise ValueError(f"{path.name} holds {len(numbers) - heading} numbers, not {rows} rows of {columns}")
    return counts, numbers[heading:].reshape(rows, columns)
