"""Meshes, measures and audits for tests of water on tetrahedra."""
