"""Pytest plugin that runs one slice of the selected tests: `PYTHONPATH=tests pytest -p slices --slice 2/40 -m slow`.

A test belongs to the slice that the hash of its name says, so adding a test moves no other one. Those marked as long are in none.
"""

from __future__ import annotations

import re
import zlib

import pytest


def slice_of(nodeid: str, count: int) -> int:
    return zlib.crc32(nodeid.encode()) % count


def parse(text: str) -> tuple[int, int]:
    found = re.fullmatch(r"(\d+)/([1-9]\d*)", text)
    if found is None or int(found[1]) >= int(found[2]):
        raise pytest.UsageError(f"--slice must be i/n with 0 <= i < n, not {text!r}")
    return int(found[1]), int(found[2])


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--slice", metavar="I/N", help="run only the tests of slice I (from 0) of N")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    text = config.getoption("--slice")
    if text is None:
        return
    index, count = parse(text)
    wanted = [slice_of(item.nodeid, count) == index and item.get_closest_marker("long") is None for item in items]
    others = [item for item, is_wanted in zip(items, wanted, strict=True) if not is_wanted]
    items[:] = [item for item, is_wanted in zip(items, wanted, strict=True) if is_wanted]
    config.hook.pytest_deselected(items=others)
