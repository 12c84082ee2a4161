"""One measurement: some steps of a work on ranks. Run by `launch`, under `mpirun` or alone; prints one JSON object.

The argument is a JSON object: `work`, `cells`, `divided` (whether the cut divides the water), `steps`, `warm_up`, `threads` of each
rank, `ranks` (0: MPI says how many), and what is added to messages: `latency` (s) and `bandwidth` (bytes/s or null).
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from typing import Any

import meniscus as ms
from ranks.works import WORKS

Record = dict[str, float]


def measure(spec: dict[str, Any]) -> list[Record]:
    """Take the steps on this rank; return what all ranks have measured, on every rank."""
    step = WORKS[spec["work"]](tuple(spec["cells"]), **({"divided": True} if spec["divided"] else {}))
    comm = ms.Grid(tuple(spec["cells"]), 1.0).comm
    for _ in range(spec["warm_up"]):
        step()
    samples: list[Record] = []
    for k in range(2 * spec["steps"]):
        # Every other step is measured in processor seconds, which other programs on the machine hardly change.
        wall = k % 2 == 0
        comm.count_processor_seconds(not wall)
        comm.gather(0)
        before, traffic = comm.seconds(), comm.traffic()
        processor, start = processor_seconds(spec), time.perf_counter()
        step()
        elapsed, busy = time.perf_counter() - start, processor_seconds(spec) - processor
        spent, sent = comm.seconds() - before, comm.traffic() - traffic
        if wall:
            samples.append({"seconds": elapsed, "pack": spent.pack, "wait": spent.wait, "compute": elapsed - spent.pack - spent.wait})
            samples[-1] |= {"messages": sent.total_messages, "bytes": sent.total_bytes, "rounds": sent.rounds}
            samples[-1] |= {"reductions": sent.messages["reductions"], "reduced": sent.bytes["reductions"]}
            samples[-1] |= {"gathers": sent.messages["gather"], "gathered": sent.bytes["gather"]}
        else:
            samples[-1] |= {"processor_pack": spent.pack, "processor_compute": busy - spent.pack - spent.wait}
    own = {name: statistics.median(s[name] for s in samples) for name in samples[0]}
    return list(comm.gather(own))


def processor_seconds(spec: dict[str, Any]) -> float:
    """Return the processor seconds of this rank so far: of its thread, or of the process with the threads that work for it."""
    return time.thread_time() if spec["ranks"] > 1 and spec["threads"] == 1 else time.process_time()


def main() -> None:
    """Run on the ranks that the argument asks for."""
    spec = json.loads(sys.argv[1])
    ms.core.set_num_threads(spec["threads"])
    slower = {"latency": spec["latency"], "bandwidth": spec["bandwidth"]}
    if spec["ranks"] == 0:
        from mpi4py import MPI

        with ms.parallel.ranks(MPI.COMM_WORLD, **slower) as comm:
            records = measure(spec)
            first = comm.rank == 0
    elif spec["ranks"] == 1:
        records, first = measure(spec), True
    else:
        records, first = ms.parallel.run_threads(spec["ranks"], measure, spec, **slower)[0], True
    if first:
        print(json.dumps(records))


if __name__ == "__main__":
    main()
