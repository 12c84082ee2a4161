"""Scenes of bodies that float."""
