"""Run what is published with pictures, and store these: `publish.py notebooks [NAME ...]` or `publish.py pages [NAME ...]`.

Notebooks keep their outputs. Whatever belongs to one machine or one run (times of execution, addresses of objects, the version of Python)
is removed, and `tests/test_notebooks.py` refuses notebooks that tell where they ran. Each notebook keeps a digest of its code: a test fails
when code was edited and not run again. The scripts of a page write the pictures that it shows; these go to `docs/images`.

Pictures are stored with few colours, so that the repository stays small.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import numpy as np
from PIL import Image

ROOT = Path(__file__).parents[1]
NOTEBOOKS = ROOT / "notebooks"
PAGES = ("smoke", "water", "solids", "meshes", "tet_vof")
IMAGES = ROOT / "docs" / "images"
COLOURS = 256
MANY_COLOURS = 4000
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
ADDRESSES = re.compile(r" at 0x[0-9a-f]+")


def few_colours(png: bytes) -> bytes:
    """Return a PNG with a palette of few colours, or the same one where that takes no less.

    Plots have flat colours; pictures of smoke and water have so many that steps between those of a palette would be seen, so that they are
    dithered.
    """
    picture = Image.open(io.BytesIO(png))
    flat = Image.new("RGB", picture.size, "white")
    flat.paste(picture, mask=picture.getchannel("A") if "A" in picture.getbands() else None)
    packed = flat.quantize(COLOURS, Image.Quantize.MEDIANCUT, dither=Image.Dither.NONE)
    if flat.getcolors(MANY_COLOURS) is None:
        packed = flat.quantize(palette=packed, dither=Image.Dither.FLOYDSTEINBERG)
    # The mean of white and of what is nearly white would make a background grey.
    white = (np.asarray(flat) == 255).all(axis=-1)
    if white.any():
        colours = np.array(packed.getpalette(), np.uint8).reshape(-1, 3)
        colours[np.bincount(np.asarray(packed)[white]).argmax()] = 255
        packed.putpalette(colours.tobytes())
    buffer = io.BytesIO()
    packed.save(buffer, "png", optimize=True)
    return min(buffer.getvalue(), png, key=len)


# --- notebooks -------------------------------------------------------------------------------------------------------------------


def digest(notebook: Any) -> str:
    """SHA-256 of the code cells."""
    code = "\n\0".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return hashlib.sha256(code.encode()).hexdigest()


def tidy(notebook: Any) -> None:
    """Keep what a reader sees."""
    for cell in notebook.cells:
        cell.metadata = {}
        for output in cell.get("outputs", []):
            output.pop("metadata", None)
            if output.output_type == "stream":
                output.text = ADDRESSES.sub("", output.text)
                continue
            output.metadata = {}
            data = output.data
            if "image/png" in data:
                data["image/png"] = base64.b64encode(few_colours(base64.b64decode(data["image/png"]))).decode()
            for kind, text in data.items():
                if kind.startswith("text/"):
                    data[kind] = ADDRESSES.sub("", text)
    notebook.metadata = nbformat.from_dict(KERNEL | {"meniscus": {"code": digest(notebook)}})


def executed(path: Path, folder: Path, timeout: float | None = None) -> Any:
    """Return a notebook after a run from start to finish in a folder.

    Args:
        path: of the notebook.
        folder: where it runs; empty.
        timeout: of each cell, s.
    """
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as sockets:
        client = nbclient.NotebookClient(notebook, timeout=timeout, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
        client.create_kernel_manager()
        # Sockets in files: two kernels that start at the same time could choose the same port.
        client.km.transport = "ipc"
        client.km.ip = f"{sockets}/kernel"  # both sides must find them, wherever each of them runs
        client.execute()
    return notebook


def publish_notebook(path: Path) -> None:
    """Run one notebook in an empty folder and write it back."""
    with tempfile.TemporaryDirectory() as folder:
        notebook = executed(path, Path(folder))
    tidy(notebook)
    nbformat.write(notebook, path)
    print(f"{path.stem}: {path.stat().st_size / 1000:.0f} kB", flush=True)


@contextlib.contextmanager
def inside(folder: str) -> Iterator[None]:
    """Work in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)


# --- pages -----------------------------------------------------------------------------------------------------------------------


def scripts(page: str) -> list[str]:
    """Return the scripts of a page of the documentation."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def publish_page(page: str) -> None:
    """Run the scripts of a page, and store the pictures that it shows."""
    shown = re.findall(r"\]\(images/([\w.-]+)\)", (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory() as folder, inside(folder):
        for script in scripts(page):
            exec(compile(script, f"{page}.md", "exec"), {"__name__": "__main__"})
        for name in shown:
            content = Path(name).read_bytes()
            (IMAGES / name).write_bytes(few_colours(content) if name.endswith(".png") else content)
            print(f"{name}: {(IMAGES / name).stat().st_size / 1000:.0f} kB", flush=True)


if __name__ == "__main__":
    kind, *names = sys.argv[1:]
    if kind == "notebooks":
        for name in names or sorted(path.stem for path in NOTEBOOKS.glob("*.ipynb")):
            publish_notebook(NOTEBOOKS / f"{name}.ipynb")
    elif kind == "pages":
        for name in names or PAGES:
            publish_page(name)
    else:
        raise SystemExit("the first argument must be notebooks or pages")
