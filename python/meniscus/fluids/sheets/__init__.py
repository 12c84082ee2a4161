"""Vortex sheets on tracked surfaces, and solids around which they flow."""
