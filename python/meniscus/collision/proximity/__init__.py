"""Proximity, intersection and closest points."""
