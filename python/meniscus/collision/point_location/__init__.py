"""Point location: the tetrahedron of a moving mesh that contains a point."""
