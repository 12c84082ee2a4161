"""Shapes, signed distances of meshes, and kinematic solids."""
