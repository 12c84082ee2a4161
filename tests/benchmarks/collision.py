"""Benchmark of collision: broad phase, detection over meshes and single queries, beside the IPC Toolkit on the same frames.

Scenes are two pairs of frames of a public set, where MENISCUS_TEST_DATA names its folder, and stacks of sheets of growing size with the
same surroundings for every element. In every round all cases of a scene take turns, on one and on two threads.
"""

from __future__ import annotations

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from contact import repulsion
from harness import THREADS, Timing, show_progress, time_waited
from peers import collision_peers
from tables import collision_tables

import meniscus as ms
from meniscus.collision import CollisionMesh, edge_edge, vertex_face

sys.path.insert(0, str(Path(__file__).parents[1]))
from support.collision import FRAMES, Scene, edges_of, read_ply

FULL_SIZES = (10_000, 100_000, 1_000_000)
QUICK_SIZES = (400,)
SHEETS = 4
ROUNDS = 5
SAMPLES_PER_VISIT = 3
SECONDS_PER_VISIT = 1.0
# A case that takes longer than this per call is called once.
SLOW_CALL = 10.0
MOST_QUERIES = 200_000
# The grid is there for comparison, and slow on large scenes.
GRID_UP_TO = 100_000

Report = dict[str, Any]


@dataclass
class Case:
    """One thing to time: `run` is a call of it, `work` how many items it handles."""

    scene: str
    triangles: int
    what: str
    library: str
    item: str
    run: Callable[[int], object]  # takes the number of threads
    work: int = 0
    threads: tuple[int, ...] = THREADS
    remark: str = ""

    @property
    def name(self) -> str:
        return case_name(self.scene, self.what)


@dataclass
class Run:
    """Measurement of one case on one number of threads."""

    case: Case
    timing: Timing
    result: object = field(default=None, repr=False)


def case_name(scene: str, what: str) -> str:
    """Name that --only matches."""
    return f"collision/{scene}/{what}"


def sheets(triangles: int) -> Scene:
    """Wavy square sheets above each other, half the length of an edge apart, that slide and fall by as much."""
    n = max(3, round((triangles / (2 * SHEETS)) ** 0.5) + 1)
    i, j = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
    rng = np.random.default_rng(5)
    starts, faces = [], []
    inner = (i < n - 1) & (j < n - 1)
    a = (i * n + j)[inner]
    for k in range(SHEETS):
        height = 0.5 * k + 2 * np.sin(0.05 * i) * np.cos(0.04 * j)
        starts.append(np.stack([i, j, height], axis=1) + rng.uniform(-0.2, 0.2, (n * n, 3)))
        faces += [np.stack([a, a + n, a + n + 1], 1) + k * n * n, np.stack([a, a + n + 1, a + 1], 1) + k * n * n]
    start = np.concatenate(starts)
    end = start + rng.uniform(-0.25, 0.25, start.shape)
    corners = np.concatenate(faces).astype(np.int32)
    return Scene(start, end, edges_of(corners), corners)


def frames(name: str) -> Scene | None:
    """A pair of frames of the public set, or None where it is absent."""
    folder = Path(os.environ.get("MENISCUS_TEST_DATA") or "absent") / "ccd" / name
    if not folder.exists():
        return None
    start, triangles = read_ply(folder / FRAMES[name][0])
    end, _ = read_ply(folder / FRAMES[name][1])
    return Scene(start, end, edges_of(triangles), triangles)


def scene_names(quick: bool) -> list[str]:
    """Possible cases."""
    sizes = [f"sheets-{n}" for n in (QUICK_SIZES if quick else FULL_SIZES)]
    return sizes if quick else [*FRAMES, *sizes]


def make_scene(name: str) -> Scene | None:
    return sheets(int(name.removeprefix("sheets-"))) if name.startswith("sheets-") else frames(name)


def mesh_cases(name: str, scene: Scene) -> Iterator[Case]:
    """Ours, over the whole mesh."""
    mesh = CollisionMesh(scene.edges, scene.triangles)
    motion = scene.start, scene.end
    pairs = sum(len(p) for p in mesh.candidates(*motion))

    def case(what: str, item: str, run: Callable[[], object]) -> Case:
        return Case(
            name, len(scene.triangles), what, "meniscus", item, lambda _: run(), pairs if item == "candidate" else len(scene.triangles)
        )

    yield case("candidates", "candidate", lambda: mesh.candidates(*motion))
    yield case("candidates-first", "candidate", lambda: CollisionMesh(scene.edges, scene.triangles).candidates(*motion))
    if len(scene.triangles) <= GRID_UP_TO:
        yield case("candidates-grid", "candidate", lambda: mesh.candidates(*motion, method="grid"))
    yield case("any", "candidate", lambda: mesh.collisions(*motion, "any"))
    yield case("parity", "candidate", lambda: mesh.collisions(*motion, "parity"))
    yield case("any-moving-frame", "candidate", lambda: mesh.collisions(*motion, "any", moving_frame=True))
    yield case("impact", "candidate", lambda: mesh.time_of_impact(*motion))
    yield case("self-intersections", "triangle", lambda: mesh.self_intersections(scene.end))
    if name != "cloth-ball":  # hardly anything is near anything there
        for what, run, found in repulsion.cases(scene):
            yield Case(name, len(scene.triangles), what, "meniscus", "pair", lambda _, call=run: call(), found)


@dataclass
class Queries:
    """Pairs of one kind as positions (n, 4, 3): all candidates or an even selection, those that do not collide, and those that do."""

    kind: str
    groups: dict[str, tuple[np.ndarray, np.ndarray]]


def queries_of(scene: Scene) -> list[Queries]:
    """Selections of the candidates of a scene."""
    mesh = CollisionMesh(scene.edges, scene.triangles)
    candidates = mesh.candidates(scene.start, scene.end)
    hits = mesh.collisions(scene.start, scene.end)
    found = []
    for kind, test, all_pairs, colliding in zip(("vertex-face", "edge-edge"), (vertex_face, edge_edge), candidates, hits, strict=True):

        def positions(pairs: np.ndarray, kind: str = kind) -> tuple[np.ndarray, np.ndarray]:
            chosen = pairs[:: max(1, -(-len(pairs) // MOST_QUERIES))]
            first = chosen[:, :1] if kind == "vertex-face" else scene.edges[chosen[:, 0]]
            second = (scene.triangles if kind == "vertex-face" else scene.edges)[chosen[:, 1]]
            rows = np.concatenate([first, second], axis=1)
            return scene.start[rows], scene.end[rows]

        mixed = positions(all_pairs)
        apart = ~test(*mixed, mode="any")
        groups = {"all": mixed, "culled": (mixed[0][apart], mixed[1][apart]), "positive": positions(colliding)}
        found.append(Queries(kind, {k: g for k, g in groups.items() if len(g[0]) > 0}))
    return found


def query_cases(name: str, scene: Scene, queries: list[Queries]) -> Iterator[Case]:
    """Ours, over arrays of pairs."""
    for q in queries:
        test = vertex_face if q.kind == "vertex-face" else edge_edge
        for group, (start, end) in q.groups.items():
            for mode in ("parity", "any"):

                def run(_: int, s: np.ndarray = start, e: np.ndarray = end, m: Any = mode, t: Any = test) -> object:
                    return t(s, e, mode=m)

                yield Case(name, len(scene.triangles), f"query-{q.kind}-{group}/{mode}", "meniscus", "query", run, len(start), threads=(1,))


def chosen_cases(quick: bool, chosen: Callable[[str], bool]) -> list[str]:
    """The names of the scenes in which a case may be chosen; which, is known once there are candidates."""
    return [n for n in scene_names(quick) if chosen(case_name(n, ""))] or (
        scene_names(quick) if any(chosen(case_name(n, w)) for n in scene_names(quick) for w in collision_tables.WHAT) else []
    )


def measure(scenes: list[str], rounds: int, chosen: Callable[[str], bool]) -> tuple[list[Run], list[str]]:
    """Run all cases; returns what was measured and what could not be."""
    threads_before = ms.core.num_threads()
    runs: list[Run] = []
    missing = collision_peers.missing()
    try:
        for name in scenes:
            show_progress(f"collision, {name}: preparing")
            scene = make_scene(name)
            if scene is None:
                missing.append(f"{name}: MENISCUS_TEST_DATA does not name the folder of collision queries")
                continue
            queries = queries_of(scene)
            cases = [*mesh_cases(name, scene), *query_cases(name, scene, queries)]
            cases += [Case(name, len(scene.triangles), *peer) for peer in collision_peers.cases(scene, queries)]
            here = [Run(c, Timing(t, ms.core.simd_level())) for c in cases if chosen(c.name) for t in c.threads]
            for r in range(min(rounds, ROUNDS)):
                for run in here:
                    if r > 0 and run.timing.best > SLOW_CALL:
                        continue
                    show_progress(f"round {r + 1}, {run.timing.threads} thread(s): {run.case.name}")
                    _visit(run)
            runs += here
            del queries, cases
            gc.collect()
    finally:
        ms.core.set_num_threads(threads_before)
        show_progress("")
    return runs, missing


def _visit(run: Run) -> None:
    """Make a call that does not count, unless calls are slow, then some that do."""
    threads = run.timing.threads
    ms.core.set_num_threads(threads)
    if not run.timing.seconds or run.timing.best < SECONDS_PER_VISIT:
        start = time.perf_counter()
        run.result = run.case.run(threads)
        if time.perf_counter() - start > SLOW_CALL:
            _note(run, time.perf_counter() - start, None, None)
            return
    spent = 0.0
    for _ in range(SAMPLES_PER_VISIT):
        run.result = None
        waited, cpu, start = time_waited(), time.process_time(), time.perf_counter()
        run.result = run.case.run(threads)
        elapsed = time.perf_counter() - start
        waited_after = time_waited()
        _note(run, elapsed, time.process_time() - cpu, None if waited is None or waited_after is None else waited_after - waited)
        spent += elapsed
        if spent > SECONDS_PER_VISIT:
            break
    run.result = collision_tables.summary(run.result)


def _note(run: Run, seconds: float, cpu: float | None, waited: float | None) -> None:
    run.timing.seconds.append(seconds)
    run.timing.cpu_seconds.append(seconds if cpu is None else cpu)
    run.timing.waited_seconds.append(waited)


def report(runs: list[Run], missing: list[str]) -> Report:
    """Rows and goals."""
    return collision_tables.report(runs, missing)
