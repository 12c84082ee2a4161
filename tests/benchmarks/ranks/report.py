"""Figures of the measured runs, and their tables."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tables.pages import BEGIN, END
from tables.table import NONE, Table, number, share

from ranks import model
from ranks.launch import Run

Record = dict[str, float]
NETWORKS = {"within a rack": model.Network(1.5e-6, 1.2e10), "slow": model.Network(2e-5, 1e9)}
COUNTS = (1, 8, 64, 512, 4096, 10_000)
MANY = COUNTS[2:]
WHOLE = 1024
TOLERATED = 0.2


@dataclass
class Samples:
    """What the rounds have measured of one run; `problem` says why there is nothing."""

    run: Run
    rounds: list[list[Record]] = field(default_factory=list)
    problem: str | None = None

    def median(self, name: str, combine: Any = max) -> float | None:
        """The median over the rounds of what combines all ranks: by default that of the slowest rank."""
        if not self.rounds:
            return None
        return statistics.median(combine(record[name] for record in records) for records in self.rounds)

    def record(self) -> Record:
        """The medians of a rank: of the slowest one in each figure."""
        names = self.rounds[0][0] if self.rounds else ()
        return {name: self.median(name) or 0.0 for name in names}


def strong_table(samples: list[Samples]) -> Table:
    """The same domain on one and two cores."""
    columns = ("run", "ms", "x", "compute", "pack", "wait", "messages", "kB", "rounds")
    table = Table("Two cores; milliseconds of the slowest rank, medians", columns)
    alone: dict[str, float | None] = {}
    for s in samples:
        key = f"{s.run.work}{s.run.cells}"
        seconds = s.median("seconds")
        alone.setdefault(key, seconds)
        if seconds is None:
            table.rows.append((f"{s.run.name}: {s.problem}", *[NONE] * 8))
            continue
        first = alone[key]
        parts = [number(1e3 * (s.median(name) or 0)) for name in ("compute", "pack", "wait")]
        counts = [number(s.median("messages")), number((s.median("bytes") or 0) / 1e3), number(s.median("rounds"))]
        table.rows.append((s.run.name, number(1e3 * seconds), number(first / seconds if first else None), *parts, *counts))
    return table


def weak_table(samples: list[Samples]) -> Table:
    """Blocks of an eighth on eight ranks, beside the whole domain on one."""
    table = Table(
        "Eight ranks beside one; processor seconds of all ranks together", ("run", "compute", "pack", "both beside one rank", "bar")
    )
    alone: dict[str, float] = {}
    for s in samples:
        if not s.rounds:
            table.rows.append((f"{s.run.name}: {s.problem}", *[NONE] * 4))
            continue
        compute, pack = (s.median(f"processor_{name}", sum) or 0.0 for name in ("compute", "pack"))
        key = f"{s.run.work}{s.run.cells}"
        alone.setdefault(key, compute + pack)
        table.rows.append((s.run.name, number(compute), number(pack), number((compute + pack) / alone[key]), "1.3"))
    return table


def delay_table(samples: list[Samples]) -> Table:
    """What the model predicts for slower messages, from the run without a delay."""
    columns = ("run", "latency, ms", "MB/s", "predicted, ms", "measured, ms", "off by")
    table = Table(f"Prediction of runs with slower messages; within {share(TOLERATED)} is asked for", columns)
    for s, predicted in predictions(samples):
        r = s.run.ranks
        measured = s.median("seconds")
        off = None if measured is None or predicted is None else predicted / measured - 1
        bandwidth = None if r.bandwidth is None else r.bandwidth / 1e6
        ms = [None if t is None else 1e3 * t for t in (predicted, measured)]
        name = f"{s.run.name}: {s.problem}" if s.problem else s.run.name
        table.rows.append((name, number(1e3 * r.latency), number(bandwidth), *map(number, ms), share(off)))
    return table


def predictions(samples: list[Samples]) -> list[tuple[Samples, float | None]]:
    """The predicted seconds of each run with a delay."""
    base: dict[str, Record] = {}
    found = []
    for s in samples:
        r = s.run.ranks
        key = s.run.name
        if r.latency == 0 and r.bandwidth is None:
            base[key] = s.record()
            continue
        record = base.get(key)
        network = model.Network(r.latency, r.bandwidth or math.inf)
        found.append((s, model.delayed(record, network) if record else None))
    return found


def scaling_tables(samples: list[Samples], cut: tuple[int, ...]) -> list[Table]:
    """Extrapolation to many ranks, from runs on a few: with the same block for each rank, and with a whole domain of a given size."""
    weak = Table(
        "Extrapolated milliseconds of a step, each rank with the block of the eight and a core of its own",
        ("work", "network", *(f"{n:,} ranks" for n in COUNTS), "efficiency at the last"),
    )
    strong = Table(
        f"Extrapolated milliseconds of a step of {WHOLE:,}^3 cells",
        ("work", "network", *(f"{n:,} ranks" for n in MANY), "efficiency at the last"),
    )
    for s in samples:
        count = s.run.ranks.count
        if count == 1 or not s.rounds:
            continue
        record = s.record() | {"compute": s.median("processor_compute") or 0.0, "pack": s.median("processor_pack") or 0.0}
        load = model.inner_block(model.load_of(record, count), cut)
        for name, network in NETWORKS.items():
            times = [model.seconds(load, network, n) for n in COUNTS]
            weak.rows.append((s.run.work, name, *(number(1e3 * t) for t in times), share(times[0] / times[-1])))
            blocks = [model.scaled(load, WHOLE**3 / n * count / math.prod(s.run.cells)) for n in MANY]
            times = [model.seconds(block, network, n) for block, n in zip(blocks, MANY, strict=True)]
            efficiency = times[0] * MANY[0] / (times[-1] * MANY[-1])
            strong.rows.append((s.run.work, name, *(number(1e3 * t) for t in times), share(efficiency)))
    return [weak, strong]


def summary(groups: dict[str, list[Samples]]) -> dict[str, Any]:
    """All that was measured, for JSON."""
    return {
        group: [
            {
                "name": s.run.name,
                "work": s.run.work,
                "cells": s.run.cells,
                "ranks": s.run.ranks.count,
                "threads": s.run.ranks.threads,
                "transport": s.run.ranks.transport,
                "latency": s.run.ranks.latency,
                "bandwidth": s.run.ranks.bandwidth,
                "problem": s.problem,
                "rounds": s.rounds,
            }
            for s in samples
        ]
        for group, samples in groups.items()
    }


def markdown(tables: list[Table], lines: list[str]) -> str:
    """The tables as they stand on a page."""
    text = [f"- {line}" for line in lines]
    for t in tables:
        text += ["", f"**{t.title}**", "", f"| {' | '.join(t.columns)} |", f"|{'---|' * len(t.columns)}"]
        text += [f"| {' | '.join(row)} |" for row in t.rows]
    return "\n".join(text)


def write_page(page: Path, content: str) -> None:
    """Put the tables between the markers of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n{content}\n\n{END}{after}", encoding="utf-8")
