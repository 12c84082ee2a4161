"""Scenes and their runs: results, files, frames, scenes from a user's file, and errors."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import meniscus as ms
from meniscus import scenes


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "limiter", "order"),
    [("maccormack", "none", 2.4), ("bfecc", "none", 2.4), ("maccormack", "reversion", 1.9), ("bfecc", "reversion", 1.9)],
)
def test_swirl_comes_back(method, limiter, order):
    distance = {}
    for n in (128, 256):
        d = scenes.run("swirl", resolution=n, method=method, limiter=limiter, period=1.0, frames=1).diagnostics
        distance[n] = d["distance"]
        if limiter != "none":
            assert d["min"] >= 0.0
            assert d["max"] <= 1.0
    assert np.log2(distance[128] / distance[256]) >= order
    first = scenes.run("swirl", resolution=256, method="semi-lagrangian", period=1.0, frames=1).diagnostics["distance"]
    assert distance[256] < 0.1 * first


def test_run_leaves_its_parameters_diagnostics_and_pictures(tmp_path):
    pytest.importorskip("matplotlib")
    seen = []
    last = scenes.run("swirl", tmp_path, resolution=32, frames=3, on_frame=lambda f, total: seen.append((f.number, total)))
    assert seen == [(0, 3), (1, 3), (2, 3), (3, 3)]
    run = json.loads((tmp_path / "run.json").read_text())
    assert run["scene"] == "swirl"
    assert run["parameters"]["resolution"] == 32
    assert run["version"] == ms.__version__
    with (tmp_path / "diagnostics.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [int(r["step"]) for r in rows] == list(range(len(rows)))
    assert float(rows[-1]["time"]) == 4.0 == last.time
    assert float(rows[-1]["distance"]) == pytest.approx(last.diagnostics["distance"])
    assert sum(float(r["dt"]) for r in rows) == pytest.approx(4.0)
    pictures = sorted(tmp_path.glob("frame-*.png"))
    assert [p.name for p in pictures] == [f"frame-{i:04d}.png" for i in range(4)]
    assert all(p.read_bytes().startswith(b"\x89PNG") for p in pictures)
    assert (tmp_path / "swirl.gif").read_bytes().startswith(b"GIF89a")


def test_frames_iterate_lazily_and_an_abandoned_run_keeps_its_files(tmp_path):
    scene = scenes.Swirl(resolution=32, frames=100)
    for frame in scenes.frames(scene, tmp_path, pictures=False):
        if frame.number == 2:
            break
    lines = (tmp_path / "diagnostics.csv").read_text().splitlines()
    assert lines[-1].split(",")[1] == "2"


def test_scene_from_a_file(tmp_path):
    path = tmp_path / "mine.py"
    path.write_text(
        "from dataclasses import dataclass\n"
        "from meniscus.scenes import Wave, parameter\n"
        "@dataclass(kw_only=True)\n"
        "class Mine(Wave):\n"
        "    name = 'mine'\n"
        "    summary = 'a finer wave'\n"
        "    nodes: int = parameter(401, 'nodes')\n"
    )
    kind = scenes.find(str(path))
    assert kind.name == "mine"
    assert scenes.run(str(path)).diagnostics["error"] == pytest.approx(scenes.run("wave", nodes=401).diagnostics["error"])


def test_what_cannot_be_run_is_said(tmp_path):
    names = (
        "absorb, adaptive-drape, adaptive-sheet, adaptive-strip, adhesion, arch, ball-splash, ball-stream, balloons, billiards, "
        "billow, boat, bowl, breach, buoy, cantilever, cavity, cloth-boat, control-shape, cradle, cup, curl-noise, curl-sweep, "
        "curtain, dam-break, dipped-cup, drape, ducks, duct, dumbbell, enright, explosion, falling-drop, flag, floating-crates, "
        "flood, funnel, head-of-hair, heap, jelly-in-tank, kdsm, lattice-cavity, lattice-wake, leaves, live-playground, modes, "
        "panels, pile, playground, plume, plume-growth, pond, pour, projections, pyramid, recovery, reduced-beam, reef-knot, "
        "river, roll, settling, sheet-plume, sheets, sinking, smoke-curtain, spinning-ball, stack, stoker, stream-on-curtain, "
        "swirl, tet-ball, tet-column, tray, tumbling, twist, twisting, two-spheres, wake, wardrobe, water-bag, water-wheel, "
        "wave, windmill, zalesak"
    )
    with pytest.raises(ValueError, match=f"no scene 'nope'; choose from {names}"):
        scenes.run("nope")
    with pytest.raises(ValueError, match="no parameter 'cells'; it has resolution"):
        scenes.run("swirl", cells=3)
    with pytest.raises(ValueError, match="no file"):
        scenes.run(str(tmp_path / "missing.py"))
    empty = tmp_path / "empty.py"
    empty.write_text("x = 1\n")
    with pytest.raises(ValueError, match="exactly one subclass"):
        scenes.run(str(empty))
    with pytest.raises(TypeError, match="parameters go with"):
        scenes.run(scenes.Wave(), nodes=3)
    target = tmp_path / "file"
    target.write_text("")
    with pytest.raises(OSError, match="file"):
        scenes.run("wave", target / "out")


def test_wave_carries_exact_data_for_whole_periods():
    scene = scenes.Wave(nodes=33, cfl=1.0, end=3.0)
    scenes.run(scene)
    np.testing.assert_allclose(scene.wave.array, scene.exact(0.0), atol=1e-13)


def test_a_run_sets_its_scene_up_once_and_animates_its_own_pictures(tmp_path):
    image = pytest.importorskip("PIL.Image")

    class Counting(scenes.Swirl):
        setups = 0

        def setup(self):
            self.setups += 1
            super().setup()

    for frames in (6, 2):
        scene = Counting(resolution=16, frames=frames)
        last = scenes.run(scene, tmp_path)
        assert scene.setups == 1
        assert last.total == frames
    with image.open(tmp_path / "swirl.gif") as animation:
        assert animation.n_frames == 3


@pytest.mark.parametrize("name", ["dam-break", "billow", "flag"])
def test_only_the_solver_owns_its_time(name):
    """The clock of a run and the solver count the same steps; no scene sets the time of its solver."""
    small = {"dam-break": {"dimension": 2, "resolution": 16}, "billow": {"resolution": 8}, "flag": {}}[name]
    scene = scenes.SCENES[name](frames=3, end=0.06, **small)
    for frame in scenes.frames(scene):
        owner = scene.body if name == "flag" else scene.solver
        assert owner.time == pytest.approx(frame.time, rel=1e-14)
    assert owner.time > 0
    for path in Path(scenes.__file__).parent.rglob("*.py"):
        assert path.name == "stepper.py" or not re.search(r"\.time = ", path.read_text()), path


def test_parameters_with_choices_are_checked() -> None:
    with pytest.raises(ValueError, match="damage must be one of 'flat', 'scrambled', not 'x'"):
        scenes.Recovery(damage="x")
