"""Scenes of water on tetrahedra."""
