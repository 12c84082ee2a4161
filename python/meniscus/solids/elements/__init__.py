"""Finite elements of constant strain: tetrahedra and membranes."""
