"""Report of timed samples, written as JSON: rates, speed-ups, implied bandwidth, goals and ratios to the peers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from harness import Case, Timing, rate
from peers.libraries import Peer

SCHEMA = 1
# The part of the measured bandwidth from which on a case counts as bound by memory.
MEMORY_BOUND = 0.6


@dataclass(frozen=True)
class Goal:
    """Rate that a case shall at least have on one core (`floor`) and the one aimed at (`goal`), in its unit; speed-up on two threads."""

    case: str
    floor: float | None = None
    goal: float | None = None
    speedup: float | None = None


GOALS = (
    Goal("scalar/3d/float32/maccormack-euler", goal=35.0),
    Goal("scalar/3d/float32/maccormack-midpoint", floor=15.0, goal=20.0, speedup=1.6),
    Goal("velocity/3d/float32/maccormack-euler", floor=8.0, goal=12.0),
    Goal("velocity/3d/float32/maccormack-midpoint", floor=8.0, goal=12.0, speedup=1.6),
    Goal("scalar/3d/float64/semi-lagrangian-midpoint", goal=15.0, speedup=1.6),
    Goal("scalar/3d/float64/semi-lagrangian-cubic-midpoint", goal=8.0, speedup=1.6),
    Goal("solids/1e5/corotational/force-and-matrix/frozen", floor=2.0, goal=5.0, speedup=1.6),
    Goal("solids/1e6/corotational/force-and-matrix/frozen", floor=2.0, goal=5.0, speedup=1.6),
    Goal("particles/float32/to-grid/pic", floor=10.0, goal=25.0, speedup=1.6),
    Goal("particles/float64/to-particles/flip", floor=10.0, goal=25.0, speedup=1.6),
    Goal("particles/128/float32/carry", speedup=1.6),
    Goal("particles/128/float32/correct", speedup=1.6),
    Goal("particles/128/float32/advance", speedup=1.6),
    Goal("tet-vof/3e5/request", floor=5.0, goal=10.0, speedup=1.6),
    Goal("tet-vof/3e5/conservation", floor=4.0, goal=10.0, speedup=1.6),
    Goal("tet-vof/3e5/ranks", goal=5.0, speedup=1.6),
    Goal("tet-vof/3e5/cut-cells", goal=1.0, speedup=1.6),
    Goal("tet-vof/3e5/step-all-wet", speedup=1.6),
)

Timings = dict[str, dict[int, Timing]]
Report = dict[str, Any]


def reference_probe(case: Case, timings: dict[int, Timing], probes: list[Case]) -> Case:
    """The smallest probe with at least as many bytes as the case has, else the largest one."""
    bytes_held = case.state_bytes + case.other_bytes + max(t.workspace_bytes for t in timings.values())
    by_size = sorted(probes, key=lambda p: p.state_bytes)
    return next((p for p in by_size if p.state_bytes >= bytes_held), by_size[-1])


def case_report(case: Case, all_timings: Timings, probes: list[Case]) -> Report:
    """Everything about one case; its traffic is compared with one of the probes."""
    timings = all_timings[case.name]
    bandwidth: dict[int, float] = {}
    probe = reference_probe(case, timings, probes) if probes and case.traffic is not None else None
    if probe is not None:
        bandwidth = {n: rate(probe, t.best) for n, t in all_timings[probe.name].items()}
    results = [_result(case, timing, bandwidth) for _, timing in sorted(timings.items())]
    best = {r["threads"]: r["rate_best"] for r in results}
    workspace = max((t.workspace_bytes for t in timings.values()), default=0)
    report: Report = {
        "name": case.name,
        "group": case.group,
        "unit": case.unit,
        "work": case.work,
        "parameters": {k: list(v) if isinstance(v, tuple) else v for k, v in case.parameters.items()},
        "results": results,
        "reference_probe": None if probe is None else probe.name,
        "speedup": best[2] / best[1] if best.keys() == {1, 2} and not any(r["disturbed"] for r in results) else None,
        "memory": {
            "state_bytes": case.state_bytes,
            "other_bytes": case.other_bytes,
            "workspace_bytes": workspace,
            "bytes_per_item": (case.state_bytes + workspace) / case.work,
        },
        "traffic": None,
    }
    if case.traffic is not None:
        report["traffic"] = {
            "passes": [asdict(p) for p in case.traffic.passes],
            "value_bytes": case.traffic.value_bytes,
            "moved_bytes": case.traffic.moved,
            "ownership_bytes": case.traffic.ownership,
            "gathered_values": case.traffic.gathered,
        }
    return report


def _result(case: Case, timing: Timing, bandwidth: dict[int, float]) -> Report:
    result: Report = {
        "threads": timing.threads,
        "simd": timing.simd,
        "samples": len(timing.seconds),
        "seconds_best": timing.best,
        "seconds_median": timing.median,
        "cores_busy": timing.cores,
        "disturbed": timing.disturbed,
        "rate_per_cpu_second": rate(case, max(min(timing.cpu_seconds), 1e-9)),
        "rate_best": rate(case, timing.best),
        "rate_median": rate(case, timing.median),
        "ns_per_item": timing.best / case.work * 1e9,
        "memory_ns_per_item": None,
        "implied_gb_per_s": None,
        "bandwidth_share": None,
        "bound_by": None,
        "gathered_g_per_s": None,
    }
    if case.traffic is not None:
        items_per_second = case.work / timing.best
        result["implied_gb_per_s"] = items_per_second * (case.traffic.moved + case.traffic.ownership) / 1e9
        result["gathered_g_per_s"] = items_per_second * case.traffic.gathered / 1e9
        if timing.threads in bandwidth:
            share = result["implied_gb_per_s"] / bandwidth[timing.threads]
            result["bandwidth_share"] = share
            result["memory_ns_per_item"] = share * result["ns_per_item"]
            result["bound_by"] = "memory" if share >= MEMORY_BOUND else "computation"
    return result


def _judged(reached: float, wanted: float | None, disturbed: bool) -> bool | None:
    """Return whether a goal is reached; a disturbed rate, which is too low, can reach it but not miss it."""
    if wanted is None or (disturbed and reached < wanted):
        return None
    return reached >= wanted


def goal_reports(cases: list[Report]) -> list[Report]:
    """The goals whose case was measured."""
    by_name = {c["name"]: c for c in cases}
    reports = []
    for goal in GOALS:
        case = by_name.get(goal.case)
        if case is None:
            continue
        result = next(r for r in case["results"] if r["threads"] == 1)
        one = result["rate_best"]
        reached = {
            "floor": _judged(one, goal.floor, result["disturbed"]),
            "goal": _judged(one, goal.goal, result["disturbed"]),
            "speedup": None if goal.speedup is None or case["speedup"] is None else case["speedup"] >= goal.speedup,
        }
        wanted = {"floor": goal.floor, "goal": goal.goal, "speedup": goal.speedup}
        reports.append(
            {
                "case": goal.case,
                "unit": case["unit"],
                "rate": one,
                "rate_per_cpu_second": result["rate_per_cpu_second"],
                "disturbed": result["disturbed"],
                "speedup": case["speedup"],
                "wanted": wanted,
                "reached": reached,
            }
        )
    return reports


def peer_reports(peers: list[Peer], timings: Timings, cases: list[Report]) -> list[Report]:
    """Peers beside our own one-thread rates."""
    ours = {c["name"]: r for c in cases for r in c["results"] if r["threads"] == 1}
    reports = []
    for peer in peers:
        theirs = None
        disturbed = False
        if peer.case is not None:
            timing = timings[peer.name][1]
            theirs, disturbed = rate(peer.case, timing.best), timing.disturbed
        our_result = ours.get(peer.counterpart, {})
        mine = our_result.get("rate_best")
        reports.append(
            {
                "name": peer.name,
                "library": peer.library,
                "remark": peer.remark,
                "counterpart": peer.counterpart,
                "unit": "Mcell/s" if peer.case is None else peer.case.unit,
                "rate": theirs,
                "disturbed": disturbed,
                "counterpart_rate": mine,
                "counterpart_disturbed": our_result.get("disturbed", False),
                "ratio": mine / theirs if mine and theirs else None,
                "largest_difference": peer.largest_difference,
                "rms_difference": peer.rms_difference,
                "unavailable": peer.unavailable or None,
            }
        )
    return reports


def report(cases: list[Case], peers: list[Peer], timings: Timings, suites: Report, environment: Report, settings: Report) -> Report:
    """The whole run; `suites` are the reports of parts that measure by themselves."""
    probes = [c for c in cases if c.group == "bandwidth"]
    own = [c for c in cases if c.group not in ("bandwidth", "peers")]
    rows = [case_report(c, timings, probes) for c in own]
    return {
        "schema": SCHEMA,
        "environment": environment,
        "settings": settings,
        "bandwidth": [case_report(p, timings, []) for p in probes],
        "cases": rows,
        "peers": peer_reports(peers, timings, rows),
        "goals": goal_reports(rows),
        **suites,
    }
