"""Storage of particles with named columns."""
