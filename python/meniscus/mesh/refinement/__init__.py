"""Lattices and refinement."""
