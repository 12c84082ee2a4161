"""`mpirun -n N meniscus run`: one run of all processes, which ends as one, and goes on after any of them was killed."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from parallel import mpirun as support
from support.runs.killed import wait_for
from support.runs.on_ranks import ROOT, assert_same_results, ranks_of, scene_of_the_page
from support.runs.processes import end_all, run_whole

from meniscus import cli, io, scenes
from meniscus.parallel import launcher

pytest.importorskip("h5py")
pytest.importorskip("vtk")

MPIS = ["mpich", "openmpi"]
MENISCUS = [sys.executable, "-m", "meniscus"]
OPTIONS = ["--resolution", "20", "--frames", "12", "--no-pictures"]


@pytest.fixture(scope="module")
def embers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scene of docs/running.md."""
    return scene_of_the_page(tmp_path_factory.mktemp("scene"))


@pytest.fixture(scope="module")
def slow_embers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with steps that take a while, so that there is a time to disturb them."""
    return scene_of_the_page(tmp_path_factory.mktemp("slow"), pause=0.03)


@pytest.fixture(scope="module")
def whole(embers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run on one rank that nobody has stopped."""
    out = tmp_path_factory.mktemp("whole")
    scenes.run(scenes.find(str(embers))(resolution=20, frames=12), out, pictures=False)
    return out


def run(library: str, count: int, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run the command line on ranks."""
    command, environment = support.on_ranks(library, count, [*MENISCUS, *arguments], **variables)
    return run_whole(command, 120, env=environment)


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    """The lines on standard error that are those of meniscus."""
    return [line for line in done.stderr.splitlines() if line.startswith(("meniscus", "interrupted"))]


@contextlib.contextmanager
def started(library: str, count: int, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start the command line on ranks; kill what is left of it at the end."""
    command, environment = support.on_ranks(library, count, [*MENISCUS, *arguments])
    process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        if process.poll() is None:
            end_all(process)
        process.wait()


@pytest.mark.fast_cases("mpich")
@pytest.mark.parametrize("library", MPIS)
def test_a_run_is_one_run_with_the_files_of_one(library: str, embers: Path, whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    done = run(library, 3, "run", str(embers), *OPTIONS, "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["emitted", "heat", "written"]
    assert_same_results(out, whole)
    described = json.loads((out / "run.json").read_text())
    assert described["ranks"] == 3
    assert described["transport"] == {"mpich": "MPICH", "openmpi": "Open MPI"}[library]
    assert described["threads"] == max(1, len(os.sched_getaffinity(0)) // 3)
    assert not (out / ".meniscus.lock").exists()


@pytest.mark.slow
def test_the_commands_of_the_page_run(embers: Path, tmp_path: Path) -> None:
    page = (ROOT / "docs" / "running.md").read_text()
    section = page.partition("## Runs on ranks")[2].partition("\n## ")[0]
    lines = [line.partition("#")[0].split() for line in section.splitlines() if line.startswith(("    mpirun", "    meniscus run"))]
    assert len(lines) == 4
    for words in lines:
        small = [{"my_scene.py": str(embers)}.get(w, str(tmp_path / w) if w.startswith("out/") else w) for w in words]
        small += ["--resolution", "16", "--frames", "1", "--no-pictures"]
        count = int(small[2]) if small[0] == "mpirun" else 1
        done = run("mpich", count, *small[small.index("meniscus") + 1 :])
        assert done.returncode == 0, done.stderr
        assert "written to" in done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("library", MPIS)
def test_an_error_on_one_rank_is_one_sentence(library: str, tmp_path: Path) -> None:
    path = tmp_path / "failing.py"
    path.write_text(
        "from dataclasses import dataclass\n"
        "from meniscus.scenes import Swirl, parameter\n"
        "@dataclass(kw_only=True)\n"
        "class Failing(Swirl):\n"
        "    name = 'failing'\n"
        "    resolution: int = parameter(16, 'cells')\n"
        "    def advance(self, time, dt):\n"
        "        super().advance(time, dt)\n"
        "        if time > 1.3 and self.dye.grid.comm.rank == 1:\n"
        "            raise ValueError('no luck today')\n"
    )
    done = run(library, 3, "run", str(path), "--no-pictures", "--out", str(tmp_path / "out"))
    assert done.returncode != 0
    assert said(done) == [
        "meniscus: rank 1 failed: ValueError: no luck today; finished frames are kept; "
        f"go on with: mpirun -n 3 meniscus run {path} --no-pictures --out {tmp_path / 'out'} --resume"
    ]
    assert "Traceback" not in done.stderr
    found, passed_over = io.latest_checkpoint(tmp_path / "out" / "checkpoints")
    assert found is not None
    assert not passed_over
    assert found.progress["frame"] == 5


@pytest.mark.fast_cases("without-mpich")
@pytest.mark.parametrize("library", MPIS)
@pytest.mark.parametrize("case", ["without", "unloadable", "foreign"])
def test_what_cannot_work_together_is_one_sentence(library: str, case: str, tmp_path: Path) -> None:
    (tmp_path / "mpi4py.py").write_text("raise ModuleNotFoundError('No module named mpi4py')")
    other = "openmpi" if library == "mpich" else "mpich"
    foreign = support.prefix(other) / "lib" / support.LIBRARIES[other][0]
    if case == "foreign" and not foreign.exists():
        pytest.skip(f"{other} is not installed")
    sentence, variables = {
        "without": ("cannot work together without mpi4py", {"PYTHONPATH": str(tmp_path)}),
        "unloadable": ("mpi4py cannot load an MPI", {"MPI4PY_LIBMPI": str(tmp_path / "no.so")}),
        "foreign": ("by another MPI than that of mpi4py", {"MPI4PY_LIBMPI": str(foreign)}),
    }[case]
    done = run(library, 2, "run", "swirl", "--resolution", "16", "--frames", "1", **variables)
    assert done.returncode != 0
    assert len(said(done)) == 1, done.stderr
    assert said(done)[0].startswith(f"meniscus: 2 processes were started together, but {sentence}")
    assert "Traceback" not in done.stderr
    assert not done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("library", MPIS)
def test_other_arguments_on_other_ranks_are_one_sentence(library: str) -> None:
    one, other = ([*MENISCUS, "run", "swirl", "--frames", "1", "--resolution", n] for n in ("16", "17"))
    command, environment = support.on_ranks(library, 1, [*one, ":", "-n", "1", *other])
    done = run_whole(command, 120, env=environment)
    assert done.returncode != 0
    assert said(done) == [
        "meniscus: all ranks must run the same scene in the same way, but rank 0 has resolution=16 and rank 1 has resolution=17"
    ]


def test_frames_are_rendered_by_one_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("PMI_SIZE", "2")
    monkeypatch.setenv("PMI_RANK", "0")
    assert cli.main(["render", str(tmp_path)]) == 2
    assert capsys.readouterr().err == "meniscus: meniscus render runs in one process, not in 2; start it without mpirun\n"


def test_launchers_are_known_by_what_they_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in os.environ if n.startswith(("PMI", "OMPI", "SLURM"))]:
        monkeypatch.delenv(name)
    cases = [
        ({}, 1, 0),
        ({"PMI_SIZE": "4", "PMI_RANK": "2"}, 4, 2),
        ({"OMPI_COMM_WORLD_SIZE": "3", "OMPI_COMM_WORLD_RANK": "1", "PMIX_RANK": "1"}, 3, 1),
        ({"PMIX_RANK": "5", "SLURM_STEP_NUM_TASKS": "8"}, 8, 5),
        ({"SLURM_STEP_NUM_TASKS": "8", "SLURM_NTASKS": "8"}, 1, 0),  # in a job, but not started by srun
        ({"PMI_SIZE": "1", "PMI_RANK": "0"}, 1, 0),
    ]
    for variables, size, rank in cases:
        with monkeypatch.context() as m:
            for name, value in variables.items():
                m.setenv(name, value)
            assert (launcher.launched(), launcher.launched_rank()) == (size, rank), variables


@pytest.mark.slow
@pytest.mark.parametrize(
    ("library", "number"),
    [("mpich", signal.SIGTERM), ("openmpi", signal.SIGINT), ("mpich", signal.SIGINT), ("openmpi", signal.SIGTERM)],
)
def test_a_signal_leaves_a_checkpoint_and_the_command_to_go_on(
    library: str, number: signal.Signals, slow_embers: Path, whole: Path, tmp_path: Path
) -> None:
    """The signal comes to one of the ranks; what `mpirun` makes of one that comes to itself differs."""
    out = tmp_path / "out"
    given = ["run", str(slow_embers), *OPTIONS, "--checkpoint-every", "1e9", "--out", str(out)]
    with started(library, 3, *given) as process:
        wait_for(lambda: len(list(out.glob("checkpoints/checkpoint-*"))) == 2 or process.poll() is not None)
        for rank in ranks_of(process.pid, str(out))[:1]:
            os.kill(rank, number)
        _, text = process.communicate(timeout=60)
    assert process.returncode != 0
    sentences = [line for line in text.decode().splitlines() if line.startswith("interrupted")]
    assert len(sentences) == 1, text
    assert "go on with: mpirun -n 3 meniscus run" in sentences[0]
    assert sentences[0].endswith("--resume")
    scenes.run(scenes.find(str(slow_embers))(resolution=20, frames=12), out, pictures=False, resume=True)
    assert_same_results(out, whole)


def kills_change_nothing(library: str, counts: Sequence[int], kills: int, slow_embers: Path, whole: Path, folder: Path) -> None:
    """Kill a rank of runs that write in each step, resume them with other numbers of ranks, and compare with an undisturbed one."""
    chance = random.Random(20)
    killed = 0
    for number in range(2 * kills):
        out = folder / f"run {number}"
        given = ["run", str(slow_embers), *OPTIONS, "--checkpoint-every", "0", "--out", str(out)]
        for turn in range(min(4, kills)):
            before = set(out.glob("checkpoints/checkpoint-*"))
            resume = ["--resume"] if turn else []
            with started(library, counts[turn % len(counts)], *given, *resume) as process:
                wait_for(lambda: set(out.glob("checkpoints/checkpoint-*")) - before or process.poll() is not None)  # noqa: B023
                time.sleep(chance.uniform(0.0, 0.3))
                ranks = ranks_of(process.pid, str(out))
                if process.poll() is not None or not ranks:
                    continue
                os.kill(chance.choice(ranks), signal.SIGKILL)
                start = time.monotonic()
                process.communicate(timeout=30)
                # How long it takes to end the others, not how busy the machine is.
                assert time.monotonic() - start < 10
                wait_for(lambda: not any(Path(f"/proc/{rank}").exists() for rank in ranks), 10)  # noqa: B023
                killed += process.returncode != 0
        done = run(library, counts[-1], *given, "--resume")
        assert done.returncode == 0, done.stderr
        assert_same_results(out, whole)
        if killed >= kills:
            break
    assert killed >= kills, "runs were over before they could be killed"


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="finds the ranks in /proc")
@pytest.mark.parametrize("library", MPIS)
def test_two_kills_change_nothing(library: str, slow_embers: Path, whole: Path, tmp_path: Path) -> None:
    kills_change_nothing(library, (4, 3), 2, slow_embers, whole, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").exists(), reason="finds the ranks in /proc")
@pytest.mark.parametrize("library", MPIS)
def test_twenty_kills_change_nothing(library: str, slow_embers: Path, whole: Path, tmp_path: Path) -> None:
    kills_change_nothing(library, (4, 3, 8, 1), 20, slow_embers, whole, tmp_path)
