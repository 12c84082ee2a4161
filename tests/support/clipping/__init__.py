"""Clipped tetrahedra in rational arithmetic, and rotations."""
