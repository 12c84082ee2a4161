"""Interruption of long calls: other Python threads run meanwhile, and Ctrl-C ends the call soon with all data unchanged."""

import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

import meniscus as ms

SET_UP = """
import os, signal, sys, threading, time
import numpy as np
import meniscus as ms
from meniscus.fluids import curl_noise
from meniscus.numerics import FractalNoise

rng = np.random.default_rng(0)
ms.set_num_threads(int(sys.argv[1]))

def bits(arrays):
    return [a.tobytes() for a in arrays]

def interrupted(state, call):
    before, sent = bits(state()), []
    def kill():
        time.sleep(0.3)
        sent.append(time.monotonic())
        os.kill(os.getpid(), signal.SIGINT)
    t = threading.Thread(target=kill)
    t.start()
    try:
        call()
    except KeyboardInterrupt:
        late = time.monotonic() - sent[0]
        assert bits(state()) == before, "state changed"
        assert late < 5.0, f"{late} s late"
        print("interrupted")
    else:
        print("finished" if not sent else "not interrupted")
    t.join()
"""

CASES = {
    "advect": """
        g = ms.Grid((8, 8, 8), 0.1, periodic=True)
        f, v = ms.CellField(g), ms.MacField(g)
        f.array = rng.random(f.shape)
        for d in range(3):
            v.component(d)[...] = 1.0
        # A million substeps, each too short to be interrupted itself.
        interrupted(lambda: [f.array], lambda: ms.grid.advect(f, v, 3.0e4, method="upwind"))
    """,
    "advect a large field": """
        g = ms.Grid((160, 160, 160), 0.1)
        f, v = ms.CellField(g), ms.MacField(g)
        f.array = rng.random(f.shape)
        for d in range(3):
            v.component(d)[...] = rng.random(v.component(d).shape)
        interrupted(lambda: [f.array], lambda: ms.grid.advect(f, v, 3.0, method="upwind"))
    """,
    "advect a velocity": """
        g = ms.Grid((100, 100, 100), 0.1)
        v = ms.MacField(g)
        for d in range(3):
            v.component(d)[...] = rng.random(v.component(d).shape)
        interrupted(
            lambda: [v.component(d) for d in range(3)], lambda: ms.grid.advect(v, v, 8.0, method="maccormack", block="upwind")
        )
    """,
    "extrapolate": """
        f = ms.CellField(ms.Grid((3_000_000, 8), 1.0))
        f.array[...] = 0.5
        known = np.zeros(f.shape, bool)
        known[0, 0] = True
        interrupted(lambda: [f.array], lambda: ms.grid.extrapolate(f, known))
    """,
    "step a body": """
        mesh = ms.mesh.cloth_mesh(500, 500)
        body = ms.solids.DeformableBody(mesh, density=1.0, gravity=(0.0, 0.0, -9.8))
        body.add(ms.solids.EdgeSprings(mesh, ms.solids.SpringOptions(stiffness=1.0e6)))
        body.pin([0, 500])
        interrupted(lambda: [body.positions, body.velocities], lambda: body.step(1.0, "implicit-euler", tolerance=1e-12))
    """,
    "sample a flow": """
        v = ms.MacField(ms.Grid((150, 150, 150), 0.01))
        v.u = 0.25
        flow = curl_noise(3, FractalNoise(octaves=8))
        interrupted(lambda: [v.u, v.v, v.w], lambda: flow.sample(v))
    """,
    "project": """
        g = ms.Grid((400, 400), 0.1)
        v, p = ms.MacField(g), ms.CellField(g)
        for d in range(2):
            v.component(d)[...] = rng.random(v.component(d).shape)
        rho = ms.CellField(g)
        rho.array = 10 ** rng.uniform(-2.5, 2.5, g.shape)
        # A tolerance that takes long, because the reference is slow.
        call = lambda: [
            ms.fluids.project(v.copy(), 0.1, density=rho, pressure=p, tolerance=1e-13, max_iterations=10**6, method="incomplete-cholesky",
                              raise_on_failure=False)
            for _ in range(100)
        ]
        interrupted(lambda: [v.u, v.v], call)
    """,
    "project a large velocity": """
        g = ms.Grid((160, 160, 160), 0.1)
        v, p = ms.MacField(g), ms.CellField(g)
        for d in range(3):
            v.component(d)[...] = rng.random(v.component(d).shape)
        interrupted(lambda: [v.u, v.v, v.w, p.array], lambda: ms.fluids.project(v, 0.1, pressure=p, tolerance=1e-12))
    """,
    "trace a flow": """
        x = rng.random((3_000_000, 3))
        flow = curl_noise(3, FractalNoise(octaves=8))
        interrupted(lambda: [x], lambda: flow.trace(x, 0.0, 0.1))
    """,
    "diffuse a velocity": """
        g = ms.Grid((150, 150, 150), 0.1)
        v = ms.MacField(g, boundary=ms.Wall(slip="no-slip"))
        for d in range(3):
            v.component(d)[...] = rng.random(v.component(d).shape)
        interrupted(
            lambda: [v.component(d) for d in range(3)],
            lambda: ms.fluids.diffuse(v, 1.0, 1.0, tolerance=1e-10),
        )
    """,
    "a step of smoke": """
        g = ms.Grid((120, 120, 120), 1 / 120)
        ball = ms.surface.Sphere((0.5, 0.5, 0.3), 0.1)
        x = rng.random((2000, 3)).astype(np.float32)
        w = np.ones((2000, 3), np.float32)
        smoke = ms.fluids.SmokeSolver(
            g,
            ms.fluids.SmokeOptions(temperature_weight=1.0, confinement=0.2, viscosity=1e-3, vortex_strength=0.01, tolerance=1e-7),
            solid=ms.surface.KinematicSolid(ball, lambda t: (t, 0.0, 0.2)),
            emitters=[ms.fluids.Emitter(region=ball, temperature=1.0, density=1.0)],
            vortices=ms.fluids.VortexParticles(x, w, 0.05),
        )
        smoke.step(0.01)
        v, p = smoke.velocity, smoke.vortices
        interrupted(
            lambda: [
                v.u, v.v, v.w, smoke.density.array, smoke.temperature.array, smoke.pressure.array, p.positions, p.vorticity,
                np.array(smoke.time),
            ],
            lambda: smoke.step(0.01),
        )
    """,
    "distance to a mesh": """
        v = rng.random((20_000, 3))
        t = np.arange(18_000, dtype=np.int32).reshape(-1, 3)
        phi = ms.NodeField(ms.Grid((150, 150, 150), 0.01, (-0.25, -0.25, -0.25)))
        phi.array = 7.0
        import warnings
        warnings.simplefilter("ignore")
        d = ms.surface.MeshDistance(v, t)
        interrupted(lambda: [phi.array], lambda: d.sample(phi))
    """,
}


@pytest.mark.fast_cases("advect-1", "project-2", "extrapolate-2", "step a body-1", "trace a flow-1", "distance to a mesh-1")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("name", CASES)
def test_interrupted(name: str, threads: int) -> None:
    code = SET_UP + textwrap.dedent(CASES[name])
    done = subprocess.run([sys.executable, "-c", code, str(threads)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["interrupted"]


def long_calls() -> dict:
    g = ms.Grid((40, 40, 40), 0.1)
    f, v = ms.CellField(g), ms.MacField(g)
    f.array = np.random.default_rng(0).random(f.shape)
    v.u = 0.5
    w = v.copy()
    w.v = np.random.default_rng(2).random(w.v.shape)
    known = np.zeros(f.shape, bool)
    known[0, 0, 0] = True
    x = np.random.default_rng(1).random((200_000, 3))
    triangles = np.arange(3000, dtype=np.int32).reshape(-1, 3)
    noise = ms.numerics.FractalNoise(octaves=2)
    flow = ms.fluids.curl_noise(3, noise)
    return {
        "advect": lambda: ms.grid.advect(f, v, 30.0, method="upwind"),
        "extrapolate": lambda: ms.grid.extrapolate(f, known),
        "trace": lambda: [ms.grid.trace(x.copy(), v, 1.0) for _ in range(20)],
        "sample": lambda: [ms.grid.sample(f, x) for _ in range(60)],
        "flow": lambda: flow(x),
        "noise": lambda: [noise(x) for _ in range(5)],
        "project": lambda: ms.fluids.project(w.copy(), 0.1),
        "divergence": lambda: [ms.fluids.divergence(w) for _ in range(20)],
        "sample flow": lambda: flow.sample(v),
        "uniform": lambda: ms.core.uniform(0, np.arange(3_000_000), 0),
        "ghosts": lambda: [f.fill_ghosts() for _ in range(300)],
        "sort": lambda: [ms.Particles(x).sort_by_cell(g) for _ in range(10)],
        "closest point": lambda: ms.collision.closest_point(x[:3000], triangles, x[:50_000]),
        "winding number": lambda: ms.collision.winding_number(x[:3000], triangles, x[:30_000]),
    }


@pytest.mark.fast_cases("[!cw]*")
@pytest.mark.parametrize("name", long_calls())
def test_other_threads_run_meanwhile(name: str) -> None:
    """A waiting Python thread gets its turn during the call, which can only be if the call does not hold the interpreter lock.

    The switch interval is so long that the thread would otherwise have to wait until after the check.
    """
    call = long_calls()[name]
    go, ran = threading.Event(), []

    def work() -> None:
        go.wait()
        ran.append(True)

    interval = sys.getswitchinterval()
    thread = threading.Thread(target=work)
    thread.start()
    sys.setswitchinterval(5.0)
    try:
        go.set()
        # On a busy machine one short call may be over before the thread has got a core.
        end = time.monotonic() + 2.0
        call()
        while not ran and time.monotonic() < end:
            call()
        meanwhile = bool(ran)
    finally:
        sys.setswitchinterval(interval)
        thread.join()
    assert meanwhile
