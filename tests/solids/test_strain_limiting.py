"""Strain limiting: no edge beyond the limit, momentum kept, the same bits on any threads."""

import numpy as np
import pytest
from support.collision import cloth
from support.same_bits import everywhere

import meniscus as ms
from meniscus.solids import limit_strain

DT = 0.01


def net(rng: np.random.Generator, n: int = 12) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """A waving sheet with random masses, at rest, with velocities that change many lengths by half."""
    s = cloth(n)
    x = s.start
    lengths = np.linalg.norm(x[s.edges[:, 1]] - x[s.edges[:, 0]], axis=1)
    masses = rng.uniform(0.5, 2, len(x))
    return s.edges, lengths, masses, x, rng.normal(0, 0.2 / (n - 1) / DT, x.shape)


def strains(edges: np.ndarray, lengths: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.linalg.norm(x[edges[:, 1]] - x[edges[:, 0]], axis=1) / lengths - 1


@pytest.mark.parametrize("limit", [0.1, 0.02])
def test_no_edge_ends_beyond_the_limit(limit: float, rng: np.random.Generator) -> None:
    edges, lengths, masses, x, v = net(rng)
    before = v.copy()
    report = limit_strain(edges, lengths, 1 / masses, x, v, DT, limit=limit, sweeps=5000)
    start, end = (np.abs(strains(edges, lengths, x + DT * u)) for u in (before, v))
    assert (start > limit).mean() > 0.3
    assert end.max() <= limit * (1 + 1e-12)
    assert report.before == pytest.approx(start.max(), rel=1e-12)
    assert report.after == pytest.approx(end.max(), rel=1e-10)
    assert 1 < report.sweeps < 5000
    assert report.impulses > len(edges) / 4
    assert np.abs(masses @ (v - before)).max() <= 1e-12 * (masses @ np.abs(before)).max()


def test_momentum_is_kept_for_masses_of_all_sizes(rng: np.random.Generator) -> None:
    edges, lengths, _, x, v = net(rng)
    masses = 10.0 ** rng.uniform(-3, 3, len(x))
    before = v.copy()
    assert limit_strain(edges, lengths, 1 / masses, x, v, DT, sweeps=20).impulses > 100
    assert np.abs(masses @ (v - before)).max() <= 1e-12 * (masses @ np.abs(before)).max()


def test_one_edge_gets_the_length_of_the_limit() -> None:
    x = np.array([[0.0, 0, 0], [1, 0, 0]])
    for speed, length in ((30.0, 1.099), (-30.0, 0.901), (9.0, 1.09)):
        v = np.array([[0.0, 0, 0], [speed, 0, 0]])
        report = limit_strain([[0, 1]], [1.0], [1.0, 0.25], x, v, DT)
        assert (x + DT * v)[1, 0] - (x + DT * v)[0, 0] == pytest.approx(length, rel=1e-12)
        assert v[0, 0] + 4 * v[1, 0] == pytest.approx(4 * speed, rel=1e-13)
        assert report[:2] == ((2, 1) if abs(speed) > 10 else (1, 0))


def test_nodes_on_given_paths_keep_their_velocities(rng: np.random.Generator) -> None:
    edges, lengths, masses, x, v = net(rng)
    w = 1 / masses
    w[:12] = 0
    v[:12] = [0, 0, 1]
    report = limit_strain(edges, lengths, w, x, v, DT, sweeps=5000)
    assert np.array_equal(v[:12], np.tile([0.0, 0, 1], (12, 1)))
    assert report.after <= 0.1
    x = np.array([[0.0, 0, 0], [1, 0, 0]])
    v = np.array([[0.0, 0, 0], [30, 0, 0]])
    assert limit_strain([[0, 1]], [1.0], [0, 0], x, v, DT) == (1, 0, pytest.approx(0.3), pytest.approx(0.3))
    assert v[1, 0] == 30


def test_a_few_sweeps_report_what_is_left(rng: np.random.Generator) -> None:
    edges, lengths, masses, x, v = net(rng)
    report = limit_strain(edges, lengths, 1 / masses, x, v, DT, sweeps=1)
    assert report.sweeps == 1
    assert 0.1 < report.after < report.before
    assert report.after == pytest.approx(np.abs(strains(edges, lengths, x + DT * v)).max(), rel=1e-10)


def test_any_number_of_threads_gives_the_same_bits(rng: np.random.Generator) -> None:
    edges, lengths, masses, x, v0 = net(rng, 60)

    def run() -> list[np.ndarray]:
        v = v0.copy()
        report = limit_strain(edges, lengths, 1 / masses, x, v, DT, sweeps=5)
        return [v, np.array(report)]

    everywhere(run)
    assert run()[1][1] > 1000


def test_a_node_with_more_edges_than_a_word_has_bits(rng: np.random.Generator) -> None:
    n = 150
    edges = np.stack([np.zeros(n, int), np.arange(1, n + 1)], axis=1)
    x = np.concatenate([np.zeros((1, 3)), rng.standard_normal((n, 3))])
    lengths = np.linalg.norm(x[1:], axis=1)
    v = rng.normal(0, 50, x.shape)
    ms.set_num_threads(4)
    report = limit_strain(edges, lengths, np.ones(n + 1), x, v, DT, sweeps=5000)
    assert report.after <= 0.1 * (1 + 1e-12)


def test_errors_change_nothing(rng: np.random.Generator) -> None:
    edges, lengths, masses, x, v = net(rng, 4)
    before = v.copy()
    w = 1 / masses
    bad = x.copy()
    bad[3, 2] = np.inf
    for call, message in (
        (lambda: limit_strain([[0, 99]], [1.0], w, x, v, DT), "one of edge 0 is 99"),
        (lambda: limit_strain([[3, 3]], [1.0], w, x, v, DT), "different nodes"),
        (lambda: limit_strain(edges, lengths[1:], w, x, v, DT), "a length at rest"),
        (lambda: limit_strain(edges, 0 * lengths, w, x, v, DT), "that of edge 0 is 0"),
        (lambda: limit_strain(edges, lengths, -w, x, v, DT), "that of node 0 is -"),
        (lambda: limit_strain(edges, lengths, w, bad, v, DT), r"positions must be finite, but \[3, 2\]"),
        (lambda: limit_strain(edges, lengths, w, x, v, 0.0), "dt must be positive"),
        (lambda: limit_strain(edges, lengths, w, x, v, DT, limit=1.0), r"limit must be in \(0, 1\)"),
        (lambda: limit_strain(edges, lengths, w[1:], x, v, DT), "nodes"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
        assert np.array_equal(v, before)
