"""Elements and beams: quadratic tetrahedra of the book, and closed forms of bending."""
