"""Output of a report as tables: on the terminal through rich, or as Markdown between the markers of a page."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tables import collision_tables, poisson_tables, smoke_report
from tables.table import NONE, Table, number, share, starred

BEGIN = "<!-- benchmarks: begin (generated, do not edit) -->"
END = "<!-- benchmarks: end -->"
TITLES = {
    "3d": "Transport in three dimensions",
    "2d": "Transport in two dimensions",
    "simd": "Instruction sets, one thread",
    "other": "Around transport",
    "solids": "Deformable solids",
    "levelset": "Level sets",
    "surfaces": "Surfaces of liquids",
    "particles": "Particles of liquids",
    "liquid": "Liquids with a free surface",
    "geometry": "Geometry: rays, location, moving meshes, hash, embedding, meshing, detection",
    "tet-vof": "Water on moving tetrahedra",
}

Report = dict[str, Any]


def _result(case: Report, threads: int) -> Report:
    return next((r for r in case["results"] if r["threads"] == threads), {})


def _rates(case: Report, threads: int) -> str:
    r = _result(case, threads)
    return f"{starred(r['rate_best'], r['disturbed'])} ({number(r['rate_median'])})" if r else NONE


def _cores(case: Report) -> str:
    return number(_result(case, 2).get("cores_busy"))


def _bytes(case: Report) -> str:
    t = case["traffic"]
    return NONE if t is None else f"{number(t['moved_bytes'])} + {number(t['ownership_bytes'])}"


def environment_lines(report: Report) -> list[str]:
    """The machine and the versions, one fact per line."""
    e, s = report["environment"], report["settings"]
    caches = ", ".join(f"{k} {v}" for k, v in e["caches"].items()) or "unknown"
    build = ", ".join(f"{k} {v}" for k, v in e["build"].items())
    size = "tiny sizes (--quick), which say nothing about speed" if s["quick"] else "full sizes"
    load = " and ".join(NONE if v is None else f"{v:g}" for v in (s["load_before"], s["load_after"]))
    return [
        f"Date: {e['date']}; {s['rounds']} rounds, {size}; load average before and after: {load}",
        f"Processor: {e['cpu']}, {e['logical_cpus']} logical; caches as the system reports them: {caches}; {e['system']}",
        f"meniscus {e['meniscus']}: {build}; instruction set {e['simd']} (supported: {e['simd_supported']})",
        f"Python {e['python']}, NumPy {e['numpy']}, SciPy {e['scipy']}, PhiFlow {e['phiflow']}, PhiML {e['phiml']}, pyamg {e['pyamg']}, "
        f"IPC Toolkit {e['ipctk']}",
    ]


def bandwidth_table(report: Report) -> Table:
    """The probes."""
    table = Table("Measured bandwidth, GB/s", ("probe", "1 thread", "2 threads", "x", "cores"))
    for c in report["bandwidth"]:
        table.rows.append((c["name"], _rates(c, 1), _rates(c, 2), number(c["speedup"]), _cores(c)))
    return table


def goal_table(report: Report) -> Table:
    """Goals and what was reached."""
    table = Table("Goals, one thread", ("case", "unit", "reached", "per CPU second", "floor", "goal", "x on 2 threads", "wanted"))
    for g in report["goals"]:

        def mark(what: str, g: Report = g) -> str:
            wanted, reached = g["wanted"][what], g["reached"][what]
            if wanted is None:
                return NONE
            return f"{number(wanted)} {'' if reached is None else 'yes' if reached else 'no'}".strip()

        columns = (g["case"], g["unit"], starred(g["rate"], g["disturbed"]), number(g["rate_per_cpu_second"]), mark("floor"), mark("goal"))
        table.rows.append((*columns, number(g["speedup"]), mark("speedup")))
    return table


def case_table(report: Report, group: str) -> Table:
    """The cases of one group."""
    columns = ("case", "unit", "1 thread", "2 threads", "x", "cores", "B per item", "GB/s", "share", "bound by", "gathers", "G/s", "B held")
    table = Table(TITLES[group], columns)
    for c in report["cases"]:
        if c["group"] != group:
            continue
        r, t = _result(c, 1), c["traffic"]
        gathers = (number(t["gathered_values"]), number(r.get("gathered_g_per_s"))) if t and t["gathered_values"] else (NONE, NONE)
        table.rows.append(
            (
                c["name"],
                c["unit"],
                _rates(c, 1),
                _rates(c, 2),
                number(c["speedup"]),
                _cores(c),
                _bytes(c),
                number(r.get("implied_gb_per_s")),
                share(r.get("bandwidth_share")),
                r.get("bound_by") or NONE,
                *gathers,
                number(c["memory"]["bytes_per_item"]),
            )
        )
    return table


def cost_table(report: Report) -> Table:
    """Cases whose traffic is nearly the same and whose gathers are not."""
    names = (
        "upwind",
        "semi-lagrangian-euler",
        "semi-lagrangian-midpoint",
        "semi-lagrangian-rk3",
        "semi-lagrangian-cubic-midpoint",
        "maccormack-upwind",
        "maccormack-euler",
        "maccormack-midpoint",
        "maccormack-rk3",
    )
    columns = ("3d/float32, 1 thread", "B per cell", "gathered values per cell", "ns per cell", "ns at full bandwidth")
    table = Table("Same bytes, more gathers", columns)
    by_name = {c["name"]: c for c in report["cases"]}
    for name in names:
        c = by_name.get(f"scalar/3d/float32/{name}")
        if c is None:
            continue
        r = _result(c, 1)
        times = (number(r["ns_per_item"]), number(r["memory_ns_per_item"]))
        table.rows.append((name, _bytes(c), number(c["traffic"]["gathered_values"]), *times))
    return table


def peer_table(report: Report) -> Table:
    """Other libraries."""
    columns = ("peer", "what", "M/s", "ours", "M/s", "ratio", "largest difference", "rms difference")
    table = Table("Peers, one thread of ours, peers as they come", columns)
    for p in report["peers"]:
        rate = p["unavailable"] or starred(p["rate"], p["disturbed"])
        differences = (p["largest_difference"], p["rms_difference"])
        shown = (NONE if d is None else f"{d:.1e}" for d in differences)
        ratio = NONE if p["disturbed"] or p["counterpart_disturbed"] else number(p["ratio"])
        ours = (p["counterpart"], starred(p["counterpart_rate"], p["counterpart_disturbed"]), ratio, *shown)
        table.rows.append((p["library"], p["remark"], rate, *ours))
    return table


def tables(report: Report) -> Iterable[Table]:
    """All tables that have rows."""
    all_tables = (
        goal_table(report),
        bandwidth_table(report),
        cost_table(report),
        *(case_table(report, g) for g in TITLES),
        peer_table(report),
        *poisson_tables.tables(report["poisson"]),
        *smoke_report.tables(report["smoke"]),
        *collision_tables.tables(report["collision"]),
    )
    return [t for t in all_tables if t.rows]


def markdown(report: Report) -> str:
    """The report as Markdown."""
    parts = ["\n".join(f"- {line}" for line in environment_lines(report))]
    for t in tables(report):
        lines = [f"### {t.title}", "", "| " + " | ".join(t.columns) + " |"]
        lines.append("|" + "---|" * len(t.columns))
        lines += ["| " + " | ".join(row) + " |" for row in t.rows]
        parts.append("\n".join(lines))
    return "\n\n".join(parts) + "\n"


def has_markers(path: Path) -> bool:
    """Return whether the page has a place for the tables."""
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return text.count(BEGIN) == 1 and text.count(END) == 1 and text.index(BEGIN) < text.index(END)


def write_markdown(report: Report, path: Path) -> None:
    """Replace what stands between the markers of a page."""
    text = path.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    _, after = rest.split(END)
    path.write_text(f"{before}{BEGIN}\n\n{markdown(report)}\n{END}{after}", encoding="utf-8")


def show(report: Report) -> None:
    """Print the report."""
    try:
        from rich import box
        from rich.console import Console
        from rich.table import Table as RichTable
    except ImportError:
        print(markdown(report))
        return
    console = Console()
    # A pipe or a log has no width of its own to respect.
    if not console.is_terminal:
        console = Console(width=200)
    for line in environment_lines(report):
        console.print(line, highlight=False)
    for t in tables(report):
        rich = RichTable(title=t.title, title_justify="left", box=box.SIMPLE_HEAD)
        for i, column in enumerate(t.columns):
            rich.add_column(column, justify="left" if i == 0 else "right", overflow="fold")
        for row in t.rows:
            rich.add_row(*row)
        console.print(rich)
