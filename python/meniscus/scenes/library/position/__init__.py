"""Scenes of position based dynamics."""
