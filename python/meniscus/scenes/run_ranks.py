"""Runs on several ranks: what they must have in common, and the threads of each."""

from __future__ import annotations

import os
import platform
from pathlib import Path

from meniscus.parallel import Communicator
from meniscus.scenes.record import parameters_of
from meniscus.scenes.scene import Scene


def require_same_run(comm: Communicator, scene: Scene, folder: Path | None, options: object) -> None:
    """Raise ValueError, on all ranks, if they are about to run different things, or a scene that is for one rank; collective."""
    if comm.size == 1:
        return
    if not scene.on_ranks:
        raise ValueError(f"the scene {scene.name!r} has no grid that can be cut, so it runs on one rank, not on {comm.size}")
    told = {"scene": scene.name, **parameters_of(scene), "out": None if folder is None else str(folder)}
    told |= {name: value for name, value in vars(options).items() if not callable(value)}
    everywhere = comm.gather(told)
    for rank, theirs in enumerate(everywhere):
        if theirs != everywhere[0]:
            names = [n for n in {**everywhere[0], **theirs} if theirs.get(n) != everywhere[0].get(n)]
            first, other = (", ".join(f"{n}={t.get(n)!r}" for n in names) for t in (everywhere[0], theirs))
            raise ValueError(f"all ranks must run the same scene in the same way, but rank 0 has {first} and rank {rank} has {other}")


def threads_of_rank(comm: Communicator) -> int:
    """Return how many threads a rank may use, so that those of one machine do not compete for its cores; collective."""
    cores = set(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    machine = platform.node()
    sharing = sum(name == machine and not cores.isdisjoint(theirs) for name, theirs in comm.gather((machine, cores)))
    return max(1, len(cores) // max(1, sharing))
