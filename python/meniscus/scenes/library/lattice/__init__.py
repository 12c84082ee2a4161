"""Scenes of the lattice Boltzmann solver."""
