"""Tests of the benchmark of smoke steps: its output is consistent, and its cases are what they claim. No timings are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
STAGES = {"emit", "transport", "add_forces", "diffuse", "project", "rest"}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Files of one quick run of the smoke steps."""
    folder = tmp_path_factory.mktemp("smoke")
    page = folder / "page.md"
    page.write_text("<!-- benchmarks: begin (generated, do not edit) -->\n<!-- benchmarks: end -->\n", encoding="utf-8")
    command = [sys.executable, HERE / "run.py", "--quick", "--rounds", "1", "--only", "^smoke/"]
    command += ["--json", folder / "report.json", "--table", page]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    written = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return {**written["smoke"], "page": page.read_text(encoding="utf-8"), "cases": written["cases"]}


@pytest.mark.slow
def test_all_cases_ran_on_one_and_on_two_threads(report: dict[str, Any]) -> None:
    assert report["cases"] == []
    wanted = {(v, n, t) for v in ("plain", "sphere") for n in (12, 16) for t in (1, 2)} | {("particles", 16, t) for t in (1, 2)}
    assert {(r["variant"], r["n"], r["threads"]) for r in report["rows"]} == wanted
    assert len(report["rows"]) == len(wanted)


@pytest.mark.slow
def test_figures_of_a_row_agree(report: dict[str, Any]) -> None:
    for row in report["rows"]:
        assert row["cells"] == row["n"] ** 3
        assert 0 < row["seconds_best"] <= row["seconds_median"]
        assert row["mcells_per_s"] == pytest.approx(row["cells"] / row["seconds_best"] / 1e6)
        assert set(row["stage_seconds"]) == STAGES
        assert 0 < sum(row["stage_seconds"].values()) <= row["seconds_best"]
        assert row["iterations"] > 0
        assert 1 < row["cfl"] < 4
        # At least velocity, density and temperature in single and the pressure in double precision, all but the pressure twice.
        assert row["bytes_per_cell"] > 2 * (3 + 2) * 4 + 8


@pytest.mark.slow
def test_threads_change_nothing_but_the_time(report: dict[str, Any]) -> None:
    rows = {(r["variant"], r["n"], r["threads"]): r for r in report["rows"]}
    for (variant, n, threads), row in rows.items():
        other = rows[variant, n, 3 - threads]
        assert (row["iterations"], row["cfl"]) == (other["iterations"], other["cfl"])


@pytest.mark.slow
def test_vortex_particles_have_the_documented_density_and_are_compared_with_the_plain_step(report: dict[str, Any]) -> None:
    rows = {(r["variant"], r["n"], r["threads"]): r for r in report["rows"]}
    for threads in (1, 2):
        row, plain = rows["particles", 16, threads], rows["plain", 16, threads]
        assert row["particles"] == round(6000 / 8**3)
        # They do something: a case without their force would have the same largest velocity.
        assert row["cfl"] != plain["cfl"]
        if not (row["disturbed"] or plain["disturbed"]):
            assert row["extra_time"] == pytest.approx(row["seconds_best"] / plain["seconds_best"] - 1)


@pytest.mark.slow
def test_the_peer_solves_its_pressure_equation_or_says_why_it_is_absent(report: dict[str, Any]) -> None:
    assert [p["name"] for p in report["peers"]] == ["smoke/phiflow/12", "smoke/phiflow/16"]
    for peer in report["peers"]:
        if peer["unavailable"]:
            assert peer["seconds_best"] is None
        else:
            assert peer["iterations"] > 0
            assert peer["divergence"] < 1e-4


@pytest.mark.slow
def test_the_tables_are_on_the_page(report: dict[str, Any]) -> None:
    for title in ("whole steps, float32", "ms per stage", "peer"):
        assert f"### Smoke step: {title}" in report["page"]
    # Goals are set for the full size only.
    assert report["goals"] == []
