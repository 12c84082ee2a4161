"""Improvement of a mesh beside the isotropic remeshing of MeshLab, on the same mesh for the same edge length.

`python tests/benchmarks/tracking/remeshing_peers.py [mesh files]`; needs pymeshlab, which is no dependency of the package. Both go on until
their mesh is as good as it gets: five passes there, improvements here until one changes less than a hundredth of the edges.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import numpy.typing as npt
import pymeshlab

from meniscus.mesh import TriangleMesh, icosphere
from meniscus.surface import TrackedSurface

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]
PASSES = 5


def quality(x: Floats, t: Ints, edge: float) -> str:
    """Return the share of edges within half and 1.5 lengths, and of triangles with an angle below 20 degrees, in %."""
    sides = np.linalg.norm(x[t[:, (1, 2, 0)]] - x[t], axis=2)
    areas = np.linalg.norm(np.cross(x[t[:, 1]] - x[t[:, 0]], x[t[:, 2]] - x[t[:, 0]]), axis=1)
    ordered = np.sort(sides, axis=1)
    small = areas / (ordered[:, 1] * ordered[:, 2]) < np.sin(np.deg2rad(20.0))
    within = (sides > 0.5 * edge) & (sides < 1.5 * edge)
    return f"{len(t)} triangles, {100 * within.mean():.1f} % within, {100 * small.mean():.2f} % small"


def ours(x: Floats, t: Ints, edge: float) -> tuple[float, str]:
    """Seconds until improvements have little left to do, and the quality."""
    surface = TrackedSurface((x, t), edge, topology=False)
    start = time.perf_counter()
    for _ in range(20):
        counts = surface.improve().counts
        if counts.split.done + counts.collapse.done + counts.flip.done < 0.015 * len(surface.triangles):
            break
    seconds = time.perf_counter() - start
    if not surface.audit().sound:
        raise RuntimeError(str(surface.audit()))
    return seconds, quality(np.array(surface.vertices), np.array(surface.triangles), edge)


def meshlab(x: Floats, t: Ints, edge: float) -> tuple[float, str]:
    """The same of MeshLab."""
    meshes = pymeshlab.MeshSet()
    meshes.add_mesh(pymeshlab.Mesh(x, t))
    start = time.perf_counter()
    meshes.meshing_isotropic_explicit_remeshing(targetlen=pymeshlab.PureValue(edge), iterations=PASSES)
    seconds = time.perf_counter() - start
    mesh = meshes.current_mesh()
    return seconds, quality(np.asarray(mesh.vertex_matrix()), np.asarray(mesh.face_matrix(), np.int32), edge)


def main(given: list[str] | None = None) -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description="Improve meshes, beside MeshLab.")
    parser.add_argument("meshes", nargs="*", help="mesh files; a sphere otherwise")
    options = parser.parse_args(given)
    meshes = {path: TriangleMesh.read(path) for path in options.meshes} or {"sphere": icosphere(6)}
    for name, mesh in meshes.items():
        x, t = np.array(mesh.vertices, np.float64), np.array(mesh.triangles, np.int32)
        mean = float(np.linalg.norm(x[t[:, (1, 2, 0)]] - x[t], axis=2).mean())
        for factor in (0.7, 1.0, 1.5):
            for who, run in (("meniscus", ours), ("MeshLab", meshlab)):
                seconds, text = run(x, t, factor * mean)
                print(f"{name}, edges {factor} of their mean: {who} {seconds:.2f} s, {text}", flush=True)


if __name__ == "__main__":
    main()
