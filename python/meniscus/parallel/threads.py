"""Ranks that are threads of one process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

from meniscus import _checks
from meniscus._meniscus import parallel as _parallel
from meniscus.parallel.communicator import Communicator, RankError, link_delay, ranks

_T = TypeVar("_T")


def run_threads(count: int, function: Callable[..., _T], *arguments: Any, latency: float = 0.0, bandwidth: float | None = None) -> list[_T]:
    """Call function(*arguments) on `count` threads, each of which is a rank, and return what they return, by rank.

    Grids that the function makes are cut among the threads, as they are cut among the processes of MPI: the same program, for tests and for
    trying out without MPI. Ranks wait for each other without the GIL. `latency` (s) and `bandwidth` (bytes/s) are added to every message,
    as in `ranks`.

    Raises:
        TypeError, ValueError: `count` is no positive integer, `function` cannot be called, a latency or bandwidth that cannot be.
        RankError: the function has raised an error on a rank, which is the cause.
    """
    room = _parallel.ThreadRoom(_checks.integer("count", count, at_least=1))
    _checks.function("function", function)
    delay = link_delay(latency, bandwidth)
    results: list[Any] = [None] * count
    errors: list[BaseException | None] = [None] * count

    def program(rank: int) -> None:
        try:
            with ranks(Communicator(room.communicator(rank, delay), room)):
                results[rank] = function(*arguments)
        except BaseException as error:
            errors[rank] = error

    threads = [threading.Thread(target=program, args=(rank,), name=f"meniscus rank {rank}", daemon=True) for rank in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    failed = [error for error in errors if error is not None]
    if failed:
        # The one that has a cause is that of the rank that failed.
        raise next((e for e in failed if isinstance(e, RankError) and e.__cause__ is not None), failed[0])
    return results
