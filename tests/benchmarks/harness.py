"""Timing of cases: several rounds, all cases interleaved in each, best and median of all samples.

A disturbance of the machine that lasts longer than one call affects one sample of many cases instead of all samples of one. The best sample
shows what the code can do; its difference from the median shows how quiet the machine was. On Linux, the time that our threads were ready
but waited for a core is recorded too: a best sample that waited says nothing about speed-up.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from traffic import Traffic

import meniscus as ms

THREADS = (1, 2)

# A visit of a case in a round takes samples until it has this many, or has taken this long.
SAMPLES_PER_VISIT = 3
SECONDS_PER_VISIT = 0.25
# Slower calls are not warmed up again after the first round; there are peers that take seconds.
SLOW_CALL = 2.0
# A sample is disturbed if our threads waited for a core for more than this part of it.
TOLERATED_WAIT = 0.05

TASKS = Path("/proc/self/task")

SCALE = dict.fromkeys(
    (
        "Mcell/s",
        "Mpoint/s",
        "Mparticle/s",
        "Mghost/s",
        "Mtet/s",
        "Mface/s",
        "Mspring/s",
        *("Mray/s", "Mbox/s", "Mquery/s", "Msample/s", "Mprojection/s"),
    ),
    1e6,
) | {
    "evaluation/s": 1,
    "iteration/s": 1,
    "GB/s": 1e9,
}


def nothing() -> None:
    """Prepare nothing."""


@dataclass
class Case:
    """One thing to time.

    `run` is one call of it, `prepare` brings its data back to the start (not timed), `work` is how many cells, points or bytes a call
    handles, in the unit before the 'M' or 'G'. `traffic` is what a call must move per item; `state_bytes` the size of the field it works
    on and `other_bytes` of what it reads besides. `workspace` is the scratch memory of the calls; it is emptied after every visit, so
    that the cases do not add up.
    """

    name: str
    group: str
    work: int
    unit: str
    run: Callable[[], object]
    prepare: Callable[[], None] = nothing
    threads: tuple[int, ...] = THREADS
    simd: str | None = None
    traffic: Traffic | None = None
    workspace: ms.core.Workspace | None = None
    state_bytes: int = 0
    other_bytes: int = 0
    parameters: dict[str, Any] = field(default_factory=dict)
    rounds: int | None = None  # fewer for peers that take seconds per call


@dataclass
class Timing:
    """Samples of one case on one number of threads."""

    threads: int
    simd: str
    seconds: list[float] = field(default_factory=list)
    cpu_seconds: list[float] = field(default_factory=list)
    waited_seconds: list[float | None] = field(default_factory=list)
    workspace_bytes: int = 0

    @property
    def best(self) -> float:
        return min(self.seconds)

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def disturbed(self) -> bool:
        """Did our threads have to wait for a core in the best sample? False where the system does not tell."""
        waited = self.waited_seconds[self.seconds.index(self.best)]
        return waited is not None and waited > TOLERATED_WAIT * self.best

    @property
    def cores(self) -> float:
        """Cores that were busy for us in the best sample; fewer than threads: a serial part, or others had the core."""
        return self.cpu_seconds[self.seconds.index(self.best)] / self.best


def rate(case: Case, seconds: float) -> float:
    """Work per second in the unit of the case."""
    return case.work / seconds / SCALE[case.unit]


def measure(cases: Iterable[Case], rounds: int, *, progress: bool = True) -> dict[str, dict[int, Timing]]:
    """Time all cases; returns samples by name and number of threads."""
    cases = list(cases)
    threads_before, level_before = ms.core.num_threads(), ms.core.simd_level()
    timings: dict[str, dict[int, Timing]] = {c.name: {} for c in cases}
    try:
        for r in range(rounds):
            for threads in THREADS:
                ms.core.set_num_threads(threads)
                chosen = [c for c in cases if threads in c.threads and (c.rounds is None or r < c.rounds)]
                for i, case in enumerate(chosen):
                    if progress:
                        show_progress(f"round {r + 1}/{rounds}, {threads} thread(s), {i + 1}/{len(chosen)}: {case.name}")
                    ms.core.set_simd_level(case.simd or level_before)
                    timing = timings[case.name].setdefault(threads, Timing(threads, ms.core.simd_level()))
                    _visit(case, timing)
    finally:
        ms.core.set_num_threads(threads_before)
        ms.core.set_simd_level(level_before)
        if progress:
            show_progress("")
    return timings


def _visit(case: Case, timing: Timing) -> None:
    if not timing.seconds or timing.best < SLOW_CALL:
        # Threads start, scratch memory is allocated, and the data of the case before leave the caches.
        case.prepare()
        case.run()
    spent = 0.0
    for _ in range(SAMPLES_PER_VISIT):
        case.prepare()
        waited = time_waited()
        cpu, start = time.process_time(), time.perf_counter()
        case.run()
        elapsed = time.perf_counter() - start
        timing.cpu_seconds.append(time.process_time() - cpu)
        waited_after = time_waited()
        timing.waited_seconds.append(None if waited is None or waited_after is None else waited_after - waited)
        timing.seconds.append(elapsed)
        spent += elapsed
        if spent > SECONDS_PER_VISIT:
            break
    if case.workspace is not None:
        timing.workspace_bytes = max(timing.workspace_bytes, case.workspace.nbytes)
        case.workspace.clear()


def time_waited() -> float | None:
    """Seconds that all threads of this process were ready to run but had no core, or None where the system does not say."""
    try:
        states = [(task / "schedstat").read_text(encoding="ascii") for task in TASKS.iterdir()]
        return sum(int(s.split()[1]) for s in states) * 1e-9
    except (OSError, IndexError, ValueError):
        return None


def show_progress(text: str) -> None:
    """Replace the line that says what is running, where somebody can see it."""
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
