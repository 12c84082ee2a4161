"""Pictures and figures that show themselves in a notebook."""

from __future__ import annotations

import io
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt


class Picture(np.ndarray):
    """A picture (height, width, 3) uint8: an array that a notebook shows as a picture, and that `save` writes."""

    def __new__(cls, pixels: npt.ArrayLike) -> Picture:
        """Return a view of pixels."""
        return np.asarray(pixels).view(cls)

    def _repr_png_(self) -> bytes | None:
        # Parts and sums of a picture are arrays of other shapes.
        return png(np.asarray(self)) if self.ndim == 3 and self.shape[2] == 3 and self.dtype == np.uint8 and self.size else None


def figure(width: float, height: float) -> Any:
    """Return an empty matplotlib figure of a size in inches that needs no display and that a notebook shows."""
    try:
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib; install it with: pip install 'meniscus[viz]'") from error

    made = Figure(figsize=(width, height), dpi=110, layout="constrained")
    FigureCanvasAgg(made)
    made._repr_png_ = partial(png, made)  # type: ignore[attr-defined]
    return made


def png(picture: Any) -> bytes:
    """Return a picture (height, width, 3) uint8, or a matplotlib figure, as a PNG file."""
    memory = io.BytesIO()
    if isinstance(picture, np.ndarray):
        try:
            from PIL import Image
        except ImportError as error:
            raise ImportError("pictures need Pillow; install it with: pip install 'meniscus[viz]'") from error
        Image.fromarray(np.asarray(picture)).save(memory, format="png")
    else:
        picture.savefig(memory, format="png")
    return memory.getvalue()
