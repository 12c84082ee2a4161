"""One surface of water that is on a grid, in tetrahedra and in drops."""
