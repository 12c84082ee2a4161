"""Hair on the mesh of air around a creature."""
