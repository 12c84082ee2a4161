"""Communicators: the ranks that share a domain."""

from __future__ import annotations

import contextvars
import math
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from meniscus import _checks
from meniscus._meniscus import parallel as _parallel
from meniscus.parallel import mpi

RankError = _parallel.RankError
"""Error on all ranks after a failure on one of them; the sentence tells which, and why."""

_default: contextvars.ContextVar[Communicator | None] = contextvars.ContextVar("meniscus_ranks", default=None)


@dataclass(frozen=True)
class Traffic:
    """Messages and bytes that a rank has sent since its communicator was made, by kind; subtract to measure a part of a program.

    Attributes:
        messages: numbers by kind: 'halo' (ghosts, axis by axis), 'fields' (`exchange`), 'boxes' (windows larger than ghosts, and `gather`
            of fields), 'particles' (`migrate`), 'numbering' (ids of new particles), 'reductions' (sums, maxima,
            agreements), 'gather' (what all ranks need to know of each other, as for plans), 'collection' (what goes to one rank).
        bytes: of these messages.
        rounds: exchanges in which it waited for messages, any number at once: how often the latency of the network counts.
    """

    messages: dict[str, int]
    bytes: dict[str, int]
    rounds: int

    @property
    def total_messages(self) -> int:
        """Messages of all kinds."""
        return sum(self.messages.values())

    @property
    def total_bytes(self) -> int:
        """Bytes of all kinds."""
        return sum(self.bytes.values())

    def __sub__(self, other: Traffic) -> Traffic:
        """Return what came since an earlier count."""
        return Traffic(
            {kind: n - other.messages[kind] for kind, n in self.messages.items()},
            {kind: n - other.bytes[kind] for kind, n in self.bytes.items()},
            self.rounds - other.rounds,
        )


@dataclass(frozen=True)
class Seconds:
    """Seconds that a rank has spent on messages since its communicator was made; subtract to measure a part of a program.

    What is left of the time of a program is computation.

    Attributes:
        pack: copying between fields or particles and messages.
        wait: in the transport, sending and waiting for others.
    """

    pack: float
    wait: float

    def __sub__(self, other: Seconds) -> Seconds:
        """Return what came since an earlier count."""
        return Seconds(self.pack - other.pack, self.wait - other.wait)


class Communicator:
    """The ranks among which grids are cut into blocks, as one of them sees them.

    Made by `ranks`, `run_threads` or for the `comm` of a `Grid`; a script needs none of its own.
    """

    __slots__ = ("_core", "_keep")

    def __init__(self, core: Any, keep: object = None) -> None:
        self._core = core
        self._keep = keep

    @property
    def rank(self) -> int:
        """Number of this rank, from 0."""
        return int(self._core.rank)

    @property
    def size(self) -> int:
        """Number of ranks."""
        return int(self._core.size)

    @property
    def transport(self) -> str:
        """What carries the messages: 'MPICH', 'Open MPI', 'threads', or 'one rank'."""
        return str(self._core.transport)

    def traffic(self) -> Traffic:
        """Return what this rank has sent since the communicator was made."""
        counts = self._core.traffic()
        return Traffic({k: n for k, (n, _) in counts.items()}, {k: b for k, (_, b) in counts.items()}, self._core.rounds)

    def seconds(self) -> Seconds:
        """Return the seconds that this rank has spent on messages since the communicator was made."""
        return Seconds(*self._core.seconds())

    def count_processor_seconds(self, on: bool = True) -> None:
        """Count the seconds in which the thread of this rank has a processor, instead of those on the wall, from now on.

        With more ranks than cores, a rank that packs or computes is interrupted by others. Costs about a microsecond per exchange.
        """
        self._core.count_processor_seconds(on)

    def gather(self, value: Any) -> list[Any]:
        """Return the values that all ranks hand in, in the order of the ranks; collective. Values must be picklable."""
        if self.size == 1:
            return [value]
        return [pickle.loads(b) for b in self._core.gather_bytes(pickle.dumps(value))]

    def exchange(self, values: Sequence[Any]) -> list[Any]:
        """Hand value i to rank i, and return what the ranks have for this one, in their order; collective.

        Values must be picklable; None is not sent. Raises ValueError if there is not one value for each rank.
        """
        if len(values) != self.size:
            raise ValueError(f"values must hold one for each of {self.size} ranks, not {len(values)}")
        if self.size == 1:
            return list(values)
        sent = [b"" if value is None else pickle.dumps(value, pickle.HIGHEST_PROTOCOL) for value in values]
        return [pickle.loads(b) if b else None for b in self._core.exchange_bytes(sent)]

    def total(self, count: int) -> int:
        """Return the sum of the counts that all ranks hand in; collective."""
        return int(self._core.total(count)) if self.size > 1 else int(count)

    def exact_sum(self, values: Any) -> float:
        """Return the sum of the numbers that all ranks hand in, rounded once, so that their order does not matter; collective."""
        return math.fsum(v for part in self.gather(values) for v in part)

    def poison_ghosts(self, on: bool = True) -> None:
        """Overwrite ghosts with NaN before each exchange that fills them, for tests. Applies to plans that are made from now on."""
        self._core.poison_ghosts(on)

    @contextmanager
    def agreement(self) -> Iterator[None]:
        """Return a context that all ranks leave by an error if one of them does; collective.

        Ranks that wait for a message of the failed one stop waiting.

        Raises:
            RankError: on all ranks, with the number of the first rank that failed and its error; what it raised is the cause there.
        """
        if self.size == 1:
            yield
            return
        caught: BaseException | None = None
        try:
            yield
        except BaseException as error:
            caught = error
        own = None
        if caught is not None and not isinstance(caught, RankError):
            own = f"rank {self.rank} failed: {type(caught).__name__}: {caught}"
        failure = self._core.agree(own)
        if failure is not None and not isinstance(caught, (KeyboardInterrupt, SystemExit)):
            raise RankError(failure[1]) from (caught if own is not None else None)
        if caught is not None:
            raise caught

    def __repr__(self) -> str:
        """One line: rank, size, transport."""
        return f"<Communicator: rank {self.rank} of {self.size}, {self.transport}>"


_one = Communicator(_parallel.one_rank())


def one_rank() -> Communicator:
    """Return the communicator of a single rank, for grids that are not cut although a default says so."""
    return _one


def default() -> Communicator:
    """Return the communicator of the innermost `ranks`, else that of a single rank."""
    return _default.get() or _one


def resolve(comm: Any, delay: Any = None) -> Communicator:
    """Return the communicator for `comm`: None (the default), a `Communicator`, or a communicator of mpi4py (duplicated; collective).

    `delay` is what `link_delay` returns; with one, `comm` must be a communicator of mpi4py.

    Raises:
        TypeError: something else.
        ValueError: a communicator that was freed, an MPI that is not running, or a delay for a communicator that has been made.
        ImportError: there is no MPI module that fits to mpi4py's MPI.
    """
    if delay is not None and (comm is None or isinstance(comm, Communicator)):
        raise ValueError(
            "latency and bandwidth can be added to a communicator of mpi4py or in `run_threads`, not to one that meniscus has made"
        )
    if comm is None:
        return default()
    if isinstance(comm, Communicator):
        return comm
    return mpi.communicator_of(comm, Communicator, delay)


def link_delay(latency: float, bandwidth: float | None) -> Any:
    """Return what is added to messages, None for nothing. Raises TypeError or ValueError for wrong numbers."""
    late = _checks.number("latency", latency)
    if late < 0:
        raise ValueError(f"latency must not be negative, got {late}")
    rate = None if bandwidth is None else _checks.positive("bandwidth", bandwidth)
    if late == 0 and rate is None:
        return None
    return _parallel.LinkDelay(late, math.inf if rate is None else rate)


@contextmanager
def ranks(comm: Any, *, latency: float = 0.0, bandwidth: float | None = None) -> Iterator[Communicator]:
    """Return a context in which grids are cut among the ranks of a communicator of mpi4py; collective, as all that is done in it.

    `latency` (s) and `bandwidth` (bytes/s) are added to those of the network, to see what a slower one does. Each rank then sends one
    message after the other, and each arrives `latency` after it has left. All ranks must be on one machine, whose clock they share.

    Raises:
        RankError: when the context is left: on all ranks, if any of them leaves it by an error.
        TypeError, ValueError, ImportError: as for the `comm` of a `Grid`; wrong numbers.
    """
    used = resolve(comm, link_delay(latency, bandwidth))
    token = _default.set(used)
    try:
        with used.agreement():
            yield used
    finally:
        _default.reset(token)


def traffic(comm: Any = None) -> Traffic:
    """Return the messages and bytes that this rank has sent over a communicator; default: the one in use."""
    return resolve(comm).traffic()


def seconds(comm: Any = None) -> Seconds:
    """Return the seconds that this rank has spent on messages over a communicator; default: the one in use."""
    return resolve(comm).seconds()
