"""A heap of boxes on the ground, beside MuJoCo: seconds per step, and how deep boxes are in each other.

    python tests/benchmarks/contact/rigid_boxes.py meniscus
    PEER/bin/python tests/benchmarks/contact/rigid_boxes.py mujoco --solver cg

The peer runs in an interpreter of its own. 512 boxes of 0.2 m fall in eight layers, turned a little, on the ground, for `--settle`
seconds; then steps are measured. Both have pyramids or cones of friction 0.5, density 1000 and the same length of steps.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

SIDE, LAYERS, SIZE = 8, 8, 0.2


def starts() -> tuple[np.ndarray, np.ndarray]:
    """Centres (n, 3) and quaternions (n, 4) of the boxes."""
    rng = np.random.default_rng(0)
    grid = np.array([(i, j, k) for k in range(LAYERS) for j in range(SIDE) for i in range(SIDE)], float)
    centers = (grid - [(SIDE - 1) / 2, (SIDE - 1) / 2, 0]) * [0.36, 0.36, 0.36] + [0, 0, 0.2]
    centers[:, :2] *= 0.62
    quaternions = rng.normal(size=(len(grid), 4))
    # A layer of 0.36 m holds any turn; sideways they are as close as boxes that stand upright may be.
    quaternions = np.array([1.0, 0, 0, 0]) + 0.05 * quaternions
    return centers, quaternions / np.linalg.norm(quaternions, axis=1)[:, None]


def meniscus_heap(options: argparse.Namespace) -> dict[str, float]:
    """Run the heap here."""
    import meniscus as ms
    from meniscus.solids import RigidBody, RigidOptions, RigidSystem

    ms.set_num_threads(options.threads)
    chosen = RigidOptions(iterations=options.iterations, substeps=options.substeps, slop=1e-4)
    system = RigidSystem(chosen, gravity=(0, 0, -9.81))
    system.add_obstacle(ms.surface.HalfSpace((0, 0, 0), (0, 0, 1)), friction=0.5)
    for x, q in zip(*starts(), strict=True):
        body = system.add(RigidBody.box((SIZE,) * 3), friction=0.5)
        body.state_row[:3], body.state_row[3:7] = x, q
    for _ in range(round(options.settle / options.dt)):
        system.step(options.dt)
    deepest, begin = [], time.perf_counter()
    for _ in range(options.steps):
        info = system.step(options.dt)
        deepest.append(info.deepest)
    seconds = (time.perf_counter() - begin) / options.steps
    speed = max(float(np.linalg.norm(b.velocity)) for b in system.bodies)
    return {"ms": 1e3 * seconds, "contacts": info.contacts, "deepest mm": 1e3 * float(np.mean(deepest)), "max speed": speed}


def mujoco_heap(options: argparse.Namespace) -> dict[str, float]:
    """Run the heap in MuJoCo."""
    import mujoco

    bodies = "".join(
        f'<body pos="{x[0]} {x[1]} {x[2]}" quat="{q[0]} {q[1]} {q[2]} {q[3]}"><freejoint/>'
        f'<geom type="box" size="{SIZE / 2} {SIZE / 2} {SIZE / 2}" density="1000"/></body>'
        for x, q in zip(*starts(), strict=True)
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{options.dt}" solver="{options.solver.upper() if options.solver != "newton" else "Newton"}" '
        f'cone="{options.cone}" iterations="{options.iterations}" jacobian="sparse"/><size memory="2G"/>'
        '<default><geom friction="0.5 0 0" condim="3"/></default>'
        f'<worldbody><geom type="plane" size="50 50 1"/>{bodies}</worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    for _ in range(round(options.settle / options.dt)):
        mujoco.mj_step(model, data)
    deepest, begin = [], time.perf_counter()
    for _ in range(options.steps):
        mujoco.mj_step(model, data)
        deepest.append(-float(data.contact.dist.min()))
    seconds = (time.perf_counter() - begin) / options.steps
    speed = float(np.linalg.norm(data.qvel.reshape(-1, 6)[:, :3], axis=1).max())
    return {"ms": 1e3 * seconds, "contacts": int(data.ncon), "deepest mm": 1e3 * float(np.mean(deepest)), "max speed": speed}


def main() -> None:
    """Run one of both and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", choices=("meniscus", "mujoco"))
    parser.add_argument("--solver", default="newton", choices=("newton", "cg", "pgs"))
    parser.add_argument("--cone", default="pyramidal", choices=("pyramidal", "elliptic"))
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--substeps", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--dt", type=float, default=0.005)
    parser.add_argument("--settle", type=float, default=3.0)
    parser.add_argument("--steps", type=int, default=100)
    options = parser.parse_args()
    found = meniscus_heap(options) if options.program == "meniscus" else mujoco_heap(options)
    print(json.dumps({**vars(options), **{k: round(v, 4) for k, v in found.items()}}))


if __name__ == "__main__":
    main()
