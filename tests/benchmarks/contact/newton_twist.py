"""Cloth whose ends turn, by Newton's vertex block descent on the CPU, in the settings of its own example `cloth_twist`.

A program of its own for the interpreter that has Newton (`twist_peer.py` starts it): reads mesh, constants and turned nodes, writes the
last positions and the seconds of each frame.

    python newton_twist.py IN.npz OUT.npz
"""

from __future__ import annotations

import sys
import time
from typing import Any

import newton
import numpy as np
import warp as wp

# Of the example, in newton 1.8.0.
SUBSTEPS, ITERATIONS = 10, 4
MARGIN, GAP = 0.002, 0.0015
BUFFERS = {"particle_vertex_contact_buffer_size": 64, "particle_edge_contact_buffer_size": 128}


def make(given: Any) -> tuple[Any, Any]:
    """Return model and solver."""
    builder = newton.ModelBuilder(gravity=(0.0, 0.0, 0.0))
    builder.add_cloth_mesh(
        pos=wp.vec3(0.0, 0.0, 0.0),
        rot=wp.quat_identity(),
        scale=1.0,
        vertices=[wp.vec3(*v) for v in given["vertices"].tolist()],
        indices=given["triangles"].ravel().tolist(),
        vel=wp.vec3(0.0, 0.0, 0.0),
        density=float(given["density"]),
        tri_ke=float(given["stretch"]),
        tri_ka=float(given["stretch"]),
        tri_kd=2.0e-4,
        edge_ke=float(given["bending"]),
        edge_kd=1e-2,
    )
    builder.color()
    model = builder.finalize()
    model.soft_contact_ke, model.soft_contact_kd, model.soft_contact_mu = 1.0e3, 1.0e-1, float(given["friction"])
    flags = model.particle_flags.numpy()
    flags[given["turned"]] &= ~int(newton.ParticleFlags.ACTIVE)
    model.particle_flags = wp.array(flags)
    solver = newton.solvers.SolverVBD(
        model,
        iterations=ITERATIONS,
        particle_enable_self_contact=True,
        particle_self_contact_margin=MARGIN,
        particle_self_contact_gap=GAP,
        **BUFFERS,
    )
    return model, solver


def main() -> None:
    """Run and write."""
    given = np.load(sys.argv[1])
    frames, frame, speed = int(given["frames"]), float(given["frame"]), float(given["speed"])
    with wp.ScopedDevice("cpu"):
        model, solver = make(given)
        now, then, control = model.state(), model.state(), model.control()
        pipeline = newton.CollisionPipeline(model)
        contacts = pipeline.contacts()
        turned, signs = given["turned"], given["signs"]
        rest = given["vertices"][turned]
        seconds, processor = [], []
        for number in range(frames):
            wall, cpu = time.perf_counter(), time.process_time()
            pipeline.collide(now, contacts)
            solver.rebuild_bvh(now)
            for substep in range(SUBSTEPS):
                now.clear_forces()
                angle = signs * speed * frame * (number + substep / SUBSTEPS)
                c, s = np.cos(angle), np.sin(angle)
                x = np.stack([c * rest[:, 0] + s * rest[:, 2], rest[:, 1], c * rest[:, 2] - s * rest[:, 0]], axis=1)
                for state in (now, then):
                    # On the CPU, `numpy` returns the memory of the array itself.
                    state.particle_q.numpy()[turned] = x
                solver.step(now, then, control, contacts, frame / SUBSTEPS)
                now, then = then, now
            wp.synchronize()
            seconds.append(time.perf_counter() - wall)
            processor.append(time.process_time() - cpu)
        np.savez(
            sys.argv[2],
            positions=now.particle_q.numpy().astype(np.float64),
            seconds=seconds,
            processor=processor,
            version=np.array(newton.__version__),
        )


if __name__ == "__main__":
    main()
