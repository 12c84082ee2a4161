"""Scenes of vortex sheets."""
