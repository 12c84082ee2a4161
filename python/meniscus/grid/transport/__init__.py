"""Transport on grids."""
