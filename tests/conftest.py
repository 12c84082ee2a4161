"""Fixtures and settings of all tests."""

import gc
import os
import signal
from collections.abc import Iterator
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

import meniscus as ms

settings.register_profile(
    "meniscus", deadline=None, max_examples=25, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile("meniscus")

# A shell that starts the tests in the background has Ctrl-C ignored, here and in every program that the tests start.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Workers that run tests at the same time share the cores; two threads each, because every loop is to be tested in pieces.
workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
if workers > 1:
    ms.set_num_threads(max(2, len(os.sched_getaffinity(0)) // workers))


@pytest.fixture(params=[np.float64, np.float32], ids=["f64", "f32"])
def dtype(request: pytest.FixtureRequest) -> type:
    """Both scalar types; float32 in three dimensions only."""
    return request.param


@pytest.fixture(params=[2, 3], ids=["2d", "3d"])
def dimension(request: pytest.FixtureRequest) -> int:
    """Both dimensions."""
    return request.param


def pytest_collection_finish() -> None:
    """What the tests themselves are made of is no garbage: `gc.collect` in a test takes half a second if it looks at thousands of them."""
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out cases of float32 in two dimensions, which is refused there; mark as slow what `fast_cases` does not name."""
    left_out = {item for item in items if _is_single_in_plane(getattr(item, "callspec", None))}
    config.hook.pytest_deselected(items=list(left_out))
    items[:] = [item for item in items if item not in left_out]
    missing: dict[str, set[str]] = {}
    for item in items:
        marker, test, case = item.get_closest_marker("fast_cases"), *item.nodeid.rstrip("]").partition("[")[::2]
        if marker is not None:
            named = {pattern for pattern in marker.args if fnmatchcase(case, pattern)}
            missing.setdefault(test, set(marker.args)).difference_update(named)
            if not named:
                item.add_marker(pytest.mark.slow)
    # Whoever asks for single cases has not collected the others, and an MPI that is not installed has none.
    if not any("::" in str(argument) for argument in config.args):
        wrong = [f"{test} has no case like {name!r}" for test, names in missing.items() for name in sorted(names) if "mpi" not in name]
        if wrong:
            raise pytest.UsageError("fast_cases: " + "; ".join(wrong))


def _is_single_in_plane(case: Any) -> bool:
    if case is None or case.params.get("dtype") is not np.float32:
        return False
    return case.params.get("dimension") == 2 or len(case.params.get("shape", ())) == 2


@pytest.fixture
def rng() -> np.random.Generator:
    """Reproducible random numbers."""
    return np.random.default_rng(20080601)


@pytest.fixture
def default_parallelism() -> Iterator[None]:
    """Bring thread count and vector width back after a test that changes them."""
    threads, level = ms.num_threads(), ms.core.simd_level()
    yield
    ms.set_num_threads(threads)
    ms.core.set_simd_level(level)
