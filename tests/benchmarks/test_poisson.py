"""Tests of the Poisson benchmark: its problems are what they claim, its solvers agree, its report compares what it should. No timings are
judged."""

from __future__ import annotations

import importlib.util
import json
import math
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

HERE = Path(__file__).parent
SIZE = 16


def module(name: str) -> ModuleType:
    """One of the benchmark's own modules, which are scripts beside this file."""
    spec = importlib.util.spec_from_file_location(f"benchmark_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = loaded
    spec.loader.exec_module(loaded)
    return loaded


problems = module("poisson_problems")


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Files of one quick run of the Poisson solves."""
    folder = tmp_path_factory.mktemp("poisson")
    page = folder / "page.md"
    page.write_text("<!-- benchmarks: begin (generated, do not edit) -->\n<!-- benchmarks: end -->\n", encoding="utf-8")
    command = [sys.executable, HERE / "run.py", "--quick", "--rounds", "1", "--only", "^poisson/"]
    command += ["--json", folder / "report.json", "--table", page]
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    written = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return {**written["poisson"], "page": page.read_text(encoding="utf-8"), "cases": written["cases"]}


def dense(problem: Any) -> np.ndarray:
    """The matrix of a problem, built from its definition, face by face."""
    n = problem.rhs.size
    number = np.arange(n).reshape(problem.shape)
    active = np.ones(problem.shape, dtype=bool) if problem.active is None else problem.active
    matrix = np.zeros((n, n))
    for axis, faces in enumerate(problem.faces):
        for index in np.ndindex(faces.shape):
            above, below = index, tuple(i - (d == axis) for d, i in enumerate(index))
            if problem.periodic:
                if index[axis] == problem.shape[axis]:
                    continue  # the first face once more
                below = tuple(i % m for i, m in zip(below, problem.shape, strict=True))
            cells = [c for c in (below, above) if 0 <= c[axis] < problem.shape[axis] and active[c]]
            for c in cells:
                matrix[number[c], number[c]] += faces[index]
            if len(cells) == 2:
                i, j = (number[c] for c in cells)
                matrix[i, j] -= faces[index]
                matrix[j, i] -= faces[index]
    return matrix


@pytest.mark.parametrize("name", sorted(problems.PROBLEMS))
def test_the_residual_is_that_of_the_matrix_as_it_is_defined(name: str) -> None:
    problem = problems.PROBLEMS[name](6)
    x = np.random.default_rng(3).standard_normal(problem.shape)
    if problem.active is not None:
        x[~problem.active] = 0.0
    residual = problem.rhs.ravel() - dense(problem) @ x.ravel()
    assert problem.residual(x) == pytest.approx(np.linalg.norm(residual) / np.linalg.norm(problem.rhs), rel=1e-13)


def test_cut_faces_of_the_sphere_converge_with_second_order() -> None:
    errors = []
    for n in (16, 32, 64):
        problem = problems.problem("closed", "sphere", n)
        middle = problem.faces[0][n // 2]  # the plane through the centre
        open_area = float(middle.sum()) / n**2
        errors.append(abs(open_area - (1.0 - math.pi * problems.SPHERE_RADIUS**2)))
    assert errors[0] < 0.05 / 16
    assert math.log2(errors[0] / errors[2]) / 2 > 1.7


def test_a_linear_cut_of_a_face_is_exact() -> None:
    rng = np.random.default_rng(5)
    normal, offset = rng.standard_normal(3), -0.1
    nodes = np.stack(np.meshgrid(*[np.arange(2.0)] * 3, indexing="ij"))
    phi = np.tensordot(normal, nodes - 0.5, axes=1) + offset
    fractions = problems.open_fractions(phi, 2)[0, 0]
    x, y = ((np.arange(2000) + 0.5) / 2000 for _ in range(2))
    for k in (0, 1):
        values = normal[0] * (x[:, None] - 0.5) + normal[1] * (y[None, :] - 0.5) + normal[2] * (k - 0.5) + offset
        assert fractions[k] == pytest.approx((values > 0).mean(), abs=1e-3)


def test_the_closed_problem_is_compatible_and_the_tank_has_bounded_coefficients() -> None:
    sphere, tank = problems.problem("closed", "sphere", SIZE), problems.problem("closed", "half", SIZE)
    assert abs(sphere.rhs.sum()) < 1e-12
    assert np.abs(sphere.rhs[~sphere.active]).max() == 0.0
    assert 0 < sphere.unknowns < SIZE**3
    largest = max(float(f.max()) for f in tank.faces)
    assert 1.0 < largest <= 1.0 / problems.LEAST_THETA
    assert 0.4 < tank.unknowns / SIZE**3 < 0.6


@pytest.mark.slow
def test_every_solver_reaches_the_tolerance_or_says_why_it_is_absent(report: dict[str, Any]) -> None:
    rows = report["rows"]
    assert report["cases"] == []
    ours = [r for r in rows if r["solver"] == "meniscus"]
    assert {(r["problem"], r["n"], r["threads"]) for r in ours} == {(p, SIZE, t) for p in problems.PROBLEMS for t in (1, 2)}
    for row in rows:
        if row["failure"] is not None:
            assert row["library"].split()[0] != "meniscus", row
            continue
        assert row["true_residual"] <= 1.5 * report["tolerance"]
        assert row["iterations"] >= 1
        assert row["seconds_per_iteration"] == pytest.approx(row["seconds_best"] / row["iterations"])
        assert row["ns_per_unknown"] == pytest.approx(row["seconds_best"] / row["unknowns"] * 1e9)
        assert row["bytes_per_cell"] is None or row["bytes_per_cell"] > 0
    for absent in report["absent"]:
        assert absent["reason"]
    present = {r["library"].split()[0] for r in rows} | {a["library"].split()[0] for a in report["absent"]}
    assert present == {"meniscus", "hypre", "AMGCL", "pyamg"}


@pytest.mark.slow
def test_ratios_come_from_rows_that_belong_together(report: dict[str, Any]) -> None:
    rows = {(r["problem"], r["solver"], r["threads"]): r for r in report["rows"]}
    for (problem, solver, threads), row in rows.items():
        if row["failure"] is not None:
            continue
        if row["speedup"] is not None:
            assert threads == 2
            assert row["speedup"] == pytest.approx(rows[problem, solver, 1]["seconds_best"] / row["seconds_best"])
        if row["box_ratio"] is not None:
            assert row["box_ratio"] == pytest.approx(row["ns_per_unknown"] / rows[problems.BOX, solver, threads]["ns_per_unknown"])
        if row["times_hypre"] is not None:
            others = [r for (p, _, t), r in rows.items() if (p, t) == (problem, threads) and r["library"].startswith("hypre")]
            assert row["times_hypre"] in [pytest.approx(r["seconds_best"] / row["seconds_best"]) for r in others if r["failure"] is None]


@pytest.mark.slow
def test_the_page_has_a_table_per_problem(report: dict[str, Any]) -> None:
    for title in ("all kinds of sides and insides", "walls, sphere with cut cells", "periodic, nothing inside", "solvers"):
        assert f"### Poisson: {title}" in report["page"]
    assert f"| {SIZE}^3 | meniscus, multigrid-CG |" in report["page"]
    # Goals are for 256^3.
    assert report["goals"] == []
