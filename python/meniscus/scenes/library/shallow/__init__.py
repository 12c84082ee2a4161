"""Scenes of shallow water."""
