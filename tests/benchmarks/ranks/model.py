"""Model of the time of a step on ranks.

    seconds = compute + pack + rounds * latency + bytes / bandwidth

A rank computes its block as fast as one rank does, packs its messages, waits `rounds` times for the latency of the network, and sends its
bytes one after the other. Messages that go out together are one round. A reduction over n ranks takes log2 n rounds with the bytes of one
value, and two more where n is no power of two; a gather takes ceil(log2 n) rounds and the bytes of n - 1 ranks.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Network:
    """Seconds from rank to rank, and bytes per second that a rank can send."""

    latency: float
    bandwidth: float


@dataclass(frozen=True)
class Load:
    """What a rank does in one step.

    Attributes:
        compute: seconds.
        pack: seconds.
        rounds: of exchanges with neighbours.
        bytes: that go to them.
        reductions: sums, maxima and agreements over all ranks.
        reduced: bytes of one value in each, added up.
        gathers: of what all ranks need to know of each other.
        gathered: bytes of one rank in each, added up.
    """

    compute: float
    pack: float
    rounds: float
    bytes: float
    reductions: float = 0.0
    reduced: float = 0.0
    gathers: float = 0.0
    gathered: float = 0.0


def load_of(record: dict[str, float], ranks: int) -> Load:
    """Return the load of a rank from what `program` has measured on so many ranks: a power of two, and not one."""
    steps = math.log2(ranks)
    return Load(
        compute=record["compute"],
        pack=record["pack"],
        rounds=record["rounds"] - record["reductions"] - record["gathers"],
        bytes=record["bytes"] - record["reduced"] - record["gathered"],
        reductions=record["reductions"] / steps,
        reduced=record["reduced"] / steps,
        gathers=record["gathers"] / steps,
        gathered=record["gathered"] / (ranks - 1),
    )


def seconds(load: Load, network: Network, ranks: int) -> float:
    """Return the predicted seconds of a step."""
    if ranks == 1:
        return load.compute
    doublings = math.floor(math.log2(ranks))
    if 2**doublings < ranks:
        doublings += 2
    rounds = load.rounds + load.reductions * doublings + load.gathers * math.ceil(math.log2(ranks))
    sent = load.bytes + load.reduced * doublings + load.gathered * (ranks - 1)
    return load.compute + load.pack + rounds * network.latency + sent / network.bandwidth


def inner_block(load: Load, cut: tuple[int, ...]) -> Load:
    """Return the load of a block with neighbours on all sides, from that of a corner block of a domain cut into so many blocks per axis.

    A block at the end of an axis sends layers across one of its two sides, so an inner one sends twice as much, in as many rounds. Axes
    that are not cut yet add their rounds and bytes; the blocks are taken as cubes.
    """
    axes = sum(n > 1 for n in cut)
    return replace(load, pack=load.pack * 6 / axes, bytes=load.bytes * 6 / axes, rounds=load.rounds * 3 / axes)


def scaled(load: Load, factor: float) -> Load:
    """Return the load of a block of `factor` times the cells: its surface grows with the power 2/3."""
    surface = factor ** (2 / 3)
    return replace(load, compute=load.compute * factor, pack=load.pack * surface, bytes=load.bytes * surface)


def delayed(record: dict[str, float], network: Network) -> float:
    """Return the predicted seconds of a step whose messages get a latency and a bandwidth more than those of a measured one."""
    return record["seconds"] + record["rounds"] * network.latency + record["bytes"] / network.bandwidth
