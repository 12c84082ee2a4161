"""Pressure projection around solids and below free surfaces."""
