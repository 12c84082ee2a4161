"""Counter-based random numbers: known answers, statistics, and independence of order."""

from typing import Any

import numpy as np
import pytest
from support.build import same_bits

import meniscus as ms
from meniscus._meniscus import core as _core
from meniscus.core import uniform


@pytest.mark.parametrize(
    ("counter", "key", "words"),
    [
        ([0] * 4, [0] * 2, [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]),
        ([0xFFFFFFFF] * 4, [0xFFFFFFFF] * 2, [0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD]),
        (
            [0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344],
            [0xA4093822, 0x299F31D0],
            [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1],
        ),
    ],
)
def test_known_answers(counter: list[int], key: list[int], words: list[int]) -> None:
    """The published test vectors of Philox 4x32-10 (Salmon et al. 2011, Random123)."""
    assert list(_core.philox(counter, key)) == words


def reference(seed: int, identity: int, step: int, draw: int) -> list[float]:
    """Philox 4x32-10 in Python integers."""
    c = [identity & 0xFFFFFFFF, identity >> 32 & 0xFFFFFFFF, step, draw]
    k = [seed & 0xFFFFFFFF, seed >> 32]
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [q >> 32 ^ c[1] ^ k[0], q & 0xFFFFFFFF, p >> 32 ^ c[3] ^ k[1], p & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return [((c[i] << 32 | c[i + 1]) >> 11) * 2.0**-53 for i in (0, 2)]


@pytest.mark.parametrize("seed", [0, 1, 2**40 + 3, 2**64 - 1])
@pytest.mark.parametrize(("step", "draw"), [(0, 0), (7, 3), (2**32 - 1, 2**32 - 1)])
def test_against_reference(seed: int, step: int, draw: int) -> None:
    ids = np.array([0, 1, 2**33 + 5, 2**63 - 1, -1], np.int64)
    expected = [reference(seed, int(i) & (2**64 - 1), step, draw) for i in ids]
    np.testing.assert_array_equal(uniform(seed, ids, step, draw), expected)


def test_independent_of_order_and_threads(default_parallelism: None, rng: np.random.Generator) -> None:
    ids = np.arange(100_000)
    ms.set_num_threads(1)
    plain = uniform(42, ids, 3)
    order = rng.permutation(len(ids))
    for threads in (1, 2, 3, 5, 8):
        ms.set_num_threads(threads)
        assert same_bits(uniform(42, ids, 3), plain)
        assert same_bits(uniform(42, ids[order], 3), plain[order])
        assert same_bits(uniform(42, ids[777:778].copy(), 3), plain[777:778])


def test_statistics() -> None:
    n = 200_000
    ids = np.arange(n)
    sets = {
        "plain": uniform(1, ids, 0),
        "seed": uniform(2, ids, 0),
        "step": uniform(1, ids, 1),
        "draw": uniform(1, ids, 0, 1),
        "ids": uniform(1, ids + n, 0),
    }
    columns = np.stack([s[:, i] for s in sets.values() for i in (0, 1)])
    assert columns.min() >= 0
    assert columns.max() < 1
    sigma = 1 / np.sqrt(12 * n)
    np.testing.assert_allclose(columns.mean(axis=1), 0.5, atol=5 * sigma)
    np.testing.assert_allclose(columns.var(axis=1), 1 / 12, atol=5 / np.sqrt(180 * n))
    correlation = np.corrcoef(columns) - np.eye(len(columns))
    assert np.abs(correlation).max() < 5 / np.sqrt(n)
    for c in columns:
        lagged = np.corrcoef(c[1:], c[:-1])[0, 1]
        assert abs(lagged) < 5 / np.sqrt(n)
        counts = np.histogram(c, bins=100, range=(0, 1))[0]
        chi_squared = ((counts - n / 100) ** 2 / (n / 100)).sum()
        assert 99 - 5 * np.sqrt(198) < chi_squared < 99 + 5 * np.sqrt(198)
    assert len(np.unique(columns)) == columns.size


def test_shapes() -> None:
    assert uniform(0, np.zeros(0, np.int64), 0).shape == (0, 2)
    u = uniform(0, np.array([5]), 0)
    assert u.shape == (1, 2)
    assert u.dtype == np.float64


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"seed": -1}, ValueError, "seed must be at least 0"),
        ({"seed": 2**64}, ValueError, "seed must be below"),
        ({"seed": 1.0}, TypeError, "seed must be an integer"),
        ({"step": -1}, ValueError, "step must be at least 0"),
        ({"step": 2**32}, ValueError, "step must be below"),
        ({"draw": -1}, ValueError, "draw must be at least 0"),
        ({"draw": 2**32}, ValueError, "draw must be below"),
        ({"draw": True}, TypeError, "draw must be an integer"),
        ({"ids": np.zeros(4)}, TypeError, "ids must be of dtype int64"),
        ({"ids": np.zeros(4, np.int32)}, TypeError, "ids must be of dtype int64"),
        ({"ids": np.zeros(8, np.int64)[::2]}, TypeError, "ids must be C-contiguous"),
        ({"ids": np.zeros((4, 2), np.int64)}, ValueError, "ids must have shape"),
        ({"ids": [1, 2]}, TypeError, "ids must be a NumPy array"),
    ],
)
def test_errors(arguments: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        uniform(**{"seed": 0, "ids": np.arange(4), "step": 0, **arguments})
