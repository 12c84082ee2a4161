"""Rows, goals and tables from timed steps of the gas solver."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peers import smoke_peers
from tables.table import NONE, Table, number, starred

if TYPE_CHECKING:
    from peers.smoke_peers import StepPeer
    from smoke import Run

FLOOR = 1.2
GOAL = 2.0
SPEEDUP = 1.6
EXTRA_TIME = 0.05
STAGES = {
    "emit": "save, emit",
    "transport": "transport",
    "add_forces": "forces",
    "diffuse": "diffuse",
    "project": "project",
    "rest": "rest",
}

Report = dict[str, Any]


def _row(run: Run) -> Report:
    """One run without what compares it with others."""
    t, cells = run.timing, run.n**3
    return {
        "name": run.name,
        "variant": run.variant,
        "n": run.n,
        "cells": cells,
        "threads": run.threads,
        "particles": run.particles,
        "samples": len(t.seconds),
        "seconds_best": t.best,
        "seconds_median": t.median,
        "cpu_seconds": min(t.cpu_seconds),
        "disturbed": t.disturbed,
        "cores_busy": t.cores,
        "mcells_per_s": cells / t.best / 1e6,
        "stage_seconds": run.best_stages,
        "iterations": run.iterations,
        "cfl": run.cfl,
        "bytes_per_cell": run.bytes / cells,
        "speedup": None,
        "extra_time": None,
    }


def _compare(rows: list[Report]) -> None:
    """Add speed-up and the extra time of vortex particles; left out where one of the two was disturbed."""
    quiet = {(r["variant"], r["n"], r["threads"]): r["seconds_best"] for r in rows if not r["disturbed"]}
    for row in rows:
        mine = quiet.get((row["variant"], row["n"], row["threads"]))
        one = quiet.get((row["variant"], row["n"], 1))
        plain = quiet.get(("plain", row["n"], row["threads"]))
        if mine and one and row["threads"] == 2:
            row["speedup"] = one / mine
        if mine and plain and row["variant"] == "particles":
            row["extra_time"] = mine / plain - 1


def _goal(what: str, row: Report, figure: str, goal: float, floor: float | None = None, *, at_most: bool = False) -> Report:
    value = row[figure]

    def judged(limit: float | None) -> bool | None:
        if limit is None or value is None:
            return None
        enough = bool(value <= limit if at_most else value >= limit)
        # A rate that was disturbed is too low: it may say yes but not no.
        return None if figure == "mcells_per_s" and row["disturbed"] and not enough else enough

    return {
        "what": what,
        "case": row["name"],
        "threads": row["threads"],
        "value": value,
        "at_most": at_most,
        "disturbed": row["disturbed"],
        "wanted": {"floor": floor, "goal": goal},
        "reached": {"floor": judged(floor), "goal": judged(goal)},
    }


def _goals(rows: list[Report], size: int) -> list[Report]:
    goals = []
    for row in (r for r in rows if r["n"] == size):
        if row["variant"] != "particles" and row["threads"] == 1:
            goals.append(_goal("Mcell/s per core", row, "mcells_per_s", GOAL, FLOOR))
        elif row["variant"] != "particles":
            goals.append(_goal("speed-up on two threads", row, "speedup", SPEEDUP))
        else:
            goals.append(_goal("extra time of vortex particles", row, "extra_time", EXTRA_TIME, at_most=True))
    return goals


def _peer(peer: StepPeer, rows: list[Report]) -> Report:
    ours = next((r for r in rows if (r["variant"], r["n"], r["threads"]) == ("plain", peer.n, 1)), None)
    best = min(peer.seconds) if peer.seconds else None
    comparable = best is not None and ours is not None and not ours["disturbed"]
    return {
        "name": peer.name,
        "library": peer.library,
        "remark": smoke_peers.REMARK,
        "n": peer.n,
        "samples": len(peer.seconds),
        "seconds_best": best,
        "mcells_per_s": None if best is None else peer.n**3 / best / 1e6,
        "iterations": peer.iterations,
        "divergence": peer.divergence,
        "ratio": best / ours["seconds_best"] if comparable and best is not None and ours is not None else None,
        "unavailable": peer.unavailable or None,
    }


def report(runs: list[Run], peers: list[StepPeer], *, size: int, tolerance: float) -> Report:
    """All rows, the peers beside them, and the goals at `size` cells per axis."""
    rows = [_row(r) for r in runs]
    _compare(rows)
    return {"tolerance": tolerance, "rows": rows, "peers": [_peer(p, rows) for p in peers], "goals": _goals(rows, size)}


# --- tables ----------------------------------------------------------------------------------------------------------------------


def _percent(value: float | None) -> str:
    return NONE if value is None else f"{100 * value:.1f} %"


def goal_table(report: Report) -> Table:
    """Goals and what was reached."""
    table = Table("Smoke step: goals", ("case", "threads", "what", "reached", "floor", "goal"))
    for g in report["goals"]:
        write = _percent if g["at_most"] else number

        def mark(what: str, g: Report = g) -> str:
            wanted, reached = g["wanted"][what], g["reached"][what]
            if wanted is None:
                return NONE
            limit = f"≤ {_percent(wanted)}" if g["at_most"] else f"≥ {number(wanted)}"
            return f"{limit} {'' if reached is None else 'yes' if reached else 'no'}".strip()

        shown = write(g["value"]) + ("*" if g["disturbed"] and g["value"] is not None else "")
        table.rows.append((g["case"], str(g["threads"]), g["what"], shown, mark("floor"), mark("goal")))
    return table


def step_table(report: Report) -> Table:
    """Time, rate and memory of all cases."""
    columns = ("case", "threads", "ms per step", "Mcell/s", "x", "extra time", "iterations", "CFL", "B per cell")
    table = Table("Smoke step: whole steps, float32", columns)
    for r in report["rows"]:
        milliseconds = f"{starred(1e3 * r['seconds_best'], r['disturbed'])} ({number(1e3 * r['seconds_median'])})"
        figures = (starred(r["mcells_per_s"], r["disturbed"]), number(r["speedup"]), _percent(r["extra_time"]))
        last = (str(r["iterations"]), number(r["cfl"]), number(r["bytes_per_cell"]))
        table.rows.append((r["name"], str(r["threads"]), milliseconds, *figures, *last))
    return table


def stage_table(report: Report) -> Table:
    """Table of the time of the stages of the best step."""
    table = Table("Smoke step: ms per stage", ("case", "threads", *STAGES.values()))
    for r in report["rows"]:
        table.rows.append((r["name"], str(r["threads"]), *(number(1e3 * r["stage_seconds"][s]) for s in STAGES)))
    return table


def peer_table(report: Report) -> Table:
    """The other library beside our plain case."""
    columns = ("case", "library", "what", "ms per step", "Mcell/s", "iterations", "divergence left", "times faster, 1 thread")
    table = Table("Smoke step: peer", columns)
    for p in report["peers"]:
        seconds = p["unavailable"] or number(1e3 * p["seconds_best"])
        iterations = NONE if p["iterations"] is None else str(p["iterations"])
        left = NONE if p["divergence"] is None else f"{p['divergence']:.1e}"
        table.rows.append((p["name"], p["library"], p["remark"], seconds, number(p["mcells_per_s"]), iterations, left, number(p["ratio"])))
    return table


def tables(report: Report) -> list[Table]:
    """All of them; those without rows are left out by the caller."""
    return [goal_table(report), step_table(report), stage_table(report), peer_table(report)]
