"""Names of the files of frames."""


def frame_stem(number: int, frames: int) -> str:
    """Return `frame-NNNN`, padded so that the names of all `frames` sort."""
    return f"frame-{number:0{max(4, len(str(frames)))}d}"
