"""Solids as tetrahedral meshes see them."""
