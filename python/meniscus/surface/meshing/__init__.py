"""Tetrahedral meshing of level sets, shapes and closed surfaces."""
