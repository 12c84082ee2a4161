"""Command line: options, runs, resuming, interruption and errors."""

import csv
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import meniscus
from meniscus.cli import main


def test_version(capsys):
    with pytest.raises(SystemExit) as exit_:
        main(["--version"])
    assert exit_.value.code == 0
    assert capsys.readouterr().out.strip() == f"meniscus {meniscus.__version__}"


def test_info_names_versions_threads_width_and_parts(capsys):
    assert main(["info"]) == 0
    rows = dict(line.split(None, 1) for line in capsys.readouterr().out.splitlines())
    assert rows["meniscus"] == meniscus.__version__
    assert rows["threads"].startswith(str(meniscus.num_threads()))
    assert str(meniscus.core.simd_width()) in rows["simd"]
    assert {"numpy", "tbb", "eigen", "compiler", "mpi", "matplotlib", "rich", "mpi4py"} <= set(rows)


def test_scenes_lists_all(capsys):
    assert main(["scenes"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(meniscus.scenes.SCENES)


def test_run_takes_parameters_as_options(capsys, tmp_path):
    before = meniscus.num_threads()
    try:
        code = main(
            [
                "run",
                "wave",
                "--nodes",
                "101",
                "--method",
                "bfecc",
                "--threads",
                "1",
                "--out",
                str(tmp_path),
                "--no-pictures",
                "--no-files",
                "--no-checkpoints",
            ]
        )
        assert meniscus.num_threads() == 1
    finally:
        meniscus.set_num_threads(before)
    assert code == 0
    out = capsys.readouterr().out
    expected = meniscus.scenes.run("wave", nodes=101, method="bfecc").diagnostics["error"]
    assert f"error        {expected:.6g}" in out
    assert {p.name for p in tmp_path.iterdir()} == {"run.json", "diagnostics.csv"}


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["run", "nope"], 2, "there is no scene 'nope'; choose from"),
        (["run", "missing.py"], 2, "there is no file missing.py"),
        (["run", "wave", "--nodes", "1"], 2, "nodes must be at least 2, not 1"),
        (["run", "wave", "--threads", "0"], 2, "--threads must be at least 1, not 0"),
        (["run", "wave", "--out", "/dev/null/x"], 1, "cannot write or read /dev/null/x"),
        (["run", "wave", "--out", "/proc/x"], 1, "cannot write or read /proc/x: No such file or directory"),
        (["run", "wave", "--resume"], 2, "a run can be resumed only in the folder (out) that holds its checkpoints"),
        (["run", "wave", "--checkpoint-every", "-1"], 2, "checkpoint_every must be at least 0 s, not -1"),
        (["render", "missing"], 2, "missing holds no run: it has no run.json"),
        (["render", ".", "--scene", "nope"], 2, "there is no scene 'nope'; choose from"),
    ],
)
def test_errors_are_one_sentence(capsys, arguments, code, sentence):
    assert main(arguments) == code
    err = capsys.readouterr().err
    assert sentence in err
    assert err.count("\n") == 1


def test_a_scene_file_that_fails_is_one_sentence(capsys, tmp_path):
    path = tmp_path / "broken.py"
    path.write_text("import meniscus\n1 / 0\n")
    assert main(["run", str(path)]) == 2
    assert capsys.readouterr().err == f"meniscus: {path} cannot be loaded: ZeroDivisionError: division by zero\n"


def test_a_checkpoint_of_other_parameters_is_one_sentence(capsys, tmp_path):
    pytest.importorskip("h5py")
    run = ["run", "wave", "--out", str(tmp_path), "--no-pictures", "--no-files"]
    assert main([*run, "--nodes", "33"]) == 0
    capsys.readouterr()
    assert main([*run, "--nodes", "65", "--resume"]) == 2
    expected = f"meniscus: the checkpoint in {tmp_path} was made with nodes=33, not nodes=65; use that or choose another folder\n"
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize("option", ["--colour", "--resolutoin"])
def test_unknown_option_is_refused_by_the_parser(capsys, option):
    with pytest.raises(SystemExit):
        main(["run", "swirl", option, "3"])
    assert f"unrecognized arguments: {option} 3" in capsys.readouterr().err


def test_unknown_choice_is_refused_by_the_parser(capsys):
    with pytest.raises(SystemExit):
        main(["run", "wave", "--method", "magic"])
    assert "invalid choice: 'magic'" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_ctrl_c_ends_a_run_and_keeps_its_frames(tmp_path):
    command = [
        sys.executable,
        "-m",
        "meniscus",
        "run",
        "swirl",
        "--resolution",
        "256",
        "--frames",
        "400",
        "--no-pictures",
        "--out",
        str(tmp_path),
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    diagnostics = tmp_path / "diagnostics.csv"
    deadline = time.monotonic() + 60
    while not (diagnostics.exists() and diagnostics.read_text().count("\n") > 2) and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    command = f"meniscus run swirl --resolution 256 --frames 400 --no-pictures --out {tmp_path} --resume"
    assert err == f"interrupted; finished frames are kept; go on with: {command}\n"
    assert diagnostics.read_text().endswith("\n")


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals")
def test_the_command_that_ctrl_c_names_goes_on_from_the_last_completed_step(tmp_path, capsys):
    pytest.importorskip("h5py")
    scene = str(Path(__file__).parent / "scenes" / "dust.py")
    out = tmp_path / "a folder"
    command = [sys.executable, "-m", "meniscus", "run", scene, "--frames", "200", "--out", str(out), "--checkpoint-every", "1e9"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    diagnostics = out / "diagnostics.csv"
    deadline = time.monotonic() + 60
    while not (diagnostics.exists() and diagnostics.read_text().count("\n") > 12) and time.monotonic() < deadline:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err.count("\n") == 1
    with diagnostics.open() as file:
        last = list(csv.DictReader(file))[-1]
    found, _ = meniscus.io.latest_checkpoint(out / "checkpoints")
    assert found.progress["step"] == int(last["step"]) < 1000
    words = shlex.split(err.split("go on with: ")[1])
    assert words[0] == "meniscus"
    assert main(words[1:]) == 0
    alone = meniscus.scenes.run(scene, frames=200).diagnostics
    assert f"work         {alone['work']:.6g}" in capsys.readouterr().out
    with diagnostics.open() as file:
        rows = list(csv.DictReader(file))
    assert [int(r["step"]) for r in rows] == list(range(1001))
    assert float(rows[-1]["work"]) == alone["work"]


def test_render_makes_pictures_again(tmp_path, capsys):
    pytest.importorskip("vtk")
    assert main(["run", "wave", "--nodes", "33", "--frames", "2", "--out", str(tmp_path), "--no-pictures"]) == 0
    assert not list(tmp_path.glob("*.png"))
    capsys.readouterr()
    assert main(["render", str(tmp_path)]) == 0
    names = [Path(line).name for line in capsys.readouterr().out.splitlines()]
    assert names[:4] == ["frame-0000.png", "frame-0001.png", "frame-0002.png", "wave.gif"]
    assert {p.name for p in tmp_path.iterdir()} >= set(names)


def test_parameters_of_every_kind_become_options(tmp_path, capsys):
    path = tmp_path / "kinds.py"
    path.write_text(
        "from __future__ import annotations\n"
        "from dataclasses import dataclass\n"
        "from meniscus.scenes import Wave, parameter\n"
        "@dataclass(kw_only=True)\n"
        "class Kinds(Wave):\n"
        "    name = 'kinds'\n"
        "    mesh: str | None = parameter(None, 'a file')\n"
        "    gravity: tuple[float, float] = parameter((0.0, -9.81), 'm/s^2')\n"
        "    open: bool = parameter(False, 'whether the top is open')\n"
        "    def report(self, time):\n"
        "        assert self.mesh in (None, 'cow.obj')\n"
        "        return {'g': self.gravity[1], 'open': float(self.open), 'mesh': float(self.mesh is not None)}\n"
    )
    assert main(["run", str(path), "--nodes", "9", "--mesh", "cow.obj", "--gravity", "1", "-2.5", "--open"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "no frames were written; --out FOLDER writes them"
    assert main(["run", str(path), "--nodes", "9", "--mesh", "cow.obj", "--gravity", "1", "-2.5", "--open"]) == 0
    assert capsys.readouterr().out.split()[:6] == ["g", "-2.5", "open", "1", "mesh", "1"]
    assert main(["run", str(path), "--nodes", "9"]) == 0
    assert capsys.readouterr().out.split()[:6] == ["g", "-9.81", "open", "0", "mesh", "0"]


def test_progress_tells_frames_steps_and_speed():
    from meniscus.scenes.progress import describe

    step = meniscus.scenes.Step(120, 3, 48, 0.1, 2.0, 0.01, 0.5, 393216)
    assert describe(step, 786432.0) == "frame 3 of 48, step 120, 0.786 Mcells/s"


def test_a_reader_that_has_seen_enough_is_no_error():
    with subprocess.Popen(
        [sys.executable, "-c", "from meniscus.cli import main; raise SystemExit(main(['scenes']))"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as listing:
        assert listing.stdout is not None
        assert listing.stderr is not None
        listing.stdout.close()
        assert listing.stderr.read() == ""
    assert listing.returncode == 0
