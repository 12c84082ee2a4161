"""Water on a grid, in tetrahedra around a body, and in drops, as one."""
