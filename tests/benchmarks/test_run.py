"""Tests of the benchmarks: they run and write what they promise. No timings are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

RUN = Path(__file__).with_name("run.py")
BEGIN = "<!-- benchmarks: begin (generated, do not edit) -->"
END = "<!-- benchmarks: end -->"


def run(*options: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, RUN, "--quick", "--rounds", "1", *options]
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def produced(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """The report and the page of one quick run of some cases."""
    folder = tmp_path_factory.mktemp("benchmarks")
    page = folder / "page.md"
    page.write_text(f"before\n\n{BEGIN}\nold numbers\n{END}\n\nafter\n", encoding="utf-8")
    pattern = "3d/float32/(maccormack-midpoint|semi-lagrangian-midpoint|walls)|^sort/3d/float32|peers/scipy/3d/float32"
    done = run("--only", pattern, "--json", folder / "report.json", "--table", page)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "report.json").read_text(encoding="utf-8")), page.read_text(encoding="utf-8")


def cases(report: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {c["name"]: c for c in report["cases"]}


def test_the_report_says_what_it_was_made_with(produced: tuple[dict[str, Any], str]) -> None:
    report, _ = produced
    assert report["schema"] == 1
    assert set(report) == {"schema", "environment", "settings", "bandwidth", "cases", "peers", "goals", "poisson", "smoke", "collision"}
    environment = report["environment"]
    assert {"date", "cpu", "numpy", "scipy", "phiflow", "pyamg", "meniscus", "build", "simd"} <= set(environment)
    assert "compiler" in environment["build"]
    assert report["settings"]["quick"] is True
    assert report["settings"]["rounds"] == 1


def test_only_the_chosen_cases_ran_on_one_and_on_two_threads(produced: tuple[dict[str, Any], str]) -> None:
    found = cases(produced[0])
    base = "scalar/3d/float32/"
    plain = {
        base + "maccormack-midpoint",
        base + "semi-lagrangian-midpoint",
        "velocity/3d/float32/maccormack-midpoint",
        "velocity/3d/float32/semi-lagrangian-midpoint",
        "ghosts/3d/float32/walls",
        "sort/3d/float32",
    }
    assert {name for name in found if "@" not in name} == plain
    assert base + "maccormack-midpoint@baseline" in found
    for name, case in found.items():
        assert [r["threads"] for r in case["results"]] == ([1] if "@" in name else [1, 2])
        for result in case["results"]:
            assert 0 < result["seconds_best"] <= result["seconds_median"]
            assert result["rate_best"] == pytest.approx(case["work"] / result["seconds_best"] / 1e6)


def test_rates_traffic_and_memory_agree(produced: tuple[dict[str, Any], str]) -> None:
    report, _ = produced
    case = cases(report)["scalar/3d/float32/maccormack-midpoint"]
    assert case["work"] == 16**3
    # Counted by hand in grid/transport: checks 3 + 1; forward 4 in, 3 out; back 7 in, 1 out; commit 1 in, 1 out.
    assert case["traffic"]["moved_bytes"] == 4 * (3 + 1 + 4 + 3 + 7 + 1 + 1 + 1)
    # Written before it was read: the first-order value, both bounds, the committed field.
    assert case["traffic"]["ownership_bytes"] == 4 * 4
    # Two passes of one trace stage for three components and one value, eight corners each.
    assert case["traffic"]["gathered_values"] == 2 * (3 + 1) * 8
    # The field and three scratch arrays, all with three ghost layers.
    assert case["memory"]["bytes_per_item"] == pytest.approx(4 * 4 * 22**3 / 16**3, rel=1e-2)
    result = case["results"][0]
    assert result["implied_gb_per_s"] == pytest.approx(result["rate_best"] * 1e6 * 100 / 1e9)
    probes = {p["name"]: p["results"][0]["rate_best"] for p in report["bandwidth"]}
    share = result["implied_gb_per_s"] / probes[case["reference_probe"]]
    assert result["bandwidth_share"] == pytest.approx(share)
    assert result["bound_by"] == ("memory" if share >= 0.6 else "computation")


def test_a_peer_either_agrees_with_us_or_says_why_it_is_absent(produced: tuple[dict[str, Any], str]) -> None:
    peers = {p["name"]: p for p in produced[0]["peers"]}
    assert set(peers) == {"peers/scipy/3d/float32/order-1", "peers/scipy/3d/float32/order-3"}
    linear = peers["peers/scipy/3d/float32/order-1"]
    if linear["unavailable"]:
        assert "not importable" in linear["unavailable"]
        assert linear["rate"] is None
    else:
        assert linear["largest_difference"] < 1e-5
        assert linear["ratio"] == pytest.approx(linear["counterpart_rate"] / linear["rate"])


def test_the_table_replaces_what_stands_between_the_markers(produced: tuple[dict[str, Any], str]) -> None:
    _, page = produced
    assert page.startswith(f"before\n\n{BEGIN}\n")
    assert page.endswith(f"{END}\n\nafter\n")
    assert "old numbers" not in page
    assert "| scalar/3d/float32/maccormack-midpoint | Mcell/s |" in page


@pytest.mark.slow
def test_mistakes_end_with_one_sentence(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("no markers\n", encoding="utf-8")
    unmarked = run("--table", page)
    assert unmarked.returncode == 2
    assert "must hold the lines" in unmarked.stderr
    unknown = run("--only", "no such case")
    assert unknown.returncode == 1
    assert unknown.stderr == "no case has a name that matches 'no such case'\n"
