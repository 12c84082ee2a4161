"""VTK XML files as `vtk.write_frame` writes them: what a file says of itself is checked against its length before memory is reserved.

VTK's own readers end the process where a damaged file asks for more memory than there is.

Source: Kitware, "VTK file formats", 2021, section "XML file formats".
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
import numpy.typing as npt

Arrays = dict[str, npt.NDArray[np.generic]]

_DTYPES = {"Float32": "f4", "Float64": "f8"} | {f"{u}Int{8 * n}": f"{u.lower() or 'i'}{n}" for u in ("", "U") for n in (1, 2, 4, 8)}


class VtkFile:
    """Parts of a file with one piece, whose values are appended as raw bytes.

    Raises:
        OSError: it cannot be read.
        ValueError: it is damaged, or of another kind.
    """

    def __init__(self, path: Path, kind: str) -> None:
        content = path.read_bytes()
        head, marker, rest = content.partition(b'<AppendedData encoding="raw">')
        if not marker or not content[-32:].rstrip().endswith(b"</VTKFile>"):
            raise ValueError("it does not end as a VTK file does")
        try:
            root = ElementTree.fromstring(head + b"</VTKFile>")
        except ElementTree.ParseError as error:
            raise ValueError(f"its head is no XML: {error}") from error
        data = root.find(kind)
        if data is None or root.get("header_type") != "UInt64" or root.get("compressor"):
            raise ValueError(f"it is no {kind} with values of 64-bit lengths")
        pieces = data.findall("Piece")
        if len(pieces) != 1:
            raise ValueError(f"it has {len(pieces)} pieces, not one")
        self._values = rest[rest.index(b"_") + 1 :]
        self._order = ">" if root.get("byte_order") == "BigEndian" else "<"
        self._data, self._piece = data, pieces[0]

    def fields(self) -> Arrays:
        """Return the arrays that belong to no points or cells."""
        return self._arrays(self._data.find("FieldData"))

    def section(self, name: str) -> Arrays:
        """Return the arrays of a section of the piece; none if it has no such section."""
        return self._arrays(self._piece.find(name))

    def dimensions(self) -> tuple[int, int, int]:
        """Return the numbers of points of an image along x, y and z."""
        ends = [int(n) for n in self._piece.get("Extent", "").split()]
        if len(ends) != 6:
            raise ValueError("an image has an extent of six numbers")
        return ends[1] - ends[0] + 1, ends[3] - ends[2] + 1, ends[5] - ends[4] + 1

    def _arrays(self, section: ElementTree.Element | None) -> Arrays:
        found = section.findall("DataArray") if section is not None else []
        return {array.get("Name", ""): self._array(array) for array in found}

    def _array(self, element: ElementTree.Element) -> npt.NDArray[np.generic]:
        kind, at = element.get("type", ""), int(element.get("offset", "-1"))
        if kind not in _DTYPES or element.get("format") != "appended" or not 0 <= at <= len(self._values) - 8:
            raise ValueError(f"array {element.get('Name')!r} has no place in the file")
        dtype = np.dtype(self._order + _DTYPES[kind])
        size = int(np.frombuffer(self._values, f"{self._order}u8", 1, at)[0])
        if size > len(self._values) - at - 8 or size % dtype.itemsize:
            raise ValueError(f"array {element.get('Name')!r} is said to have {size} bytes, and {len(self._values) - at - 8} follow")
        values = np.frombuffer(self._values, dtype, size // dtype.itemsize, at + 8).astype(dtype.newbyteorder("="))
        components = int(element.get("NumberOfComponents", "1"))
        return values if components == 1 else values.reshape(-1, components)
