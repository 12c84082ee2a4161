"""Threads that change the arrays of a call while it runs, and threads that compute while the interpreter ends."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from support.variants import slow_but

import meniscus as ms
from meniscus.mesh import Embedding, QuadraticTetMesh, SegmentMesh, TetMesh, TriangleMesh

# A thread that writes indices, mostly good ones, as fast as it can: many calls see good ones when they check and bad ones later.
CHANGED = """
import sys, threading, time
import numpy as np, meniscus as ms
from meniscus.mesh import Embedding, TetMesh, TriangleMesh

rng = np.random.default_rng(0)
ball, block = ms.mesh.icosphere(4), ms.mesh.tet_block(12, 12, 12)
points = rng.normal(size=(300, 3))
kind = sys.argv[1]
call, good = {
    "closest_point": (lambda e: ms.collision.closest_point(ball.vertices, e, points), ball.triangles),
    "winding_number": (lambda e: ms.collision.winding_number(ball.vertices, e, points), ball.triangles),
    "check_watertight": (lambda e: ms.mesh.check_watertight(ball.vertices, e), ball.triangles),
    "vertices_in_tets": (lambda e: ms.collision.vertices_in_tets(block.vertices, e, cell_size=0.2), block.tets),
    "TetLocator": (lambda e: ms.collision.TetLocator(block.vertices, e), block.tets),
    "ThickSurface": (lambda e: ms.collision.ThickSurface(ball.vertices, e, 0.01), ball.triangles),
    "CollisionMesh": (lambda e: ms.collision.CollisionMesh(None, e).self_intersections(ball.vertices), ball.triangles),
    "MeshDistance": (lambda e: ms.surface.MeshDistance((ball.vertices, e)).closest(points), ball.triangles),
    "TriangleMesh": (lambda e: TriangleMesh(ball.vertices, e).edges, ball.triangles),
    "TetMesh": (lambda e: TetMesh(block.vertices, e).neighbours, block.tets),
    "dihedral_angles": (lambda e: ms.solids.dihedral_angles(e, ball.vertices), ball.hinges),
    "Embedding": (lambda e: Embedding(e, np.full(e.shape, 0.25), len(block.vertices)).evaluate(block.vertices), block.tets),
}[kind]
indices, bad = good.copy(), good.copy()
bad[len(bad) // 2 :: 7] = np.int32(2**31 - 5)
over = False

def write():
    while not over:
        # By a function of integers, which writes them whole: a copy of memory may be seen with the bytes of two of them.
        np.bitwise_or(bad, 0, out=indices)
        np.bitwise_or(good, 0, out=indices)
        time.sleep(1e-4)

writer = threading.Thread(target=write)
sys.setswitchinterval(1e-5)
writer.start()
until, seen = time.monotonic() + 1.0, 0
try:
    while time.monotonic() < until or not seen:
        try:
            call(indices)
            seen += 1
        except ValueError as error:
            assert "2147483643" in str(error) or "2147483644" in str(error) or "tet" in str(error), error
finally:
    over = True
    writer.join()
"""
CALLS = [
    "closest_point",
    "winding_number",
    "check_watertight",
    "vertices_in_tets",
    "TetLocator",
    "ThickSurface",
    "CollisionMesh",
    "MeshDistance",
    "TriangleMesh",
    "TetMesh",
    "dihedral_angles",
    "Embedding",
]


def run(code: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, timeout=120, cwd=cwd, check=False)


@pytest.mark.parametrize("kind", slow_but(CALLS, "closest_point", "TetMesh"))
def test_indices_that_another_thread_changes(kind: str, tmp_path: Path) -> None:
    done = run(CHANGED, kind, cwd=tmp_path)
    assert done.returncode == 0, (done.returncode, done.stderr[-2000:])


@pytest.mark.parametrize("kind", [SegmentMesh, TriangleMesh, TetMesh, QuadraticTetMesh])
def test_arrays_of_a_mesh_stay_as_they_were_checked(kind: type) -> None:
    """Neither the arrays that a mesh was made from nor its own can be written to later, even if somebody makes them writable."""
    block = ms.mesh.tet_block(2, 1, 1)
    quadratic = ms.mesh.quadratic_mesh(block)
    vertices = np.array(quadratic.vertices if kind is QuadraticTetMesh else block.vertices)
    elements = np.array({2: block.edges, 3: block.boundary.triangles, 4: block.tets, 10: quadratic.elements}[kind_columns(kind)])
    expected = elements.copy()
    elements.flags.writeable = vertices.flags.writeable = False
    mesh = kind(vertices, elements)
    elements.flags.writeable = vertices.flags.writeable = True
    elements[...] = 2**31 - 1
    vertices[...] = np.nan
    assert np.array_equal(mesh.elements, expected)
    assert np.isfinite(mesh.vertices).all()
    for array in (mesh.vertices, mesh.elements):
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
    again = kind(mesh.vertices, mesh.elements)
    assert np.shares_memory(again.elements, mesh.elements)
    assert np.shares_memory(again.vertices, mesh.vertices)


def kind_columns(kind: type) -> int:
    return {SegmentMesh: 2, TriangleMesh: 3, TetMesh: 4, QuadraticTetMesh: 10}[kind]


def test_parents_of_an_embedding_are_its_own() -> None:
    parents = np.array([[0, 1], [1, 2]], np.int32)
    embedding = Embedding(parents, np.full((2, 2), 0.5), 3)
    parents[...] = 2**31 - 5
    x = np.arange(9.0).reshape(3, 3)
    assert np.array_equal(embedding.evaluate(x), (x[:2] + x[1:]) / 2)


# Threads that are in a call, in a function that the call calls, or between two calls when the interpreter ends.
DAEMONS = """
import sys, threading, time
import numpy as np, meniscus as ms

kind, wait = sys.argv[1], float(sys.argv[2])
if kind == "solvers":
    smoke = ms.fluids.SmokeSolver(ms.Grid((48, 64), 1 / 48))
    water = ms.fluids.LiquidSolver(ms.Grid((32, 32), 1 / 32))
    water.fill(ms.surface.Box((0, 0), (0.5, 0.4)))
    block = ms.mesh.tet_block(6, 3, 3)
    body = ms.solids.DeformableBody(block, density=1000.0, gravity=(0, -9.81, 0))
    body.add(ms.solids.TetElements(block, youngs_modulus=1e4))
    calls = [lambda: smoke.step(0.01), lambda: water.step(0.01), lambda: body.step(body.max_dt())]
elif kind == "queries":
    distance = ms.surface.MeshDistance(ms.mesh.icosphere(4))
    points = np.random.default_rng(0).random((100000, 3))
    calls = [lambda: distance.signed_distance(points)] * 3
elif kind == "functions":
    block = ms.mesh.tet_block(4, 4, 4)
    grid = ms.Grid((48, 48), 1 / 48)
    boundary = {"x-": ms.Prescribed(lambda x, t: np.tile((1.0, 0.0), (len(x), 1)))}
    velocity = ms.MacField(grid, boundary=boundary)
    field = ms.CellField(grid)
    calls = [
        lambda: ms.mesh.red_green(block, lambda p: np.full(len(p), 0.2), levels=2),
        lambda: ms.fluids.advect(field, velocity, 0.01),
        lambda: ms.CellField.from_function(grid, lambda x, y: x * y),
    ]

def repeat(call):
    while True:
        call()

for call in calls:
    threading.Thread(target=repeat, args=(call,), daemon=True).start()
time.sleep(wait)
"""


@pytest.mark.parametrize("wait", slow_but([0.15, 0.2, 0.25], 0.15))
@pytest.mark.parametrize("kind", slow_but(["solvers", "queries", "functions"], "solvers", "functions"))
def test_the_interpreter_ends_while_threads_compute(kind: str, wait: float, tmp_path: Path) -> None:
    done = run(DAEMONS, kind, str(wait), cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_function_that_runs_at_the_end_computes(tmp_path: Path) -> None:
    """What the interpreter itself calls when it ends, and what threads do until then, is not stopped."""
    code = """
import atexit, threading
import numpy as np, meniscus as ms

class Last:
    def __del__(self):
        print(mesh.volume(), self.call())

def at_exit():
    worker = threading.Thread(target=lambda: print(round(mesh.volume(), 3)), daemon=True)
    worker.start()
    worker.join()

mesh = ms.mesh.tet_block(3, 3, 3)
last = Last()
last.call = lambda: ms.mesh.red_green(mesh, lambda p: np.full(len(p), 10.0)) == mesh
atexit.register(at_exit)
"""
    done = run(code, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "1.0"


@pytest.mark.parametrize("offset", [1, 2, 4, 7])
def test_arrays_over_bytes_at_odd_places_are_refused(offset: int) -> None:
    """The compiler may take positions for aligned numbers, and load several of them at once."""
    ball = ms.mesh.icosphere(1)
    raw = np.zeros(ball.vertices.nbytes + 8, np.uint8)
    skewed = np.ndarray(ball.vertices.shape, np.float64, raw, offset)
    skewed[...] = ball.vertices
    assert not skewed.flags.aligned
    springs = ms.solids.EdgeSprings(ball, ms.solids.SpringOptions(stiffness=1.0))
    for call in (
        lambda: springs.energy(skewed),
        lambda: ms.collision.closest_point(ball, skewed),
        lambda: ball.measures(skewed),
        lambda: ms.collision.CollisionMesh(ball).collides(skewed, skewed),
    ):
        with pytest.raises(TypeError, match="must be aligned in memory; pass a copy"):
            call()
    assert TriangleMesh(skewed, ball.triangles) == ball  # constructors copy


KEPT_IN_A_CYCLE = """
import numpy as np, meniscus as ms

class Kept: pass

def still(x, *time): return 0 * x
kept = Kept()
kept.itself = kept
grid = ms.Grid((8, 8), 1.0)
kept.velocity = ms.MacField(grid, boundary=ms.Prescribed(still))
del kept
print("the end")
"""


def test_functions_in_garbage_at_the_end() -> None:
    """The interpreter collects its last garbage when it is ending; whoever lets go of a function then must not wait for it."""
    done = subprocess.run([sys.executable, "-c", KEPT_IN_A_CYCLE], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.strip(), done.stderr) == (0, "the end", "")
