"""Embedded points and morphs."""
