"""Marker particles of level sets."""
