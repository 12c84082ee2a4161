"""Tests of the benchmark of water on tetrahedra: all cases run on what they claim. No timings are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent.parent
CASES = {"request", "conservation", "ranks", "cut-cells", "step-all-wet", "step-5-percent-wet"}


def run(path: Path, *arguments: str) -> dict[str, Any]:
    """What a benchmark writes."""
    command = [sys.executable, *arguments, "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HERE)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(path.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One quick run of the cases."""
    return run(tmp_path_factory.mktemp("vof") / "report.json", "run.py", "--quick", "--rounds", "1", "--only", "tet-vof/")


@pytest.mark.slow
def test_all_cases_ran_on_one_and_on_two_threads(report: dict[str, Any]) -> None:
    assert {c["name"].split("/")[2] for c in report["cases"]} == CASES
    for case in report["cases"]:
        assert case["group"] == "tet-vof"
        assert [r["threads"] for r in case["results"]] == [1, 2]


@pytest.mark.slow
def test_cases_are_what_they_claim(report: dict[str, Any]) -> None:
    cases = {c["name"].split("/")[2]: c for c in report["cases"]}
    about = cases["step-all-wet"]["parameters"]
    assert about["tets"] == cases["ranks"]["work"]
    assert 0.7 * about["tets"] < about["wet"] <= about["tets"]
    assert cases["request"]["work"] == 10 * about["wet"]
    assert cases["step-5-percent-wet"]["work"] < 0.15 * about["tets"]
    assert 0 < cases["cut-cells"]["work"] < 0.5 * about["tets"]


def test_the_study_of_sizes_says_what_a_wet_tetrahedron_costs(tmp_path: Path) -> None:
    report = run(tmp_path / "sizes.json", "-m", "tets.tet_vof", "--tets", "3000", "--steps", "1")["3000"]
    assert 1500 < report["all-wet"]["tets"] < 6000
    dry, full = report["5-percent-wet"], report["all-wet"]
    assert report["share_of_5_percent"] == pytest.approx(dry["cpu_1"] / full["cpu_1"])
    assert report["nbytes_per_tet"] * dry["tets"] + report["nbytes_per_wet"] * dry["wet"] == pytest.approx(dry["nbytes"])
