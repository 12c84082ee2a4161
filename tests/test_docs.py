"""Index of methods: it points at files that exist, and names every method once."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from meniscus import fluids, io, mesh, scenes

ROOT = Path(__file__).parents[1]
METHODS = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
# How many methods each document has; ids count from 1.
COUNTS = {"SEL": 63, "SHELL": 33, "RTP": 56, "BRO": 55, "KDSM": 63}


def section(title: str) -> str:
    """The text below a title of the index."""
    return METHODS.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


def rows_of(text: str) -> list[list[str]]:
    """Cells of the rows that begin with the id of a method."""
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if re.match(r"\| [A-Z]{3,5}-\d+[ ,]", line)]


def ids_of(rows: list[list[str]]) -> set[str]:
    return {i for row in rows for i in re.findall(r"[A-Z]{3,5}-\d+", row[0])}


def test_every_path_exists() -> None:
    paths = re.findall(r"`((?:tests|cpp|python|bindings)/[\w/.]+)`", METHODS)
    assert len(paths) > 20
    missing = [p for p in paths if not (ROOT / p).exists()]
    assert not missing


def test_every_method_has_a_row_with_a_place_and_a_test_or_one_that_says_it_is_missing() -> None:
    implemented, missing = rows_of(section("Implemented methods")), rows_of(section("Methods that are not implemented"))
    heads = [row[0] for row in implemented + missing]
    assert len(heads) == len(set(heads))
    assert not ids_of(implemented) & ids_of(missing)
    assert ids_of(implemented) | ids_of(missing) == {f"{letters}-{n:02d}" for letters, count in COUNTS.items() for n in range(1, count + 1)}
    for row in implemented:
        assert len(row) == 6, row[0]
        assert "`" in row[4], row[0]
        assert "`tests/" in row[5], row[0]
    for row in missing:
        assert len(row) == 3, row[0]
        assert row[2] == "not implemented", row[0]


def test_every_letter_code_is_a_document_with_a_reference() -> None:
    codes = set(re.findall(r"^\| ([A-Z]{3,5}) \|", METHODS, re.MULTILINE))
    assert {i for i in re.findall(r"^\| ([A-Z]{3,5})-\d+ ", METHODS, re.MULTILINE)} <= codes
    assert len(re.findall(r"^@\w+\{", METHODS, re.MULTILINE)) == len(codes) == 5


def test_the_scene_of_the_page_on_running_resumes_to_the_same_bits(tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "running.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (code,) = [b for b in blocks if "class Embers" in b]
    path = tmp_path / "embers.py"
    path.write_text(code, encoding="utf-8")
    pytest.importorskip("h5py")
    for frame in scenes.frames(scenes.find(str(path))(), tmp_path / "out", pictures=False):
        if frame.number == 3:
            break
    resumed, whole = scenes.find(str(path))(), scenes.find(str(path))()
    last = scenes.run(resumed, tmp_path / "out", resume=True)
    assert last.diagnostics == scenes.run(whole).diagnostics
    assert whole.emitted > 100
    np.testing.assert_array_equal(resumed.heat.array, whole.heat.array)
    np.testing.assert_array_equal(resumed.embers.positions, whole.embers.positions)
    assert 0.0 < whole.heat.array.mean() < 1.0


def test_the_first_code_of_the_page_on_running_describes_a_scene() -> None:
    page = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    code = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)[0]
    description, call = code.rsplit("\n", 2)[:2]
    assert call.startswith("picture = path_tracing.render(scene")  # the only part that needs the renderer
    names: dict[str, Any] = {}
    exec(description, names)
    assert names["scene"]["smoke"]["interior"]["albedo"] == 0.5


def test_the_script_of_the_page_on_running_writes_its_frames(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("vtk")
    page = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    (code,) = (c for c in re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE) if "FrameWriter" in c)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, "running.md", "exec"), {})
    series = io.read_series(Path("out/jelly/frames.pvd"))
    assert len(series) == 24
    first, last = (io.read_frame(files, 0).meshes["jelly"].vertices for files in (series[0][1], series[-1][1]))
    # Free fall: implicit Euler adds g dt^2 n (n + 1) / 2 in n steps.
    np.testing.assert_allclose(last - first, np.broadcast_to((0, -9.81 * (24 * 25 - 2) / 2 / 24**2, 0), first.shape), atol=1e-6)


def test_the_page_on_running_names_every_scene() -> None:
    page = (ROOT / "docs" / "running.md").read_text(encoding="utf-8")
    named = {name for cell in re.findall(r"^\| (`.*?) \|", page, re.MULTILINE) for name in re.findall(r"`([\w-]+)`", cell)}
    assert set(scenes.SCENES) <= named


def test_the_dam_of_the_page_on_water_breaks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("matplotlib")
    page = (ROOT / "docs" / "water.md").read_text(encoding="utf-8")
    code, control = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    variables: dict[str, Any] = {}
    exec(compile(code, "water.md", "exec"), variables)
    assert abs(float(capsys.readouterr().out)) < 5e-3
    assert (tmp_path / "water-dam.png").stat().st_size > 5000
    solver = variables["solver"]
    assert solver.time >= 0.5
    assert np.any(solver.levelset.array[80:, 0] <= 0)  # the front has come far
    exec(compile(control, "water.md", "exec"), variables)
    assert (tmp_path / "water-control.png").stat().st_size > 5000
    centers = np.stack([x.ravel() for x in np.broadcast_arrays(*variables["grid"].cell_centers())], axis=1)
    ring = variables["ring"].signed_distance(np.ascontiguousarray(centers)) <= 0
    assert (variables["water"].levelset.array.ravel() <= 0)[ring].mean() > 0.9


@pytest.mark.parametrize(("page", "solver"), [("water", fluids.LiquidSolver), ("tet_vof", fluids.TetVOF)])
def test_the_stages_on_a_page_on_water_are_those_of_the_solver(page: str, solver: Any) -> None:
    listed = re.findall(r"^\d+\. `(\w+)`", (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert tuple(listed) == solver.stages


@pytest.mark.slow
def test_the_page_on_water_on_a_moving_mesh_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("PIL")
    page = (ROOT / "docs" / "tet_vof.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    variables: dict[str, Any] = {}
    exec(compile(code, "tet_vof.md", "exec"), variables)
    assert "wet tetrahedra" in capsys.readouterr().out
    assert abs(variables["ledger"].volume_error) < 1e-14
    assert (tmp_path / "tet-vof-ball.png").stat().st_size > 20_000


def test_the_script_of_the_page_on_one_surface_of_water_runs(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "water_surface.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    variables: dict[str, Any] = {}
    exec(compile(code, "water_surface.md", "exec"), variables)
    assert "[False  True]" in capsys.readouterr().out
    assert variables["water"].levelset().volume() == pytest.approx(0.15 + 4 / 3 * np.pi * (0.15**3 + 0.04**3), rel=0.005)


# What a script of the first hour does without: other types, copies in another order, arrays in place of fields and meshes.
CONVERSIONS = re.compile(r"astype|ascontiguousarray|np\.a?s?array|\.array\b|\.faces|\.triangles|\.vertices,|to_mesh\(|float32|int32")


def scripts_of_the_first_hour() -> dict[str, str]:
    page = (ROOT / "docs" / "getting_started.md").read_text(encoding="utf-8")
    return {
        title: code for title, code in re.findall(r"^## ([^\n]*)\n(?:(?!^## ).)*?^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    }


@pytest.mark.fast_cases("A convergence study", "A jelly", "When do two meshes touch?")
@pytest.mark.parametrize("title", list(scripts_of_the_first_hour()))
def test_a_script_of_the_first_hour_runs_as_it_stands(
    title: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for library in ("trimesh", "meshio", "pyvista", "pandas", "matplotlib", "PIL"):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    mesh.icosphere(2, 0.15, (1.2, 0.5, 0.2)).write("post.obj")
    mesh.icosphere(2, 0.3, (0, 0, 2)).write("ball.stl")
    mesh.icosphere(3).scaled((1, 1, 0.5)).write("cup.obj")
    names: dict[str, Any] = {}
    exec(compile(scripts_of_the_first_hour()[title], "getting_started.md", "exec"), names)
    said = capsys.readouterr().out
    if "Smoke" in title:
        assert len(io.read_series(Path("out/smoke/frames.pvd"))) > 5
        smoke, z = names["smoke"], names["grid"].cell_centers()[2]
        risen = float(np.sum(smoke.density.array * z) / np.sum(smoke.density.array))
        assert 0.3 < risen < 0.6
    elif "dam" in title:
        assert names["table"]["volume.liquid"].iloc[-1] == pytest.approx(0.3, rel=5e-3)
        assert names["table"]["kinetic_energy"].is_monotonic_increasing
        assert names["picture"].ndim == 3
    elif "convergence" in title:
        assert np.log2(names["errors"][1] / names["errors"][2]) > 1.8
    elif "jelly" in title:
        jelly, rest = names["jelly"], names["mesh"].vertices
        sunk = (rest - jelly.positions)[rest[:, 2] == 1.0, 2]
        assert 0.02 < sunk.mean() < 0.4
        assert Path("jelly.vtu").stat().st_size > 1000
    else:
        # The ball of radius 0.3 comes from 2 and stops at the pole of the spheroid, 0.5; both are inscribed polyhedra with a vertex there.
        assert "hits: True" in said
        assert names["t"] == pytest.approx((2 - 0.3 - 0.5) / 2, abs=1e-3)


def test_the_first_hour_needs_no_conversions() -> None:
    scripts = scripts_of_the_first_hour()
    assert len(scripts) == 5
    for code in scripts.values():
        assert 10 <= len([line for line in code.splitlines() if line.strip()]) <= 20
        assert not CONVERSIONS.search(code)


def test_the_notebook_of_the_first_hour_needs_none_either() -> None:
    notebook = json.loads((ROOT / "notebooks" / "first_hour.ipynb").read_text(encoding="utf-8"))
    code = "\n".join("".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code")
    assert 10 <= len([line for line in code.splitlines() if line.strip()]) <= 20
    assert not CONVERSIONS.search(code)
    shown = [set(output.get("data", {})) for cell in notebook["cells"] for output in cell.get("outputs", [])]
    assert sum("image/png" in kinds for kinds in shown) == 3
    assert sum("text/html" in kinds for kinds in shown) == 2  # the solver and the table


# These take more than a second; others of their pages do not.
LONG = {
    "smoke-sources-1",
    "smoke-obstacles-1",
    "smoke-inflow-and-outflow-1",
    "smoke-files-and-other-libraries-1",
    "solids-cloth-in-the-wind-1",
    "solids-held-moved-sliding-1",
    "solids-a-fine-surface-on-a-coarse-body-1",
    "solids-bindings-1",
    "meshes-level-sets-of-meshes-1",
    "worlds-worlds-bodies-that-touch-1",
}


def scripts_of_pages() -> list[Any]:
    """Scripts of the pages whose parts stand alone, by page and section."""
    found = []
    for page in ("smoke", "solids", "meshes", "contact", "worlds", "rigid_bodies", "position_based", "reduced_bodies"):
        text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
        for section in re.split(r"^##? ", text, flags=re.MULTILINE)[1:]:
            for k, code in enumerate(re.findall(r"^```python\n(.*?)^```$", section, re.DOTALL | re.MULTILINE)):
                title = re.sub(r"\W+", "-", section.partition("\n")[0]).lower()
                name = f"{page}-{title}-{k + 1}"
                found.append(pytest.param(page, code, id=name, marks=pytest.mark.slow if name in LONG else ()))
    return found


@pytest.mark.parametrize(("page", "code"), scripts_of_pages())
def test_a_script_of_a_page_runs_by_itself_and_writes_its_pictures(
    page: str, code: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("trimesh", "meshio", "pyvista", "xarray", "matplotlib", "PIL", "vtk"):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, f"{page}.md", "exec"), {"__name__": "__main__"})
    for name in re.findall(r"save(?:fig)?\(\"([\w-]+\.(?:png|jpg))\"\)", code):
        assert (tmp_path / name).stat().st_size > 2000
        assert name.startswith(f"{page}-")


@pytest.mark.parametrize("page", ["smoke", "solids", "meshes"])
def test_the_pictures_of_a_page_are_those_of_its_scripts(page: str) -> None:
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    shown = re.findall(r"^!\[[^]]+\]\(images/([\w.-]+)\)$", text, re.MULTILINE)
    assert len(shown) >= 6
    assert shown == re.findall(r"save(?:fig)?\(\"([\w-]+\.(?:png|jpg))\"\)", text)
    for name in shown:
        assert 2_000 < (ROOT / "docs" / "images" / name).stat().st_size < 150_000


def test_every_page_is_listed_and_every_link_leads_somewhere() -> None:
    pages = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "docs").glob("*.md")}
    (listed,) = re.findall(r"^```\{toctree\}\n.*?\n\n(.*?)\n```", pages["index"], re.DOTALL | re.MULTILINE)
    assert set(listed.split()) == set(pages) - {"index"} | {"api/index"}
    for page, text in pages.items():
        for target in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", text):
            assert (ROOT / "docs" / target).exists(), f"{page}.md: {target}"


def test_points_on_the_page_on_moving_meshes_stay_in_their_elements(capsys: pytest.CaptureFixture[str]) -> None:
    page = (ROOT / "docs" / "moving_meshes.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    exec(compile(code, "moving_meshes.md", "exec"), {})
    mesh, share = capsys.readouterr().out.splitlines()
    assert mesh == "<MovingTetMesh: 345 vertices, 1216, 9728, 77824 tets, at all times>"
    assert float(share) == 1.0


@pytest.mark.slow
def test_the_script_of_the_page_on_the_kdsm_builds_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for library in ("h5py", "matplotlib"):
        pytest.importorskip(library)
    (code,) = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "kdsm.md").read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    monkeypatch.chdir(tmp_path)
    variables: dict[str, Any] = {}
    exec(compile(code, "kdsm.md", "exec"), variables)
    first = capsys.readouterr().out.splitlines()[0]
    match = re.fullmatch(r"(\d+) tetrahedra; gaps of ([\d.]+) cells on average, ([\d.]+) at most", first)
    assert match is not None
    assert float(match[2]) < 0.1
    assert float(match[3]) < 0.7
    assert (tmp_path / "whale.png").stat().st_size > 5000
    assert (tmp_path / "whale.h5").stat().st_size > 100_000


def test_the_script_of_the_page_on_shared_water_raises_the_pool(capsys: pytest.CaptureFixture[str]) -> None:
    text = (ROOT / "docs" / "shared_water.md").read_text(encoding="utf-8")
    (code,) = re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    variables: dict[str, Any] = {}
    exec(compile(code, "shared_water.md", "exec"), variables)
    match = re.fullmatch(r"([\d.]+) m\^2 of drops have raised the pool by ([\d.]+) m\^2\n", capsys.readouterr().out)
    assert match is not None
    assert float(match[2]) == pytest.approx(float(match[1]), rel=0.02)
