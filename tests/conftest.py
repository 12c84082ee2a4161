"""Fixtures and settings of all tests."""

import os
import signal
from collections.abc import Iterator

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
    """Both scalar types."""
    return request.param


@pytest.fixture(params=[2, 3], ids=["2d", "3d"])
def dimension(request: pytest.FixtureRequest) -> int:
    """Both dimensions."""
    return request.param


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
