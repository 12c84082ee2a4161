"""Scenes of tracked surfaces."""
