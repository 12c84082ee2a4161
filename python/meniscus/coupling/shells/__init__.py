"""Fluids and surfaces that are thinner than a cell."""
