"""Lattice Boltzmann method."""
