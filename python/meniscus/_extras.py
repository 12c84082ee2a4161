"""Packages that meniscus works without: their import, and the sentence that says how to install what is missing."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

# The name on the package index; `meniscus` is another project there.
DISTRIBUTION = "meniscus-sim"

# Module that is imported: the package that brings it, and the extra that lists the package.
_PACKAGES: dict[str, tuple[str, str | None]] = {
    "PIL": ("Pillow", "viz"),
    "alembic3d": ("alembic3d", "alembic"),
    "h5py": ("h5py", "io"),
    "imath": ("alembic3d", "alembic"),
    "ipywidgets": ("ipywidgets", "live"),
    "matplotlib": ("matplotlib", "viz"),
    "meshio": ("meshio", "mesh"),
    "mitsuba": ("Mitsuba 3", "render"),
    "mpi4py": ("mpi4py", "mpi"),
    "pandas": ("pandas", None),
    "pxr": ("usd-core", "usd"),
    "pyvista": ("PyVista", "view"),
    "trimesh": ("trimesh", "mesh"),
    "vtkmodules": ("vtk", "vtk"),
    "xarray": ("xarray", None),
}


def require(module: str, purpose: str, *, otherwise: str = "") -> Any:
    """Return a module that is not required.

    Args:
        module: its name; submodules are imported by their dotted names.
        purpose: beginning of the sentence of an error, up to the name of the package: "checkpoints need".
        otherwise: end of that sentence: how to do without.

    Raises:
        ImportError: it is missing; the sentence says how to install it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise missing(module, purpose, otherwise=otherwise) from error


def available(module: str) -> bool:
    """Return whether a module is installed; it is not imported."""
    return importlib.util.find_spec(module) is not None


def missing(module: str, purpose: str, *, otherwise: str = "") -> ImportError:
    """Return the error for a module that is missing; arguments as for `require`."""
    package, _ = _PACKAGES[module.partition(".")[0]]
    return ImportError(f"{purpose} {package}; install it with: {install_command(module)}{otherwise}")


def install_command(module: str) -> str:
    """Return the command that installs a module."""
    package, extra = _PACKAGES[module.partition(".")[0]]
    return f"pip install {package}" if extra is None else f"pip install '{DISTRIBUTION}[{extra}]'"
