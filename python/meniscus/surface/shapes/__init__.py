"""Shapes, signed distances and kinematic solids."""
