"""Benchmark of Poisson solves: ours and those of peers, on the same numbers, to the same residual, which is checked here.

In every round all solvers take turns, on one and on two threads. Each sets up, solves a few times from zero and frees its memory before the
next one, so that the largest problems fit. Very long cases run once.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from harness import Timing, show_progress, time_waited
from peers import poisson_solvers
from peers.compiled_peers import PeerError
from peers.poisson_solvers import Prepared, Solver, System
from poisson_problems import BOX, INSIDES, MOVED, PROBLEMS, SIDES

import meniscus as ms

FULL_SIZES = (64, 128, 256)
QUICK_SIZES = (16,)
ROUNDS = 3
SAMPLES_PER_VISIT = 3
SECONDS_PER_VISIT = 1.0
# A visit that takes longer than this is not repeated in later rounds.
SLOW_VISIT = 20.0

Report = dict[str, Any]


@dataclass
class Run:
    """Measurement of one solver on one problem and one number of threads."""

    problem: str
    n: int
    cells: int
    unknowns: int
    solver: Solver
    threads: int
    timing: Timing
    setup_seconds: list[float] = field(default_factory=list)
    moved_seconds: list[float] = field(default_factory=list)
    iterations: int = 0
    residual: float = 0.0  # as the solver says
    true_residual: float = 0.0
    bytes: int = 0
    settings: str = ""
    failure: str = ""
    visit_seconds: float = 0.0

    @property
    def name(self) -> str:
        return case_name(self.problem, self.n, self.solver)


def case_name(problem: str, n: int, solver: Solver) -> str:
    """Name that --only matches."""
    return f"poisson/{problem}/{n}/{solver.key}"


def chosen_cases(sizes: tuple[int, ...], chosen: Callable[[str], bool]) -> list[tuple[str, int, list[Solver]]]:
    """Problems, cells per axis and solvers, as far as they are chosen."""
    solvers = poisson_solvers.ours() + poisson_solvers.peers()
    cases = [(p, n, [s for s in solvers if chosen(case_name(p, n, s))]) for n in sizes for p in PROBLEMS]
    return [c for c in cases if c[2]]


def measure(cases: list[tuple[str, int, list[Solver]]], rounds: int) -> list[Run]:
    """Run all cases."""
    threads_before = ms.core.num_threads()
    runs: list[Run] = []
    try:
        for problem, n, solvers in cases:
            system = System(PROBLEMS[problem](n), None if problem.endswith("empty") else PROBLEMS[problem](n, MOVED))
            size = (system.problem.rhs.size, system.problem.unknowns)
            here = [Run(problem, n, *size, s, t, Timing(t, "")) for s in solvers if s.prepare is not None for t in s.threads]
            for r in range(min(rounds, ROUNDS)):
                for i, run in enumerate(here):
                    if run.failure or (r > 0 and run.visit_seconds > SLOW_VISIT):
                        continue
                    show_progress(f"round {r + 1}, {i + 1}/{len(here)}: {run.name}, {run.threads} thread(s)")
                    _visit(run, system)
            runs += here
    finally:
        ms.core.set_num_threads(threads_before)
        show_progress("")
    return runs


def _visit(run: Run, system: System) -> None:
    """Prepare, solve some times, check."""
    assert run.solver.prepare is not None
    ms.core.set_num_threads(run.threads)
    start = time.perf_counter()
    try:
        prepared = run.solver.prepare(system, run.threads)
    except (PeerError, ImportError, MemoryError) as error:
        run.failure = str(error) or type(error).__name__
        return
    try:
        _sample(run, prepared)
        run.setup_seconds.append(prepared.setup_seconds)
        solution = prepared.solution()
        moved = prepared.moved()
        if moved is not None:
            run.moved_seconds.append(moved)
        run.settings = prepared.settings
        run.visit_seconds = time.perf_counter() - start
        if run.true_residual == 0.0:
            run.true_residual = system.problem.residual(solution)
            if not run.true_residual <= 1.5 * poisson_solvers.TOLERANCE:
                run.failure = f"did not converge: residual {run.true_residual:.1e} after {run.iterations} iterations"
    finally:
        prepared.close()
        del prepared
        gc.collect()


def _sample(run: Run, prepared: Prepared) -> None:
    spent = 0.0
    for _ in range(SAMPLES_PER_VISIT):
        waited, cpu, start = time_waited(), time.process_time(), time.perf_counter()
        outcome = prepared.solve()
        elapsed = time.perf_counter() - start
        waited_after = time_waited()
        # The peers time themselves, without what it takes to hand the arrays over.
        run.timing.seconds.append(outcome.seconds)
        run.timing.cpu_seconds.append((time.process_time() - cpu) * outcome.seconds / elapsed)
        run.timing.waited_seconds.append(None if waited is None or waited_after is None else waited_after - waited)
        run.iterations, run.residual, run.bytes = outcome.iterations, outcome.residual, prepared.bytes
        spent += elapsed
        if spent > SECONDS_PER_VISIT:
            break


# --- from runs to the report ---------------------------------------------------------------------------------------------------


def _row(run: Run) -> Report:
    """One run without what compares it with others."""
    t = run.timing
    report: Report = {
        "name": run.name,
        "problem": run.problem,
        "n": run.n,
        "cells": run.cells,
        "unknowns": run.unknowns,
        "solver": run.solver.key,
        "library": run.solver.library,
        "method": run.solver.method,
        "build": run.solver.build,
        "settings": run.settings,
        "threads": run.threads,
        "failure": run.failure or None,
        "true_residual": run.true_residual or None,
    }
    if run.failure:
        return report
    per_unknown = t.best / run.unknowns * 1e9
    report |= {
        "samples": len(t.seconds),
        "seconds_best": t.best,
        "seconds_median": t.median,
        "cpu_seconds": min(t.cpu_seconds),
        "disturbed": t.disturbed,
        "cores_busy": t.cores,
        "iterations": run.iterations,
        "residual": run.residual,
        "setup_seconds": min(run.setup_seconds),
        "setup_share": min(run.setup_seconds) / t.best,
        "moved_seconds": min(run.moved_seconds) if run.moved_seconds else None,
        "moved_share": min(run.moved_seconds) / t.best if run.moved_seconds else None,
        "seconds_per_iteration": t.best / run.iterations,
        "ns_per_unknown": per_unknown,
        "ns_per_unknown_and_iteration": per_unknown / run.iterations,
        "bytes_per_cell": run.bytes / run.cells if run.bytes else None,
    }
    return report


def _compare(rows: list[Report]) -> None:
    """Add what compares a row with hypre, with the box, and with one thread; left out where one of the two was disturbed or failed."""
    usable = [r for r in rows if r["failure"] is None]

    def find(**wanted: Any) -> list[Report]:
        return [r for r in usable if not r["disturbed"] and all(r[k] == v for k, v in wanted.items())]

    for row in rows:
        row |= dict.fromkeys(("times_hypre", "times_hypre_with_setup", "box_ratio", "box_ratio_per_iteration", "speedup"))
        if row["failure"] is not None or row["disturbed"]:
            continue
        same = {"n": row["n"], "threads": row["threads"]}
        hypres = [r for r in find(problem=row["problem"], **same) if r["library"].startswith("hypre")]
        if hypres:
            row["times_hypre"] = min(r["seconds_best"] for r in hypres) / row["seconds_best"]
            with_setup = min(r["seconds_best"] + r["setup_seconds"] for r in hypres)
            row["times_hypre_with_setup"] = with_setup / (row["seconds_best"] + row["setup_seconds"])
        for box in find(problem=BOX, solver=row["solver"], **same):
            row["box_ratio"] = row["ns_per_unknown"] / box["ns_per_unknown"]
            row["box_ratio_per_iteration"] = row["ns_per_unknown_and_iteration"] / box["ns_per_unknown_and_iteration"]
        for one in find(problem=row["problem"], solver=row["solver"], n=row["n"], threads=1) if row["threads"] == 2 else []:
            row["speedup"] = one["seconds_best"] / row["seconds_best"]


@dataclass(frozen=True)
class Goal:
    """Goal of our multigrid on a problem at 256^3: a figure of the row with so many threads, at least or at most."""

    what: str
    problem: str
    threads: int
    figure: str
    goal: float
    floor: float | None = None
    at_most: bool = False


GOALS = (
    *(
        goal
        for problem in (f"{s}-{i}" for s in SIDES for i in INSIDES)
        for goal in (
            Goal("iterations", problem, 1, "iterations", 10, at_most=True),
            Goal("ns per unknown and iteration", problem, 1, "ns_per_unknown_and_iteration", 12, floor=25, at_most=True),
            Goal("set-up over solve", problem, 1, "setup_share", 0.25, at_most=True),
            Goal("times faster than hypre, with set-up", problem, 1, "times_hypre_with_setup", 3),
            Goal("speed-up on two threads", problem, 2, "speedup", 1.8),
        )
    ),
    *(Goal("set-up after the sphere has moved over solve", f"{s}-sphere", 1, "moved_share", 0.125, at_most=True) for s in SIDES),
)


def _goals(rows: list[Report]) -> list[Report]:
    reports = []
    n = FULL_SIZES[-1]
    for goal in GOALS:
        wanted = {"problem": goal.problem, "n": n, "solver": "meniscus", "threads": goal.threads}
        row = next((r for r in rows if all(r[k] == v for k, v in wanted.items())), None)
        if row is None:
            continue
        reached = row.get(goal.figure)

        def judged(limit: float | None, reached: float | None = reached, at_most: bool = goal.at_most) -> bool | None:
            if limit is None or reached is None:
                return None
            return reached <= limit if at_most else reached >= limit

        reports.append(
            {
                "what": goal.what,
                "problem": goal.problem,
                "n": n,
                "threads": goal.threads,
                "value": reached,
                "at_most": goal.at_most,
                "wanted": {"floor": goal.floor, "goal": goal.goal},
                "reached": {"floor": judged(goal.floor), "goal": judged(goal.goal)},
            }
        )
    return reports


def report(cases: list[tuple[str, int, list[Solver]]], runs: list[Run]) -> Report:
    """All rows, goals, and the solvers that could not take part."""
    rows = [_row(r) for r in runs]
    _compare(rows)
    absent = {s.key: s for _, _, solvers in cases for s in solvers if s.prepare is None}
    return {
        "tolerance": poisson_solvers.TOLERANCE,
        "rows": rows,
        "goals": _goals(rows),
        "absent": [{"solver": s.key, "library": s.library, "method": s.method, "reason": s.unavailable} for s in absent.values()],
    }
