"""Ranks: processes of MPI or threads of one process, between which the domain of a grid is cut into blocks."""

from meniscus.parallel.communicator import Communicator, RankError, Seconds, Traffic, one_rank, ranks, seconds, traffic
from meniscus.parallel.cuts import balanced_blocks
from meniscus.parallel.exchange import HaloExchange, exchange, gather, start_exchange
from meniscus.parallel.threads import run_threads

__all__ = [
    "Communicator",
    "HaloExchange",
    "RankError",
    "Seconds",
    "Traffic",
    "balanced_blocks",
    "exchange",
    "gather",
    "one_rank",
    "ranks",
    "run_threads",
    "seconds",
    "start_exchange",
    "traffic",
]
