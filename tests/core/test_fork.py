"""Children that are forked while other threads of the program compute."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from support.variants import slow_but

# Threads that are in loops nearly all the time, so that a child is born with threads and locks that nobody has any more.
FORKS = """
import os, sys, threading, time
import numpy as np, meniscus as ms

ms.set_num_threads(2)
ball = ms.mesh.icosphere(4)
points = np.random.default_rng(0).normal(size=(20000, 3))
solver = sys.argv[2] == "step"

def work(n):
    if solver:
        smoke = ms.fluids.SmokeSolver(ms.Grid((16, 16, 16), 1 / 16))
        for _ in range(3):
            smoke.step(0.02)
        return smoke.time
    return float(ms.collision.closest_point(ball.vertices, ball.triangles, points[:n]).distances.sum())

wanted, over = work(3000), []

def spin():
    while not over:
        work(20000)

threads = [threading.Thread(target=spin) for _ in range(2)]
for t in threads:
    t.start()
time.sleep(0.1)
lost = 0
for _ in range(int(sys.argv[1])):
    child = os.fork()
    if child == 0:
        same = work(3000) == wanted and ms.num_threads() == 1
        ms.set_num_threads(2)
        os._exit(0 if same and work(3000) == wanted and ms.num_threads() == 1 else 1)
    until = time.monotonic() + 30
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        time.sleep(0.002)
    else:
        os.kill(child, 9)
        os.waitpid(child, 0)
        status = 1
    lost += status != 0
    if lost > 1:
        break
over.append(1)
for t in threads:
    t.join()
print(lost)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.parametrize(("forks", "kind"), slow_but([(6, "loop"), (60, "loop"), (60, "step")], (6, "loop")))
def test_children_of_busy_programs_compute(forks: int, kind: str) -> None:
    """A child has the results of its parent, on one thread, whatever the other threads of the parent were doing."""
    done = subprocess.run([sys.executable, "-c", FORKS, str(forks), kind], capture_output=True, text=True, timeout=600, check=True)
    assert done.stdout.split() == ["0"], done.stderr
