import os
import signal
import subprocess
import sys
import time

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
        (["run", "wave", "--threads", "0"], 2, "n must be at least 1"),
        (["run", "wave", "--out", "/dev/null/x"], 1, "cannot write or read /dev/null/x"),
    ],
)
def test_errors_are_one_sentence(capsys, arguments, code, sentence):
    assert main(arguments) == code
    err = capsys.readouterr().err
    assert sentence in err
    assert err.count("\n") == 1


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
