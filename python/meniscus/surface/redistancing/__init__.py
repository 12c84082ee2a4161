"""Redistancing of level sets and extension of fields along normals."""
