"""Study of a scene of coupled water without its pictures and files: seconds per stage, volumes, water carried, memory, frame by frame.

    cd tests/benchmarks
    python coupled_scenes.py ball-stream scale=2.5 edge=0.0308 frames=60 --run 2
    python coupled_scenes.py breach scale=1.5 solver=particle-level-set --record breach.jsonl

With `--surface` the surface that pictures show is made too. A row of `--record` has what the scene reports, and the seconds of each stage.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np

import meniscus as ms
from meniscus.scenes.coupled_water import CoupledWater
from meniscus.scenes.library.tetrahedra.ball_stream import BallStream
from meniscus.scenes.library.tetrahedra.breach import Breach
from meniscus.scenes.scene import StageTimes

SCENES: dict[str, type[CoupledWater]] = {"ball-stream": BallStream, "breach": Breach}


def parameters(scene: type[CoupledWater], given: list[str]) -> dict[str, Any]:
    """Return `name=value` as arguments of a scene."""
    types, result = get_type_hints(scene), {}
    for entry in given:
        name, _, value = entry.partition("=")
        kind = types[name]
        result[name] = value == "true" if kind is bool else kind(value) if kind in (int, float) else value
    return result


def surface_measures(scene: CoupledWater) -> dict[str, float]:
    """Return the volume that the shown surface encloses, and its area, m^3 and m^2."""
    mesh = scene.water.mesh()
    a, b, c = (mesh.vertices[mesh.triangles[:, k]].astype(np.float64) for k in range(3))
    return {
        "shown": float(np.einsum("ij,ij->", a, np.cross(b, c)) / 6),
        "area": float(np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2),
    }


def main() -> None:
    """Run a scene and print a line for each frame."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scene", choices=sorted(SCENES))
    parser.add_argument("parameters", nargs="*", help="name=value")
    parser.add_argument("--run", type=int, help="frames to run; all by default")
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--surface", action="store_true", help="make the surface that pictures show")
    parser.add_argument("--record", type=Path, help="file of rows as JSON lines")
    given = parser.parse_args()
    if given.threads:
        ms.core.set_num_threads(given.threads)
    began = time.perf_counter()
    kind = SCENES[given.scene]
    if not given.surface:
        kind = type(kind.__name__, (kind,), {"_show_surface": lambda self, t: None, "name": ""})
    scene = kind(**parameters(SCENES[given.scene], given.parameters))
    clock = scene.clock()
    scene.setup()
    tets = len(scene.model.vof.tets) if hasattr(scene.model, "vof") else 0
    print(
        f"{'x'.join(map(str, scene.liquid.grid.shape))} cells, {tets} tetrahedra, made in {time.perf_counter() - began:.1f} s", flush=True
    )
    times = StageTimes(scene)
    with times.attached(scene):
        for frame in range(1, (given.run or clock.frames) + 1):
            times.reset()
            began, steps = time.perf_counter(), 0
            while clock.frame < frame:
                dt = clock.next_dt(scene.max_dt())
                scene.advance(clock.time, dt)
                clock.advance(dt)
                steps += 1
            seconds = time.perf_counter() - began
            row = {"frame": frame, "time": clock.time, "steps": steps, "seconds": seconds, **scene.report(clock.time)}
            row |= {f"seconds {name}": s for name, s in times.seconds.items()}
            row["peak GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            if given.surface:
                row |= surface_measures(scene)
            if given.record:
                with given.record.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(row) + "\n")
            shown = ("grid", "tetrahedra", "drops", "volume error", "ledger error", "carried", "wet", "flying", "peak GB")
            print(f"{frame:4d} {steps:3d} steps {seconds:8.2f} s  " + "  ".join(f"{k} {row[k]:.4g}" for k in shown if k in row), flush=True)
            slow = sorted(times.seconds.items(), key=lambda item: -item[1])[:6]
            if seconds > 5:
                print("       " + "  ".join(f"{name} {s:.2f}" for name, s in slow), flush=True)


if __name__ == "__main__":
    main()
