"""Vorticity, its confinement, and vortex particles."""
