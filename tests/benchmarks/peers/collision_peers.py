"""IPC Toolkit on the scenes of the collision benchmark: its broad phases, its narrow phases, its earliest time of impact.

Its lists stay in C++ (`Candidates.build`), as ours stay in arrays; its candidates are not sorted. Single queries are calls from Python, of
which the time of a call that only compares boxes is taken off.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from peers.libraries import version

if TYPE_CHECKING:
    from collision import Queries
    from support.collision import Scene

BROAD_PHASES = {"lbvh": "LBVH", "hash-grid": "HashGrid", "spatial-hash": "SpatialHash", "sweep-and-prune": "SweepAndPrune"}
# The slower ones are not tried on larger scenes.
OTHERS_UP_TO = 100_000
LIBRARY = "IPC Toolkit"
MOST_QUERIES = 500
# A narrow phase is not asked for the next query once its queries have taken this long.
LONGEST = 2.0


def toolkit() -> Any:
    """The module, or None."""
    try:
        module = importlib.import_module("ipctk")
    except ImportError:
        return None
    module.set_logger_level(module.LoggerLevel.error)
    return module


def missing() -> list[str]:
    """Why there are no rows of the peer."""
    return [] if toolkit() is not None else [f"{LIBRARY}: ipctk is not importable"]


def cases(scene: Scene, queries: list[Queries]) -> Iterator[tuple[Any, ...]]:
    """What, library, item, run, work, threads, remark."""
    ipctk = toolkit()
    if ipctk is None:
        return
    library = f"{LIBRARY} {version('ipctk')}"
    start, end = np.asfortranarray(scene.start), np.asfortranarray(scene.end)
    edges, faces = np.asfortranarray(scene.edges), np.asfortranarray(scene.triangles)
    mesh = ipctk.CollisionMesh(start, edges, faces)
    pairs = ipctk.Candidates()
    ipctk.set_num_threads(1)
    pairs.build(mesh, start, end, 0.0, ipctk.LBVH())
    count = len(pairs)
    for key, name in BROAD_PHASES.items():
        if key != "lbvh" and len(scene.triangles) > OTHERS_UP_TO:
            continue

        method = getattr(ipctk, name)

        def build(threads: int, method: Any = method) -> int:
            ipctk.set_num_threads(threads)
            found = ipctk.Candidates()
            found.build(mesh, start, end, 0.0, method())
            return len(found)

        yield f"candidates/{key}", library, "candidate", build, count, (1, 2), name

    def impact(threads: int) -> float:
        ipctk.set_num_threads(threads)
        found = ipctk.Candidates()
        found.build(mesh, start, end, 0.0, ipctk.LBVH())
        return float(found.compute_collision_free_stepsize(mesh, start, end, 0.0, ipctk.AdditiveCCD()))

    yield "impact/additive", library, "candidate", impact, count, (1, 2), "LBVH and additive CCD; a fraction of the time of impact"
    for name, ccd in (("tight-inclusion", ipctk.TightInclusionCCD()), ("additive", ipctk.AdditiveCCD())):
        for q in queries:
            of_faces = q.kind == "vertex-face"
            test = ccd.point_triangle_ccd if of_faces else ccd.edge_edge_ccd
            # Takes the same arguments and does next to nothing.
            boxes = ipctk.point_triangle_aabb_ccd if of_faces else ipctk.edge_edge_aabb_ccd
            for group, (from_all, to_all) in q.groups.items():
                step = max(1, len(from_all) // MOST_QUERIES)
                timed = TimedQueries(test, boxes, from_all[::step], to_all[::step])
                yield f"query-{q.kind}-{group}/{name}", library, "query", timed, 1, (1,), "single calls, mean"


class TimedQueries:
    """Single queries one after the other. Calls return their mean time in seconds, without that of calling."""

    def __init__(self, test: Callable[..., Any], cheap: Callable[..., Any], start: np.ndarray, end: np.ndarray) -> None:
        self.test, self.cheap = test, cheap
        self.arguments = [(*s, *e) for s, e in zip(start, end, strict=True)]

    def __call__(self, threads: int) -> dict[str, float]:
        """Returns mean seconds per query, and how many were made."""
        calls = []
        for a in self.arguments:
            begin = time.perf_counter()
            self.cheap(*a, 0.0)
            calls.append(time.perf_counter() - begin)
        overhead = statistics.median(calls)
        spent, made = 0.0, 0
        for a in self.arguments:
            begin = time.perf_counter()
            self.test(*a)
            spent += time.perf_counter() - begin
            made += 1
            if spent > LONGEST:
                break
        return {"seconds_per_query": max(spent / made - overhead, 1e-8), "queries": made}
