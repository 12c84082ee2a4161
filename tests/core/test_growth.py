"""Solvers that run for long: after some steps they hold what they need, and more steps hold no more."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.variants import slow_but

# Bytes in use by malloc, and those of blocks, before and after many steps; the resident size also grows where memory is only spread.
CODE = """
import ctypes, gc, sys
import meniscus as ms

class Info(ctypes.Structure):
    names = "arena ordblks smblks hblks hblkhd usmblks fsmblks uordblks fordblks keepcost"
    _fields_ = [(name, ctypes.c_size_t) for name in names.split()]

info = ctypes.CDLL(None).mallinfo2
info.restype = Info
ms.set_num_threads(2)
kind = sys.argv[1]
grid = ms.Grid((24, 24), 1 / 24)
if kind == "liquid":
    solver = ms.fluids.LiquidSolver(grid)
    solver.fill(ms.surface.Box((0, 0), (0.5, 0.5)))
elif kind == "particles":
    solver = ms.fluids.ParticleLiquidSolver(grid)
    solver.fill(ms.surface.Box((0, 0), (0.5, 0.5)))
elif kind == "smoke":
    solver = ms.fluids.SmokeSolver(grid)
    solver.density.array[8:16, 2:6] = 1.0
else:
    block = ms.mesh.tet_block(4, 2, 2)
    solver = ms.solids.DeformableBody(block, density=1000.0, gravity=(0, -9.81, 0))
    solver.add(ms.solids.TetElements(block, youngs_modulus=1e5))
    solver.pin([0, 1, 2, 3])
dt = solver.max_dt() / 2 if kind == "body" else 0.01

def steps(count):
    for _ in range(count):
        solver.step(dt)
    gc.collect()
    usage = info()
    return usage.uordblks + usage.hblkhd, ms.core.block_bytes()

before = steps(300)
after = steps(700)
print(*(b - a for a, b in zip(before, after)))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="mallinfo2 is of glibc")
@pytest.mark.skipif("libasan" in os.environ.get("LD_PRELOAD", ""), reason="sanitizers have a malloc of their own")
@pytest.mark.parametrize("kind", slow_but(["liquid", "particles", "smoke", "body"], "smoke", "body"))
def test_memory_in_use_stops_growing(kind: str, tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", CODE, kind], capture_output=True, text=True, cwd=tmp_path, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    heap, blocks = map(int, done.stdout.split())
    assert heap < 24_000  # less than 35 bytes a step
    assert blocks < 8_000
