"""Sphinx configuration."""

from __future__ import annotations

from typing import Any

import meniscus

project = "meniscus"
author = "The meniscus developers"
copyright = f"2026, {author}"
version = release = meniscus.__version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode", "sphinx.ext.mathjax", "sphinx_copybutton"]
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"meniscus {release}"
default_role = "literal"

myst_enable_extensions = ["dollarmath", "colon_fence", "deflist"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_type_aliases = {name: name.removeprefix("npt.") for name in ("npt.ArrayLike", "npt.DTypeLike", "BoundarySpec", "Masks")}
autodoc_default_options = {"members": True, "undoc-members": False, "show-inheritance": True}
napoleon_google_docstring = True
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True


def keep_bars(app: Any, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Let |x| mean the magnitude of x, not a substitution, outside of literals."""
    for i, line in enumerate(lines):
        parts = line.split("`")
        parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
        lines[i] = "`".join(parts)


def setup(app: Any) -> None:
    app.connect("autodoc-process-docstring", keep_bars)
