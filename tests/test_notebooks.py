"""Notebooks: each runs from start to finish; its own assertions are the test."""

from pathlib import Path

import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.notebook
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_runs(path, tmp_path):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}})
    client.create_kernel_manager()
    # Sockets in files: two kernels that start at the same time could choose the same port.
    client.km.transport = "ipc"
    client.km.ip = str(tmp_path / "kernel")  # both sides must find them, wherever each of them runs
    client.execute()
    pictures = [o for c in notebook.cells for o in c.get("outputs", []) if "image/png" in o.get("data", {})]
    assert pictures, "a notebook shows pictures"
