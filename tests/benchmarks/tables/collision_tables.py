"""Rows, goals and tables from timed collision cases."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from tables.table import NONE, Table, number, starred

if TYPE_CHECKING:
    from collision import Run

Report = dict[str, Any]
# What the names of cases end with, as far as it is known beforehand.
WHAT = (
    "candidates",
    "candidates-first",
    "candidates-grid",
    "candidates/lbvh",
    "candidates/hash-grid",
    "candidates/spatial-hash",
    "candidates/sweep-and-prune",
    "any",
    "parity",
    "any-moving-frame",
    "impact",
    "impact/additive",
    "self-intersections",
    "repulsion-find",
    "repulsion-push",
    "repulsion-rub",
    "repulsion-pruned",
    *(
        f"query-{kind}-{group}/{how}"
        for kind in ("vertex-face", "edge-edge")
        for group in ("all", "culled", "positive")
        for how in ("parity", "any", "tight-inclusion", "additive")
    ),
)
# Which case of the peer does what one of ours does.
COUNTERPARTS = {
    "candidates": "candidates/lbvh",
    "candidates-first": "candidates/lbvh",
    "candidates-grid": "candidates/hash-grid",
    "impact": "impact/additive",
}
GOAL_SCENE = "cloth-ball"
REPULSION_SCENE = "sheets-100000"


def summary(result: object) -> object:
    """Numbers of pairs instead of the pairs."""
    if isinstance(result, tuple):
        return [len(part) for part in result]
    if isinstance(result, np.ndarray):
        return int(result.sum()) if result.dtype == np.bool_ else len(result)
    return result


def _row(run: Run) -> Report:
    """One run without what compares it with others."""
    t, case = run.timing, run.case
    outcome = run.result
    seconds = t.best
    samples = len(t.seconds)
    if isinstance(outcome, dict):  # single calls time themselves
        seconds, samples = outcome["seconds_per_query"], int(outcome["queries"])
    return {
        "name": case.name,
        "scene": case.scene,
        "triangles": case.triangles,
        "what": case.what,
        "library": case.library,
        "remark": case.remark,
        "threads": t.threads,
        "samples": samples,
        "seconds_best": seconds,
        "seconds_median": seconds if isinstance(outcome, dict) else t.median,
        "disturbed": t.disturbed,
        "cores_busy": t.cores,
        "item": case.item,
        "items": case.work,
        "ns_per_item": seconds / max(case.work, 1) * 1e9,
        "us_per_triangle": None if case.item == "query" else seconds / case.triangles * 1e6,
        "result": outcome if isinstance(outcome, (int, float, list)) and outcome != float("inf") else None,
        "speedup": None,
        "times_peer": None,
    }


def _compare(rows: list[Report]) -> None:
    """Add speed-ups and ratios to the peer; left out where one of the two was disturbed."""
    quiet = {(r["scene"], r["what"], r["threads"]): r["seconds_best"] for r in rows if not r["disturbed"]}
    for row in rows:
        mine = quiet.get((row["scene"], row["what"], row["threads"]))
        one = quiet.get((row["scene"], row["what"], 1))
        peer = quiet.get((row["scene"], COUNTERPARTS.get(row["what"], ""), row["threads"]))
        if mine and one and row["threads"] == 2:
            row["speedup"] = one / mine
        if mine and peer:
            row["times_peer"] = peer / mine


def _goals(rows: list[Report]) -> list[Report]:
    """Table of goals and results on the larger pair of frames, of repulsion on sheets."""
    by_key = {
        (r["what"], r["threads"]): r for r in rows if r["scene"] == (REPULSION_SCENE if r["what"].startswith("repulsion") else GOAL_SCENE)
    }

    def goal(text: str, what: str, threads: int, figure: str, wanted: float, floor: float | None, at_most: bool) -> Report | None:
        row = by_key.get((what, threads))
        if row is None or row[figure] is None:
            return None
        value = row[figure]
        reached = value <= wanted if at_most else value >= wanted
        # A time that was disturbed is too long: it may say yes but not no.
        judged = None if row["disturbed"] and not reached else reached
        return {"what": text, "value": value, "at_most": at_most, "goal": wanted, "floor": floor, "reached": judged, "case": row["name"]}

    wanted = [
        goal("all candidates with refit, times faster than LBVH", "candidates", 1, "times_peer", 2.5, 1.0, False),
        *(
            goal(f"{mode}, ns per {kind} candidate", f"query-{kind}-all/{mode}", 1, "ns_per_item", limit, floor, True)
            for mode, limit, floor in (("parity", 100.0, 200.0), ("any", 150.0, 300.0))
            for kind in ("vertex-face", "edge-edge")
        ),
        *(
            goal(f"parity, ns per colliding {kind}", f"query-{kind}-positive/parity", 1, "ns_per_item", 1000.0, None, True)
            for kind in ("vertex-face", "edge-edge")
        ),
        *(
            goal(f"repulsion, {what}, ns per pair ({REPULSION_SCENE})", f"repulsion-{what}", 1, "ns_per_item", 50.0, 100.0, True)
            for what in ("push", "rub")
        ),
        *(goal(f"{what}, speed-up on two threads", what, 2, "speedup", 1.6, None, False) for what in ("any", "parity", "impact")),
    ]
    return [g for g in wanted if g is not None]


def _scaling(rows: list[Report]) -> list[Report]:
    """Cost per triangle beside that of the smallest stack of sheets."""
    found = []
    sheets = [r for r in rows if r["scene"].startswith("sheets-") and r["threads"] == 1 and r["us_per_triangle"] is not None]
    for row in sheets:
        smallest = min((r for r in sheets if r["what"] == row["what"]), key=lambda r: r["triangles"])
        found.append(
            {
                "what": row["what"],
                "library": row["library"],
                "triangles": row["triangles"],
                "us_per_triangle": row["us_per_triangle"],
                "times_smallest": row["us_per_triangle"] / smallest["us_per_triangle"],
            }
        )
    return found


def report(runs: list[Run], missing: list[str]) -> Report:
    """Rows, goals, growth with the size, and what is missing."""
    rows = [_row(r) for r in runs]
    _compare(rows)
    return {"rows": rows, "goals": _goals(rows), "scaling": _scaling(rows), "missing": missing if rows else []}


def goal_table(report: Report) -> Table:
    """Goals and what was reached."""
    table = Table(f"Collision: goals ({GOAL_SCENE})", ("what", "reached", "floor", "goal", ""))
    for g in report["goals"]:
        sign = "<=" if g["at_most"] else ">="
        floor = NONE if g["floor"] is None else f"{sign} {number(g['floor'])}"
        judged = NONE if g["reached"] is None else "yes" if g["reached"] else "no"
        table.rows.append((g["what"], number(g["value"]), floor, f"{sign} {number(g['goal'])}", judged))
    return table


def mesh_table(report: Report) -> Table:
    """Whole meshes."""
    columns = ("scene", "what", "library", "ms, 1 thread", "2 threads", "x", "ns per item", "item", "times faster, 1 thread", "2 threads")
    table = Table("Collision: whole meshes", columns)
    twos = {r["name"]: r for r in report["rows"] if r["threads"] == 2}
    for r in report["rows"]:
        if r["threads"] != 1 or r["item"] == "query":
            continue
        two = twos.get(r["name"])
        times = (
            starred(1e3 * r["seconds_best"], r["disturbed"]),
            NONE if two is None else starred(1e3 * two["seconds_best"], two["disturbed"]),
        )
        ratios = number(r["times_peer"]), NONE if two is None else number(two["times_peer"])
        speedup = NONE if two is None else number(two["speedup"])
        table.rows.append((r["scene"], r["what"], r["library"], *times, speedup, number(r["ns_per_item"]), r["item"], *ratios))
    return table


def query_table(report: Report) -> Table:
    """Single queries."""
    table = Table("Collision: single queries, one thread", ("scene", "what", "library", "queries", "us per query"))
    for r in report["rows"]:
        if r["item"] == "query":
            count = r["items"] if r["items"] > 1 else r["samples"]
            table.rows.append((r["scene"], r["what"], r["library"], str(count), starred(1e-3 * r["ns_per_item"], r["disturbed"])))
    return table


def scaling_table(report: Report) -> Table:
    """Table of the growth of the cost."""
    table = Table("Collision: growth with the size, one thread", ("what", "library", "triangles", "us per triangle", "times the smallest"))
    for r in report["scaling"]:
        table.rows.append((r["what"], r["library"], str(r["triangles"]), number(r["us_per_triangle"]), number(r["times_smallest"])))
    return table


def missing_table(report: Report) -> Table:
    """List of cases that could not be run."""
    table = Table("Collision: not measured", ("what",))
    table.rows += [(m,) for m in report["missing"]]
    return table


def tables(report: Report) -> list[Table]:
    """All of them; those without rows are left out by the caller."""
    return [goal_table(report), mesh_table(report), query_table(report), scaling_table(report), missing_table(report)]
