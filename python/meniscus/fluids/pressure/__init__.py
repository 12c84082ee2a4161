"""Pressure projection around solids."""
