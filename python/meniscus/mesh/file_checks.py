"""Checks of mesh files for damage that libraries overlook: faces with missing vertices, and text that ends too early."""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt


def check_obj(content: bytes) -> None:
    """Raise ValueError if faces of an OBJ file have vertices that it does not hold; trimesh takes others for these."""
    vertices = len(re.findall(rb"^[ \t]*v[ \t]", content, flags=re.M))
    faces = b" ".join(re.findall(rb"^[ \t]*f[ \t]([^\n#]*)", content, flags=re.M))
    corners = np.array(re.sub(rb"/[^ \t\r\\]*|\\", b" ", faces).split(), dtype=np.bytes_)
    number: npt.NDArray[np.float64] = np.abs(corners.astype(np.float64)) if len(corners) else np.empty(0)
    bad = ~((number >= 1) & (number <= vertices))  # those below zero count from the last one
    if bad.any():
        raise ValueError(f"a face has vertex {corners[bad][0].decode(errors='replace')}, and the file holds {vertices}")


def check_off(content: bytes) -> None:
    """Raise ValueError if an OFF file has fewer lines than vertices and faces."""
    lines = _lines(content)
    counts = lines[0].split()[1:] or (lines[1].split() if len(lines) > 1 else [])
    rows = lines[1 if lines[0].split()[1:] else 2 :] if lines else []
    if len(counts) >= 2:
        _check_rows(rows, int(counts[0]) + int(counts[1]), bool(int(counts[1])))


def check_ply(content: bytes) -> None:
    """Raise ValueError if a PLY file in text has fewer lines than elements. The length of binary ones is known to trimesh."""
    head, end, body = content.partition(b"end_header")
    if not end or b"ascii" not in head:
        return
    counts = [(name, int(n)) for name, n in re.findall(rb"^element[ \t]+(\w+)[ \t]+(\d+)", head, flags=re.M)]
    _check_rows(_lines(body), sum(n for _, n in counts), bool(counts) and counts[-1][0] == b"face" and counts[-1][1] > 0)


def check_legacy_vtk(content: bytes, cells: int) -> None:
    """Raise ValueError if a VTK file (versions 1 to 5) says that it has another number of cells than were read."""
    found = re.search(rb"^CELLS[ \t]+(\d+)[ \t]+\d+", content, flags=re.M)
    version = re.match(rb"# vtk DataFile Version (\d+)", content)
    if found and version:
        said = int(found[1]) - (int(version[1]) >= 5)  # offsets have one more
        if said != cells:
            raise ValueError(f"it has {cells} cells with a type that is known, and says that it has {said}")


def _lines(content: bytes) -> list[bytes]:
    """Return the lines without comments and empty ones."""
    return [line for line in re.sub(rb"#[^\n]*", b"", content).splitlines() if line.strip()]


def _check_rows(rows: list[bytes], count: int, faces: bool) -> None:
    """Raise ValueError if there are fewer rows, or the last one is a face with fewer corners than it says."""
    if len(rows) < count:
        raise ValueError(f"it ends after {len(rows)} of {count} lines")
    last = rows[count - 1].split() if faces else []
    if last and len(last) <= int(last[0]):
        raise ValueError("it ends within its last line")
