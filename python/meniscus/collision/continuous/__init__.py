"""Continuous collision detection."""
