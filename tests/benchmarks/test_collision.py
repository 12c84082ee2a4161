"""Tests of the collision benchmark: it measures what it says, and compares the right things. No timings are judged."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Files of one quick run of the collision cases, without the public frames."""
    folder = tmp_path_factory.mktemp("collision")
    page = folder / "page.md"
    page.write_text("<!-- benchmarks: begin (generated, do not edit) -->\n<!-- benchmarks: end -->\n", encoding="utf-8")
    command = [sys.executable, HERE / "run.py", "--quick", "--rounds", "1", "--only", "^collision/"]
    command += ["--json", folder / "report.json", "--table", page]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return {**report["collision"], "page": page.read_text(encoding="utf-8")}


def rows(written: dict[str, Any], threads: int = 1) -> dict[str, dict[str, Any]]:
    return {r["what"]: r for r in written["rows"] if r["threads"] == threads}


@pytest.mark.slow
def test_all_of_ours_ran_and_found_the_same(written: dict[str, Any]) -> None:
    found = rows(written)
    ours = {"candidates", "candidates-first", "candidates-grid", "any", "parity", "any-moving-frame", "impact", "self-intersections"}
    assert ours <= set(found)
    for threads in (1, 2):
        found = rows(written, threads)
        pairs = found["candidates"]["result"]
        assert found["candidates-first"]["result"] == found["candidates-grid"]["result"] == pairs
        assert sum(pairs) == found["candidates"]["items"] > 1000
        assert found["any"]["result"] == found["any-moving-frame"]["result"]
        assert 0 < sum(found["any"]["result"]) < sum(pairs)
        assert 0 <= found["impact"]["result"] <= 1
        assert found["candidates"]["ns_per_item"] == pytest.approx(1e9 * found["candidates"]["seconds_best"] / sum(pairs))
    culled, positive, mixed = (rows(written)[f"query-edge-edge-{g}/any"] for g in ("culled", "positive", "all"))
    assert culled["result"] == 0
    assert positive["result"] == positive["items"] == mixed["result"]
    assert culled["items"] + positive["items"] == mixed["items"]


@pytest.mark.slow
def test_the_peer_has_the_same_candidates_or_is_missing(written: dict[str, Any]) -> None:
    found = rows(written)
    if importlib.util.find_spec("ipctk") is None:
        assert any("ipctk" in m for m in written["missing"])
        assert "candidates/lbvh" not in found
        assert found["candidates"]["times_peer"] is None
        return
    assert found["candidates/lbvh"]["items"] == pytest.approx(found["candidates"]["items"], rel=0.01)
    if found["candidates"]["times_peer"] is not None:
        ratio = found["candidates/lbvh"]["seconds_best"] / found["candidates"]["seconds_best"]
        assert found["candidates"]["times_peer"] == pytest.approx(ratio)
    assert found["query-vertex-face-all/tight-inclusion"]["seconds_best"] > 0


@pytest.mark.slow
def test_tables_and_growth(written: dict[str, Any]) -> None:
    growth = {g["what"]: g["times_smallest"] for g in written["scaling"]}
    assert growth["candidates"] == 1  # there is one size
    assert "### Collision: whole meshes" in written["page"]
    assert "### Collision: single queries, one thread" in written["page"]
    assert written["goals"] == []  # they are about the public frames
