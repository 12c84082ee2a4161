"""Pytest plugin that records the processor seconds of each test: `PYTHONPATH=tests pytest -p costs --costs FILE`.

Processes that a test has started and waited for count. FILE gets a line of JSON per test; workers append to it one by one.
"""

from __future__ import annotations

import fcntl
import json
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest


def processor_seconds() -> float:
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(u.ru_utime + u.ru_stime for u in used)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--costs", metavar="FILE", help="append the processor seconds of each test to this file")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    log = item.config.getoption("--costs")
    start = processor_seconds()
    yield
    if log is None:
        return
    line = json.dumps({"test": item.nodeid, "seconds": round(processor_seconds() - start, 4)})
    with Path(log).open("a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(line + "\n")
