"""Scenes of cloth that touches itself, other cloth, jelly, and obstacles."""
