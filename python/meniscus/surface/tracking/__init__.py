"""Surfaces of triangles that follow any motion, merge and split, and never intersect themselves."""
