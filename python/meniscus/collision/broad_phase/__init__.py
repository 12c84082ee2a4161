"""Broad phase of collision detection by spatial hashing: elements whose boxes overlap, vertices in tetrahedra."""
