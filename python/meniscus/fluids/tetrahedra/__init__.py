"""Fluids on tetrahedral meshes that move."""
