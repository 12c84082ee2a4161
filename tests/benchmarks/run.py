"""Command line of the benchmarks: `python tests/benchmarks/run.py [--json FILE] [--table FILE.md] [--only PATTERN] [--rounds N] [--quick]`.

Needs the extra `bench`; the peers are optional. docs/performance.md says how to read the columns.
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import bandwidth
import collision
import environment
import geometry
import harness
import levelsets
import liquid
import particle_liquid
import particles
import poisson
import smoke
import solids
import springs
import surfaces
import transport
import vorticity
from contact import position_projections, world_loops
from peers import libraries
from tables import pages, results
from tets import tet_vof


def arguments(given: list[str] | None = None) -> argparse.Namespace:
    """Parse and check the command line."""
    parser = argparse.ArgumentParser(description="Time the hot parts of the library beside the memory bandwidth and libraries.")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything that was measured")
    parser.add_argument("--table", type=Path, metavar="FILE.md", help="put the tables between the markers of this Markdown page")
    parser.add_argument("--only", metavar="PATTERN", help="run the cases in whose name this regular expression is found")
    parser.add_argument("--rounds", type=int, metavar="N", help="rounds over all cases (default 7; 2 with --quick; Poisson at most 3)")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that everything runs")
    options = parser.parse_args(given)
    if options.rounds is not None and options.rounds < 1:
        parser.error("--rounds must be at least 1")
    if options.table is not None and not pages.has_markers(options.table):
        parser.error(f"{options.table} must hold the lines '{pages.BEGIN}' and '{pages.END}'")
    if options.only is not None:
        try:
            re.compile(options.only)
        except re.error as error:
            parser.error(f"--only is not a regular expression: {error}")
    return options


def main(given: list[str] | None = None) -> None:
    """Run, print, write."""
    options = arguments(given)
    sizes = transport.QUICK if options.quick else transport.FULL
    rounds = options.rounds or (2 if options.quick else 7)

    def chosen(name: str) -> bool:
        return options.only is None or re.search(options.only, name) is not None

    load_before = environment.load_average()
    worlds = transport.make_worlds(sizes)
    cases = bandwidth.probes(quick=options.quick)
    cases += [c for c in transport.cases(worlds, sizes) if chosen(c.name)]
    cases += [c for c in vorticity.cases(worlds) if chosen(c.name)]
    others = libraries.all_peers(worlds, chosen)
    rooms = (solids, springs, world_loops, position_projections, levelsets, surfaces, particles, particle_liquid, liquid, geometry, tet_vof)
    for room in rooms:
        cases += room.cases(options.quick, chosen)
        others += room.peers(options.quick, chosen)
    solves = poisson.chosen_cases(poisson.QUICK_SIZES if options.quick else poisson.FULL_SIZES, chosen)
    steps = smoke.chosen_cases(options.quick, chosen)
    scenes = collision.chosen_cases(options.quick, chosen)
    if len(cases) == len(bandwidth.probes(quick=True)) and not others and not solves and not steps and not scenes:
        raise SystemExit(f"no case has a name that matches {options.only!r}")
    cases += [p.case for p in others if p.case is not None]
    timings = harness.measure(cases, rounds)
    runs = poisson.measure(solves, rounds)
    step_runs, step_peers = smoke.measure(steps, rounds, quick=options.quick)
    collision_runs = collision.measure(scenes, rounds, chosen)
    settings = {
        "quick": options.quick,
        "only": options.only,
        "rounds": rounds,
        "cfl": transport.CFL,
        "load_before": load_before,
        "load_after": environment.load_average(),
    }
    suites = {
        "poisson": poisson.report(solves, runs),
        "smoke": smoke.report(step_runs, step_peers),
        "collision": collision.report(*collision_runs),
    }
    report = results.report(cases, others, timings, suites, environment.environment(), settings)
    pages.show(report)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    if options.table is not None:
        pages.write_markdown(report, options.table)


if __name__ == "__main__":
    main()
