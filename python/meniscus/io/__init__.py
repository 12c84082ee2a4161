"""Files of a run: checkpoints (HDF5) and frames (VTK XML), logs (JSON). Needs the extras `io` and `vtk`; contains no numerics."""

from meniscus.core.line_file import LineFile, read_lines
from meniscus.io.checkpoint import Checkpoint, DamagedCheckpoint, write_checkpoint
from meniscus.io.checkpoint_folder import latest_checkpoint, read_checkpoint, save_checkpoint
from meniscus.io.frame_writer import FrameWriter
from meniscus.io.frames import FrameData, FrameMesh, collect
from meniscus.io.table import Table
from meniscus.io.vtk import read_frame, read_series, write_frame, write_series

__all__ = [
    "Checkpoint",
    "DamagedCheckpoint",
    "FrameData",
    "FrameMesh",
    "FrameWriter",
    "LineFile",
    "Table",
    "collect",
    "latest_checkpoint",
    "read_checkpoint",
    "read_frame",
    "read_lines",
    "read_series",
    "save_checkpoint",
    "write_checkpoint",
    "write_frame",
    "write_series",
]
