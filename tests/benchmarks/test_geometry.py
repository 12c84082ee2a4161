"""Tests of the geometry benchmark: all cases run, and what peers compute is the same. No timings are judged."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
# Largest difference to the counterpart: shares of rays that hit and of points elsewhere, pairs, positions.
TOLERANCE = {
    "peers/scipy/geometry/hash/boxes": 0.0,
    "peers/scipy/geometry/embedding/positions": 1e-13,
    "peers/scipy/geometry/delaunay/random": 1e-12,
    "peers/scipy/geometry/delaunay/lattice": 1e-9,
    "peers/scipy/geometry/delaunay/sphere": 1e-12,
    "peers/vtk/geometry/rays/cast": 0.02,
    "peers/vtk/geometry/location/tiny/no-hints": 0.02,
    "peers/vtk/geometry/moving/tiny/no-hints": 0.02,
    "peers/embree/geometry/rays/cast": 0.0,
}


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One quick run of the geometry cases."""
    path = tmp_path_factory.mktemp("geometry") / "report.json"
    command = [sys.executable, str(HERE / "run.py"), "--quick", "--rounds", "1", "--only", "geometry/", "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(path.read_text(encoding="utf-8")))


@pytest.mark.slow
def test_every_method_is_timed_on_one_and_on_two_threads(report: dict[str, Any]) -> None:
    cases = {c["name"]: c for c in report["cases"]}
    subjects = [name.split("/")[1] for name in cases]
    expected = {
        "rays": 2,
        "location": 4,
        "moving": 8,
        "hash": 2,
        "embedding": 3,
        "meshing": 4,
        "detection": 6,
        "clipping": 4,
        "delaunay": 3,
    }
    assert {s: subjects.count(s) for s in subjects} == expected
    for case in cases.values():
        assert [r["threads"] for r in case["results"]] == [1, 2]
        assert case["results"][0]["rate_best"] == pytest.approx(
            case["work"] / case["results"][0]["seconds_best"] / (1e9 if case["unit"] == "GB/s" else 1e6)
        )


@pytest.mark.slow
def test_peers_agree_or_say_why_they_are_absent(report: dict[str, Any]) -> None:
    peers = {p["name"]: p for p in report["peers"]}
    assert set(peers) == set(TOLERANCE)
    for name, peer in peers.items():
        if peer["unavailable"]:
            assert "not importable" in peer["unavailable"]
        elif peer["largest_difference"] is not None:
            assert peer["largest_difference"] <= TOLERANCE[name], name
        else:
            assert "embree" in name
