"""Tests of the benchmark of ranks: it runs and writes what it promises, and the model does its sums. No timings are judged."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest
from tables.pages import BEGIN, END

from ranks import model

FOLDER = Path(__file__).parents[1]


def run(*options: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ranks.run", "--quick", *options]
    return subprocess.run([str(c) for c in command], cwd=FOLDER, capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_the_report_has_the_parts_of_every_rank(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\nold\n{END}\nafter\n", encoding="utf-8")
    done = run("--only", r"transport/.*(1 rank, 1|ranks \(threads\), 1)", "--json", tmp_path / "report.json", "--table", page)
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "report.json").read_text(encoding="utf-8"))
    (two,) = (r for r in report["two cores"] if r["ranks"] == 2)
    assert two["problem"] is None
    (records,) = two["rounds"]
    assert len(records) == 2
    for r in records:
        assert r["seconds"] == pytest.approx(r["compute"] + r["pack"] + r["wait"])
        assert min(r["compute"], r["pack"], r["wait"], r["processor_compute"], r["processor_pack"]) > 0
        # The domain is cut along one axis: one message in each round, to the neighbour or for a maximum.
        assert r["messages"] == r["rounds"] > r["reductions"] > 0
    delayed = [r for r in report["slower messages"] if r["latency"] or r["bandwidth"]]
    assert len(delayed) == 3
    assert all(r["problem"] is None for r in delayed)
    text = page.read_text(encoding="utf-8")
    assert text.startswith(f"before\n{BEGIN}\n")
    assert text.endswith(f"{END}\nafter\n")
    assert "old" not in text
    assert "Prediction of runs with slower messages" in text


def test_no_run_ends_with_one_sentence() -> None:
    done = run("--only", "no such run")
    assert done.returncode == 1
    assert done.stderr == "no run has a name that matches 'no such run'\n"


def test_the_model_adds_up() -> None:
    network = model.Network(latency=1e-3, bandwidth=1e6)
    load = model.Load(compute=2.0, pack=0.5, rounds=10, bytes=3e6, reductions=4, reduced=1000, gathers=2, gathered=100)
    assert model.seconds(load, network, 1) == 2.0
    assert model.seconds(load, network, 8) == pytest.approx(2.5 + (10 + 6 * 3) * 1e-3 + 3 + 3e-3 + 7e-4)
    # Six ranks: 2 + 2 rounds of a reduction, 3 of a gather.
    assert model.seconds(load, network, 6) == pytest.approx(2.5 + (10 + 4 * 4 + 2 * 3) * 1e-3 + 3 + 4e-3 + 5e-4)
    grown = model.scaled(load, 8.0)
    assert (grown.compute, grown.pack, grown.bytes) == pytest.approx((16.0, 2.0, 1.2e7))
    inner = model.inner_block(load, (2, 2, 2))
    assert (inner.pack, inner.bytes, inner.rounds) == (1.0, 6e6, 10)
    record = {"seconds": 3.0, "compute": 2.0, "pack": 0.5, "wait": 0.5, "rounds": 28.0, "bytes": 3.0037e6}
    record |= {"reductions": 12.0, "reduced": 3000.0, "gathers": 6.0, "gathered": 700.0}
    assert model.load_of(record, 8) == load
    assert model.delayed(record, network) == pytest.approx(3.0 + 0.028 + 3.0037)
    assert model.delayed(record, model.Network(0.0, math.inf)) == 3.0
