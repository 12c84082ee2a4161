"""Messages with an added latency and bandwidth, and the seconds that ranks spend on messages."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from parallel import mpirun as support

import meniscus as ms


def _transported() -> np.ndarray | None:
    grid = ms.Grid((24, 20), 0.1, periodic=(True, False))
    velocity = ms.MacField.from_function(grid, lambda x, t: np.stack([np.sin(x[:, 1]), np.cos(x[:, 0])], axis=1))
    density = ms.CellField.from_function(grid, lambda x, y: np.sin(3 * x) * y)
    for _ in range(2):
        ms.grid.advect(density, velocity, 0.08)
    return density.gather()


def test_slower_messages_carry_the_same_bits() -> None:
    expected = _transported()
    for size in (2, 3, 4):
        found = ms.parallel.run_threads(size, _transported, latency=2e-4, bandwidth=1e8)[0]
        assert expected is not None
        assert found is not None
        assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize(("latency", "bandwidth", "least"), [(5e-3, None, 5e-3), (0.0, 1e4, 8e-4)])
def test_a_message_is_not_there_before_its_time(latency: float, bandwidth: float | None, least: float) -> None:
    """Each answer waits for the one before, so the delays add up."""

    def program() -> tuple[float, ms.parallel.Seconds, int]:
        field = ms.CellField(ms.Grid((8, 8), 1.0))
        comm = field.grid.comm
        start, before, traffic = time.monotonic(), ms.parallel.seconds(), ms.parallel.traffic()
        for _ in range(4):
            ms.grid.max_speed(ms.MacField(field.grid))
        return time.monotonic() - start, comm.seconds() - before, (comm.traffic() - traffic).rounds

    for elapsed, seconds, rounds in ms.parallel.run_threads(2, program, latency=latency, bandwidth=bandwidth):
        assert rounds == 4
        assert elapsed > 4 * least
        assert seconds.wait > 0
        assert seconds.pack == 0


def test_a_failure_ends_slower_ranks_too() -> None:
    def program() -> None:
        comm = ms.Grid((12, 8), 1.0).comm
        if comm.rank == 1:
            raise KeyError("lost")
        comm.gather(0)

    with pytest.raises(ms.parallel.RankError, match="rank 1 failed: KeyError: 'lost'"):
        ms.parallel.run_threads(3, program, latency=1e-3)


@pytest.mark.parametrize(
    ("delay", "message"),
    [
        ({"latency": -1.0}, "latency must not be negative"),
        ({"latency": float("nan")}, "latency must be finite"),
        ({"bandwidth": 0.0}, "bandwidth must be positive"),
    ],
)
def test_delays_that_cannot_be_are_refused(delay: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ms.parallel.run_threads(2, _transported, **delay)


def test_a_delay_belongs_to_a_communicator_that_is_made_for_it() -> None:
    with pytest.raises(ValueError, match="not to one that meniscus has made"), ms.parallel.ranks(None, latency=1e-3):
        pass


def test_seconds_are_those_of_messages() -> None:
    def program(*, processor: bool) -> tuple[ms.parallel.Seconds, float]:
        grid = ms.Grid((64, 64), 1.0)
        grid.comm.count_processor_seconds(processor)
        field = ms.CellField(grid)
        start, before = time.monotonic(), ms.parallel.seconds()
        for _ in range(10):
            field.fill_ghosts()
            ms.parallel.exchange([field])
        return ms.parallel.seconds() - before, time.monotonic() - start

    for processor in (False, True):
        for seconds, elapsed in ms.parallel.run_threads(2, lambda p=processor: program(processor=p)):  # type: ignore[misc]
            assert seconds.pack > 0
            assert seconds.wait > 0
            assert seconds.pack + seconds.wait < elapsed
    assert program(processor=False)[0] == ms.parallel.Seconds(0.0, 0.0)


@pytest.mark.fast_cases("openmpi")
@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_messages_of_mpi_get_slower_too(library: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
import time
from mpi4py import MPI
import numpy as np
import meniscus as ms


def whole():
    grid = ms.Grid((24, 20), 0.1)
    velocity = ms.MacField.from_function(grid, lambda x, t: np.sin(x))
    density = ms.CellField.from_function(grid, lambda x, y: np.sin(3 * x) * y)
    ms.grid.advect(density, velocity, 0.3)
    return density.gather()


alone = whole()
with ms.parallel.ranks(MPI.COMM_WORLD):
    usual = whole()
with ms.parallel.ranks(MPI.COMM_WORLD, latency=2e-3, bandwidth=1e7) as comm:
    start = time.monotonic()
    slower = whole()
    waited = time.monotonic() - start
    # Sums and maxima wait for all, one after the other.
    assert waited > 2e-3 * 2
    if comm.rank == 0:
        assert (usual == alone).all() and (slower == alone).all()
        print("same bits")
with ms.parallel.ranks(MPI.COMM_WORLD) as comm:
    assert comm.gather(comm.rank) == list(range(comm.size))
""")
    run = support.mpirun(library, 3, program)
    assert run.returncode == 0, run.stderr
    assert run.stdout == "same bits\n"
