"""Runs of scenes on ranks leave what a run on one rank leaves, bit by bit, and go on with any number of ranks."""

from __future__ import annotations

import csv
import json
import threading
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.runs.on_ranks import assert_same_results, scene_of_the_page

import meniscus as ms
from meniscus import scenes
from meniscus.scenes.interrupts import Terminated
from meniscus.scenes.run_ranks import run_together, threads_of_rank

h5py = pytest.importorskip("h5py")
pytest.importorskip("vtk")

SCENES: dict[str, dict[str, Any]] = {
    "swirl": {"resolution": 24, "frames": 3},
    "zalesak": {"nodes": 31, "frames": 2, "turns": 0.1},
    "wave": {"nodes": 41, "frames": 2, "profile": "square"},
    "embers": {"resolution": 17, "frames": 4},
}
FLUIDS: dict[str, dict[str, Any]] = {
    "wake": {"resolution": 16, "frames": 1, "end": 0.3},
    "cavity": {"resolution": 16, "frames": 1, "end": 0.3},
    "plume": {"resolution": 12, "frames": 2, "end": 0.2},
    "billow": {"resolution": 12, "frames": 1, "end": 0.1},
    "explosion": {"resolution": 12, "frames": 1, "end": 0.1},
    "dam-break": {"resolution": 24, "frames": 2, "end": 0.04},
}
MORE_FLUIDS: dict[str, dict[str, Any]] = {
    "falling-drop": {"resolution": 16, "frames": 1, "end": 0.05},
    "ball-splash": {"resolution": 16, "frames": 1, "end": 0.05},
    "pour": {"resolution": 16, "frames": 1, "end": 0.05},
    "river": {"resolution": 12, "frames": 1, "end": 0.05},
}
PARAMETERS = {**SCENES, **FLUIDS, **MORE_FLUIDS}


@pytest.fixture(scope="module")
def embers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scene of docs/running.md."""
    return scene_of_the_page(tmp_path_factory.mktemp("scene"))


def run(name: str, embers: Path, out: Path, frames: int | None = None, **options: Any) -> Any:
    """Run a scene, or its first frames only; returns the last frame."""
    scene = scenes.find(str(embers) if name == "embers" else name)(**PARAMETERS[name])
    last = None
    for last in scenes.frames(scene, out, **options):
        if frames is not None and last.number == frames:
            break
    return last


@pytest.mark.fast_cases("wave")
@pytest.mark.parametrize("name", SCENES)
def test_a_run_leaves_the_same_on_any_number_of_ranks(name: str, embers: Path, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    alone = run(name, embers, tmp_path / "1")
    for count in (2, 3, 4):
        out = tmp_path / str(count)
        last = ms.parallel.run_threads(count, run, name, embers, out)
        assert_same_results(tmp_path / "1", out)
        assert all(f == last[0] for f in last)
        assert last[0].diagnostics == alone.diagnostics
        assert last[0].picture == out / alone.picture.name
        assert len(list(out.glob("*.gif"))) == 1
        assert json.loads((out / "run.json").read_text())["ranks"] == count
        with (out / "diagnostics.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert [int(row["step"]) for row in rows] == list(range(len(rows)))


@pytest.mark.parametrize("name", [*FLUIDS, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE_FLUIDS)])
def test_a_run_of_a_fluid_leaves_the_same_on_ranks(name: str, embers: Path, tmp_path: Path) -> None:
    run(name, embers, tmp_path / "1", pictures=False)
    count = 3 if name in ("plume", "cavity") else 2
    ms.parallel.run_threads(count, partial(run, name, embers, tmp_path / "many", pictures=False))
    assert_same_results(tmp_path / "1", tmp_path / "many")


@pytest.mark.slow
@pytest.mark.parametrize("name", [*FLUIDS, *MORE_FLUIDS])
def test_fluids_go_on_on_another_number_of_ranks(name: str, embers: Path, tmp_path: Path) -> None:
    run(name, embers, tmp_path / "whole", pictures=False)
    ms.parallel.run_threads(4, partial(run, name, embers, tmp_path / "out", frames=0, pictures=False))
    ms.parallel.run_threads(3, partial(run, name, embers, tmp_path / "out", pictures=False, resume=True))
    assert_same_results(tmp_path / "whole", tmp_path / "out")


def test_other_readers_give_the_arrays_of_one_rank(embers: Path, tmp_path: Path) -> None:
    xml = pytest.importorskip("vtkmodules.vtkIOXML")
    numpy_support = pytest.importorskip("vtkmodules.util.numpy_support")
    alone = run("embers", embers, tmp_path / "1", pictures=False)
    files = ms.parallel.run_threads(3, partial(run, "embers", embers, tmp_path / "3", pictures=False))[0].files
    for one, many, kind in zip(alone.files, files, ("ImageData", "PolyData"), strict=True):
        data = []
        for reader, path in ((getattr(xml, f"vtkXML{kind}Reader")(), one), (getattr(xml, f"vtkXMLP{kind}Reader")(), many)):
            reader.SetFileName(str(path))
            reader.Update()
            data.append(reader.GetOutput())
        arrays = [d.GetCellData().GetArray("heat") if kind == "ImageData" else d.GetPoints().GetData() for d in data]
        assert np.array_equal(*map(numpy_support.vtk_to_numpy, arrays))
    newest = [max((tmp_path / n / "checkpoints").glob("checkpoint-*.h5")) for n in "13"]
    assert newest[0].name == newest[1].name
    with h5py.File(newest[0]) as one, h5py.File(newest[1]) as many:
        for name in ("state/heat/0", "state/embers/position", "state/embers/id"):
            assert np.array_equal(one[name][()], many[name][()])
            assert len(one[name]) > 0


@pytest.mark.fast_cases("1-3", "4-1")
@pytest.mark.parametrize(("writers", "readers"), [(4, 1), (4, 3), (4, 8), (1, 3), (3, 4)])
def test_another_number_of_ranks_goes_on(embers: Path, tmp_path: Path, writers: int, readers: int) -> None:
    def start(out: Path) -> None:
        run("embers", embers, out, frames=2, checkpoint_every=0, pictures=False)

    def go_on(out: Path) -> None:
        run("embers", embers, out, resume=True, pictures=False)

    run("embers", embers, tmp_path / "whole", pictures=False)
    ms.parallel.run_threads(writers, start, tmp_path / "out")
    ms.parallel.run_threads(readers, go_on, tmp_path / "out")
    assert_same_results(tmp_path / "whole", tmp_path / "out")
    assert len(json.loads((tmp_path / "out" / "run.json").read_text())["resumed at steps"]) == 1


def test_an_error_on_one_rank_ends_all_and_loses_nothing(embers: Path, tmp_path: Path) -> None:
    def program(fails: bool) -> None:
        scene = scenes.find(str(embers))(**PARAMETERS["embers"])
        advance, count = scene.advance, 0

        def failing(time: float, dt: float) -> None:
            nonlocal count
            count += 1
            if fails and count == 30 and scene.heat.grid.comm.rank == 1:
                raise ArithmeticError("no luck today")
            advance(time, dt)

        scene.advance = failing
        with pytest.raises(ms.parallel.RankError, match=r"^rank 1 failed: ArithmeticError: no luck today$"):
            scenes.run(scene, tmp_path / "out", pictures=False)
        assert ms.parallel.communicator.resolve(None).gather(1) == [1, 1, 1]
        scenes.run(scenes.find(str(embers))(**PARAMETERS["embers"]), tmp_path / "out", pictures=False, resume=True)

    run("embers", embers, tmp_path / "whole", pictures=False)
    ms.parallel.run_threads(3, program, True)
    assert_same_results(tmp_path / "whole", tmp_path / "out")


def test_a_report_of_one_rank_is_refused(embers: Path, tmp_path: Path) -> None:
    def program() -> None:
        scene = scenes.find(str(embers))(**PARAMETERS["embers"])
        scene.report = lambda time: {"heat": float(scene.heat.array.sum()), "dust": float(len(scene.embers))}
        with pytest.raises(ValueError, match=r"report\(\) must return the same on all ranks, but .* on rank 0 and .* on rank 1; sum\(\)"):
            scenes.run(scene, tmp_path / "out", pictures=False)

    ms.parallel.run_threads(2, program)


def test_other_parameters_on_other_ranks_are_one_sentence(embers: Path, tmp_path: Path) -> None:
    def program() -> None:
        rank = ms.parallel.communicator.resolve(None).rank
        with pytest.raises(ValueError, match=r"all ranks must run the same .* rank 0 has resolution=16 and rank 1 has resolution=17"):
            scenes.run("swirl", resolution=16 + rank, out=tmp_path / "out")
        with pytest.raises(ValueError, match=r"but rank 0 has out='.*a0' and rank 1 has out='.*a1'"):
            scenes.run("swirl", resolution=16, out=tmp_path / f"a{rank}")

    ms.parallel.run_threads(2, program)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["twist", "drape", "kdsm", "tet-column", "ball-stream", "projections"])
def test_scenes_of_solids_and_tetrahedra_run_on_one_rank(name: str) -> None:
    def program() -> None:
        with pytest.raises(ValueError, match=f"^the scene '{name}' cannot be cut into blocks, so it runs on one rank, not on 2$"):
            scenes.run(name)

    ms.parallel.run_threads(2, program)


def test_a_folder_takes_one_run_at_a_time(tmp_path: Path) -> None:
    going = scenes.frames(scenes.find("swirl")(resolution=16, frames=2), tmp_path, pictures=False)
    next(going)

    def program() -> None:
        with pytest.raises(ms.parallel.RankError, match=r"rank 0 failed: BlockingIOError.*writes to this folder"):
            scenes.run("swirl", resolution=16, out=tmp_path)

    ms.parallel.run_threads(2, program)
    going.close()


def test_blocks_thinner_than_the_ghosts_are_one_sentence(tmp_path: Path) -> None:
    def program() -> None:
        with pytest.raises(ValueError, match=r"a domain of \(5, 5\) cells cannot be cut into 4 blocks of at least 4 cells"):
            scenes.run("swirl", resolution=5, out=tmp_path)

    ms.parallel.run_threads(4, program)


@pytest.mark.parametrize("cause", [KeyboardInterrupt, Terminated])
@pytest.mark.parametrize("slow", [False, True])
def test_a_signal_to_one_rank_stops_all_at_the_same_step(
    embers: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cause: type[KeyboardInterrupt], slow: bool
) -> None:
    """What a signal does on the main thread of a process is done here by hand, since ranks are threads."""
    noted: dict[int, Any] = {}
    real = scenes.running.Interruption

    def made(ranks: int = 1) -> Any:
        noted[threading.get_ident()] = real(ranks)
        return noted[threading.get_ident()]

    monkeypatch.setattr(scenes.running, "Interruption", made)
    monkeypatch.setattr(scenes.running, "SLOW_STEP", 0.0 if slow else 1e9)

    def program() -> Any:
        scene = scenes.find(str(embers))(**PARAMETERS["embers"])
        advance, count = scene.advance, 0

        def told(time: float, dt: float) -> None:
            nonlocal count
            count += 1
            if count == 30 and scene.heat.grid.comm.rank == 2:
                if slow:  # the step is broken off on this rank
                    raise cause
                noted[threading.get_ident()].cause = cause
            advance(time, dt)

        scene.advance = told
        with pytest.raises(KeyboardInterrupt) as raised:
            scenes.run(scene, tmp_path / "out", pictures=False, checkpoint_every=1e9)
        assert raised.type is cause

    ms.parallel.run_threads(3, program)
    found, _ = ms.io.latest_checkpoint(tmp_path / "out" / "checkpoints")
    assert found is not None
    assert found.progress["step"] == (29 if slow else 30)
    run("embers", embers, tmp_path / "whole", pictures=False)
    ms.parallel.run_threads(2, partial(run, "embers", embers, tmp_path / "out", pictures=False, resume=True))
    assert_same_results(tmp_path / "whole", tmp_path / "out")


def test_errors_that_all_ranks_have_are_told_once() -> None:
    def program() -> None:
        comm = ms.parallel.communicator.resolve(None)

        def all_alike() -> None:
            raise ValueError("the same everywhere")

        def on_one() -> None:
            if comm.rank == 1:
                raise ValueError("only here")

        def stopped() -> None:
            if comm.rank == 1:
                raise Terminated
            comm.gather(1)

        with pytest.raises(ValueError, match=r"^the same everywhere$"):
            run_together(comm, all_alike)
        with pytest.raises(ms.parallel.RankError, match="rank 1 failed: ValueError: only here"):
            run_together(comm, on_one)
        with pytest.raises(Terminated):
            run_together(comm, stopped)
        assert run_together(comm, lambda: 3) == 3

    ms.parallel.run_threads(3, program)


def test_ranks_of_a_machine_share_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    def shares(machines: list[str], cores: list[set[int]]) -> list[int]:
        def program() -> int:
            rank = ms.parallel.communicator.resolve(None).rank
            names.value, sets.value = machines[rank], cores[rank]
            return threads_of_rank(ms.parallel.communicator.resolve(None))

        return ms.parallel.run_threads(len(machines), program)

    names, sets = threading.local(), threading.local()
    monkeypatch.setattr("platform.node", lambda: names.value)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: sets.value, raising=False)
    eight = set(range(8))
    assert shares(["a"] * 4, [eight] * 4) == [2] * 4
    assert shares(["a", "a", "b"], [eight] * 3) == [4, 4, 8]
    assert shares(["a"] * 2, [{0, 1, 2, 3}, {4, 5, 6, 7}]) == [4, 4]  # bound to halves by the launcher
    assert shares(["a"] * 3, [{0}] * 3) == [1] * 3
