"""Scenes of the lattice Boltzmann solver."""

from pathlib import Path

import pytest

from meniscus import io, scenes

TINY = {
    "lattice-cavity": {"resolution": 12, "frames": 2, "end": 0.6},
    "lattice-wake": {"resolution": 5, "frames": 2, "end": 0.1},
    "duct": {"resolution": 8, "frames": 2, "end": 0.5},
    "settling": {"resolution": 4, "frames": 2, "end": 0.06},
}


@pytest.mark.parametrize("name", TINY)
def test_scenes_draw_and_go_on_to_the_same_bits(name: str, tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    pytest.importorskip("matplotlib")
    kind = scenes.find(name)
    whole = scenes.run(kind(**TINY[name]), tmp_path / "whole")
    assert len(list((tmp_path / "whole").glob("frame-*.png"))) == 3
    for frame in scenes.frames(kind(**TINY[name]), tmp_path / "broken", pictures=False):
        if frame.number == 1:
            break
    again = scenes.run(kind(**TINY[name]), tmp_path / "broken", resume=True, pictures=False)
    seconds = [key for key in whole.diagnostics if key.startswith("seconds")]
    assert {k: v for k, v in whole.diagnostics.items() if k not in seconds} == {
        k: v for k, v in again.diagnostics.items() if k not in seconds
    }
    assert io.latest_checkpoint(tmp_path / "broken" / "checkpoints")[0] is not None


def test_the_duct_comes_to_its_series() -> None:
    last = scenes.run("duct", resolution=12, end=10.0, frames=1)
    assert last.diagnostics["deviation"] < 0.01


def test_cavity_comes_close_to_the_tables() -> None:
    last = scenes.run("lattice-cavity", resolution=32, reynolds=100.0, end=12.0, frames=1)
    assert max(last.diagnostics["u deviation"], last.diagnostics["v deviation"]) < 0.02
    assert "u deviation" not in scenes.run("lattice-cavity", resolution=8, reynolds=250.0, end=0.2, frames=1).diagnostics
