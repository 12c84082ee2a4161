"""Scenes of hair."""
