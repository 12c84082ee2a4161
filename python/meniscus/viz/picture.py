"""Pictures and figures that show themselves in a notebook."""

from __future__ import annotations

import io
import os
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from meniscus._extras import require
from meniscus.core.atomic_file import atomic_path

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Picture(np.ndarray):
    """A picture (height, width, 3) uint8: an array that a notebook shows as a picture, and that `save` writes."""

    def __new__(cls, pixels: npt.ArrayLike) -> Picture:
        """Return a view of pixels."""
        return np.asarray(pixels).view(cls)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the picture in the format that the name ends in, such as `.png` or `.jpg`, and return the path.

        The file appears only once it is complete; its folder is made.

        Raises:
            ValueError: a part of a picture, or a sum of pictures; a name that ends in no known format.
            OSError: the file cannot be written.
            ImportError: Pillow is missing.
        """
        file = Path(path)
        if not self._is_whole():
            raise ValueError(f"only a picture (height, width, 3) uint8 can be saved, not an array {self.shape} of {self.dtype}")
        image = pillow()
        kind = image.registered_extensions().get(file.suffix.lower())
        if kind not in image.SAVE:
            raise ValueError(f"the name must end in a format of pictures, such as .png or .jpg, not {file.name!r}")
        file.parent.mkdir(parents=True, exist_ok=True)
        with atomic_path(file) as part:
            image.fromarray(np.asarray(self)).save(part, format=kind)
        return file

    def _repr_png_(self) -> bytes | None:
        # Parts and sums of a picture are arrays of other shapes.
        return png(np.asarray(self)) if self._is_whole() else None

    def __repr__(self) -> str:
        """One line: width and height, pixels; of parts and sums, that of an array."""
        return f"<Picture {self.shape[1]}x{self.shape[0]}>" if self._is_whole() else repr(np.asarray(self))

    def __str__(self) -> str:
        """As `repr`, or the numbers of a part."""
        return repr(self) if self._is_whole() else str(np.asarray(self))

    def _is_whole(self) -> bool:
        return self.ndim == 3 and self.shape[2] == 3 and self.dtype == np.uint8 and self.size > 0


def pillow() -> Any:
    """Return the module `PIL.Image`. Raises ImportError with the way to install it."""
    return require("PIL.Image", "pictures need")


def figure(width: float, height: float) -> Figure:
    """Return an empty matplotlib figure of a size in inches that needs no display and that a notebook shows."""
    made: Figure = require("matplotlib.figure", "pictures need").Figure(figsize=(width, height), dpi=110, layout="constrained")
    require("matplotlib.backends.backend_agg", "pictures need").FigureCanvasAgg(made)
    made._repr_png_ = partial(png, made)  # type: ignore[attr-defined]
    return made


def png(picture: Any) -> bytes:
    """Return a picture (height, width, 3) uint8, or a matplotlib figure, as a PNG file."""
    memory = io.BytesIO()
    if isinstance(picture, np.ndarray):
        pillow().fromarray(np.asarray(picture)).save(memory, format="png")
    else:
        picture.savefig(memory, format="png")
    return memory.getvalue()
