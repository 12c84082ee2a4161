"""Names of the files of frames."""

SERIES_FILE = "frames.pvd"
"""Names the files of all frames, with their times."""


def frame_stem(number: int, frames: int) -> str:
    """Return `frame-NNNN`, padded so that the names of all `frames` sort."""
    return f"frame-{number:0{max(4, len(str(frames)))}d}"
