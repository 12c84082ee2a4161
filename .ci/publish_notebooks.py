"""Run notebooks from start to finish and store what they show: `publish_notebooks.py [NAME ...]`, all of them without a name.

Pictures are stored with few colours, so that the repository stays small. Whatever belongs to one machine or one run (times of execution,
addresses of objects, the version of Python) is removed, and `tests/test_notebooks.py` refuses notebooks that tell where they ran. Each
notebook keeps a digest of its code: a test fails when code was edited and not run again.
"""

from __future__ import annotations

import base64
import hashlib
import io
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbclient
import nbformat
import numpy as np
from PIL import Image

FOLDER = Path(__file__).parents[1] / "notebooks"
COLOURS = 256
MANY_COLOURS = 4000
NEARLY_WHITE = 250
KERNEL = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}, "language_info": {"name": "python"}}
ADDRESSES = re.compile(r" at 0x[0-9a-f]+")


def digest(notebook: Any) -> str:
    """SHA-256 of the code cells."""
    code = "\n\0".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return hashlib.sha256(code.encode()).hexdigest()


def smaller(png: str) -> str:
    """Return a PNG, in base64, with a palette of few colours, or the same one where that takes no less.

    Plots have flat colours; pictures of smoke and water have so many that steps between those of a palette would be seen, so that they are
    dithered.
    """
    picture = Image.open(io.BytesIO(base64.b64decode(png)))
    flat = Image.new("RGB", picture.size, "white")
    flat.paste(picture, mask=picture.getchannel("A") if "A" in picture.getbands() else None)
    buffer = io.BytesIO()
    dither = Image.Dither.NONE if flat.getcolors(MANY_COLOURS) else Image.Dither.FLOYDSTEINBERG
    palette = flat.quantize(COLOURS, Image.Quantize.MEDIANCUT)
    # The mean of white and of what is nearly white would make backgrounds grey.
    colours = np.array(palette.getpalette(), np.uint8).reshape(-1, 3)
    colours[(colours >= NEARLY_WHITE).all(axis=1)] = 255
    palette.putpalette(colours.tobytes())
    flat.quantize(palette=palette, dither=dither).save(buffer, "png", optimize=True)
    packed = base64.b64encode(buffer.getvalue()).decode()
    return min(packed, png, key=len)


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
                data["image/png"] = smaller(data["image/png"].strip())
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


def publish(path: Path) -> None:
    """Run one notebook in an empty folder and write it back."""
    with tempfile.TemporaryDirectory() as folder:
        notebook = executed(path, Path(folder))
    tidy(notebook)
    nbformat.write(notebook, path)


if __name__ == "__main__":
    for name in sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.ipynb")):
        publish(FOLDER / f"{name}.ipynb")
        print(f"{name}: {(FOLDER / f'{name}.ipynb').stat().st_size / 1000:.0f} kB", flush=True)
