"""Linear finite elements (constant strain): tetrahedra and membranes."""
