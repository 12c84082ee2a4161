"""Tables of the Poisson solves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tables.table import NONE, Table, number, starred

Report = dict[str, Any]
SIDES = {
    "far": "value given one cell beyond the sides",
    "faces": "value given on the sides",
    "closed": "walls",
    "top": "walls and an open top",
    "periodic": "periodic",
}
INSIDES = {"empty": "nothing inside", "sphere": "sphere with cut cells", "half": "half full, ghost-fluid surface"}
TITLES = {f"{s}-{i}": f"Poisson: {side}, {inside}" for s, side in SIDES.items() for i, inside in INSIDES.items()}


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
        "moved s",
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
                _figure(one, "moved_seconds"),
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


def kinds_table(report: Report) -> Table:
    """Our multigrid on the largest size of all problems, beside hypre."""
    columns = (
        "sides",
        "inside",
        "cells",
        "iterations",
        "s",
        "ns per unknown and iteration",
        "over the box",
        "setup over solve",
        "after a move of one cell",
        "times hypre",
        "with setup",
        "x on 2 threads",
        "hypre: iterations",
        "s",
        "setup s",
    )
    table = Table("Poisson: all kinds of sides and insides", columns)
    ours = [pair for pair in _pairs([r for r in report["rows"] if r["solver"] == "meniscus"]) if pair[0]["failure"] is None]
    largest = max((one["n"] for one, _ in ours), default=0)
    for one, two in ours:
        if one["n"] != largest:
            continue
        same = [r for r in report["rows"] if r["library"].startswith("hypre") and r["failure"] is None and r["threads"] == 1]
        same = [r for r in same if (r["problem"], r["n"]) == (one["problem"], largest)]
        hypre = min(same, key=lambda r: float(r["seconds_best"]), default=None)
        sides, inside = one["problem"].split("-")
        figures = ("ns_per_unknown_and_iteration", "box_ratio_per_iteration", "setup_share", "moved_share")
        figures += ("times_hypre", "times_hypre_with_setup")
        table.rows.append(
            (
                sides,
                inside,
                f"{largest}^3",
                str(one["iterations"]),
                _seconds(one),
                *(_figure(one, f) for f in figures),
                _figure(two, "speedup"),
                NONE if hypre is None else str(hypre["iterations"]),
                _seconds(hypre),
                _figure(hypre, "setup_seconds"),
            )
        )
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
    return [goal_table(report), kinds_table(report), *(problem_table(report, p) for p in TITLES), solver_table(report)]
