"""Programs on ranks give the bits of one rank: as threads of one process, and under `mpirun` of MPICH and of Open MPI."""

from __future__ import annotations

import copy
import json
import pickle
import time
from pathlib import Path

import numpy as np
import pytest
from parallel import mpirun as support
from parallel import rank_programs

import meniscus as ms
from meniscus.core.stateful import Stateful

PROGRAM = Path(__file__).with_name("rank_programs.py")


@pytest.fixture(scope="module")
def expected() -> dict[str, str]:
    # A single rank, whose solves add up their terms as those of many ranks do.
    return ms.parallel.run_threads(1, rank_programs.digests)[0]


@pytest.mark.fast_cases("3")
@pytest.mark.parametrize("count", [2, 3, 4, 8])
def test_threads_give_the_bits_of_one_rank(count: int, expected: dict[str, str]) -> None:
    found = ms.parallel.run_threads(count, rank_programs.digests)[0]
    assert found.keys() == expected.keys()
    assert [name for name in expected if found[name] != expected[name]] == []


# Eight processes take ten times as long as eight threads, which cut the same blocks.
@pytest.mark.fast_cases("2-openmpi")
@pytest.mark.parametrize("library", ["mpich", "openmpi"])
@pytest.mark.parametrize("count", [1, 2, 3, 4, 8])
def test_mpi_gives_the_bits_of_one_rank(library: str, count: int, expected: dict[str, str]) -> None:
    run = support.mpirun(library, count, PROGRAM)
    assert run.returncode == 0, run.stderr
    result = json.loads(run.stdout)
    assert result["size"] == count
    assert result["transport"] == {"mpich": "MPICH", "openmpi": "Open MPI"}[library]
    assert [name for name in expected if result["digests"][name] != expected[name]] == []


@pytest.mark.fast_cases("mpich")
@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_an_error_on_one_rank_is_raised_on_all(library: str) -> None:
    run = support.mpirun(library, 3, PROGRAM, "--fail")
    assert run.returncode != 0
    assert run.stderr.count("rank 2 failed: RuntimeError: no luck today") >= 1


def test_an_error_on_one_thread_is_raised_on_all() -> None:
    seen = []

    def program() -> None:
        grid = ms.Grid((16, 16), 1.0)
        try:
            with grid.agreement():
                if grid.comm.rank == 1:
                    raise ValueError("no luck today")
                grid.comm.gather(1)
        except ms.parallel.RankError as error:
            seen.append((grid.comm.rank, str(error)))
        # All can go on.
        assert grid.comm.gather(grid.comm.rank) == [0, 1, 2]

    ms.parallel.run_threads(3, program)
    assert sorted(seen) == [(r, "rank 1 failed: ValueError: no luck today") for r in range(3)]


class _Smoke(Stateful):
    """Smoke that is carried, and on one rank gets something that is no number."""

    def __init__(self, grid: ms.Grid) -> None:
        self.density = self.declare("density", ms.CellField.from_function(grid, lambda x, y: np.sin(x) + y))
        self.velocity = ms.MacField.from_function(grid, lambda x, t: np.sin(x))

    def step(self, bad: int | None) -> None:
        with self.transaction():
            for part in range(2):
                ms.grid.advect(self.density, self.velocity, 0.1)
                if self.density.grid.comm.rank == bad and part == 1:
                    raise FloatingPointError("the density has NaN")


def test_a_failed_step_on_one_rank_is_rolled_back_on_all() -> None:
    def program() -> None:
        smoke = _Smoke(ms.Grid((24, 16), 0.3))
        before = smoke.density.array.copy()
        for bad in (0, 2, 1):
            with pytest.raises(ms.parallel.RankError, match=f"rank {bad} failed: FloatingPointError: the density has NaN"):
                smoke.step(bad)
            assert np.array_equal(smoke.density.array, before)
        smoke.step(None)
        assert not np.array_equal(smoke.density.array, before)

    ms.parallel.run_threads(3, program)


def test_the_error_of_a_thread_is_the_cause() -> None:
    def program() -> None:
        with ms.parallel.ranks(None) as comm:
            if comm.rank == 1:
                raise KeyError("lost")
            comm.gather(0)

    with pytest.raises(ms.parallel.RankError, match="rank 1 failed: KeyError: 'lost'"):
        ms.parallel.run_threads(2, program)


def test_grids_know_their_blocks() -> None:
    def program() -> None:
        grid = ms.Grid((9, 20), 0.5, origin=(1.0, 2.0), blocks=(1, (6, 4, 10)))
        rank = grid.comm.rank
        assert grid.shape == (9, 20)
        assert grid.blocks == ((9,), (6, 4, 10))
        assert grid.local_shape == (9, (6, 4, 10)[rank])
        assert grid.first_cell == (0, (0, 6, 10)[rank])
        assert grid == ms.Grid((9, 20), 0.5, origin=(1.0, 2.0), blocks=(1, (6, 4, 10)))
        assert grid != ms.Grid((9, 20), 0.5, origin=(1.0, 2.0))
        assert pickle.loads(pickle.dumps(grid)) == grid
        assert copy.deepcopy(grid) is grid
        field = ms.CellField.from_function(grid, lambda x, y: x + 10 * y)
        assert field.shape == grid.local_shape
        again = pickle.loads(pickle.dumps(field))
        assert again.grid == grid
        assert np.array_equal(again.array, field.array)
        content = grid.comm.gather(pickle.dumps(grid))
        if rank == 0:
            with ms.parallel.ranks(ms.parallel.one_rank()), pytest.raises(ValueError, match="pickled on rank 1 of 3"):
                pickle.loads(content[1])

    ms.parallel.run_threads(3, program)


def test_balanced_blocks_have_the_least_surface() -> None:
    assert ms.parallel.balanced_blocks((64, 64, 64), 8) == ((32, 32),) * 3
    assert ms.parallel.balanced_blocks((100, 10), 4) == ((25, 25, 25, 25), (10,))
    assert ms.parallel.balanced_blocks((33, 21), 3) == ((11, 11, 11), (21,))
    # Around the long periodic axis two more sides touch.
    assert ms.parallel.balanced_blocks((16, 16), 2, (True, False)) == ((16,), (8, 8))
    with pytest.raises(ValueError, match="cannot be cut into 7 blocks of at least 4 cells"):
        ms.parallel.balanced_blocks((8, 8), 7)


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ((2, 1, 1), "for each of 2 axes"),
        (((5, 3), (16,)), "have 8 cells together, the domain has 16"),
        (((13, 3), 1), "thinner than the ghosts of its neighbours"),
        ((4, 1), "4 blocks need as many ranks, not 2"),
    ],
)
def test_blocks_that_cannot_be_are_refused_on_all_ranks(blocks: object, message: str) -> None:
    def program() -> None:
        with pytest.raises(ValueError, match=message):
            ms.Grid((16, 16), 1.0, blocks=blocks)  # type: ignore[arg-type]

    ms.parallel.run_threads(2, program)


def test_other_arguments_on_other_ranks_are_one_sentence() -> None:
    def program() -> None:
        comm = ms.parallel.Communicator
        grid = ms.Grid((16, 16), 1.0)
        assert isinstance(grid.comm, comm)
        with pytest.raises(ValueError, match="all ranks must make the same grid"):
            ms.Grid((16, 16 + grid.comm.rank), 1.0)
        field, other = ms.CellField(grid), ms.NodeField(grid)
        with pytest.raises(ValueError, match="all ranks must exchange the same fields"):
            ms.parallel.exchange([field if grid.comm.rank else other])
        p = ms.Particles(np.ones((3, 2)))
        if grid.comm.rank == 1:
            p.add_column("mass")
        with pytest.raises(ValueError, match="same columns on all ranks, but those of rank 1"):
            p.migrate(grid)
        q = ms.Particles(np.ones((3, 2)))
        if grid.comm.rank == 1:
            q.positions[0, 0] = np.nan
        with pytest.raises(ValueError, match="must be finite, those of rank 1 are not"):
            q.migrate(grid)

    ms.parallel.run_threads(2, program)


def test_messages_and_bytes_are_those_of_the_closed_form() -> None:
    """docs/parallel.md: one message to each block that touches, with the layers of all arrays."""

    def program() -> None:
        shape, g = (18, 20, 22), 3
        grid = ms.Grid(shape, 1.0, blocks=(2, 2, 2))
        rho, vel = ms.CellField(grid, np.float32), ms.MacField(grid)
        ms.parallel.exchange([rho, vel])
        before = ms.parallel.traffic(grid.comm)
        ms.parallel.exchange([rho, vel])
        sent = ms.parallel.traffic(grid.comm) - before
        assert sent.messages["fields"] == sent.total_messages == 7
        lower = [c == 0 for c in grid.first_cell]
        expected = 0
        for place, size in [((0, 0, 0), 4), ((1, 0, 0), 8), ((0, 1, 0), 8), ((0, 0, 1), 8)]:
            # A lower block has its own side and sends it with its layers; the upper one owns one layer of sides less.
            own = [n // 2 + s - (0 if low else s) for n, s, low in zip(shape, place, lower, strict=True)]
            out = [g + s if low else g for s, low in zip(place, lower, strict=True)]
            whole = np.prod([n + o for n, o in zip(own, out, strict=True)])
            expected += size * int(whole - np.prod(own))
        assert sent.bytes["fields"] == sent.total_bytes == expected

    ms.parallel.run_threads(8, program)


def test_an_exchange_in_two_parts() -> None:
    def program() -> None:
        grid = ms.Grid((24, 16), 1.0, periodic=(True, True))
        one, two = (ms.CellField.from_function(grid, lambda x, y: np.sin(x) + y) for _ in range(2))
        grid.comm.poison_ghosts()
        going = ms.parallel.start_exchange([one])
        work = np.sum(two.array)
        going.wait()
        two.fill_ghosts()
        assert np.isfinite(work)
        assert np.array_equal(one.with_ghosts, two.with_ghosts)

    for count in (1, 2, 4):
        ms.parallel.run_threads(count, program)


def test_sums_of_fields_are_exact_and_count_samples_once() -> None:
    grid = ms.Grid((6, 4), 1.0, periodic=(True, False))
    node = ms.NodeField(grid)
    node.array = np.ones(node.shape)
    assert node.sum() == 6 * 5
    cell = ms.CellField(grid)
    cell.array[...] = 0.1
    cell.array[0, 0], cell.array[3, 2] = 1e30, -1e30
    assert cell.sum() == pytest.approx(2.2, rel=1e-15)
    cell.array[1, 1] = np.nan
    assert np.isnan(cell.max())
    assert np.isnan(cell.min())


def test_communicators_of_another_kind_are_refused() -> None:
    with pytest.raises(TypeError, match="must be a communicator of mpi4py"):
        ms.Grid((8, 8), 1.0, comm="COMM_WORLD")


@pytest.mark.fast_cases("mpich")
@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_what_is_no_communicator_any_more_or_has_no_module(library: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
from pathlib import Path
from mpi4py import MPI
import pytest
import meniscus as ms
from meniscus.parallel import mpi

comm = MPI.COMM_WORLD.Dup()
held = ms.Grid((32, 32), 1.0, comm=comm)
comm.Free()
held.comm.gather(1)  # it has its own
with pytest.raises(ValueError, match="it was freed, or is COMM_NULL"):
    ms.Grid((32, 32), 1.0, comm=comm)
fresh = MPI.COMM_WORLD.Dup()
other = {"MPICH": "openmpi", "Open MPI": "mpich"}[MPI.get_vendor()[0]]
kept, mpi.FOLDER = mpi.FOLDER, Path("/nowhere")
with pytest.raises(ImportError, match="has no MPI module at all"):
    ms.Grid((32, 32), 1.0, comm=fresh)
mpi.FOLDER = kept
before = mpi.built_modules
mpi.built_modules = lambda: [other]
with pytest.raises(ImportError, match=f"mpi4py uses {MPI.get_vendor()[0]}, but this meniscus has modules for {other} only"):
    ms.Grid((32, 32), 1.0, comm=fresh)
mpi.built_modules = before
print("all refused")
""")
    run = support.mpirun(library, 2, program)
    assert run.returncode == 0, run.stderr
    assert run.stdout.count("all refused") == 2


@pytest.mark.parametrize("library", ["mpich", "openmpi"])
def test_a_killed_rank_ends_the_others(library: str, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text("""
import os, signal
from mpi4py import MPI
import meniscus as ms

with ms.parallel.ranks(MPI.COMM_WORLD) as comm:
    comm.gather(0)
    if comm.rank == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    comm.gather(1)
    print("this rank has not noticed")
""")
    start = time.monotonic()
    run = support.mpirun(library, 3, program, seconds=60)
    assert run.returncode != 0
    assert "not noticed" not in run.stdout
    assert time.monotonic() - start < 30  # with the start of Python on a busy machine
