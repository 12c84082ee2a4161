"""Notebooks: each runs from start to finish, its own assertions are the test; and each is published with what its code shows."""

from __future__ import annotations

import base64
import importlib.util
import io
import json
import re
import socket
import tempfile
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from support.runs.types import mypy

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
# That what the others call exists is checked by types.
FAST = {"errata_of_bodies"}
# Folders of people and of machines, and addresses of objects.
TRACES = re.compile(r"/(?:home|root|tmp|Users|mnt|opt|usr|var)/[\w.]|[A-Z]:\\\\|site-packages|\.venv| at 0x[0-9a-f]{6,}")


def outputs(path: Path) -> list[dict[str, Any]]:
    return [o for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] for o in cell.get("outputs", [])]


def texts(output: dict[str, Any]) -> str:
    """What an output says, without its pictures."""
    parts = {kind: value for kind, value in output.get("data", {}).items() if not kind.startswith("image/")}
    return json.dumps([output.get("text", ""), parts], ensure_ascii=False)


def pictures(path: Path) -> list[bytes]:
    return [base64.b64decode("".join(o["data"]["image/png"])) for o in outputs(path) if "image/png" in o.get("data", {})]


def publisher() -> ModuleType:
    """The script of `make notebooks`."""
    for library in ("nbformat", "nbclient", "PIL"):
        pytest.importorskip(library)
    spec = importlib.util.spec_from_file_location("publish", ROOT / ".ci" / "publish.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_there_are_notebooks() -> None:
    assert NOTEBOOKS
    assert sum(path.stat().st_size for path in NOTEBOOKS) < 6e6


@pytest.mark.notebook
@pytest.mark.parametrize("path", [pytest.param(p, marks=() if p.stem in FAST else pytest.mark.slow, id=p.stem) for p in NOTEBOOKS])
def test_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = publisher().executed(path, tmp_path, timeout=600)
    pictures = [o for c in notebook.cells for o in c.get("outputs", []) if "image/png" in o.get("data", {})]
    assert pictures, "a notebook shows pictures"


def test_notebooks_and_pages_call_what_exists(tmp_path: Path) -> None:
    """No name, method or argument of the package is missing in a notebook or on a page, by mypy: also where the fast tests run none."""
    assert {path.stem for path in NOTEBOOKS} > FAST
    texts = {"wrong": "import meniscus as ms\nms.grid.Gird\nms.fluids.SmokeOptions(methd=1)\nms.Grid((3, 3), 1.0).shap\n"}
    for path in NOTEBOOKS:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        texts[f"notebook_{path.stem}"] = "\n\n".join("".join(c["source"]) for c in cells if c["cell_type"] == "code")
    for path in (ROOT / "docs").glob("*.md"):
        blocks = re.findall(r"^```python\n(.*?)^```$", path.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        texts |= {f"page_{path.stem}_{k}": code for k, code in enumerate(blocks)}
    assert "page_tet_vof_0" in texts
    scripts = [tmp_path / f"script_{name}.py" for name in texts]
    for script, text in zip(scripts, texts.values(), strict=True):
        script.write_text(text, encoding="utf-8")
    out = mypy(scripts, tmp_path, "--check-untyped-defs")
    missing = re.findall(r"script_(\w+)\.py:(\d+): error: (.*)  \[(?:attr-defined|call-arg)\]", out)
    # Of other libraries, and a list that is made a dict.
    others = re.compile(r"matplotlib|FigureCanvasBase|\"list\[")
    assert [(name, line) for name, line, text in missing if not others.search(text)] == [("wrong", "2"), ("wrong", "3"), ("wrong", "4")]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_is_published_with_its_pictures(path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    shown = pictures(path)
    assert shown
    for png in shown:
        assert len(png) < 250_000
        pixels = image.open(io.BytesIO(png))
        assert min(pixels.size) > 200
        assert pixels.convert("RGB").getcolors(2) is None  # more than two
    assert path.stat().st_size < 800_000


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_published_notebook_does_not_tell_where_it_ran(path: Path) -> None:
    here = [re.escape(str(place)) for place in (ROOT, Path.home(), tempfile.gettempdir()) if len(str(place)) > 2]
    traces = re.compile("|".join([TRACES.pattern, *here, rf"\b{re.escape(socket.gethostname())}\b"]))
    for output in outputs(path):
        assert output["output_type"] != "error"
        found = traces.search(texts(output))
        assert found is None, found
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert set(notebook["metadata"]) == {"kernelspec", "language_info", "meniscus"}
    assert all(not cell["metadata"] for cell in notebook["cells"])


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_published_outputs_are_those_of_the_code(path: Path) -> None:
    tool = publisher()
    notebook = tool.nbformat.read(path, as_version=4)
    assert notebook.metadata["meniscus"]["code"] == tool.digest(notebook), f"the code has changed: make notebooks NOTEBOOKS={path.stem}"
    numbers = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert numbers == list(range(1, len(numbers) + 1)), "run from start to finish, once"


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        ("saved to /home/ann/a.png", True),
        ("/tmp/x1/out", True),
        (r"C:\\\\Users\\\\ann", True),
        ("<matplotlib.legend.Legend at 0x7f1c22334455>", True),
        ("/Users/ann", True),
        ("out/jelly/frames.pvd", False),
        ("force/mass, m/s", False),
        ("12.3 s, 0x1 cells", False),
    ],
)
def test_traces_of_a_machine_are_found(text: str, tells: bool) -> None:
    assert bool(TRACES.search(json.dumps(text))) == tells


def test_publishing_keeps_what_a_reader_sees(tmp_path: Path) -> None:
    tool = publisher()
    image = pytest.importorskip("PIL.Image")
    code = (
        "import io, os, numpy as np\nfrom PIL import Image\nfrom IPython.display import display\nprint(object())\n"
        "x = np.linspace(0, 255, 300)\nramp = (x[:, None, None] + np.array([0, 40, 80]) * np.cos(x / 9)[None, :, None]).clip(0, 255)\n"
        "display(Image.fromarray(ramp.astype(np.uint8)))\nlen(os.listdir('.'))"
    )
    path = tmp_path / "small.ipynb"
    notebook = tool.nbformat.v4.new_notebook(cells=[tool.nbformat.v4.new_code_cell(code)])
    notebook.metadata["mine"] = "private"
    tool.nbformat.write(notebook, path)
    tool.publish_notebook(path)
    written = tool.nbformat.read(path, as_version=4)
    tool.nbformat.validate(written)
    said, shown, result = written.cells[0].outputs
    assert re.fullmatch(r"<object object>\n", said.text)
    pixels = image.open(io.BytesIO(base64.b64decode(shown.data["image/png"])))
    assert pixels.mode == "P"
    assert pixels.size == (300, 300)
    assert result.data["text/plain"] == "0"  # it ran in an empty folder
    assert written.metadata["meniscus"]["code"] == tool.digest(written)
    assert "mine" not in written.metadata
    changed = tool.nbformat.read(path, as_version=4)
    changed.cells[0].source += "\n1 + 1"
    assert tool.digest(changed) != tool.digest(written)
