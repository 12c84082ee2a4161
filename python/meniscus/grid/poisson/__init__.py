"""Solvers for Poisson problems on uniform grids."""
