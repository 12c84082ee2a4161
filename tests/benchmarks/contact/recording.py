"""Cost and contacts of a scene of contact, frame by frame: processor seconds, stages as in Selle 2008, table 6.3, memory."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from meniscus.scenes.touching import Touching

# Parts of a world and their methods, by stages of a loop: A finds pairs and their sides, B integrates, with repulsion within it,
# C resolves contacts.
PARTS = {
    "A": ("loop", ("enter",)),
    "B": ("solver", ("predict", "advance_positions", "collide", "solve", "extrapolate", "slide")),
    "repulsion": ("solver", ("repel", "rub")),
    "C": ("loop", ("end",)),
}


class Clock:
    """Processor seconds (of the user and of the system, of all threads) of the parts of the steps of a world."""

    def __init__(self, world: Any) -> None:
        self.seconds = dict.fromkeys(PARTS, 0.0)
        for part, (owner, methods) in PARTS.items():
            for name in methods:
                of = getattr(world, owner)
                of.__dict__[name] = self._timed(part, getattr(of, name))

    def _timed(self, part: str, method: Callable[..., Any]) -> Callable[..., Any]:
        def timed(*given: Any) -> Any:
            start = time.process_time()
            try:
                return method(*given)
            finally:
                self.seconds[part] += time.process_time() - start

        return timed


def peak_memory() -> float:
    """Return the largest resident memory of this process so far, GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def state_of(scene: Touching, now: float) -> dict[str, Any]:
    """Return time, positions and velocities of the bodies, which `Touching.start_from` takes."""
    bodies = scene.world.bodies
    return {
        "time": now,
        "positions": np.concatenate([body.positions for body in bodies]),
        "velocities": np.concatenate([body.velocities for body in bodies]),
    }


def frames(scene: Touching, begin: float, end: float, count: int) -> Iterator[dict[str, Any]]:
    """Take a scene that is set up from one time (s) to another in so many frames; yield a row for each.

    What a frame costs is without the test for intersections at its end.
    """
    clock = Clock(scene.world)
    loops = np.zeros(4)
    for number in range(1, count + 1):
        wall, cpu = time.perf_counter(), time.process_time()
        clock.seconds = dict.fromkeys(PARTS, 0.0)
        last = begin + (end - begin) * number / count
        now = begin + (end - begin) * (number - 1) / count
        before = np.array(scene.counts)
        contacts = impulses = pairs = active = solves = steps = 0
        while last - now > 1e-9:
            dt = min(scene.max_dt(), last - now)
            scene.advance(now, dt)
            now += dt
            for info in scene._last:
                steps += 1
                pairs, active = max(pairs, info.contact.pairs), max(active, info.contact.active)
                solves += sum(solve.iterations for solve in info.solves)
                contacts += info.contact.contacts
                impulses += info.contact.impulses
        loops = np.array(scene.counts) - before
        row = {
            "frame": number,
            "time": last,
            "cpu": time.process_time() - cpu,
            "wall": time.perf_counter() - wall,
            **{f"cpu {name}": value for name, value in clock.seconds.items()},
            "loops": loops[0],
            "cuts": loops[1],
            "rigid share": loops[2] / max(loops[0], 1),
            "uncertified": loops[3],
            "steps": steps,
            "iterations": solves,
            "pairs": pairs,
            "active": active,
            "contacts": contacts,
            "impulses": impulses,
            "peak GB": peak_memory(),
        }
        row["intersections"] = len(scene.world.audit())
        row["max speed"] = max(float(np.linalg.norm(body.velocities, axis=1).max()) for body in scene.world.bodies)
        yield row


def write_row(path: Path | None, row: dict[str, Any]) -> None:
    """Append a row to a file of JSON lines."""
    if path is not None:
        with path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({k: v.item() if isinstance(v, np.generic) else v for k, v in row.items()}) + "\n")
