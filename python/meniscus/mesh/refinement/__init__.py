"""Lattices of tetrahedra and refinement of meshes."""
