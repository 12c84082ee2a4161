"""Runs on several ranks: what they must have in common, and the threads of each."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from meniscus.parallel import Communicator, RankError, ranks
from meniscus.parallel.communicator import resolve
from meniscus.scenes.record import parameters_of
from meniscus.scenes.scene import Scene

_T = TypeVar("_T")


def require_same_run(comm: Communicator, scene: Scene, folder: Path | None, options: object) -> None:
    """Raise ValueError, on all ranks, if they are about to run different things, or a scene that is for one rank; collective."""
    if comm.size == 1:
        return
    if not scene.on_ranks:
        raise ValueError(f"the scene {scene.name!r} cannot be cut into blocks, so it runs on one rank, not on {comm.size}")
    told = {"scene": scene.name, **parameters_of(scene), "out": None if folder is None else str(folder)}
    told |= {name: value for name, value in vars(options).items() if not name.startswith("on_")}  # hooks may differ
    everywhere = comm.gather(told)
    meet(comm)
    for rank, theirs in enumerate(everywhere):
        if theirs != everywhere[0]:
            names = [n for n in {**everywhere[0], **theirs} if theirs.get(n) != everywhere[0].get(n)]
            first, other = (", ".join(f"{n}={t.get(n)!r}" for n in names) for t in (everywhere[0], theirs))
            raise ValueError(f"all ranks must run the same scene in the same way, but rank 0 has {first} and rank {rank} has {other}")


def meet(comm: Communicator) -> None:
    """Wait for all ranks, before each finds the same error: else the first to raise it would break off the calls of others."""
    with comm.agreement():
        pass


def run_together(comm: Any, function: Callable[[], _T]) -> _T:
    """Return what a function returns that all ranks of a communicator of mpi4py call; collective.

    Raises:
        KeyboardInterrupt: on all ranks, if any of them was told to stop.
        RankError: an error on some rank. One that all ranks have alike is raised itself.
    """
    used = resolve(comm)
    try:
        with ranks(used):
            return function()
    except (RankError, KeyboardInterrupt) as error:
        cause = error.__cause__ if isinstance(error, RankError) else error
        everywhere = used.gather(None if cause is None else (type(cause), str(cause)))
        told = next((kind for kind, _ in filter(None, everywhere) if issubclass(kind, KeyboardInterrupt)), None)
        if told is not None:
            raise told from None
        if cause is not None and all(e == everywhere[0] for e in everywhere):
            raise cause from None
        raise


def threads_of_rank(comm: Communicator) -> int:
    """Return how many threads a rank may use, so that those of one machine do not compete for its cores; collective."""
    cores = set(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else set(range(os.cpu_count() or 1))
    machine = platform.node()
    sharing: int = sum(name == machine and not cores.isdisjoint(theirs) for name, theirs in comm.gather((machine, cores)))
    return max(1, len(cores) // max(1, sharing))
