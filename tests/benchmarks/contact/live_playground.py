"""A playground in real time: cloth with self-contact, boxes, and jelly of reduced tetrahedra; frames per second.

    python tests/benchmarks/contact/live_playground.py --threads 2

A cloth of 12,000 nodes falls over 200 boxes, which lie on jelly of 20,000 tetrahedra with 20 coordinates; after `--settle` frames of 1/60 s
the next ones are measured: the median, the worst of a hundred, and where the time goes.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np

import meniscus as ms
from meniscus.scenes.library.contact.live_playground import LivePlayground


def main() -> None:
    """Measure, and print the figures as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--settle", type=int, default=120)
    parser.add_argument("--frames", type=int, default=100)
    parser.add_argument("--substeps", type=int, default=8)
    options = parser.parse_args()
    ms.set_num_threads(options.threads)
    scene = LivePlayground(substeps=options.substeps)
    world = scene.make_live_world(scene.make_bodies(scene.split_meshes()))
    for _ in range(options.settle):
        world.step(1 / 60)
    seconds, stages = [], []
    for _ in range(options.frames):
        begin = time.perf_counter()
        info = world.step(1 / 60)
        seconds.append(time.perf_counter() - begin)
        stages.append(info.seconds)
    names = ("rigid", "predict", "search", "nodes", "rows", "ends")
    parts = dict(zip(names, (1e3 * np.median(stages, axis=0)).round(2).tolist(), strict=True))
    found = {
        "nodes": len(world.node_bodies[0]),
        "boxes": len(world.rigid),
        "tetrahedra": sum(len(b.model.tets) for b in world.reduced_bodies),
        "median ms": 1e3 * float(np.median(seconds)),
        "99 % ms": 1e3 * float(np.quantile(seconds, 0.99)),
        "frames/s": 1 / float(np.median(seconds)),
        "stages ms": parts,
        "pairs": info.pairs,
        "rows": info.rows,
        "pressing": info.pressing,
        "rigid contacts": info.rigid.contacts if info.rigid else 0,
    }
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
