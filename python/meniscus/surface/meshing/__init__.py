"""Tetrahedral meshing."""
