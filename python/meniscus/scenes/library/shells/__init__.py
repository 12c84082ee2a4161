"""Scenes of fluids and thin shells."""
