"""Scenes of rigid bodies in contact and in flight."""
