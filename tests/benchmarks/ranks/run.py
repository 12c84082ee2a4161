"""Command line of the benchmark of ranks, in the folder `tests/benchmarks`:

`python -m ranks.run [--json FILE] [--table FILE.md] [--only PATTERN] [--rounds N] [--quick]`
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from pathlib import Path

import environment
from harness import show_progress
from tables import pages

from ranks import report
from ranks.launch import Ranks, Run
from ranks.works import WITH_WATER, WORKS

CUT = (2, 2, 2)
TWO_CORES = (
    Ranks(1),
    Ranks(1, threads=2),
    Ranks(2),
    Ranks(2, transport="mpich"),
    Ranks(2, transport="openmpi"),
    Ranks(2, threads=2),
    Ranks(2, threads=2, transport="mpich"),
)
DIVIDED = (Ranks(2, divided=True), Ranks(2, transport="mpich", divided=True), Ranks(2, transport="openmpi", divided=True))
DELAYS = ((1e-3, None), (0.0, 2e8), (3e-4, 5e8))


def groups(*, quick: bool) -> dict[str, list[Run]]:
    """All runs. Those with which others are compared come first."""
    side, steps, warm_up = (16, 1, 1) if quick else (128, 3, 2)
    cells = {work: (side, side // 2, side // 2) if work in ("liquid", "flip") else (side,) * 3 for work in WORKS}
    delayed = [Ranks(2), *(Ranks(2, latency=latency, bandwidth=bandwidth) for latency, bandwidth in DELAYS)]
    return {
        "two cores": [Run(w, cells[w], r, steps, warm_up) for w in WORKS for r in (*TWO_CORES, *(DIVIDED if w in WITH_WATER else ()))],
        "eight ranks": [Run(w, cells[w], r, steps, warm_up) for w in WORKS for r in (Ranks(1), Ranks(8))],
        "slower messages": [
            Run(w, tuple(n // (1 if quick else 2) for n in cells[w]), r, steps, warm_up)
            for w in WORKS
            for r in delayed  # type: ignore[arg-type]
        ],
    }


def measure(runs: dict[str, list[Run]], rounds: int) -> dict[str, list[report.Samples]]:
    """Measure all, each once in every round."""
    samples = {group: [report.Samples(run, problem=run.ranks.unavailable) for run in listed] for group, listed in runs.items()}
    for k in range(rounds):
        for group, listed in samples.items():
            for s in listed:
                if s.problem is not None:
                    continue
                show_progress(f"round {k + 1}/{rounds}, {group}: {s.run.name}")
                try:
                    s.rounds.append(s.run.measure())
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    s.problem = str(error)
    show_progress("")
    return samples


def main(given: list[str] | None = None) -> None:
    """Run, print, write."""
    parser = argparse.ArgumentParser(description="Time solvers on ranks and threads, and compare with the model.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    parser.add_argument("--table", type=Path, metavar="FILE.md", help="put the tables between the markers of this Markdown page")
    parser.add_argument(
        "--only", metavar="PATTERN", default="", help="run the groups and runs in whose name this regular expression is found"
    )
    parser.add_argument("--rounds", type=int, metavar="N", default=None, help="rounds over all runs (default 3; 1 with --quick)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that everything runs")
    options = parser.parse_args(given)
    if options.table is not None and not pages.has_markers(options.table):
        parser.error(f"{options.table} must hold the lines '{pages.BEGIN}' and '{pages.END}'")
    chosen = {
        group: [run for run in listed if re.search(options.only, f"{group}: {run.name}")]
        for group, listed in groups(quick=options.quick).items()
    }
    if not any(chosen.values()):
        raise SystemExit(f"no run has a name that matches {options.only!r}")
    before = environment.load_average()
    samples = measure(chosen, options.rounds or (1 if options.quick else 3))
    about = environment.environment()
    lines = [
        f"Date: {about['date']}; load average before and after: {before} and {environment.load_average()}",
        f"Processor: {about['cpu']}, {about['logical_cpus']} logical; meniscus {about['meniscus']}, instruction set {about['simd']}",
    ]
    tables = [
        report.strong_table(samples["two cores"]),
        report.weak_table(samples["eight ranks"]),
        report.delay_table(samples["slower messages"]),
        *report.scaling_tables(samples["eight ranks"], CUT),
    ]
    content = report.markdown([t for t in tables if t.rows], lines)
    print(content)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"environment": about} | report.summary(samples), indent=1) + "\n", encoding="utf-8")
    if options.table is not None:
        report.write_page(options.table, content)


if __name__ == "__main__":
    main()
