"""Programs that start others: when their time is over, all of them end."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Sequence
from typing import Any

import psutil


def end_all(process: subprocess.Popen[Any]) -> None:
    """Kill a process and all that it has started: ranks outlive their `mpirun`, and keep its pipes open."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for child in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
    process.kill()


def run_whole(command: Sequence[str], seconds: float, **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program and return what it printed; one that takes longer fails the test with what it had printed by then."""
    with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options) as process:
        try:
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            end_all(process)
            output, errors = process.communicate()
            raise AssertionError(f"{command} took more than {seconds} s\n{output}\n{errors}") from None
        except BaseException:
            end_all(process)
            raise
    return subprocess.CompletedProcess(command, process.returncode, output, errors)
