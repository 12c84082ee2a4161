"""Poisson problems on grids."""
