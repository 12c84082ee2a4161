"""Implicit viscosity of liquids with a free surface."""
