"""Benchmark cases of liquid surfaces: the mesh of a level set, its volume, curvature and connected components, beside other libraries."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from harness import Case
from peers.libraries import Peer, version

import meniscus as ms
from meniscus.surface import LevelSet, components, curvature, extract, measure, volume_fractions

FULL = {"256": 256, "384": 384}
QUICK = {"tiny": 24}
NAMES = ("mesh", "mesh-normals", "volume", "fractions", "components", "labels", "curvature/surface", "curvature/columns")
THREADS = (1, 2)


def splash(n: int, dtype: str) -> LevelSet:
    """A wavy pool with a few hundred drops above it and bubbles in it, on n cells a side."""
    rng = np.random.default_rng(7)
    phi = LevelSet(ms.Grid((n, n, n), 1 / n), "cells", dtype)
    x, y, z = phi.field.coordinates()
    values = np.asarray(z - 0.4 - 0.05 * np.sin(17 * x) * np.cos(13 * y) - 0.01 * np.sin(61 * x + 40 * y), phi.dtype)
    for inside in (False, True):
        for _ in range(200):
            r = rng.uniform(0.01, 0.035)
            c = rng.uniform((r, r, 0.05 if inside else 0.5), (1 - r, 1 - r, 0.3 if inside else 1 - r))
            low, high = (np.clip(((c + s * 2.5 * r) * n).astype(int), 0, n) for s in (-1, 1))
            box = tuple(slice(a, b) for a, b in zip(low, high, strict=True))
            ball = np.sqrt((x[box[0]] - c[0]) ** 2 + (y[:, box[1]] - c[1]) ** 2 + (z[:, :, box[2]] - c[2]) ** 2) - r
            values[box] = np.maximum(values[box], -ball) if inside else np.minimum(values[box], ball)
    phi.array = values
    return phi


def level_set_cases(key: str, phi: LevelSet) -> list[Case]:
    """All measures of one level set; everything is given the memory that it fills."""
    space = ms.Workspace()
    field = phi.field
    labels = np.empty(field.shape, np.int32)
    out = phi.volume_fractions()
    triangles = len(phi.to_mesh()[1])
    runs: dict[str, tuple[Callable[[], Any], int]] = {
        "mesh": (partial(extract, phi, workspace=space), 0),
        "mesh-normals": (partial(extract, phi, normals=True, workspace=space), 0),
        "volume": (partial(measure, phi, workspace=space), 0),
        "fractions": (partial(volume_fractions, phi, out=out, workspace=space), out.array.nbytes),
        "components": (partial(components, phi, out=labels, workspace=space), labels.nbytes),
        "labels": (partial(components, phi, volumes=False, out=labels, workspace=space), labels.nbytes),
        "curvature/surface": (partial(curvature, phi, out=out), out.array.nbytes),
        "curvature/columns": (partial(curvature, phi, kind="columns", out=out), out.array.nbytes),
    }
    return [
        Case(
            name=f"surfaces/{key}/{name}",
            group="surfaces",
            work=phi.array.size,
            unit="Mcell/s",
            run=run,
            threads=THREADS,
            workspace=space,
            state_bytes=phi.array.nbytes,
            other_bytes=other,
            parameters={"shape": field.shape, "dtype": phi.dtype.name, "triangles": triangles},
        )
        for name, (run, other) in runs.items()
    ]


def cases(quick: bool, chosen: Callable[[str], bool]) -> list[Case]:
    """All whose name is chosen."""
    found = []
    for key, n in (QUICK if quick else FULL).items():
        for dtype in ("float32", "float64"):
            full = f"{key}/{dtype}"
            if any(chosen(f"surfaces/{full}/{name}") for name in NAMES):
                found += [c for c in level_set_cases(full, splash(n, dtype)) if chosen(c.name)]
    return found


def peers(quick: bool, chosen: Callable[[str], bool]) -> list[Peer]:
    """scikit-image's marching cubes and SciPy's labels of the same samples."""
    key, n = next(iter((QUICK if quick else FULL).items()))
    full = f"{key}/float32"
    wanted = {
        "scikit-image": ("skimage.measure", "mesh", "marching_cubes with normals of its own, on the lattice of cells, open at the sides"),
        "scipy": ("scipy.ndimage", "labels", "label of phi <= 0, which it is given (ours: with the comparison)"),
    }
    found = []
    phi: LevelSet | None = None
    for library, (module, counterpart, remark) in wanted.items():
        name = f"peers/{library}/surfaces/{full}/{counterpart}"
        if not chosen(name):
            continue
        peer = Peer(name, f"{library} {version(library)}", f"surfaces/{full}/{counterpart}", remark)
        found.append(peer)
        try:
            other = importlib.import_module(module)
        except ImportError:
            peer.unavailable = f"{module} is not importable"
            continue
        phi = phi or splash(n, "float32")
        samples = np.ascontiguousarray(phi.array)
        inside = samples <= 0
        if library == "scipy":
            run: Callable[[], Any] = partial(other.label, inside)
            peer.compare(run()[0], phi.components(volumes=False).labels)
        else:
            run = partial(other.marching_cubes, samples, 0.0, spacing=(phi.grid.spacing,) * 3, allow_degenerate=True)
            # Vertices of both lie on the same edges; positions are compared in spacings. Some cells get one more in their middle.
            found_there = run()[0] / phi.grid.spacing
            on_edge = np.sort(np.abs(found_there - np.round(found_there)), axis=1)[:, 1] < 1e-3
            theirs = np.sort((found_there[on_edge] + 0.5).sum(axis=1))
            vertices, _ = ms.surface.extract(phi, sides="open")
            margin = 0.5 * phi.grid.spacing - 1e-9
            ours = np.sort(vertices[((vertices > margin) & (vertices < 1 - margin)).all(axis=1)].sum(axis=1)) / phi.grid.spacing
            if len(ours) == len(theirs):
                peer.compare(theirs, ours)
        parameters = {"shape": samples.shape, "dtype": "float32"}
        peer.case = Case(name, "peers", samples.size, "Mcell/s", run, threads=(1,), rounds=3, parameters=parameters)
    return found
