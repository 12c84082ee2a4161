"""Files of a run: checkpoints (HDF5), frames (VTK XML, USD, OpenVDB, Alembic, PLY), logs (JSON). Contains no numerics."""

from meniscus.core.line_file import LineFile, read_lines
from meniscus.io.alembic import write_alembic
from meniscus.io.checkpoint import Checkpoint, DamagedCheckpoint, write_checkpoint
from meniscus.io.checkpoint_folder import latest_checkpoint, read_checkpoint, save_checkpoint
from meniscus.io.frame_writer import FrameWriter
from meniscus.io.frames import FrameData, FrameMesh, collect
from meniscus.io.openvdb import write_vdb
from meniscus.io.run_frames import FilmFormat, convert
from meniscus.io.table import Table
from meniscus.io.vtk import read_frame, read_series, write_frame, write_series

__all__ = [
    "Checkpoint",
    "DamagedCheckpoint",
    "FilmFormat",
    "FrameData",
    "FrameMesh",
    "FrameWriter",
    "LineFile",
    "Table",
    "collect",
    "convert",
    "latest_checkpoint",
    "read_checkpoint",
    "read_frame",
    "read_lines",
    "read_series",
    "save_checkpoint",
    "write_alembic",
    "write_checkpoint",
    "write_frame",
    "write_series",
    "write_vdb",
]
