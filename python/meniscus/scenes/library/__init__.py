"""Scenes of the package, one per module."""
