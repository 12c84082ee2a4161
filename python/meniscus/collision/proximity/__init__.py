"""Proximity, intersection and closest points of elements and meshes."""
