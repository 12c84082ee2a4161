"""Tables of the Poisson solves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tables.table import NONE, Table, number, starred

Report = dict[str, Any]
TITLES = {
    "box": "Poisson: box, Dirichlet on all sides",
    "sphere": "Poisson: sphere with cut cells in a closed box",
    "tank": "Poisson: half-filled tank, ghost-fluid surface",
}


def _pairs(rows: list[Report]) -> Iterable[tuple[Report, Report | None]]:
    """Rows on one thread, each with the same on two where there is one."""
    twos = {r["name"]: r for r in rows if r["threads"] == 2}
    return ((r, twos.get(r["name"])) for r in rows if r["threads"] == 1)


def _seconds(row: Report | None) -> str:
    if row is None or row["failure"] is not None:
        return NONE
    return f"{starred(row['seconds_best'], row['disturbed'])} ({number(row['seconds_median'])})"


def _figure(row: Report | None, key: str) -> str:
    return NONE if row is None else number(row.get(key))


def problem_table(report: Report, problem: str) -> Table:
    """All sizes and solvers of one problem."""
    columns = (
        "cells",
        "solver",
        "iterations",
        "s, 1 thread",
        "s, 2 threads",
        "x",
        "setup s",
        "s per iteration",
        "ns per unknown",
        "and iteration",
        "B per cell",
        "residual",
        "times hypre, 1 thread",
        "2 threads",
        "with setup",
    )
    table = Table(TITLES[problem], columns)
    for one, two in _pairs([r for r in report["rows"] if r["problem"] == problem]):
        cells, solver = f"{one['n']}^3", f"{one['solver']}, {one['method']}"
        if one["failure"] is not None:
            table.rows.append((cells, solver, one["failure"], *[NONE] * (len(columns) - 3)))
            continue
        table.rows.append(
            (
                cells,
                solver,
                str(one["iterations"]),
                _seconds(one),
                _seconds(two),
                _figure(two, "speedup"),
                _figure(one, "setup_seconds"),
                _figure(one, "seconds_per_iteration"),
                _figure(one, "ns_per_unknown"),
                _figure(one, "ns_per_unknown_and_iteration"),
                _figure(one, "bytes_per_cell"),
                f"{one['true_residual']:.1e}",
                _figure(one, "times_hypre"),
                _figure(two, "times_hypre"),
                _figure(one, "times_hypre_with_setup"),
            )
        )
    return table


def box_table(report: Report) -> Table:
    """Table of the cost of cut cells and of a free surface, per unknown, compared with the box."""
    columns = ("time per unknown over that of the box, 1 thread", "cells", "sphere", "per iteration", "tank", "per iteration")
    table = Table("Poisson: cost of cut cells and of a free surface", columns)
    by_case: dict[tuple[str, int], dict[str, Report]] = {}
    for r in report["rows"]:
        if r["threads"] == 1:
            by_case.setdefault((f"{r['solver']}, {r['method']}", r["n"]), {})[r["problem"]] = r
    for (solver, n), rows in sorted(by_case.items(), key=lambda c: c[0][1]):
        figures = [_figure(rows.get(p), f) for p in ("sphere", "tank") for f in ("box_ratio", "box_ratio_per_iteration")]
        if any(f != NONE for f in figures):
            table.rows.append((solver, f"{n}^3", *figures))
    return table


def goal_table(report: Report) -> Table:
    """Goals and what was reached."""
    table = Table("Poisson: goals", ("problem", "what", "reached", "floor", "goal"))

    def mark(goal: Report, what: str) -> str:
        wanted, reached = goal["wanted"][what], goal["reached"][what]
        if wanted is None:
            return NONE
        sign = "≤" if goal["at_most"] else "≥"
        return f"{sign} {number(wanted)} {'' if reached is None else 'yes' if reached else 'no'}".strip()

    for g in report["goals"]:
        problem = f"{g['problem']}, {g['n']}^3, {g['threads']} thread{'s' if g['threads'] > 1 else ''}"
        table.rows.append((problem, g["what"], number(g["value"]), mark(g, "floor"), mark(g, "goal")))
    return table


def solver_table(report: Report) -> Table:
    """Who took part, how it was built and set up, and who could not."""
    table = Table("Poisson: solvers", ("solver", "library", "method", "build", "settings"))
    seen: dict[str, Report] = {}
    settings: dict[str, dict[str, list[str]]] = {}
    for r in report["rows"]:
        seen.setdefault(r["solver"], r)
        if r["settings"]:
            problems = settings.setdefault(r["solver"], {}).setdefault(r["settings"], [])
            if r["problem"] not in problems:
                problems.append(r["problem"])
    for key, r in seen.items():
        used = settings.get(key, {})
        shown = [s if len(used) == 1 else f"{s} ({', '.join(p)})" for s, p in used.items()]
        table.rows.append((key, r["library"], r["method"], r["build"], "; ".join(shown) or NONE))
    table.rows += [(a["solver"], a["library"], a["method"], a["reason"], NONE) for a in report["absent"]]
    return table


def tables(report: Report) -> list[Table]:
    """All of them; those without rows are left out by the caller."""
    return [goal_table(report), *(problem_table(report, p) for p in TITLES), box_table(report), solver_table(report)]
