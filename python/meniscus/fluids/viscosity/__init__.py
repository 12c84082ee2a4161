"""Implicit viscosity."""
